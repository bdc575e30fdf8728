package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// clientKeys are the settings of a scenario's load that an arm may override, and that may be varied.
// min_rate, max_rate and vary are not among them.
var clientKeys = []string{
	"loop", "arrivals", "rate", "connections", "keepalive", "idle", "think", "session", "pipeline", "ramp", "timeout", "deadline", "retries", "backoff",
	"http", "tls", "cert", "key", "host", "streams",
}

// spokenKeys are the client settings that also stand before the command or URL of another program, as words KEY=VALUE.
var spokenKeys = []string{"http", "tls", "cert", "key", "host", "streams"}

// A varied maps factors to their values. Each combination of values becomes an arm.
// Values are in the order in which the file or the flag lists them.
type varied map[string][]string

// varied reads a mapping from factors to values into all. Each factor must be in known.
func (d *decoder) varied(path string, n ast.Node, known []string, all *varied) error {
	*all = varied{}
	return d.fields(path, n, known, func(factor, path string, n ast.Node) error {
		var values []string
		err := d.value(path, n, reflect.ValueOf(&values).Elem())
		if err == nil && len(values) == 0 {
			err = d.errorf(path, "is empty; list the values, like [1, 4]")
		}
		(*all)[factor] = values
		return err
	})
}

// set sets the field of the load with a YAML name from a text.
func (l *Load) set(key, text string) error {
	return setText(reflect.ValueOf(l).Elem().FieldByIndex(fieldOf(reflect.TypeFor[Load](), key)), text)
}

// Clients returns the load of an arm: the scenario's load with the arm's settings applied.
//
// Settings that no longer fit are dropped rather than refused: an arm that changes the loop or the
// keep-alive need not repeat all others. The result is not checked; see Load.Check.
func (s *Scenario) Clients(a Arm) (Load, error) {
	l := s.Load
	for _, key := range slices.Sorted(maps.Keys(a.Clients)) {
		if err := l.set(key, a.Clients[key]); err != nil {
			return l, fmt.Errorf("%s: %w", key, err)
		}
	}
	if l.Loop != s.Load.Loop && a.Clients["rate"] == "" {
		l.Rate = Rate{} // the scenario's rate is for the other kind of loop
	}
	switch {
	case l.KeepAlive && l.Connections == 0:
		l.Connections = 64
	case !l.KeepAlive && l.Loop != "closed" && s.anyKeepAlive() && a.Clients["connections"] == "":
		l.Connections = 0 // the scenario's connections are for arms with keep-alive
	}
	switch secure := strings.HasPrefix(a.URL, "https://"); {
	case secure || a.Flags["tls-cert"] != "":
		// One of our own servers has a certificate that no authority signed: trust that one.
		l.TLS = cmp.Or(l.TLS, a.Flags["tls-cert"], record.TrustKnown)
	case a.URL != "" || a.Mode != "":
		for _, key := range []string{"tls", "cert", "key"} {
			if a.Clients[key] != "" {
				return l, fmt.Errorf("%s: the server does not speak TLS; give a URL with https://, or tls-cert and tls-key of a mode", key)
			}
		}
		l.TLS, l.Cert, l.Key = "", "", "" // the scenario's are for the arms with TLS
	}
	return l, nil
}

// Check returns an error for the first impossible value of a load, nil if there is none.
//
// A rule's path is the setting to change, and its text continues the sentence that begins with it.
func (l Load) Check() *FieldError {
	closed := l.Loop == "closed"
	// If the arrivals are bad, process is zero, and the rules about it do not apply.
	process, badArrivals := arrivals.Parse(l.Arrivals)
	mistyped := mistypedTrust(l.TLS)
	return firstBroken([]rule{
		{l.Loop != "open" && !closed, "load.loop", fmt.Sprintf("%q is none of open, closed", l.Loop)},
		{badArrivals != nil, "load.arrivals", fmt.Sprint(badArrivals)},
		{closed && process.Kind == arrivals.KindLog, "load.arrivals", "of a log belong to an open loop"},
		{process.Speed > 0 && l.Rate != (Rate{}), "load.rate", "and the log's speed both say how fast; drop one"},
		{!closed && l.Rate == (Rate{}) && !isLog(l.Arrivals), "load.rate", "is missing: give requests per second like 3000/s, or a share of the slowest arm's throughput like 0.7x"},
		{closed && l.Rate.OfSlowest > 0, "load.rate", "paces the clients of a closed loop in requests per second, like 4000/s, or is left out"},
		{l.MinRate.OfSlowest > 0, "load.min_rate", "must be absolute, like 1100/s"},
		{closed && l.MinRate != (Rate{}), "load.min_rate", "belongs to an open loop"},
		{l.MaxRate.PerSecond > 0, "load.max_rate", "must be a share of the slowest arm's throughput, like 0.85x"},
		{l.MaxRate != (Rate{}) && (closed || l.Rate.PerSecond == 0), "load.max_rate", "belongs to an open loop with an absolute rate"},
		{l.Connections > load.MaxConnections, "load.connections", fmt.Sprintf("%d is above %d, the most one load holds", l.Connections, load.MaxConnections)},
		{closed && l.Connections == 0, "load.connections", "is missing: a closed loop is that many clients"},
		{!closed && !l.KeepAlive && l.Connections > 0, "load.connections", "needs keepalive: true; without it every request opens its own connection"},
		{l.Idle > load.MaxConnections-l.Connections, "load.idle", fmt.Sprintf("%d beside %d connections are above %d, the most one load holds", l.Idle, l.Connections, load.MaxConnections)},
		{l.Idle > 0 && (closed || !l.KeepAlive), "load.idle", "connections stand beside an open loop with keepalive: true"},
		{!closed && l.Think != (workload.Dist{}), "load.think", "belongs to loop: closed"},
		{!closed && l.Session > 0, "load.session", "belongs to loop: closed"},
		{!closed && l.Pipeline > 0, "load.pipeline", "belongs to loop: closed"},
		{!closed && l.Ramp > 0, "load.ramp", "belongs to loop: closed"},
		{closed && l.Deadline > 0, "load.deadline", "belongs to an open loop"},
		{closed && l.Retries > 0, "load.retries", "belong to an open loop"},
		{l.Backoff > 0 && l.Retries == 0, "load.backoff", "needs retries"},
		{l.Pipeline > 1 && !l.KeepAlive, "load.pipeline", "needs keepalive: true"},
		{l.Session > 0 && !l.KeepAlive, "load.session", "needs keepalive: true"},
		{l.Think != (workload.Dist{}) && (closed && l.Rate != (Rate{}) || l.Pipeline > 1), "load.think", "excludes rate and pipeline: each says when to send"},
		{closed && l.Rate != (Rate{}) && l.Pipeline > 1, "load.rate", "excludes pipeline, which is always full"},
		{!slices.Contains([]string{"", "1.1", "2"}, l.HTTP), "load.http", fmt.Sprintf("%q is none of 1.1, 2", l.HTTP)},
		{l.Streams > 0 && l.HTTP != "2", "load.streams", "are requests under way on a connection of HTTP/2; add http: 2"},
		{l.Streams > 0 && !l.KeepAlive, "load.streams", "needs keepalive: true"},
		{l.Streams > mostStreams, "load.streams", fmt.Sprintf("%d is above %d", l.Streams, mostStreams)},
		{l.Key != "" && l.Cert == "", "load.key", "needs cert, the certificate that it is for"},
		{mistyped != "", "load.tls", fmt.Sprintf("%q is no file of certificates to trust%s", l.TLS, mistyped)},
		{l.Cert != "" && l.TLS == "", "load.cert", "needs tls: on, insecure, or the file of the certificates to trust"},
		{strings.ContainsAny(l.Host, "/ \r\n\t"), "load.host", fmt.Sprintf("%q is not a name like api.example.com", l.Host)},
	})
}

// mistypedTrust ends the error of a setting of tls that is neither a word nor a file, with the word that the user most likely
// meant; "" if there is no such word. A file may have a name like the words.
func mistypedTrust(tls string) string {
	words := []string{record.TrustKnown, record.TrustAny}
	meant := prose.DidYouMean(tls, words)
	if meant == "" || slices.Contains(words, tls) {
		return ""
	}
	if _, err := os.Stat(tls); err == nil {
		return ""
	}
	return meant
}

// usualBackoff is the time from a failure to the next attempt, where the scenario gives none.
const usualBackoff = 100 * time.Millisecond

// mostStreams is the largest number of streams on a connection. Servers allow 100 to 250, unless they are told otherwise.
const mostStreams = 10_000

// CheckEngine returns an error if the engine cannot send the load.
// An empty engine means the default, which can send every load.
func CheckEngine(engine string, l Load) error {
	needs := load.EngineFor(l.Recorded(""))
	vegeta := engine == load.EngineVegeta
	switch {
	case needs != "" && engine != "" && engine != needs:
		return fmt.Errorf("--engine %s speaks HTTP/1.1 without TLS, and its load is %s; leave out --engine", engine, l.spoken())
	case (needs != "" || vegeta) && (l.Deadline > 0 || l.Retries > 0):
		return errors.New("a deadline and retries need the engine spin, which speaks HTTP/1.1 without TLS; leave out http, tls and --engine, or deadline and retries")
	case needs != "" && l.Loop == "closed":
		return fmt.Errorf("the load is %s, which the engine %s sends in an open loop only; leave out the closed one", l.spoken(), needs)
	case needs != "" && l.Idle > 0:
		return fmt.Errorf("the load is %s, which the engine %s sends, and that holds no idle connections; leave out the %d", l.spoken(), needs, l.Idle)
	case vegeta && l.Loop == "closed":
		return errors.New("--engine vegeta sends open loops, and its load is a closed one; leave out --engine")
	case vegeta && l.Idle > 0:
		return fmt.Errorf("--engine vegeta holds no idle connections, and its load has %d; leave out --engine", l.Idle)
	}
	return nil
}

// spoken tells what the clients speak, where it is more than HTTP/1.1 without TLS.
func (l Load) spoken() string {
	switch {
	case l.HTTP == "2" && l.TLS != "":
		return "HTTP/2 over https"
	case l.HTTP == "2":
		return "HTTP/2"
	}
	return "https"
}

// Recorded returns the load in the form of a record, with the engine that sends it. Times are in seconds; Think
// is the mean. MinRate and MaxRate only choose the rate, so a record does not have them here.
func (l Load) Recorded(engine string) record.Clients {
	patience := record.Patience{Deadline: record.Lasting(time.Duration(l.Deadline)), Retries: int(l.Retries)}
	if l.Retries > 0 {
		patience.Backoff = record.Lasting(cmp.Or(time.Duration(l.Backoff), usualBackoff))
	}
	return record.Clients{
		Patience: patience,
		Loop:     l.Loop, Engine: engine, Arrivals: l.Arrivals, Rate: l.Rate.PerSecond, Connections: l.Connections, KeepAlive: l.KeepAlive,
		Idle: l.Idle, Think: record.Lasting(l.Think.Mean()), Session: l.Session, Pipeline: l.Pipeline,
		Ramp: record.Lasting(time.Duration(l.Ramp)), Timeout: record.Lasting(time.Duration(l.Timeout)),
		Speaks: record.Speaks{HTTP2: l.HTTP == "2", TLS: l.TLS, Cert: l.Cert, Key: l.Key, Host: l.Host, Streams: l.Streams},
	}
}

// Vary makes each arm vary a factor over values, as --vary on the command line asks. The factor is a
// load setting, an environment variable of the server (env.GOGC), or a serve flag. A flag applies to
// the arms with a mode that takes it. The values replace the scenario's values of the factor.
//
// An arm that does not take the factor stays unchanged. It is an error if no arm takes it.
func (s *Scenario) Vary(factor string, values []string, modes map[string]mode.Mode) error {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return fmt.Errorf("%s: no values; list them, like %s=1,2,4", factor, factor)
	case slices.Contains(values, ""):
		return fmt.Errorf("%s has an empty value; list them, like %s=1,2,4", factor, factor)
	case !slices.Contains(armSettings(), factor) && !strings.HasPrefix(factor, envPrefix):
		return fmt.Errorf("unknown factor %q %s", factor, prose.Choice(factor, armSettings()))
	}
	// One value is enough: planning refuses the others.
	arms, err := s.takers(factor, values[:1], modes)
	if err != nil {
		return fmt.Errorf("no arm takes %s: %w", factor, err)
	}
	for _, a := range arms {
		a.drop(factor) // a fixed value would contradict the varied ones
		a.Vary, a.Place, a.Flag = with(a.Vary, factor, values), "", "vary"
		if err := a.checkProcess(); err != nil {
			return err
		}
	}
	return nil
}

// shareFactor is the name of the ratio of requests that sleep at all.
// It is not a key of the file: there the ratio is part of the sleep.
const shareFactor = "sleep-share"

// mostValues is the largest number of values on an axis.
// A grid with two such axes has 625 cells, each a comparison.
const mostValues = 25

// factors returns the names that an axis of a grid may vary: of the workload and of the arms' settings.
func factors() []string {
	return slices.Concat([]string{"cpu", "sleep", shareFactor}, VaryFactors())
}

// VaryFactors returns the names of an arm's settings, without environment variables, which can have any name.
// These are the factors that help lists.
func VaryFactors() []string { return slices.Concat(armFlags, clientKeys, processKeys) }

// A Factor is an axis of a grid: a server flag, a load setting or a part of the workload, and its
// values in order.
type Factor struct {
	Name   string
	Values []string
}

// ParseFactor reads an axis of a grid, FACTOR=V1,V2,..., with 2 to 25 values in the order of the axis. A
// comma within parentheses is part of a value.
// The values are not parsed: whether they are possible depends on the scenario. See [Scenario.Grid].
func ParseFactor(text string) (Factor, error) {
	name, list, ok := strings.Cut(text, "=")
	f := Factor{Name: name}
	if err := checkValue(text); err != nil {
		return f, err
	}
	if !ok || name == "" {
		return f, fmt.Errorf("%q is not of the form FACTOR=V1,V2", text)
	}
	if !slices.Contains(factors(), name) {
		return f, fmt.Errorf("unknown factor %q %s", name, prose.Choice(name, factors()))
	}
	f.Values = SplitValues(list)
	for i, v := range f.Values {
		switch {
		case v == "":
			return f, fmt.Errorf("%s has an empty value; list them, like %s=1,2,4", name, name)
		case slices.Contains(f.Values[:i], v):
			return f, fmt.Errorf("%s has the value %s twice", name, v)
		}
	}
	if n := len(f.Values); n < 2 || n > mostValues {
		return f, fmt.Errorf("%s has %s; give 2 to %d", name, prose.Plural(n, "value"), mostValues)
	}
	return f, nil
}

// SplitValues splits V1,V2,... at commas. A comma within parentheses is part of a value.
func SplitValues(list string) (values []string) {
	depth, from := 0, 0
	// The comma added at the end closes the last value, even inside of an open parenthesis.
	for i, r := range list + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && (depth == 0 || i == len(list)):
			values = append(values, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return values
}

// Grid returns the scenarios of a grid of one or two factors, a cell each: row by row, the first factor
// along the rows. It drops the expectations, which are about the scenario's own setting. A serve flag is
// set in the arms with a mode that takes it. An arm that varies something itself is an error. An error
// names the cell.
func (s Scenario) Grid(factors []Factor, modes map[string]mode.Mode) (cells []Scenario, err error) {
	x, rows := factors[0], []axis{{}}
	if len(factors) > 1 {
		rows = nil
		for _, value := range factors[1].Values {
			rows = append(rows, axis{factors[1], value})
		}
	}
	for _, row := range rows {
		for _, value := range x.Values {
			at := append([]axis{{x, value}}, row)[:len(factors)]
			cell, err := s.at(at, modes)
			if err != nil {
				return nil, fmt.Errorf("cell %s: %w", record.CellName(cell.Cell), err)
			}
			cells = append(cells, cell)
		}
	}
	return cells, nil
}

// at returns the scenario of one cell of a grid.
//
// s itself does not change: the slices and maps that at writes to are copied first.
func (s Scenario) at(axes []axis, modes map[string]mode.Mode) (Scenario, error) {
	s.Cell = nil
	var names []string
	for _, a := range axes {
		s.Cell = append(s.Cell, record.Level{Factor: a.Name, Value: a.value})
		names = append(names, a.Name)
	}
	if k := slices.IndexFunc(s.Arms, func(a Arm) bool { return len(a.Vary) > 0 }); k >= 0 {
		return s, fmt.Errorf("arm %q varies %s itself; name arms without vary", s.Arms[k].Name, strings.Join(slices.Sorted(maps.Keys(s.Arms[k].Vary)), ", "))
	}
	s.Expect, s.Claims = nil, nil
	s.Arms, s.Load.Vary = slices.Clone(s.Arms), nil
	if slices.Contains(names, "keepalive") && slices.Contains(names, "connections") {
		return s, errors.New("connections are kept ones, so they mean nothing where keepalive is false; drop one of the two factors")
	}
	// The ratio applies to the sleep, so set the sleep first.
	slices.SortStableFunc(axes, func(a, b axis) int { return strings.Compare(a.last(), b.last()) })
	for _, axis := range axes {
		// Such a name would state a value that the arm no longer has.
		if i := slices.IndexFunc(s.Arms, func(a Arm) bool { return strings.Contains(a.Name, axis.Name+"=") }); i >= 0 {
			return s, fmt.Errorf("arm %q has %s in its name, and the grid varies it; give the arm without", s.Arms[i].Name, axis.Name)
		}
		if err := s.set(axis, modes); err != nil {
			return s, fmt.Errorf("%s=%s: %w", axis.Name, axis.value, err)
		}
	}
	// The cell as a whole must still be a possible scenario.
	if bad := s.check(); bad != nil {
		return s, fmt.Errorf("%s %s", bad.Path, bad.Msg)
	}
	return s, nil
}

// OfCell returns a recorded scenario with the workload and the load of the cell of a grid that a run
// measured. The flags of servers are left as they are: which arms took them is in the run's plan. A run
// that is no cell has the scenario as it is.
func (s Scenario) OfCell(cell []record.Level) (Scenario, error) {
	s.Cell, s.Arms = cell, slices.Clone(s.Arms)
	var axes []axis
	for _, l := range cell {
		if !IsFlag(l.Factor) || slices.Contains([]string{"cpu", "sleep", shareFactor}, l.Factor) {
			axes = append(axes, axis{Factor{Name: l.Factor}, l.Value})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return strings.Compare(a.last(), b.last()) })
	for _, a := range axes {
		if err := s.set(a, nil); err != nil {
			return s, fmt.Errorf("%s=%s: %w", a.Name, a.value, err)
		}
	}
	return s, nil
}

// An axis is a factor of a grid, with its value in one cell.
type axis struct {
	Factor
	value string
}

// last returns the name of a factor that must be set after the others, and "" for the others.
func (a axis) last() string {
	if a.Name == shareFactor {
		return a.Name
	}
	return ""
}

// set sets the value of a factor in the scenario.
func (s *Scenario) set(f axis, modes map[string]mode.Mode) error {
	switch f.Name {
	case "cpu", "sleep", shareFactor:
		return s.Workload.set(f.Name, f.value)
	case "keepalive":
		keep, err := isTrue(f.value)
		s.Keep(keep)
		return err
	}
	if IsFlag(f.Name) || slices.Contains(processKeys, f.Name) {
		// One value that an arm takes is enough. Planning reports the others: silence would leave the
		// arm at its default.
		arms, err := s.takers(f.Name, f.Values, modes)
		if err != nil {
			return fmt.Errorf("no arm takes it: %w", err)
		}
		for _, a := range arms {
			a.set(f.Name, f.value)
			a.Place = ""
		}
		return nil
	}
	for k := range s.Arms {
		s.Arms[k].drop(f.Name) // an arm's own value would override the cell's
	}
	return s.Load.set(f.Name, f.value)
}

// Keep sets whether all clients keep their connections, or open one for each request.
// In an open loop without keep-alive there are no kept connections, so their number becomes 0.
func (s *Scenario) Keep(connections bool) {
	s.Load.KeepAlive = connections
	if !connections && s.Load.Loop != "closed" {
		s.Load.Connections = 0
	}
	for k := range s.Arms {
		s.Arms[k].drop("keepalive")
	}
}

// set sets a factor of the demand of a request to /work.
func (w *Workload) set(factor, value string) (err error) {
	if w.Path != "" {
		return fmt.Errorf("the scenario asks %s, which has no such demand; use one that states cpu or sleep", w.Path)
	}
	switch factor {
	case "cpu":
		w.CPU, err = workload.ParseDist(value)
	case "sleep":
		w.Sleep, err = workload.ParseDist(value)
	default:
		var share float64
		if share, err = strconv.ParseFloat(value, 64); err != nil {
			return fmt.Errorf("%q is not a share from 0 to 1", value)
		}
		w.Sleep, err = w.Sleep.WithShare(share)
	}
	return err
}
