package race

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// A field is a made-up race: how long the requests of each arm take, as a multiple of 2 ms with some scatter.
type field struct {
	arms  []string
	times map[string]float64               // factor of the arm's times; 1 for one that is not there
	edit  func(t *record.TrialRecord)      // changes a trial; may be nil
	ends  map[string]record.ArmEnd         // of the run
	lacks func(block int, arm string) bool // trials that are not there; may be nil
}

const fieldRate, fieldBlocks = 1200, 40

func (f field) run() record.Run {
	p := record.Plan{
		Scenario: "demo", Question: "Which is best?", Blocks: fieldBlocks, Budget: record.Lasting(Budget),
		Warmup: record.Lasting(100 * time.Millisecond), Window: record.Lasting(time.Second), Rate: fieldRate,
	}
	Question{}.Record(&p)
	for i, name := range f.arms {
		a := record.PlanArm{Name: name, Mode: name, Role: record.Challenger, Clients: record.Clients{Loop: "open", Rate: fieldRate}}
		if i == 0 {
			a.Role = record.Baseline
		}
		p.Arms = append(p.Arms, a)
	}
	for _, n := range stats.Looks() {
		if n >= stats.FirstLook(Question{}.Needs(nil, len(p.Arms)).Comparisons, 1) {
			p.Looks = append(p.Looks, n)
		}
	}
	for range fieldBlocks {
		p.Order = append(p.Order, rand.New(rand.NewPCG(1, 1)).Perm(len(p.Arms)))
	}
	return record.Run{Name: "run", Status: record.Complete, Plan: p, Env: record.Env{CPUs: 2, ServerCPUs: "0", LoadCPUs: "1"}, Ends: f.ends}
}

// trial is one trial of an arm.
func (f field) trial(number, block int, arm string) record.TrialRecord {
	rng := rand.New(rand.NewPCG(uint64(block), uint64(len(arm))<<8+uint64(arm[0])))
	n, factor := int(fieldRate*1.1), f.times[arm]
	if factor == 0 {
		factor = 1
	}
	factor *= math.Exp(.01 * rng.NormFloat64())
	t := record.TrialRecord{Trial: record.Trial{
		Number: number, Block: block, Arm: arm, Seed: uint64(block), Warmup: record.Lasting(100 * time.Millisecond), Window: record.Lasting(time.Second),
		Server: record.ServerSide{CPU: .3, Foreign: .001, Accepted: float64(n), Done: float64(n)}, Client: record.ClientSide{CPU: .2, Opened: record.Opened{Dialled: uint64(n)}},
	}}
	for i := range n {
		at := int64(float64(i) / fieldRate * 1e9)
		took := factor * (2e6 - 1e5*math.Log1p(-float64((i*7919)%n)/float64(n)))
		t.Requests = append(t.Requests, request.Request{Scheduled: at, Sent: at + 20_000, Done: at + int64(took), Bytes: 3, Status: 200})
	}
	if f.edit != nil {
		f.edit(&t)
	}
	return t
}

// race runs the race as the runner does, and returns its result and the trials.
func (f field) race(t *testing.T) (*Race, []record.TrialRecord) {
	t.Helper()
	run := f.run()
	r, err := newReferee("run", "dir", run)
	if err != nil {
		t.Fatal(err)
	}
	var trials []record.TrialRecord
	racing := f.arms
	for block := 1; block <= fieldBlocks && len(racing) > 1; block++ {
		for _, arm := range racing {
			if f.lacks != nil && f.lacks(block, arm) {
				r.Lost(arm)
				continue
			}
			trials = append(trials, f.trial(len(trials)+1, block, arm))
			r.Take(trials[len(trials)-1], nil)
		}
		_, racing = r.Look(block)
	}
	return r.result(), trials
}

// outs lists the arms that are out, as "arm by other after blocks".
func outs(r *Race) (all []string) {
	for _, a := range r.Arms {
		if a.Out != nil {
			all = append(all, fmt.Sprintf("%s by %s after %d", a.Name, a.Out.By, a.Out.After))
		}
	}
	return all
}

func TestTheBestIsLeftAndTheOthersAreToldWhy(t *testing.T) {
	t.Parallel()
	r, trials := field{arms: []string{"a", "bb", "ccc", "dddd"}, times: map[string]float64{"ccc": 1.3, "dddd": 2}}.race(t)
	if got, want := outs(r), []string{"ccc by bb after 12", "dddd by bb after 12"}; !slices.Equal(got, want) {
		t.Errorf("out are %q, want %q", got, want)
	}
	// The two that are left are the same, which ends the race.
	if slices.Sort(r.Best); !slices.Equal(r.Best, []string{"a", "bb"}) || r.Outcome != outcome.Yes || !strings.Contains(r.Fact.String(), "all the same") {
		t.Errorf("best %q, %s: %s", r.Best, r.Outcome, r.Fact)
	}
	if r.Blocks >= fieldBlocks {
		t.Errorf("the race went on for %d blocks", r.Blocks)
	}
	// An arm that is out takes no more windows.
	for _, trial := range trials {
		if trial.Block > 12 && trial.Arm != "a" && trial.Arm != "bb" {
			t.Errorf("%s has a window in block %d", trial.Arm, trial.Block)
		}
	}
	for _, a := range r.Arms {
		if a.Name != "dddd" {
			continue
		}
		v := a.Out.Verdict
		if v == nil || v.Ratio < 1.9 || v.Ratio > 2.1 || v.Low > v.Ratio || v.High < v.Ratio || v.Arm != "dddd" || v.Baseline != "bb" {
			t.Errorf("verdict %+v", v)
		}
		if why := a.Out.Why.String(); !strings.Contains(why, "after 12 blocks") || !strings.Contains(why, " times that of bb (") {
			t.Errorf("why: %s", why)
		}
	}
}

// The record gives the answer that the race had when it ran, also where the last block was cut off.
func TestTheRecordGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	whole := field{arms: []string{"a", "bb", "ccc"}, times: map[string]float64{"ccc": 1.3}}
	// bb beats ccc, and dies some blocks later.
	dies := field{
		arms: []string{"a", "bb", "ccc", "dddd"}, times: map[string]float64{"a": 1.05, "ccc": 1.3, "dddd": 1.05},
		ends:  map[string]record.ArmEnd{"bb": {Died: true, Why: "out of memory"}},
		lacks: func(block int, arm string) bool { return arm == "bb" && block > 15 },
	}
	live, trials := whole.race(t)
	dead, before := dies.race(t)
	if got := outs(dead); !slices.Equal(got, []string{"bb by  after 15", "ccc by bb after 12"}) {
		t.Errorf("as it ran, out are %q", got)
	}
	for name, c := range map[string]struct {
		field
		live   *Race
		trials []record.TrialRecord
	}{
		"whole":               {whole, live, trials},
		"in a cut block":      {whole, live, append(slices.Clone(trials), whole.trial(len(trials)+1, live.Blocks+1, "a"))},
		"of an arm again":     {whole, live, append(slices.Clone(trials), whole.trial(len(trials)+1, live.Blocks, "a"))},
		"of an arm that died": {dies, dead, before},
	} {
		live, trials, run := c.live, c.trials, c.run()
		dir, err := record.Create(t.TempDir(), run.Plan.Scenario, time.Unix(1_800_000_000, 0), func() uint32 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range trials {
			if err := dir.WriteTrial(trial.Trial, trial.Requests, record.Files{}); err != nil {
				t.Fatal(err)
			}
		}
		again, err := Question{}.Result(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		r := again.(*Race)
		if diff := cmp.Diff(live.Arms, r.Arms, cmpopts.EquateEmpty()); diff != "" || r.Blocks != live.Blocks || !slices.Equal(r.Best, live.Best) || !r.Fact.Equal(live.Fact) {
			t.Errorf("%s: %d blocks, best %q, %s; as it ran: %d blocks, best %q, %s (-, +):\n%s", name, r.Blocks, r.Best, r.Fact, live.Blocks, live.Best, live.Fact, diff)
		}
	}
}

// An arm that is better at the median and worse in the tail than another is not beaten by it, nor does it beat it.
func TestATradeIsNotOut(t *testing.T) {
	t.Parallel()
	r, _ := field{arms: []string{"a", "bb"}, edit: func(t *record.TrialRecord) {
		for i := range t.Requests {
			q := &t.Requests[i]
			switch took := q.Done - q.Scheduled; {
			case t.Arm == "bb" && took > 2.15e6: // the slowest tenth
				q.Done = q.Scheduled + 2*took
			case t.Arm == "bb":
				q.Done = q.Scheduled + took*3/4
			}
		}
	}}.race(t)
	if len(r.Best) != 2 || r.Outcome != outcome.Yes || r.Fact.Code != tradeLeft.Code {
		t.Errorf("best %q, %s: %s", r.Best, r.Outcome, r.Fact)
	}
}

// failing is an edit that makes a tenth of these arms' requests fail.
func failing(arms ...string) func(t *record.TrialRecord) {
	return func(t *record.TrialRecord) {
		for i := range t.Requests {
			if slices.Contains(arms, t.Arm) && i%10 == 0 {
				t.Requests[i].Status = 500
			}
		}
	}
}

// An arm that fails its requests in each window is out before the first look, by its own fault.
func TestAnArmThatFailsIsOutByItsOwnFault(t *testing.T) {
	t.Parallel()
	r, _ := field{arms: []string{"a", "bb", "ccc"}, edit: failing("bb")}.race(t)
	if got := outs(r); !slices.Equal(got, []string{"bb by  after 6"}) || !r.Decided() {
		t.Errorf("out are %q, %s", got, r.Fact)
	}
	if why := r.Arms[1].Out.Why.String(); !strings.Contains(why, "errors: bb failed ") || !strings.Contains(why, "after 6 blocks") {
		t.Errorf("why: %s", why)
	}
}

// Where each arm that is left fails its requests, or has no block, none is called the best.
func TestNoArmIsBestWithoutASoundOne(t *testing.T) {
	t.Parallel()
	ended := map[string]record.ArmEnd{"bb": {Died: true, Why: "out of memory"}}
	gone := func(after int) func(int, string) bool {
		return func(block int, arm string) bool { return arm == "bb" && block > after }
	}
	for name, c := range map[string]struct {
		of   field
		outs []string
		want string
	}{
		"all fail":                {field{edit: failing("a", "bb")}, nil, "no arm is known to be the best of 2; the times of each arm still in the race are no evidence: errors: a failed "},
		"one fails, one dies":     {field{edit: failing("a"), ends: ended, lacks: gone(2)}, []string{"bb by  after 2"}, "no arm is known to be the best of 2; the times of each arm still in the race are no evidence: errors: a failed "},
		"one dies, one is broken": {field{ends: ended, lacks: gone(0), edit: func(t *record.TrialRecord) { t.Server.Accepted = 0 }}, []string{"bb by  after 0"}, "no arm is known to be the best of 2"},
	} {
		c.of.arms = []string{"a", "bb"}
		r, _ := c.of.race(t)
		if got := outs(r); !slices.Equal(got, c.outs) || r.Outcome != outcome.Refused || !strings.HasPrefix(r.Fact.String(), c.want) || r.Decided() {
			t.Errorf("%s: out are %q, %s: %s", name, got, r.Outcome, r.Fact)
		}
		if place := r.place(r.Arms[0]); place != "not known" {
			t.Errorf("%s: the place of a is %q", name, place)
		}
	}
}

// Arms that are not told apart come with the budget that may do it, when the run has ended before its last block.
func TestWhatMayTellTheBestApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status record.Status
		blocks int
		want   string
	}{
		{record.Complete, 20, "a and bb may be the best of 3, not told apart after 20 blocks; --budget 4m0s may tell them apart"},
		{record.Complete, fieldBlocks, "a and bb may be the best of 3, not told apart after 40 blocks"},
		{record.Running, 20, "a and bb may be the best of 3, not told apart after 20 blocks"},
	} {
		r := referee{of: script{}, run: field{arms: []string{"a", "bb", "ccc"}}.run()}
		r.run.Status = c.status
		of := &Race{Best: []string{"a", "bb"}, Arms: make([]Arm, 3), Blocks: c.blocks, Budget: record.Lasting(Budget)}
		if is, got := r.conclude(of, []record.Place{{Outcome: outcome.Open}}); is != outcome.Open || got.String() != c.want {
			t.Errorf("%s after %d blocks: %s, %s, want %s", c.status, c.blocks, is, got, c.want)
		}
	}
}

// An answer about many arms begins with their number, and names them afterwards.
func TestManyBestAreCountedFirst(t *testing.T) {
	t.Parallel()
	r := referee{of: script{}, run: field{arms: []string{"a", "bb", "ccc"}}.run()}
	r.run.Status = record.Running
	of := &Race{Best: strings.Fields("a b c d e f"), Arms: make([]Arm, 7), Blocks: 20}
	for want, left := range map[string]record.Place{
		"any of 6 of 7 arms may be the best, not told apart after 20 blocks: a, b, c, d, e and f":      {Outcome: outcome.Open},
		"6 of 7 are the best, all the same: a, b, c, d, e and f":                                       record.Placed(stats.Same),
		"6 of 7 are the best: a, b, c, d, e and f; what one of them is better at, another is worse at": record.Placed(stats.Trade),
	} {
		if _, got := r.conclude(of, []record.Place{left}); got.String() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A script is what a test says of pairs of arms. It is the evidence of a referee.
type script map[[2]string]record.Place

func (s script) Lone(string) judge.Lone { return judge.Lone{Blocks: 1} }

func (s script) Match(base, arm string, _ []stats.Figure, _ int) judge.Match {
	return judge.Match{Standing: record.Standing{Arm: arm, Baseline: base, Place: s[[2]string{base, arm}]}}
}

// A race is over once the arms that are left are the same or a trade, also when an arm that was open leaves.
func TestARaceIsOverWhenThoseLeftAreEqual(t *testing.T) {
	t.Parallel()
	same, trade, worse, open := record.Placed(stats.Same), record.Placed(stats.Trade), record.Placed(stats.Lower), record.Place{Outcome: outcome.Open}
	for _, c := range []struct {
		name        string
		of          script // of arms a, bb and ccc
		look, ended bool   // is it over after the look, and when ccc has ended since
	}{
		{"ccc is beaten, and was open against bb", script{{"a", "bb"}: same, {"a", "ccc"}: worse, {"bb", "ccc"}: open}, true, true},
		{"ccc is open", script{{"a", "bb"}: trade, {"a", "ccc"}: open, {"bb", "ccc"}: open}, false, true},
		{"ccc is beaten, and the others are open", script{{"a", "bb"}: open, {"a", "ccc"}: worse, {"bb", "ccc"}: worse}, false, false},
		{"each is beaten by another", script{{"a", "bb"}: worse, {"a", "ccc"}: record.Placed(stats.Higher), {"bb", "ccc"}: worse}, false, false},
	} {
		r := referee{of: c.of, run: field{arms: []string{"a", "bb", "ccc"}}.run(), racing: []string{"a", "bb", "ccc"}, out: map[string]Out{}}
		look := r.run.Plan.Looks[0]
		if r.end(look); r.over() != c.look {
			t.Errorf("%s: over after the look is %v", c.name, r.over())
		}
		r.Lost("ccc")
		if r.end(look + 1); r.over() != c.ended {
			t.Errorf("%s: over when ccc has ended is %v", c.name, r.over())
		}
	}
}

// An arm that is left alone is the best only if it was told apart from another: not of those whose servers ended, nor of those that
// one of these beat.
func TestTheLastOneIsNotTheBestOfWhatEnded(t *testing.T) {
	t.Parallel()
	ends := map[string]record.ArmEnd{"bb": {Died: true, Why: "out of memory"}}
	for name, f := range map[string]field{
		"two arms":        {arms: []string{"a", "bb"}, ends: ends, lacks: func(block int, arm string) bool { return arm == "bb" && block > 2 }},
		"bb had beaten c": {arms: []string{"a", "bb", "ccc"}, times: map[string]float64{"a": 1.05, "ccc": 1.3}, ends: ends, lacks: func(block int, arm string) bool { return arm == "bb" && block > 15 }},
	} {
		r, _ := f.race(t)
		if want := "a is left of "; r.Outcome != outcome.Open || !strings.HasPrefix(r.Fact.String(), want) {
			t.Errorf("%s: out are %q, %s: %s; want open, %q", name, outs(r), r.Outcome, r.Fact, want)
		}
	}
}

// An arm that ended is out; the others race on.
func TestAnArmThatEndsIsOut(t *testing.T) {
	t.Parallel()
	r, _ := field{
		arms: []string{"a", "bb", "ccc"}, ends: map[string]record.ArmEnd{"ccc": {Died: true, Why: "out of memory"}},
		lacks: func(block int, arm string) bool { return arm == "ccc" && block > 2 },
	}.race(t)
	if got := outs(r); !slices.Equal(got, []string{"ccc by  after 2"}) || len(r.Best) != 2 {
		t.Errorf("out are %q, best %q", got, r.Best)
	}
	if why := r.Arms[2].Out.Why.String(); why != "out of memory, after 2 blocks" {
		t.Errorf("why: %s", why)
	}
}
