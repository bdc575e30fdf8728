package explain

import (
	"fmt"
	"math"
	"slices"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// The times of the extra blocks.
const (
	// Short windows, because many arms share the budget: two for each cause, and the two explained.
	// A window is never shorter than leastWindow, even if the budget then has room for fewer
	// blocks.
	fewBlocks   = 10 // or more, see blocksFor
	testWindow  = 600 * time.Millisecond
	testWarmup  = 200 * time.Millisecond
	leastWindow = 250 * time.Millisecond
	testSpare   = 50 * time.Millisecond // time of a trial apart from its window and warm-up
	testsSpare  = 4 * time.Second       // time of the run apart from its trials
)

// Limits of a confirmation.
const (
	// These are wide, so that chance confirms nothing: at least half of the extra time must go, and
	// the control may take at most a quarter as much.
	mostLeft  = .5  // ratio: how much of the slower arm's extra time may remain when the knob is turned
	mostMoved = .25 // ratio: how much of the time that the knob took away the control may take away too
)

// A Test is the comparison that would confirm an explanation's causes. Its arms are the two
// explained arms and, for each cause, the slower arm without the cause (the knob) and the slower
// arm with a change that must not matter (the control). The slower arm comes first, so it is the
// baseline and has a copy.
//
// The control is there because any change of settings may change times: a cause is confirmed only
// if its knob helps and another change does not. Case.Test plans the arms, the caller runs them,
// and Case.Confirm judges the record. Case.Profiled plans the run that captures profiles, with the
// same settings.
//
// Scenario has the arms and their times. The other fields are options of the planner
// (runner.Options) and keep the load as it was: CPUs are the servers' and the load's, like
// 0-1/2-3 or none, and Engine is the name of a load engine, "" for the default.
type Test struct {
	Scenario scenario.Scenario
	// The settings of the run that is explained.
	Rate         float64 // per second, 0 for the scenario's own
	CPUs, Engine string
	Warmup       time.Duration // of a run that kept its servers busy before they were measured, else 0 for the scenario's
}

// Test plans the test, with windows short enough for the budget. It returns false if no untested
// cause has a knob, or if no arm is slower. An error means that the record does not tell how an arm
// was started.
func (c *Case) Test(x *Explanation, modes map[string]mode.Mode, budget time.Duration) (Test, bool, error) {
	if x.Slower == "" {
		return Test{}, false, nil
	}
	s, err := sideOf(c.arms[x.Slower], c.scenario, modes)
	if err != nil {
		return Test{}, false, err
	}
	f, err := askedFor(c.arms[x.faster()].plan, c.scenario)
	if err != nil {
		return Test{}, false, err
	}
	arms := []scenario.Arm{s.copied(), f}
	// Causes may share a knob or a control: each arm runs once.
	add := func(a scenario.Arm) {
		if !slices.ContainsFunc(arms, func(b scenario.Arm) bool { return b.Name == a.Name }) {
			arms = append(arms, a)
		}
	}
	for _, cause := range x.Causes {
		if cause.Outcome != outcome.Open {
			continue
		}
		r := ruleOf(cause.Code)
		knob, _ := r.knob(s)
		control, _ := r.controlOf(s)
		add(knob)
		add(control)
	}
	if len(arms) == 2 {
		return Test{}, false, nil
	}
	t := c.asMeasured("why-", arms, x.Slower)
	t.Scenario.Question = "Does " + x.Slower + " stop being slow when the suspected cause is taken away?"
	w := testWindow
	// A run with longer windows needed them for its rate, so keep them, unless they are more than
	// four times testWindow.
	if own := c.run.Plan.Window.Duration; own > testWindow && own <= 4*testWindow {
		w = own
	}
	blocks := blocksFor(len(arms) - 1)
	trials := time.Duration(blocks * (len(arms) + 1)) // the slower arm is the baseline, which has a copy
	// Programs that compile while they run were kept busy before they were measured, and are again.
	warmup := testWarmup
	if c.run.Plan.Heating.Duration > 0 {
		t.Warmup = testWarmup + c.run.Plan.Heating.Duration
		warmup = t.Warmup
	}
	w = max(min(w, (budget-testsSpare)/trials-warmup-testSpare), leastWindow)
	t.Scenario.Protocol = scenario.Protocol{Blocks: blocks, Window: scenario.Duration(w), Warmup: scenario.Duration(warmup)}
	return t, true, nil
}

// blocksFor returns how many blocks a test needs before the exact test can decide anything: its
// challengers' comparisons share one probability of error. It is fewBlocks or more.
func blocksFor(challengers int) int {
	return max(fewBlocks, stats.FirstLook(stats.Primaries()*challengers, 1))
}

// asMeasured returns a test of arms, with the workload, rate, CPUs and engine of the explained run. The
// engine is the one that loaded the arm called like. The scenario's own questions are left out: a test
// has another one. A run without CPUs in its record was not pinned, and its test is not either.
func (c *Case) asMeasured(prefix string, arms []scenario.Arm, like string) Test {
	s := c.scenario
	s.Name = prefix + s.Name[:min(len(s.Name), 36)]
	s.Arms, s.Expect, s.Claims, s.Predict, s.Load.Vary, s.Cell = arms, nil, nil, nil, nil, nil
	t := Test{Scenario: s, Rate: c.run.Plan.Rate, CPUs: c.run.Env.ServerCPUs + "/" + c.run.Env.LoadCPUs, Engine: c.arms[like].plan.Clients.Engine}
	if c.run.Env.ServerCPUs == "" {
		t.CPUs = "none"
	}
	return t
}

// Seed returns the seed of the run. With it, a profiled arm gets the requests of the run.
func (c *Case) Seed() uint64 { return c.run.Plan.Seed }

// Profiled returns the comparison to profile: both arms of the explanation, as the run measured
// them, From first. It returns an error for an arm and its own copy, which are one program.
func (c *Case) Profiled(x *Explanation) (Test, error) {
	var arms []scenario.Arm
	for _, name := range []string{x.From, x.To} {
		a, err := askedFor(c.arms[name].plan, c.scenario)
		if err != nil {
			return Test{}, err
		}
		arms = append(arms, a)
	}
	if arms[0].Name == arms[1].Name {
		return Test{}, fmt.Errorf("%s and %s are one program, whose profiles do not differ: name another arm", x.From, x.To)
	}
	return c.asMeasured("profiles-", arms, x.To), nil
}

// ruleOf returns the rule of a cause. The code must have one.
func ruleOf(code fact.Code) rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.cause.Code == code })]
}

// Confirm returns x with the results of the test: each untested cause becomes confirmed or not
// confirmed. x itself stays as it is. test is the test's record, read by Read. In each block of the
// test the slower arm runs twice, as baseline and copy, and counts with the mean of both. The other
// causes keep their outcome, and so does a cause without arms in the test.
func (c *Case) Confirm(x *Explanation, test *Case) *Explanation {
	done := *x
	done.Causes = slices.Clone(x.Causes)
	done.Tests = &TestRun{Dir: test.Result.Dir, Blocks: test.Result.Valid}
	for i := range done.Causes {
		cause := &done.Causes[i]
		if cause.Outcome != outcome.Open || test.arms[cause.Knob] == nil || test.arms[cause.Control] == nil {
			continue
		}
		figure := ruleOf(cause.Code).figure(cause.Tail)
		// The arms of the test in the order of Case.Test: the slower arm, its copy, the faster arm.
		base := test.series(figure, test.Result.Arms[0].Name, test.Result.Arms[1].Name)
		fast := test.series(figure, test.Result.Arms[2].Name)
		knob, control := test.series(figure, cause.Knob), test.series(figure, cause.Control)
		moved, still := judge.Paired(base, knob), judge.Paired(base, control)
		cause.Moved, cause.Still, cause.Outcome = &moved, &still, outcome.No
		if cause.Why = unshown(judge.Paired(fast, base), moved, still, judge.Paired(control, knob)); cause.Why.None() {
			cause.Outcome = outcome.Yes
		}
		cause.Answer = outcome.Cause.Phrase(cause.Outcome)
	}
	// The tests may have been disturbed more than the run, or less.
	disturber, of := doubt.Busy(test.Result.Doubts)
	if before, _ := fact.In(doubt.MachineBusy, x.Busy); of.Share < before.Share {
		disturber = x.Busy
	}
	for i := range done.Causes {
		if why := &done.Causes[i].Why; !disturber.None() && !why.None() {
			*why = why.And(disturbed{Busy: true})
		}
	}
	slices.SortStableFunc(done.Causes, func(a, b Suspect) int { return order(a) - order(b) })
	conclude(&done)
	done.Busy = busy(&done, []fact.Fact{disturber})
	return &done
}

// unshown returns why the test does not show that the knob removes a cause; none if it does. longer
// is the extra time of the slower arm, moved the change by the knob, still the change by the
// control, and apart the difference between knob and control; all are seconds, or a ratio of lost
// requests. The knob must surely shorten the time, by enough, also compared with the control, and
// the control alone must not shorten it.
func unshown(longer, moved, still, apart stats.Step) fact.Fact {
	fell := -moved.By
	switch {
	case moved.High >= 0:
		return whyKnobUnsure.Of(change{Low: moved.Low, High: moved.High})
	case fell < (1-mostLeft)*longer.By:
		return whyKnobLittle.Of(fall{Fell: fell, Longer: longer.By})
	case still.Sure() && math.Abs(still.By) > mostMoved*fell:
		return whyControlMoves.Of(moves{change{Low: still.Low, High: still.High}, still.By})
	case apart.High >= 0:
		return whyNotApart.Of(change{Low: apart.Low, High: apart.High})
	}
	return fact.Fact{}
}

// series returns a figure per valid block, averaged over the named arms. Series of one Case pair up
// by block.
func (c *Case) series(figure func(*arm, int) float64, names ...string) (all []float64) {
	for i := range c.Result.Valid {
		sum := 0.0
		for _, name := range names {
			sum += figure(c.arms[name], i)
		}
		all = append(all, sum/float64(len(names)))
	}
	return all
}

// order returns the rank of a cause: the surest come first, a confirmed one before one that was measured directly.
func order(c Suspect) int {
	return 2*slices.Index([]outcome.Outcome{outcome.Yes, outcome.Open, outcome.Refused, outcome.No}, c.Outcome) + stats.Count(c.Shown)
}
