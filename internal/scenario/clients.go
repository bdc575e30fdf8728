package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"schedlab/internal/arrivals"
	"schedlab/internal/load"
	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/workload"
)

// clientKeys are the settings of a scenario's load that an arm may override, and that may be varied.
// min_rate, max_rate and vary are not among them.
var clientKeys = []string{
	"loop", "arrivals", "rate", "connections", "keepalive", "idle", "think", "session", "pipeline", "ramp", "timeout",
}

// A Varied maps factors to their values. Each combination of values becomes an arm.
// Values are in the order in which the file or the flag lists them.
type Varied map[string][]string

// vary sets the values of a factor in the arm. It copies the map, which other arms may share.
// Earlier values of the factor are replaced.
func (a *Arm) vary(factor string, values []string) {
	all := Varied{}
	maps.Copy(all, a.Vary)
	all[factor] = values
	a.Vary = all
}

// varied reads a mapping from factors to values into all. Each factor must be in known.
func (d *decoder) varied(path string, n ast.Node, known []string, all *Varied) error {
	*all = Varied{}
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

// Clients returns the load of an arm: the scenario's load with the arm's settings applied.
//
// Settings that no longer fit are dropped rather than refused: an arm that changes the loop or the
// keep-alive need not repeat all others. The result is not checked; see Load.Check.
func (s *Scenario) Clients(a Arm) (Load, error) {
	l := s.Load
	for _, key := range slices.Sorted(maps.Keys(a.Clients)) {
		// A setting's key is the YAML name of a field of Load.
		field := reflect.ValueOf(&l).Elem().FieldByIndex(fieldOf(reflect.TypeFor[Load](), key))
		if err := setText(field, a.Clients[key]); err != nil {
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
	return l, nil
}

// Check returns an error for the first impossible value of a load, nil if there is none.
//
// A rule is bad when its condition holds. Its key is the setting to change, and its text continues the
// sentence that begins with the key.
func (l Load) Check() *FieldError {
	closed := l.Loop == "closed"
	// If the arrivals are bad, process is zero, and the rules about it do not apply.
	process, badArrivals := arrivals.Parse(l.Arrivals)
	for _, rule := range []struct {
		bad       bool
		key, want string
	}{
		{l.Loop != "open" && !closed, "loop", fmt.Sprintf("%q is none of open, closed", l.Loop)},
		{badArrivals != nil, "arrivals", fmt.Sprint(badArrivals)},
		{closed && process.Kind == arrivals.KindLog, "arrivals", "of a log belong to an open loop"},
		{process.Speed > 0 && l.Rate != (Rate{}), "rate", "and the log's speed both say how fast; drop one"},
		{!closed && l.Rate == (Rate{}) && !isLog(l.Arrivals), "rate", "is missing: give requests per second like 3000/s, or a share of the slowest arm's throughput like 0.7x"},
		{closed && l.Rate.OfSlowest > 0, "rate", "paces the clients of a closed loop in requests per second, like 4000/s, or is left out"},
		{l.MinRate.OfSlowest > 0, "min_rate", "must be absolute, like 1100/s"},
		{closed && l.MinRate != (Rate{}), "min_rate", "belongs to an open loop"},
		{l.MaxRate.PerSecond > 0, "max_rate", "must be a share of the slowest arm's throughput, like 0.85x"},
		{l.MaxRate != (Rate{}) && (closed || l.Rate.PerSecond == 0), "max_rate", "belongs to an open loop with an absolute rate"},
		{l.Connections > load.MaxConnections, "connections", fmt.Sprintf("%d is above %d, the most one load holds", l.Connections, load.MaxConnections)},
		{closed && l.Connections == 0, "connections", "is missing: a closed loop is that many clients"},
		{!closed && !l.KeepAlive && l.Connections > 0, "connections", "needs keepalive: true; without it every request opens its own connection"},
		{l.Idle > load.MaxConnections-l.Connections, "idle", fmt.Sprintf("%d beside %d connections are above %d, the most one load holds", l.Idle, l.Connections, load.MaxConnections)},
		{l.Idle > 0 && (closed || !l.KeepAlive), "idle", "connections stand beside an open loop with keepalive: true"},
		{!closed && l.Think != (workload.Dist{}), "think", "belongs to loop: closed"},
		{!closed && l.Session > 0, "session", "belongs to loop: closed"},
		{!closed && l.Pipeline > 0, "pipeline", "belongs to loop: closed"},
		{!closed && l.Ramp > 0, "ramp", "belongs to loop: closed"},
		{l.Pipeline > 1 && !l.KeepAlive, "pipeline", "needs keepalive: true"},
		{l.Session > 0 && !l.KeepAlive, "session", "needs keepalive: true"},
		{l.Think != (workload.Dist{}) && (closed && l.Rate != (Rate{}) || l.Pipeline > 1), "think", "excludes rate and pipeline: each says when to send"},
		{closed && l.Rate != (Rate{}) && l.Pipeline > 1, "rate", "excludes pipeline, which is always full"},
	} {
		if rule.bad {
			return fieldErrorf("load."+rule.key, "%s", rule.want)
		}
	}
	return nil
}

// CheckEngine returns an error if the engine cannot send the load.
// An empty engine means the default, which can send every load.
func CheckEngine(engine string, l Load) error {
	vegeta := engine == load.EngineVegeta
	switch {
	case vegeta && l.Loop == "closed":
		return errors.New("--engine vegeta sends open loops, and its load is a closed one; leave out --engine")
	case vegeta && l.Idle > 0:
		return fmt.Errorf("--engine vegeta holds no idle connections, and its load has %d; leave out --engine", l.Idle)
	}
	return nil
}

// Recorded returns the load in the form of a record, with the engine that sends it. Times are in
// seconds; Think is the mean.
// MinRate and MaxRate only choose the rate, so a record does not have them here.
func (l Load) Recorded(engine string) record.Clients {
	return record.Clients{
		Loop: l.Loop, Engine: engine, Arrivals: l.Arrivals, Rate: l.Rate.PerSecond, Connections: l.Connections, KeepAlive: l.KeepAlive,
		Idle: l.Idle, Think: l.Think.Mean().Seconds(), Session: l.Session, Pipeline: l.Pipeline,
		Ramp: time.Duration(l.Ramp).Seconds(), Timeout: time.Duration(l.Timeout).Seconds(),
	}
}

// Vary makes each arm vary a factor over values, as --vary on the command line asks. The factor is a
// load setting, an environment variable of the server (env.GOGC), or a serve flag. A flag applies to
// the arms with a mode that takes it. The values replace those that the scenario gives the factor.
//
// An arm that does not take the factor stays as it is. It is an error if no arm takes it.
func (s *Scenario) Vary(factor string, values []string, modes map[string]mode.Mode) error {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return fmt.Errorf("%s: no values; list them, like %s=1,2,4", factor, factor)
	case slices.Contains(values, ""):
		return fmt.Errorf("%s has an empty value; list them, like %s=1,2,4", factor, factor)
	case !slices.Contains(armSettings(), factor) && !strings.HasPrefix(factor, envPrefix):
		return fmt.Errorf("unknown factor %q (want one of %v)", factor, armSettings())
	}
	client, variable := !IsFlag(factor), strings.HasPrefix(factor, envPrefix)
	// The refusal of a known mode explains more than an unknown mode does.
	var refused, unknown error
	taken := false
	for i := range s.Arms {
		a := &s.Arms[i]
		if !client {
			if err := a.takes(factor, values[0], modes); err != nil {
				if _, known := modes[a.Mode]; known || a.Mode == "" {
					refused = err
				} else {
					unknown = err
				}
				continue
			}
		}
		if variable && a.URL != "" {
			refused = fmt.Errorf("%s runs already", a.Name)
			continue
		}
		taken = true
		// A fixed value would contradict the varied ones. The maps may be shared with copies of the arm.
		a.Flags, a.Clients, a.Env = maps.Clone(a.Flags), maps.Clone(a.Clients), maps.Clone(a.Env)
		delete(a.Flags, factor)
		delete(a.Clients, factor)
		if variable {
			delete(a.Env, strings.TrimPrefix(factor, envPrefix))
		}
		a.vary(factor, values)
	}
	if !taken {
		return fmt.Errorf("no arm takes %s: %w", factor, cmp.Or(refused, unknown))
	}
	return nil
}
