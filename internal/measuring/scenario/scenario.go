// Package scenario reads and checks scenarios. A scenario is one question, from a file or a command
// line: the workload, the load, the arms, and the expectations about them. The package runs nothing.
//
// A scenario takes this way. Library.Find or Parse reads YAML: decode fills the structs and keeps the place of
// each value (decode.go, with arm.go for arms), setDefaults fills in the rest, and check applies the rules. Ask
// makes a scenario from flags instead (source.go). Select, Vary and Grid then change it as the command line
// asks, and OfCell as the record of a cell of a grid has it. Contestants are the arms as they run, and Clients is the load of
// each (clients.go).
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/workload"
)

// A Scenario is one question, with the workload and load to measure, and the arms to compare. In a
// file, unknown keys, wrong types and impossible values are errors with file, line and column.
//
// Where the file has no key, the field is zero until setDefaults. A copy shares slices and maps with the
// original.
//
// The tag help of a field is what editors tell of its key; see [Schema].
type Scenario struct {
	Name     string               `yaml:"name" help:"short name for records and reports: lower-case letters, digits and dashes, up to 40"`
	Question string               `yaml:"question" help:"what the scenario asks, in a sentence"`
	Workload Workload             `yaml:"workload" help:"what one request asks"`
	Load     Load                 `yaml:"load" help:"how requests arrive, and their clients"`
	Arms     []Arm                `yaml:"arms" help:"the servers to compare; the first is the baseline"`
	Protocol Protocol             `yaml:"protocol" help:"number and length of the windows"`
	Needs    Needs                `yaml:"needs" help:"what a machine must have for the question to make sense"`
	Expect   []expect.Expectation `yaml:"expect" help:"assertions that the run keeps or not, like p99(\"pool\") < 20ms"`
	Claims   []Claim              `yaml:"claims" help:"assertions with a sentence each, with which the answer begins"`
	Predict  []string             `yaml:"predict" help:"says nothing any more; read, so that older files are"`

	Source string         `yaml:"-"` // the file's text
	Cell   []record.Level `yaml:"-"` // where it lies on a grid; nil if it is no cell of one

	byFlags bool              // whether there is no file: flags say what is asked; see Ask
	asks    []load.Target     // requests that take turns: of Workload.Requests, or read from a file (see Open)
	Log     *arrivals.Process `yaml:"-"` // the access log to replay, set by Open; nil without one
}

// A Claim is an assertion with the sentence that it decides. Figures in the sentence stand in braces
// and are filled in from the run: {mean("pool")}.
// For example, says: Sixteen workers are enough, and when: p99("pool,workers=16") < 20ms.
type Claim struct {
	Says expect.Sentence    `yaml:"says" help:"a sentence; {p99(\"pool\")} in it becomes the median over the blocks"`
	When expect.Expectation `yaml:"when" help:"the assertion that decides it, as under expect"`
}

// Workload tells what a request asks for: CPU time and sleep at /work, a path, a list of requests, or
// the requests in a file of vegeta's targets.
//
// Zero distributions ask for no work. Requests and the others exclude each other: see checkAsked.
// CPU and Sleep are distributions of times, one draw for each request. Method and Body belong
// to the request for the work or for Path.
type Workload struct {
	CPU    workload.Dist `yaml:"cpu" help:"CPU time of a request to /work: 200us, exp(200us), lognormal(200us,4), or a mix like 0.8*0s+0.2*10ms"`
	Sleep  workload.Dist `yaml:"sleep" help:"time that a request to /work is blocked, in the forms of cpu"`
	Path   string        `yaml:"path" help:"ask this path, instead of cpu and sleep"`
	Method string        `yaml:"method" help:"method of the request (default GET)"`
	Body   string        `yaml:"body" help:"body of the request"`

	Targets  string   `yaml:"targets" help:"instead of all these: a file of requests in vegeta's format; the servers in it are replaced"`
	Requests []string `yaml:"requests" help:"instead of all these: requests that take turns, like GET /path, or PUT /path body"`
	Classes  []Class  `yaml:"classes" help:"instead of all these: kinds of requests with a name each, drawn by their shares; each has figures of its own"`
	Judge    string   `yaml:"judge" help:"the class that p50, p90 and p99, and the verdicts on them, are about (default all requests)"`
}

// Load tells how requests arrive. In an open loop they arrive at a rate, whatever the server does. In
// a closed loop they come from clients that wait for their replies.
//
// Zero values mean not set. An arm may override each setting; see Clients. Check tells which settings
// exclude each other.
type Load struct {
	Loop        string        `yaml:"loop" help:"open: arrivals ignore completions (default); closed: clients that wait for their replies"`
	Arrivals    string        `yaml:"arrivals" help:"open loop: poisson (default), constant, ramp(500/s,3000/s), sine(0.5,2s), burst(12), in-phase, trace(FILE) or log(FILE)"`
	Rate        Rate          `yaml:"rate" help:"requests per second like 3000/s, or a share of the slowest arm's closed-loop throughput like 0.7x; in a closed loop the pace of all clients together"`
	MinRate     Rate          `yaml:"min_rate" help:"lower limit of a relative rate, like 1100/s"`
	MaxRate     Rate          `yaml:"max_rate" help:"upper limit of a rate like 3000/s, as a share of the slowest arm's throughput, like 0.85x; a lowered rate raises a doubt"`
	Connections int           `yaml:"connections" help:"kept connections, opened before the window (default 64 with keepalive); in a closed loop the number of clients"`
	KeepAlive   bool          `yaml:"keepalive" help:"true keeps connections; false opens one for each request (default)"`
	Idle        int           `yaml:"idle" help:"open loop: more connections, held open without requests"`
	Think       workload.Dist `yaml:"think" help:"closed loop: pause between a reply and the next request, like exp(10ms)"`
	Session     int           `yaml:"session" help:"closed loop: requests before a client reconnects"`
	Pipeline    int           `yaml:"pipeline" help:"closed loop: requests under way on a connection"`
	Ramp        Duration      `yaml:"ramp" help:"closed loop: clients start one after the other over this time, within the warm-up"`
	Timeout     Duration      `yaml:"timeout" help:"longest time of one request (default 10s)"`
	Deadline    Duration      `yaml:"deadline" help:"open loop: time from a request's schedule after which its client gives up, and no answer is of use"`
	Retries     Retries       `yaml:"retries" help:"open loop: how often a client asks again, 0 to 3, after a timeout, a broken connection, 429 or a status from 500 on"`
	Backoff     Duration      `yaml:"backoff" help:"time from a failure to the next attempt (default 100ms)"`
	// HTTP, TLS, Cert, Key, Host and Streams say how the clients speak to the servers. An https URL has TLS on by default.
	HTTP    string `yaml:"http" help:"what the clients speak: 1.1 (default) or 2"`
	TLS     string `yaml:"tls" help:"the servers' certificates that clients take: of the authorities that this machine knows (on), any (insecure), or those of a file"`
	Cert    string `yaml:"cert" help:"file with the clients' own certificate"`
	Key     string `yaml:"key" help:"file with the key of cert"`
	Host    string `yaml:"host" help:"name to ask for, where it is not the address"`
	Streams int    `yaml:"streams" help:"HTTP/2: most requests under way on a connection"`
	Vary    varied `yaml:"vary" help:"settings of the load with several values each; every arm runs with each of them"`
}

// Protocol sets the number and length of windows. Zero values leave the defaults (Quick). Warmup is the time
// under load before each window, which is the measured part.
type Protocol struct {
	Kind   string   `yaml:"kind" help:"old spelling: full is window 3.6s and budget 10m; quick says nothing"`
	Blocks int      `yaml:"blocks" help:"the most blocks there may be, 10 to 40; a run ends as soon as everything is decided"`
	Warmup Duration `yaml:"warmup" help:"how long each server is loaded before it is measured (default 200ms)"`
	Window Duration `yaml:"window" help:"how long each server is measured in a block (default 500ms)"`
	Budget Duration `yaml:"budget" help:"longest time of the whole comparison (default 75s)"`
}

// Needs are the properties that a machine must have for the question to make sense. 0 needs nothing.
type Needs struct {
	ServerCPUs int `yaml:"server_cpus" help:"CPUs of the servers; refused where there are fewer"`
}

// A Duration is a time like 1.05s. In a file it is above 0, so that 0 can mean not set.
type Duration time.Duration

// Longest is the upper limit of every duration of a plan.
const Longest = 24 * time.Hour

// UnmarshalText parses a duration above 0, up to 24 hours.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 || v > Longest {
		return fmt.Errorf("%q is not a duration like 200ms, above 0 and up to 24h", text)
	}
	*d = Duration(v)
	return nil
}

// Retries is a number of retries, 0 to record.MostRetries.
type Retries int

// UnmarshalText parses a number of retries.
func (r *Retries) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 || n > record.MostRetries {
		return fmt.Errorf("%q is not a number of retries from 0 to %d", text, record.MostRetries)
	}
	*r = Retries(n)
	return nil
}

// A Rate is absolute (PerSecond, requests per second) or a ratio of the slowest arm's throughput
// (OfSlowest). At least one of the two is 0; the zero Rate is no rate.
type Rate struct {
	PerSecond float64
	OfSlowest float64
}

// maxRate is the highest rate of a scenario, in requests per second. One generator cannot send as fast.
const maxRate = 1e6

// UnmarshalText parses "3000/s" or "0.7x".
func (r *Rate) UnmarshalText(text []byte) error {
	// Commas are ignored, as in 12,500/s.
	s := strings.ReplaceAll(string(text), ",", "")
	n, perSecond := strings.CutSuffix(s, "/s")
	n, ofSlowest := strings.CutSuffix(n, "x")
	v, err := strconv.ParseFloat(n, 64)
	switch {
	case err != nil || !(v > 0):
	case perSecond && !ofSlowest && v <= maxRate:
		*r = Rate{PerSecond: v}
		return nil
	case ofSlowest && !perSecond && v <= 10:
		*r = Rate{OfSlowest: v}
		return nil
	}
	return fmt.Errorf("%q is not a rate: give requests per second like 3000/s (up to %.0f/s), or a share of the slowest arm's throughput like 0.7x", text, maxRate)
}

// String returns the rate in the form that UnmarshalText reads; "" for the zero Rate.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	if r.OfSlowest > 0 {
		return strconv.FormatFloat(r.OfSlowest, 'g', -1, 64) + "x"
	}
	return strconv.FormatFloat(r.PerSecond, 'g', -1, 64) + "/s"
}

// MarshalText writes a rate as UnmarshalText reads it.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Set parses a rate like UnmarshalText. It makes *Rate a flag value.
func (r *Rate) Set(s string) error { return r.UnmarshalText([]byte(s)) }

// Type returns the name of the value in a command's help.
func (r *Rate) Type() string { return "rate" }

// Rounded returns a computed rate with four significant digits, so that the rates sent, recorded and
// printed are the same number.
func Rounded(rate float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	return r
}

// MaxArms is the largest number of arms of a scenario, with varied arms expanded.
// A block runs every arm once, so its length grows with their number.
const MaxArms = 40

// Parse reads the text of a scenario file. file is its name in messages.
//
// Errors begin with FILE:LINE:COLUMN. The arms may still be impossible for their modes, such as a flag
// that a mode does not take: planning finds that.
func Parse(file string, text []byte) (Scenario, error) { return parse(file, text, false) }

// Recorded reads a scenario from the record of a run. It allows a scenario without arms: one that was
// made from the command line has its arms in the plan only. It leaves out queueing models that only
// an older version knew.
func Recorded(file string, text []byte) (Scenario, error) { return parse(file, text, true) }

// parse reads a scenario file, or the scenario of a record.
func parse(file string, text []byte, recorded bool) (s Scenario, err error) {
	defer func() {
		if err != nil {
			s, err = Scenario{}, fmt.Errorf("%s:%w", file, err)
		}
	}()
	d, err := decode(text, &s)
	if err != nil {
		return s, err
	}
	s.Source = string(text)
	for i := range s.Arms {
		at := d.place(fmt.Sprintf("arms[%d]", i))
		s.Arms[i].Place = fmt.Sprintf("%s:%d:%d", file, at.line, at.column)
	}
	s.Question = strings.TrimSpace(s.Question)
	s.setDefaults()
	// A file of targets and a log are read later, by Open.
	s.asks = slices.Concat(s.Workload.listed(), s.Workload.asked())
	// Rules can only be checked on the whole scenario. fault gives the error the place of the value.
	if bad := s.check(); bad != nil && !(recorded && len(s.Arms) == 0 && bad.Path == "arms") {
		return s, d.fault(bad)
	}
	return s, nil
}

// setDefaults fills in defaults, and copies load.vary to the arms that do not set the factor themselves.
func (s *Scenario) setDefaults() {
	s.Workload.Method = cmp.Or(s.Workload.Method, "GET")
	for i := range s.Workload.Classes {
		c := &s.Workload.Classes[i]
		c.Method = cmp.Or(c.Method, "GET")
	}
	s.Load.Loop = cmp.Or(s.Load.Loop, "open")
	s.Load.Arrivals = cmp.Or(s.Load.Arrivals, "poisson")
	s.Load.Timeout = cmp.Or(s.Load.Timeout, Duration(load.DefaultTimeout))
	if s.Protocol.Kind == "full" {
		s.Protocol.Window = cmp.Or(s.Protocol.Window, Duration(Full.Window))
		s.Protocol.Budget = cmp.Or(s.Protocol.Budget, Duration(Full.Budget))
	}
	if s.Load.Connections == 0 && s.anyKeepAlive() {
		s.Load.Connections = 64
	}
	for i := range s.Arms {
		// The arm's own value, or own list, goes before the list of the load.
		for factor, values := range s.Load.Vary {
			if a := &s.Arms[i]; a.Vary[factor] == nil && a.Clients[factor] == "" {
				a.Vary = with(a.Vary, factor, values)
			}
		}
	}
}

// A name becomes part of a directory's name. A method is in capitals, as in HTTP.
var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	methodForm = regexp.MustCompile(`^[A-Z]{1,16}$`)
)

// A rule is one check of a value. If bad is true, msg is the fault of the value at path.
type rule struct {
	bad       bool
	path, msg string
}

// firstBroken returns an error for the first rule that is broken, nil if there is none.
func firstBroken(rules []rule) *FieldError {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.bad })
	if i < 0 {
		return nil
	}
	return &FieldError{Path: rules[i].path, Msg: rules[i].msg}
}

// check returns an error for the first impossible value, nil if there is none.
//
// It reports one fault at a time, since later rules may rely on earlier ones.
func (s *Scenario) check() *FieldError {
	var zero workload.Dist
	if bad := firstBroken([]rule{
		{s.Name == "", "name", "is missing: a short name for the records, like my-service"},
		{!nameForm.MatchString(s.Name), "name", fmt.Sprintf("%q is not a name of lower-case letters, digits and dashes, up to 40", s.Name)},
		{s.Question == "", "question", "is missing: say in a sentence what the scenario asks"},
		{strings.ContainsFunc(s.Question, unicode.IsControl), "question", "must be one line of plain text"},
		{s.Workload.Path != "" && (s.Workload.CPU != zero || s.Workload.Sleep != zero), "workload.path", "excludes cpu and sleep, which ask /work"},
		{s.Workload.Path != "" && !strings.HasPrefix(s.Workload.Path, "/"), "workload.path", fmt.Sprintf("%q does not begin with /", s.Workload.Path)},
		{!methodForm.MatchString(s.Workload.Method), "workload.method", fmt.Sprintf("%q is not a method", s.Workload.Method)},
		{!slices.Contains([]string{"", "quick", "full"}, s.Protocol.Kind), "protocol.kind", fmt.Sprintf("%q is none of quick, full", s.Protocol.Kind)},
		{s.Protocol.Blocks > MaxBlocks, "protocol.blocks", fmt.Sprintf("%d is above %d, the last look", s.Protocol.Blocks, MaxBlocks)},
		{s.Protocol.Blocks > 0 && s.Protocol.Blocks < MinBlocks, "protocol.blocks", fmt.Sprintf("%d is below %d, too few for any verdict", s.Protocol.Blocks, MinBlocks)},
		{s.Protocol.Window > 0 && s.Protocol.Window < Duration(100*time.Millisecond), "protocol.window", "is below 100ms"},
	}); bad != nil {
		return bad
	}
	if bad := cmp.Or(s.checkAsked(), s.checkClasses()); bad != nil {
		return bad
	}
	plain := s.Load
	plain.KeepAlive = plain.KeepAlive || s.anyKeepAlive() // the connections are for the arms with keep-alive
	if bad := plain.Check(); bad != nil && len(s.Load.Vary) == 0 {
		return bad
	}
	var names []string
	for i, a := range s.Arms {
		path := fmt.Sprintf("arms[%d]", i)
		if err := a.check(); err != nil {
			return fieldErrorf(path, "%w", err)
		}
		// Names must be different after expansion too: verdicts and files are by name.
		for _, c := range a.expand() {
			if slices.Contains(names, c.Name) {
				return fieldErrorf(path, "the name %q is taken; give one of them a name", c.Name)
			}
			if !armName.MatchString(c.Name) {
				return fieldErrorf(path, "the varied name %q: %s", c.Name, armNameForm)
			}
			names = append(names, c.Name)
			l, err := s.Clients(c)
			if err != nil {
				return fieldErrorf(path, "%w", err)
			}
			if bad := l.Check(); bad != nil {
				return fieldErrorf(path, "%s %s", bad.Path, bad.Msg)
			}
			// The requests of a log are the scenario's, and the same for all arms.
			if l.Arrivals != s.Load.Arrivals && (isLog(l.Arrivals) || isLog(s.Load.Arrivals)) {
				return fieldErrorf(path, "arrivals: a log says what is asked as well, so all arms have it or none; give it to load")
			}
		}
	}
	// Counted after expansion: one arm that varies a flag is enough.
	if len(names) < 2 {
		return fieldErrorf("arms", "needs at least two: a baseline and a challenger")
	}
	if len(names) > MaxArms {
		return fieldErrorf("arms", "has %d, more than %d", len(names), MaxArms)
	}
	return s.checkExpectations()
}

// Contestants returns the arms as they run, with varied arms expanded. The order is the scenario's; the values
// of one factor are in the order given. The first arm is the baseline.
func (s *Scenario) Contestants() (all []Arm) {
	for _, a := range s.Arms {
		all = append(all, a.expand()...)
	}
	return all
}

// ArmNames returns the names of the arms as they run.
func (s *Scenario) ArmNames() (names []string) {
	for _, a := range s.Contestants() {
		names = append(names, a.Name)
	}
	return names
}

// Assertions returns the text of every assertion, the claims' last.
func (s *Scenario) Assertions() (texts []string) {
	for _, e := range s.Expect {
		texts = append(texts, e.String())
	}
	for _, c := range s.Claims {
		texts = append(texts, c.When.String())
	}
	return texts
}

// anyKeepAlive reports whether the clients of any arm keep their connections.
// The scenario's connections are meant for these arms.
func (s *Scenario) anyKeepAlive() bool {
	return s.Load.KeepAlive || slices.ContainsFunc(s.Arms, func(a Arm) bool {
		return a.Clients["keepalive"] == "true" || slices.Contains(a.Vary["keepalive"], "true")
	})
}

// A Timing holds the durations of a comparison: of each warm-up and window, and the longest time that it
// may take. A comparison ends earlier, at the first look at which everything is decided.
type Timing struct {
	Warmup, Window, Budget time.Duration
}

// Quick is the default, which gives a first answer in about a minute. Full is for smaller differences. Saturated is for a
// comparison that saturates each server after its window, which tells more of its CPU time than a longer window would. Racing is for
// a race of many arms. They are only read.
var (
	Quick     = Timing{Warmup: 200 * time.Millisecond, Window: 500 * time.Millisecond, Budget: 75 * time.Second}
	Racing    = Timing{Warmup: 60 * time.Millisecond, Window: 500 * time.Millisecond, Budget: 2 * time.Minute}
	Saturated = Timing{Warmup: 60 * time.Millisecond, Window: 100 * time.Millisecond, Budget: 75 * time.Second}
	Full      = Timing{Warmup: 400 * time.Millisecond, Window: 3600 * time.Millisecond, Budget: 10 * time.Minute}
)

// MinBlocks is the number of blocks at the first look: fewer blocks decide nothing. MaxBlocks is the
// number at the last look.
var (
	MinBlocks = stats.Looks()[0]
	MaxBlocks = stats.Looks()[len(stats.Looks())-1]
)

// Assert adds an assertion to a parsed scenario. The assertion may name any arm that the scenario has at that time.
func (s *Scenario) Assert(e expect.Expectation) error {
	if err := s.checkNames(e, s.ArmNames()); err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	// Clip makes append copy, so that scenarios copied from this one keep their own list.
	s.Expect = append(slices.Clip(s.Expect), e)
	return nil
}

// Claim adds a claim about arms of the scenario.
func (s *Scenario) Claim(c Claim) { s.Claims = append(slices.Clip(s.Claims), c) }

// A namer is an assertion or a sentence, which names arms and classes of requests.
type namer interface {
	CheckArms(arms []string) error
	CheckClasses(classes []string) error
}

// checkNames checks that an assertion or a sentence names arms and classes that there are.
func (s *Scenario) checkNames(of namer, arms []string) error {
	if err := of.CheckArms(arms); err != nil {
		return err
	}
	return of.CheckClasses(s.Workload.classNames())
}

// checkExpectations checks that the assertions and claims of a scenario name its arms, as they run after expansion.
func (s *Scenario) checkExpectations() *FieldError {
	arms := s.ArmNames()
	for i, e := range s.Expect {
		if err := s.checkNames(e, arms); err != nil {
			return mistake(fmt.Sprintf("expect[%d]", i), e.String(), err)
		}
	}
	for i, c := range s.Claims {
		at, says, when := fmt.Sprintf("claims[%d]", i), c.Says.String(), c.When.String()
		if says == "" || when == "" {
			return fieldErrorf(at, "needs says, a sentence, and when, an assertion that decides it")
		}
		if err := s.checkNames(c.Says, arms); err != nil {
			return mistake(at+".says", says, err)
		}
		if err := s.checkNames(c.When, arms); err != nil {
			return mistake(at+".when", when, err)
		}
	}
	return nil
}

// mistake returns the error for a text at path that cannot be what is wanted there. If package expect knows the
// character, the error points at it.
func mistake(path, text string, err error) *FieldError {
	bad := &FieldError{Path: path, Msg: err.Error()}
	if at, ok := errors.AsType[*expect.Error](err); ok {
		bad.within, bad.at = text, at.At
	}
	return bad
}

// A Library holds scenarios in files NAME.yaml at its root. The program embeds one.
// Its zero value cannot be used. It is safe for concurrent use if its file system is.
type Library struct{ fs.FS }

// Names returns the names of the scenarios in alphabetical order.
func (l Library) Names() (names []string) {
	files, _ := fs.Glob(l, "*.yaml") // no error: the pattern is valid
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

// Expand replaces the argument all by every name of the library, and a directory by the scenario files in it. Other
// arguments stay.
//
// A name of the library goes before a directory of the same name. It returns an error for a directory
// without scenarios. Whether the other arguments exist shows in Find.
func (l Library) Expand(args []string) (names []string, err error) {
	for _, arg := range args {
		info, statErr := os.Stat(arg)
		switch {
		case slices.Contains(l.Names(), arg):
			names = append(names, arg)
		case arg == "all":
			names = append(names, l.Names()...)
		case statErr == nil && info.IsDir():
			files, err := filepath.Glob(filepath.Join(arg, "*.yaml")) // sorted
			if err != nil {
				return nil, fmt.Errorf("reading directory %q: %w", arg, err)
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("directory %q holds no scenario, no file *.yaml", arg)
			}
			names = append(names, files...)
		default:
			names = append(names, arg)
		}
	}
	return names, nil
}

// ReadFile reads a file, pipe or device. Of one above MaxScenario it reads one byte more, so that it is refused.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxScenario+1))
}

// Find reads a scenario of the library by its name, or a file by its path.
//
// An argument with a dot or a slash is a path; without one, it can only be a name.
func (l Library) Find(arg string) (s Scenario, err error) {
	text, err := fs.ReadFile(l, arg+".yaml")
	if err != nil && !strings.ContainsAny(arg, "./") {
		return s, fmt.Errorf("unknown scenario %q%s; 'schedlab scenarios' lists them, and a file needs its path, like ./%s.yaml", arg, prose.DidYouMean(arg, l.Names()), arg)
	}
	if err != nil {
		text, err = ReadFile(arg)
	}
	if err != nil {
		// The path is already in the message.
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return s, fmt.Errorf("reading scenario %q: %w", arg, err)
	}
	return Parse(arg, text)
}
