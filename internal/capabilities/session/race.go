package session

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/capabilities/race"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/queueing"
)

// EveryMode in place of a list of arms asks for the scenario's arms and every mode that fits the workload. They race.
const EveryMode = "all"

// askRace returns the question of a race of every mode.
func (r Compare) askRace(c *conduct) (asked []question, err error) {
	if len(c.Arms) > 1 {
		return nil, usageOf("arms", "--arms %q: %s stands for every mode; give it alone, and add other arms with --arm", strings.Join(c.Arms, ","), EveryMode)
	}
	c.every = true
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"grid", len(r.Grid) > 0}, {"expect", len(r.Expect) > 0}, {"slo", r.Keep != ""}, {"strict", r.Strict}, {"explain", r.Explain},
		{"profiles", r.Profiles}, {"resume", r.Resume != ""},
	} {
		if f.given {
			return nil, usageOf(f.flag, "--%s is about arms that run to the end, and with --arms %s an arm that cannot be the best is left out; name the arms, or leave --%[1]s out", f.flag, EveryMode)
		}
	}
	if asked, err = c.questions(); err != nil {
		return nil, err
	}
	if len(asked) > 1 {
		return nil, usageOf("arms", "--arms %s races the modes on one scenario, and these are %d; name one", EveryMode, len(asked))
	}
	if c.o.Race = (race.Question{}); c.o.Budget == 0 {
		c.o.Budget = race.Budget
	}
	return asked, nil
}

// race runs a comparison of every mode as a race. The code is NoAnswer if nothing is decided: no arm is out, and those that raced are not
// told apart.
func (c *conduct) race(ctx context.Context, asked []question) (none Answer, err error) {
	machine, all, err := c.planAll(ctx, asked)
	if err == nil {
		err = c.stayLocal(ctx, asked[0].Arms)
	}
	if err != nil {
		return none, err
	}
	if c.DryRun {
		c.show.Machine(machine.Line)
		return Answer{Plans: c.fitting(all)}, nil
	}
	waited, err := beforeStart(ctx, c.o, c.WaitIdle, c.show)
	if err == nil && waited {
		machine, all, err = c.planAll(ctx, asked)
	}
	if err != nil {
		return none, err
	}
	c.show.Machine(machine.Line)
	result, err := c.carryOut(ctx, all[0].Planned)
	if of, is := result.(*race.Race); err == nil && is && !of.Decided() {
		err = Exit(NoAnswer)
	}
	return Answer{Result: result}, err
}

// withEveryMode adds an arm to a scenario for each mode that none of its arms has. An arm with workers gets as many as the scenario's arms
// have, or else enough for the load.
func (c *conduct) withEveryMode(s *scenario.Scenario) {
	s.Expect, s.Claims = nil, nil // a race judges none
	had, workers := map[string]bool{}, ""
	for _, a := range s.Arms {
		if now, _, err := mode.Renamed(a.Mode, a.Flags); err == nil {
			had[now] = true
		}
		if n := a.Flags["workers"]; workers == "" {
			workers = n
		}
	}
	rate, held := s.Load.Rate.PerSecond, (s.Workload.MeanCPU() + s.Workload.MeanSleep()).Seconds()
	if c.Rate != (scenario.Rate{}) {
		rate = c.Rate.PerSecond
	}
	if enough := enoughWorkers(rate, held); s.Workload.MeanSleep() > 0 && enough > 0 {
		if n, _ := strconv.Atoi(workers); n < queueing.Workers(rate, held) {
			workers = strconv.Itoa(enough)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Modes)) {
		if had[name] {
			continue
		}
		a := scenario.Arm{Name: name, Mode: name}
		if c.Modes[name].Has("workers") && workers != "" {
			a.Flags = map[string]string{"workers": workers}
		}
		s.Arms = append(s.Arms, a)
	}
}

// enoughWorkers returns how many workers seldom are all busy at this rate per second, if each request holds one for held seconds: those that
// are busy on average, and twice the square root of that. It is 0 where the load does not tell.
func enoughWorkers(rate, held float64) int {
	busy := queueing.Little(rate, held)
	if !(busy > 0) {
		return 0
	}
	return int(math.Ceil(busy + 2*math.Sqrt(busy)))
}
