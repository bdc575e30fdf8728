package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/timeline"
)

// A side is the slower arm as rules see it: the arm, the scenario's settings for it, and its mode.
// For another program than schedlab's server, mode is the zero value.
//
// Rules ask a side about its settings, and get changed arms from it: with changes a flag, withEnv a
// variable, as the mode. Each returns a new scenario arm and leaves the side alone.
type side struct {
	*arm
	asked  scenario.Arm
	mode   mode.Mode
	modes  map[string]mode.Mode
	sleeps bool // its handlers wait (the sleep of the workload)
	usesKV bool // its requests read keys behind locks, below /kv/
}

// sideOf gathers the settings and the mode of an arm. It returns an error if the record does not
// tell how the arm was started.
func sideOf(a *arm, s scenario.Scenario, modes map[string]mode.Mode) (*side, error) {
	asked, err := askedFor(a.plan, s)
	if err == nil {
		asked, err = asked.Renamed()
	}
	if err != nil {
		return nil, err
	}
	t := &side{arm: a, asked: asked, mode: modes[asked.Mode].With(asked.Flags), modes: modes, usesKV: strings.HasPrefix(s.Workload.Path, "/kv/")}
	for _, r := range s.Workload.Requests {
		t.usesKV = t.usesKV || strings.Contains(r, " /kv/")
	}
	// The phases know the sleep of the requests, however the scenario asks for it.
	for _, p := range a.Phases {
		t.sleeps = t.sleeps || p.Name == timeline.PhaseSleep && p.Mean > 0
	}
	return t, nil
}

// askedFor returns the settings of an arm before it was planned. It looks for the arm's name in the
// scenario. An arm from the command line is its own description: a mode with flags, a URL, or the
// command of another program. A copy has the settings of its baseline. In a cell of a grid an arm has
// the cell's flags, if its command says so.
func askedFor(p record.PlanArm, s scenario.Scenario) (scenario.Arm, error) {
	a, err := describedAs(p, s)
	for _, l := range s.Cell {
		given := func(word string) bool { return strings.HasPrefix(word+"=", "--"+l.Factor+"=") }
		if a.Mode != "" && scenario.IsFlag(l.Factor) && slices.ContainsFunc(p.Command, given) {
			a.Flags = maps.Collect(maps.All(a.Flags))
			a.Flags[l.Factor] = l.Value
		}
	}
	return a, err
}

// describedAs returns the settings of an arm as the scenario or the command line has them.
func describedAs(p record.PlanArm, s scenario.Scenario) (scenario.Arm, error) {
	name := cmp.Or(p.CopyOf, p.Name)
	for _, a := range s.Contestants() {
		if a.Name == name {
			a.Vary, a.Levels, a.Family = nil, nil, ""
			return a, nil
		}
	}
	text := name
	switch {
	case p.URL != "":
		text += "=" + p.URL
	case p.Mode == "":
		return scenario.CommandArm(name, p.Command), nil
	}
	a, err := scenario.ParseArm(text)
	if err != nil {
		return a, fmt.Errorf("what arm %q was cannot be told from its record: %w", p.Name, err)
	}
	a.Name = name
	return a, nil
}

// workers returns the number of the arm's workers; 0 if it has none. It is from the station that
// the plan took the arm for.
func (s *side) workers() int {
	if s.plan.Station == nil {
		return 0
	}
	return s.plan.Station.Workers
}

// depth returns the length of the arm's queue, in requests; 0 if it has none.
func (s *side) depth() int {
	if s.mode.Depth == nil {
		return 0
	}
	if v := s.asked.Flags["queue-depth"]; v != "" {
		n, _ := strconv.Atoi(v) // the plan has checked it
		return n
	}
	return s.mode.Depth(s.workers())
}

// copied returns the arm's settings with maps that may be changed. The maps of
// the scenario are shared by all arms made from it, so they must not be.
func (s *side) copied() scenario.Arm {
	a := s.asked
	a.Flags, a.Env = maps.Collect(maps.All(a.Flags)), maps.Collect(maps.All(a.Env))
	return a
}

// reversed reports whether the arm's event loop was asked to serve the newest request first.
func (s *side) reversed() bool { return s.asked.Flags["batch"] == "newest-first" }

// named gives a changed arm its name: mode and settings, or for another program its name and the
// change. For schedlab's modes the name is what `compare --arm` takes, so that a reader can run the
// arm.
func named(a scenario.Arm, change string) scenario.Arm {
	if a.Name += "," + change; a.Mode != "" {
		a.Name = a.Title()
	}
	return a
}

// with returns the arm with another value of a serve flag. It returns false if the mode does not
// allow the value, and for another program.
func (s *side) with(flag, value string) (scenario.Arm, bool) {
	if s.asked.Mode == "" {
		return s.asked, false
	}
	a := s.copied()
	a.Flags[flag] = value
	return named(a, flag+"="+value), s.mode.Check == nil || s.mode.Check(a.Flags) == nil
}

// withEnv returns the arm with an environment variable set. It returns false for a server that
// runs already.
func (s *side) withEnv(name, value string) (scenario.Arm, bool) {
	a := s.copied()
	a.Env[name] = value
	return named(a, name+"="+value), a.URL == ""
}

// as returns the arm in the mode that is like its own but without the trait. It keeps the flags
// that the other mode has too, and adds flags. It returns false if there is no such mode or it
// does not allow the flags.
func (s *side) as(trait string, flags map[string]string) (scenario.Arm, bool) {
	to := s.mode.Without[trait]
	if to == "" {
		return s.asked, false
	}
	mode := s.modes[to]
	a := s.copied()
	a.Mode = to
	maps.DeleteFunc(a.Flags, func(flag, _ string) bool { return slices.Contains(s.mode.Flags, flag) && !mode.Has(flag) })
	maps.Copy(a.Flags, flags)
	return named(a, ""), mode.Check == nil || mode.Check(a.Flags) == nil
}
