package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A side is the slower arm as rules see it: what it was asked to be, and what its mode is.
type side struct {
	*arm
	asked  scenario.Arm
	mode   mode.Mode
	modes  map[string]mode.Mode
	sleeps bool // its handlers wait
	usesKV bool // its requests ask for keys behind locks
}

// sideOf puts together what is known of an arm.
func sideOf(a *arm, s scenario.Scenario, modes map[string]mode.Mode) (*side, error) {
	asked, err := askedFor(a.plan, s)
	if err != nil {
		return nil, err
	}
	t := &side{arm: a, asked: asked, mode: modes[asked.Mode], modes: modes, usesKV: strings.HasPrefix(s.Workload.Path, "/kv/")}
	for _, r := range s.Workload.Requests {
		t.usesKV = t.usesKV || strings.Contains(r, " /kv/")
	}
	for _, p := range a.Phases {
		t.sleeps = t.sleeps || p.Name == record.PhaseSleep && p.Mean > 0
	}
	return t, nil
}

// askedFor is an arm as the scenario or the command line asked for it: of the scenario's by
// its name, else as its name says, which of the command line's modes is all of it, else the
// command of another program.
func askedFor(p record.PlanArm, s scenario.Scenario) (scenario.Arm, error) {
	name := strings.TrimSuffix(p.Name, "'")
	for _, a := range s.Contestants() {
		if a.Name == name {
			a.Vary, a.Levels, a.Family = nil, nil, ""
			return a, nil
		}
	}
	text := name
	if p.Mode == "" && p.URL == "" {
		return scenario.CommandArm(name, p.Command), nil
	}
	if p.URL != "" {
		text = name + "=" + p.URL
	}
	a, err := scenario.ParseArm(text)
	if err != nil {
		return a, fmt.Errorf("what arm %q was cannot be told from its record: %w", p.Name, err)
	}
	return a, nil
}

func (s *side) workers() int {
	if s.plan.Station == nil {
		return 0
	}
	return s.plan.Station.Workers
}

// depth is that of its queue; 0 without one.
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

// copied is the arm as it was asked for.
func (s *side) copied() scenario.Arm {
	a := s.asked
	a.Name = s.plain()
	a.Flags, a.Env = maps.Clone(a.Flags), maps.Clone(a.Env)
	if a.Flags == nil {
		a.Flags = map[string]string{}
	}
	if a.Env == nil {
		a.Env = map[string]string{}
	}
	return a
}

// reversed reports whether it is a loop that was asked to serve the newest first.
func (s *side) reversed() bool { return s.asked.Flags["batch"] == "newest-first" }

func (s *side) plain() string { return strings.TrimSuffix(s.Name, "'") }

// named gives a changed arm its name: its mode and settings, or of another program the change.
func named(a scenario.Arm, change string) scenario.Arm {
	if a.Name += "," + change; a.Mode != "" {
		a.Name = a.Title()
	}
	return a
}

// with is the arm with another value of a serve flag; false where it cannot have that.
func (s *side) with(flag, value string) (scenario.Arm, bool) {
	if s.asked.Mode == "" {
		return s.asked, false
	}
	a := s.copied()
	a.Flags[flag] = value
	return named(a, flag+"="+value), s.mode.Check == nil || s.mode.Check(a.Flags) == nil
}

// withEnv is the arm with a variable of its environment; false for a server that runs already.
func (s *side) withEnv(name, value string) (scenario.Arm, bool) {
	a := s.copied()
	a.Env[name] = value
	return named(a, name+"="+value), a.URL == ""
}

// as is the arm as the mode that is like its own but for a trait, with the flags of its own
// that mean something there, and more.
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
