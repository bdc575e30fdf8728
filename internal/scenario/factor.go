package scenario

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/mode"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/workload"
)

// shareFactor is the name of the ratio of requests that sleep at all.
// It is not a key of the file: there the ratio is part of the sleep.
const shareFactor = "sleep-share"

// mostValues is the largest number of values on an axis.
// A map with two such axes has 625 cells, each a comparison.
const mostValues = 25

// factors returns the names that an axis of a map may vary: of the workload and of the arms' settings.
func factors() []string {
	return slices.Concat([]string{"cpu", "sleep", shareFactor}, VaryFactors())
}

// VaryFactors returns the names of an arm's settings, without environment variables, which can have
// any name.
// These are the factors that help lists.
func VaryFactors() []string {
	return slices.DeleteFunc(armSettings(), func(s string) bool { return strings.HasPrefix(s, envPrefix) })
}

// ParseFactor reads an axis of a map, FACTOR=V1,V2,..., with 2 to 25 values in the order of the axis. A
// comma within parentheses is part of a value.
// The values are not parsed: whether they are possible depends on the scenario. See At.
func ParseFactor(text string) (record.Factor, error) {
	name, list, ok := strings.Cut(text, "=")
	f := record.Factor{Name: name}
	if err := checkValue(text); err != nil {
		return f, err
	}
	if !ok || name == "" {
		return f, fmt.Errorf("%q is not of the form FACTOR=V1,V2", text)
	}
	if !slices.Contains(factors(), name) {
		return f, fmt.Errorf("unknown factor %q (want one of %s)", name, strings.Join(factors(), ", "))
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

// At returns the scenario of one cell of a map, with the i-th value of x and the j-th value of y. It
// drops the expectations, which are about the scenario without a map. A serve flag is set in the arms
// with a mode that takes it. An arm that varies something itself is an error.
//
// s itself does not change: the slices and maps that At writes to are copied first.
func (s Scenario) At(x, y record.Factor, i, j int, modes map[string]mode.Mode) (Scenario, error) {
	if k := slices.IndexFunc(s.Arms, func(a Arm) bool { return len(a.Vary) > 0 }); k >= 0 {
		return s, fmt.Errorf("arm %q varies %s itself; a map has two factors, x and y: name arms without vary", s.Arms[k].Name, strings.Join(slices.Sorted(maps.Keys(s.Arms[k].Vary)), ", "))
	}
	s.Expect, s.Claims = nil, nil
	s.Arms, s.Load.Vary = slices.Clone(s.Arms), nil
	axes := []record.Factor{x, y}
	values := []string{x.Values[i], y.Values[j]}
	if x.Name == shareFactor { // the ratio applies to the sleep, so set the sleep first
		slices.Reverse(axes)
		slices.Reverse(values)
	}
	if names := []string{x.Name, y.Name}; slices.Contains(names, "keepalive") && slices.Contains(names, "connections") {
		return s, errors.New("connections are kept ones, so they mean nothing where keepalive is false; drop one of the two factors")
	}
	for k, axis := range axes {
		// Such a name would state a value that the arm no longer has.
		if i := slices.IndexFunc(s.Arms, func(a Arm) bool { return strings.Contains(a.Name, axis.Name+"=") }); i >= 0 {
			return s, fmt.Errorf("arm %q has %s in its name, and the map varies it; give the arm without", s.Arms[i].Name, axis.Name)
		}
		if err := s.set(axis, values[k], modes); err != nil {
			return s, fmt.Errorf("%s=%s: %w", axis.Name, values[k], err)
		}
	}
	// The cell as a whole must still be a possible scenario.
	if bad := s.check(); bad != nil {
		return s, fmt.Errorf("%s %s", bad.Path, bad.Msg)
	}
	return s, nil
}

// set sets one value of a factor in the scenario.
func (s *Scenario) set(f record.Factor, value string, modes map[string]mode.Mode) error {
	switch f.Name {
	case "cpu", "sleep", shareFactor:
		return s.Workload.set(f.Name, value)
	case "keepalive":
		keep, err := isTrue(value)
		s.Keep(keep)
		return err
	}
	if IsFlag(f.Name) {
		return s.setFlag(f, value, modes)
	}
	for k := range s.Arms {
		s.Arms[k].Clients = maps.Clone(s.Arms[k].Clients)
		// An arm's own value would override the cell's.
		delete(s.Arms[k].Clients, f.Name)
	}
	return setText(reflect.ValueOf(&s.Load).Elem().FieldByIndex(fieldOf(reflect.TypeFor[Load](), f.Name)), value)
}

// Keep sets whether all clients keep their connections, or open one for each request.
// In an open loop without keep-alive there are no kept connections, so their number becomes 0.
func (s *Scenario) Keep(connections bool) {
	s.Load.KeepAlive = connections
	if !connections && s.Load.Loop != "closed" {
		s.Load.Connections = 0
	}
	for k := range s.Arms {
		s.Arms[k].Clients = maps.Clone(s.Arms[k].Clients)
		delete(s.Arms[k].Clients, "keepalive")
	}
}

// setFlag sets a serve flag in the arms with a mode that takes any of the factor's values. Planning
// finds out whether the mode takes this value.
func (s *Scenario) setFlag(f record.Factor, value string, modes map[string]mode.Mode) error {
	// This reason holds if none of the arms has a mode that modes knows.
	refused := errors.New("they are no modes of this program")
	taken := false
	for k := range s.Arms {
		a := &s.Arms[k]
		if _, known := modes[a.Mode]; !known {
			continue
		}
		// One value that the mode takes is enough. Planning reports the others: silence would leave the arm at
		// its default.
		if slices.ContainsFunc(f.Values, func(v string) bool {
			err := a.takes(f.Name, v, modes)
			if err != nil {
				refused = err
			}
			return err == nil
		}) {
			taken = true
			a.Flags = maps.Clone(a.Flags)
			a.set(f.Name, value)
		}
	}
	if !taken {
		return fmt.Errorf("no arm takes it: %w", refused)
	}
	return nil
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
