package explain

import (
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// What the extra blocks are.
const (
	testBlocks = 10
	testWindow = 600 * time.Millisecond
	testWarmup = 200 * time.Millisecond
)

// Limits of a confirmation.
const (
	mostLeft  = .5  // of what the slower arm takes longer in the part, when the knob is turned
	mostMoved = .25 // of what the knob took away, that the control may
)

// A Test is the comparison that would confirm an explanation's causes: the slower arm, the
// same with each cause taken away, and the same with something changed that must not matter.
type Test struct {
	Scenario scenario.Scenario
	// What the run was measured with.
	Rate                 float64 // per second, 0 for the scenario's own
	ServerCPUs, LoadCPUs string
	Pin, Engine          string
}

// Test plans it; false where no cause has a knob.
func (c *Case) Test(x *record.Explanation, modes map[string]scenario.Mode) (Test, bool, error) {
	if x.Slower == "" {
		return Test{}, false, nil
	}
	s, err := sideOf(c.arms[x.Slower], c.scenario, modes, c.run.Env)
	if err != nil {
		return Test{}, false, err
	}
	arms := []scenario.Arm{s.copied()}
	add := func(a scenario.Arm) {
		if !slices.ContainsFunc(arms, func(b scenario.Arm) bool { return b.Name == a.Name }) {
			arms = append(arms, a)
		}
	}
	for _, cause := range x.Causes {
		if cause.State != record.Untested {
			continue
		}
		r := ruleOf(cause.Code)
		knob, _ := r.knob(s)
		control, _ := r.control(s)
		add(knob)
		add(control)
	}
	if len(arms) == 1 {
		return Test{}, false, nil
	}
	t := c.scenario
	t.Name = "why-" + t.Name[:min(len(t.Name), 36)]
	t.Question = "Does " + x.Slower + " stop being slow when the suspected cause is taken away?"
	t.Arms, t.Expect, t.Predict, t.Load.Vary = arms, nil, nil, nil
	t.Protocol = scenario.Protocol{Kind: "quick", Blocks: testBlocks, Window: scenario.Duration(testWindow), Warmup: scenario.Duration(testWarmup)}
	if w := time.Duration(c.run.Plan.Window * float64(time.Second)); w > testWindow && w <= 4*testWindow {
		t.Protocol.Window = scenario.Duration(w)
	}
	test := Test{Scenario: t, Rate: c.run.Plan.Rate, ServerCPUs: c.run.Env.ServerCPUs, LoadCPUs: c.run.Env.LoadCPUs, Pin: "auto", Engine: c.arms[x.Slower].plan.Clients.Engine}
	if test.ServerCPUs == "" {
		test.Pin, test.LoadCPUs = "none", ""
	}
	return test, true, nil
}

func ruleOf(code record.Code) rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.code == code })]
}

// Confirm adds to an explanation what the extra blocks say of its causes: of c's slower arm,
// with the knob turned and with the control changed, in the record of the test.
func (c *Case) Confirm(x *record.Explanation, test *Case) *record.Explanation {
	done := *x
	done.Causes = slices.Clone(x.Causes)
	done.Tests = &record.TestRun{Dir: test.Result.Dir, Blocks: test.Result.Valid}
	fast := x.From
	if x.Slower == x.From {
		fast = x.To
	}
	base := test.Result.Arms[0].Name
	for i := range done.Causes {
		cause := &done.Causes[i]
		if cause.State != record.Untested || test.arms[cause.Knob] == nil || test.arms[cause.Control] == nil {
			continue
		}
		figure := ruleOf(cause.Code).figure(cause.Tail)
		excess := c.step(fast, x.Slower, figure)
		moved, still := test.step(base, cause.Knob, figure), test.step(base, cause.Control, figure)
		cause.Moved, cause.Still, cause.State = &moved, &still, record.NotConfirmed
		// What it takes longer in the part now: the test has another hour than the run.
		longer := min(excess.By, moved.From-excess.From)
		fell := -moved.By
		if moved.High < 0 && longer > 0 && fell >= (1-mostLeft)*longer && max(-still.By, still.By) <= mostMoved*fell {
			cause.State = record.Confirmed
		}
	}
	slices.SortStableFunc(done.Causes, func(a, b record.Suspect) int { return order(a.State) - order(b.State) })
	conclude(&done)
	return &done
}

// order puts what is known first.
func order(s record.SuspectState) int {
	return slices.Index([]record.SuspectState{record.Confirmed, record.ShownBy, record.Untested, record.Untestable, record.NotConfirmed}, s)
}
