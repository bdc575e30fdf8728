package judge

import (
	"slices"
	"testing"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// taken is a judge that has a run's trials, and looks after 12 blocks unless the plan says otherwise.
func taken(t *testing.T, s synthetic) *Judge {
	t.Helper()
	return toward(t, Winner{}, s)
}

// toward is taken by a Judge with an aim.
func toward(t *testing.T, aim Aim, s synthetic) *Judge {
	t.Helper()
	run := s.run()
	if run.Plan.Looks == nil {
		run.Plan.Looks = []int{fakeBlocks}
	}
	j, err := New(run.Name, "", run, aim)
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		j.Take(trial, nil)
	}
	return j
}

// noisy makes pool slower by half in every other block, so that its times stay open.
func noisy(block int, arm string, u float64) float64 {
	if arm == "pool" && block%2 == 0 {
		return 1.5 * usual(u)
	}
	return usual(u)
}

// slowly makes pool serve 0.6 of what arrives, so that its backlog grows.
var slowly = at("pool", func(_ *record.Trial, requests []request.Request) []request.Request {
	for i := range requests {
		requests[i].Done = max(requests[i].Done, requests[i].Scheduled*10/6)
	}
	return requests
})

// A run may end at a look when more blocks can change nothing: every primary verdict is
// decided or refused for good, an overloaded arm's goodput too, and every expectation.
func TestLook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  synthetic
		ends bool
		open int // primary verdicts
	}{
		{"all alike", synthetic{}, true, 0},
		{"a difference", synthetic{times: scaled(map[string]float64{"pool": 1.5})}, true, 0},
		{"no look after so many blocks", synthetic{plan: func(p *record.Plan) { p.Looks = []int{10} }}, false, 0},
		{"pool is open", synthetic{times: noisy}, false, stats.Primaries()},
		{"pool is overloaded", synthetic{edit: slowly}, true, 0},
		{"an expectation is open", synthetic{plan: func(p *record.Plan) { p.Expect = []string{`explained("queue") >= 0.8`} }}, false, 0},
		{"an expectation failed", synthetic{plan: func(p *record.Plan) { p.Expect = []string{`p50("nethttp") > 5ms`} }}, true, 0},
	} {
		j := taken(t, c.run)
		if _, got := j.Look(0); got != c.ends {
			t.Errorf("%s: the run may end: got %v, want %v", c.name, got, c.ends)
		}
		open := j.Open()
		if len(open) != c.open || slices.ContainsFunc(open, func(v record.Verdict) bool { return v.Needed <= fakeBlocks }) {
			t.Errorf("%s: open are %+v, want %d that need more blocks", c.name, open, c.open)
		}
	}
}

// A run that asks for standings does not wait for p50 of an arm that is slower at p90 and p99, and
// surely not faster at p50. It waits if the arm may be faster there, and if it is slower nowhere.
func TestLookForStandings(t *testing.T) {
	t.Parallel()
	slowTail := func(low float64) synthetic { // p90 and p99 of pool are doubled, p50 varies from low to 1.12
		return synthetic{times: func(block int, arm string, u float64) float64 {
			switch {
			case arm != "pool":
				return usual(u)
			case u > .8:
				return 2 * usual(u)
			case block%2 == 0:
				return low * usual(u)
			}
			return 1.12 * usual(u)
		}}
	}
	for _, c := range []struct {
		name string
		run  synthetic
		ends bool
	}{
		{"surely not faster", slowTail(1), true},
		{"perhaps faster", slowTail(.7), false},
		{"slower nowhere", synthetic{times: noisy}, false},
	} {
		if _, ends := taken(t, c.run).Look(0); ends {
			t.Errorf("%s: the run that asks for all verdicts ends with p50 open", c.name)
		}
		if _, ends := toward(t, Winner{Standings: true}, c.run).Look(0); ends != c.ends {
			t.Errorf("%s: the run may end: got %v, want %v", c.name, ends, c.ends)
		}
	}
}

// A gate ends when its expectations are decided, whatever verdicts are open.
func TestLookForExpectations(t *testing.T) {
	t.Parallel()
	slower := func(metric string) synthetic {
		return synthetic{
			times: func(block int, arm string, u float64) float64 {
				if arm == "fasthttp" {
					return 1.5 * usual(u)
				}
				return noisy(block, arm, u)
			},
			plan: func(p *record.Plan) { p.Expect = []string{`not slower("` + metric + `", "fasthttp")`} },
		}
	}
	gate := Expectations{}
	if r, ends := toward(t, gate, slower("p50")).Look(0); !ends || r.Expectations[0].Outcome != outcome.No {
		t.Errorf("the expectation failed: ends %v, %+v", ends, r.Expectations)
	}
	if _, ends := taken(t, slower("p50")).Look(0); ends {
		t.Error("pool is open: the run ends without having been asked for the expectation alone")
	}
	open := slower("p50")
	open.plan = func(p *record.Plan) { p.Expect = []string{`not slower("p50", "pool")`} }
	if _, ends := toward(t, gate, open).Look(0); ends {
		t.Error("the run ends with its expectation open")
	}
}

// A run does not wait for verdicts that the blocks it has time for cannot decide.
func TestLookKnowsItsRoom(t *testing.T) {
	t.Parallel()
	slowerIn := func(blocks int) synthetic { // of twelve; in the others pool is faster
		return synthetic{times: func(block int, arm string, u float64) float64 {
			switch {
			case arm != "pool" || u < .6: // p50 is the same
				return usual(u)
			case block > 12-blocks:
				return 1.5 * usual(u)
			}
			return .7 * usual(u)
		}}
	}
	for _, c := range []struct {
		blocks, room int
		ends         bool
	}{
		{6, 0, false}, {6, 14, true}, {6, 40, true}, // half of them: nothing decides it
		{10, 14, true}, {10, 20, false}, {10, 40, false}, // one in twelve may be all that is left of two
		{12, 14, true}, // decided
	} {
		if _, ends := taken(t, slowerIn(c.blocks)).Look(c.room); ends != c.ends {
			t.Errorf("slower in %d of 12 blocks, room for %d: ends %v, want %v", c.blocks, c.room, ends, c.ends)
		}
	}
	if _, ends := toward(t, Winner{WholeBudget: true}, slowerIn(6)).Look(14); ends {
		t.Error("the whole budget is to be used: the run ends with an open verdict")
	}
	if _, ends := taken(t, synthetic{times: noisy}).Look(14); ends {
		t.Error("nothing is known of the pool: the run ends")
	}
}

// If only the goodput of an overloaded arm is open, a run uses its whole budget, though the blocks that
// would decide may not fit, and names that verdict as open.
func TestLookAtOpenGoodputOfAnOverloadedArm(t *testing.T) {
	t.Parallel()
	j := taken(t, synthetic{edit: func(trial *record.Trial, requests []request.Request) []request.Request {
		if trial.Block%3 == 0 {
			return requests
		}
		return slowly(trial, requests)
	}})
	if _, ends := j.Look(fakeBlocks + 1); ends {
		t.Error("the run ends before its budget")
	}
	open := j.Open()
	if len(open) != 1 || open[0].Arm != "pool" || open[0].Metric != stats.Goodput {
		t.Errorf("open are %+v, want the goodput of pool", open)
	}
}

// An arm that did not keep up in any block is told before the first look, from the second block on, and ends nothing; one that
// keeps up is not. It is in the result for programs, too.
func TestWhoDoesNotKeepUpIsToldBeforeALook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		blocks int
		told   bool
	}{{1, false}, {2, true}, {3, true}} {
		r, ends := taken(t, synthetic{blocks: c.blocks, edit: slowly}).Look(0)
		if (r != nil) != c.told || ends {
			t.Errorf("%d blocks: got %v, ends %v; want told %v", c.blocks, r, ends, c.told)
		}
		if kept, _ := taken(t, synthetic{blocks: c.blocks}).Look(0); kept != nil {
			t.Errorf("%d blocks of arms that keep up: told before a look", c.blocks)
		}
		if r == nil {
			continue
		}
		for _, a := range r.Arms {
			if a.Behind != (a.Name == "pool") {
				t.Errorf("%d blocks: %s is behind: %v", c.blocks, a.Name, a.Behind)
			}
		}
	}
}

// What was told of an arm that does not keep up is taken back once when it keeps up in a later block.
func TestRecoveryIsToldBeforeALook(t *testing.T) {
	t.Parallel()
	s := synthetic{blocks: 4, edit: func(trial *record.Trial, requests []request.Request) []request.Request {
		if trial.Block < 3 {
			return slowly(trial, requests)
		}
		return requests
	}}
	run := s.run()
	run.Plan.Looks = []int{fakeBlocks}
	j, err := New(run.Name, "", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	block := 1
	look := func() {
		switch r, _ := j.Look(0); {
		case r == nil:
			got = append(got, "nothing")
		case slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return a.Behind }):
			got = append(got, "behind")
		default:
			got = append(got, "recovered")
		}
	}
	for trial := range s.trials() {
		if trial.Block > block {
			look()
			block = trial.Block
		}
		j.Take(trial, nil)
	}
	look()
	if want := []string{"nothing", "behind", "recovered", "nothing"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
