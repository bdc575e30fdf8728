package judge

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// A synthetic run has records as trials would leave them, with response times
// by construction. Its arms are nethttp, its copy, fasthttp and pool.
type synthetic struct {
	status  record.Status // complete unless set
	failure string        // why the run ended early
	blocks  int           // written; 0 for all 12
	// times gives an arm's response time for a quantile u of its window; nil
	// for the default.
	times func(block int, arm string, u float64) float64
	// edit changes a trial before it is written; nil requests leave it out.
	edit    func(t *record.Trial, requests []request.Request) []request.Request
	plan    func(p *record.Plan) // changes the plan; may be nil
	servers string               // their CPUs, "" for 0; the load has 1
	// number renumbers trials; nil keeps the order of the plan.
	number func(n int) int
}

const (
	fakeRate   = 1200.
	fakeWarmup = .1
	fakeWindow = 1.
	fakeBlocks = 12
	fakeNoise  = .002 // of a trial's times and CPU, standard deviation of the logarithm
)

// usual is a response time with an exponential tail: median 1.2 ms, p99 5.1 ms.
func usual(u float64) float64 { return .5e-3 - 1e-3*math.Log1p(-u) }

// scaled multiplies the usual times of the named arms.
func scaled(factor map[string]float64) func(int, string, float64) float64 {
	return func(_ int, arm string, u float64) float64 {
		if f, ok := factor[arm]; ok {
			return f * usual(u)
		}
		return usual(u)
	}
}

func fakePlan() record.Plan {
	p := record.Plan{
		Scenario: "demo", Question: "Which is faster?", Seed: 7, Blocks: fakeBlocks,
		Warmup: record.Lasting(fakeWarmup * 1e9), Window: record.Lasting(fakeWindow * 1e9), Rate: fakeRate,
		Arms: []record.PlanArm{
			{Name: "nethttp", Mode: "nethttp", Role: record.Baseline}, {Name: "nethttp'", Mode: "nethttp", Role: record.Copy, CopyOf: "nethttp"},
			{Name: "fasthttp", Mode: "fasthttp", Role: record.Challenger}, {Name: "pool", Mode: "pool", Role: record.Challenger},
		},
	}
	for i := range p.Arms {
		p.Arms[i].Clients = record.Clients{Loop: "open", Rate: fakeRate}
	}
	for range fakeBlocks {
		p.Order = append(p.Order, []int{2, 0, 3, 1})
	}
	return p
}

// run is what the trials belong to.
func (s synthetic) run() record.Run {
	run := record.Run{
		Status: record.Complete, Started: time.Unix(1_800_000_000, 0).UTC(), Plan: fakePlan(),
		Env: record.Env{CPUs: 2, ServerCPUs: cmp.Or(s.servers, "0"), LoadCPUs: "1"}, XMax: map[string]float64{"nethttp": 3000},
	}
	run.Failure = s.failure
	if s.status != "" {
		run.Status = s.status
	}
	if s.plan != nil {
		s.plan(&run.Plan)
	}
	return run
}

// trials yields what ran, in order.
func (s synthetic) trials() iter.Seq[record.TrialRecord] {
	plan := fakePlan()
	if s.blocks == 0 {
		s.blocks = plan.Blocks
	}
	if s.times == nil {
		s.times = scaled(nil)
	}
	return func(yield func(record.TrialRecord) bool) {
		number := 0
		for block := range s.blocks {
			for _, arm := range plan.Order[block] {
				number++
				trial, requests := s.trial(number, block+1, plan.Arms[arm].Name)
				if s.edit != nil {
					if requests = s.edit(&trial, requests); requests == nil {
						continue
					}
				}
				if s.number != nil {
					trial.Number = s.number(number)
				}
				if !yield(record.TrialRecord{Trial: trial, Requests: requests}) {
					return
				}
			}
		}
	}
}

// write makes the record and returns it as Judge takes it.
func (s synthetic) write(t *testing.T) (*record.Dir, record.Run) {
	t.Helper()
	run := s.run()
	dir, err := record.Create(t.TempDir(), run.Plan.Scenario, run.Started, func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		if err := dir.WriteTrial(trial.Trial, trial.Requests, record.Files{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	return dir, run
}

// judged judges the run without a record, which takes most of the time;
// TestJudgeAgain holds the two equal.
func (s synthetic) judged(t *testing.T) *record.Comparison {
	t.Helper()
	j, err := New("run", "dir", s.run(), Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		j.Take(trial, nil)
	}
	return j.judge().result
}

func (s synthetic) trial(number, block int, arm string) (record.Trial, []request.Request) {
	rng := rand.New(rand.NewPCG(uint64(number), 0))
	noise := func() float64 { return math.Exp(fakeNoise * rng.NormFloat64()) }
	n := int(fakeRate * (fakeWarmup + fakeWindow))
	requests := make([]request.Request, n)
	early := int(fakeRate * fakeWarmup)
	place := slices.Concat(rng.Perm(early), rng.Perm(n-early)) // each window holds the same quantiles, in another order
	slower := noise()
	for i := range requests {
		at := int64(float64(i) / fakeRate * 1e9)
		took := slower * s.times(block, arm, (float64(place[i])+.5)/(fakeRate*fakeWindow))
		requests[i] = request.Request{Scheduled: at, Sent: at + 20_000, Done: at + int64(took*1e9), Bytes: 3, Status: 200}
	}
	return record.Trial{
		Number: number, Block: block, Arm: arm, Seed: uint64(block), Warmup: record.Lasting(fakeWarmup * 1e9), Window: record.Lasting(fakeWindow * 1e9),
		Server: record.ServerSide{CPU: .3 * noise(), Foreign: .001, Accepted: float64(n), Done: float64(n)},
		Client: record.ClientSide{CPU: .2, Opened: record.Opened{Dialled: uint64(n)}},
	}, requests
}

// at restricts an edit to one arm, and to the given blocks if there are any.
func at(arm string, change func(t *record.Trial, requests []request.Request) []request.Request, blocks ...int) func(*record.Trial, []request.Request) []request.Request {
	return func(t *record.Trial, requests []request.Request) []request.Request {
		here := len(blocks) == 0
		for _, b := range blocks {
			here = here || b == t.Block
		}
		if t.Arm != arm || !here {
			return requests
		}
		return change(t, requests)
	}
}

// each is at for a change of the trial alone.
func each(arm string, change func(t *record.Trial), blocks ...int) func(*record.Trial, []request.Request) []request.Request {
	return at(arm, func(t *record.Trial, requests []request.Request) []request.Request {
		change(t)
		return requests
	}, blocks...)
}

// some changes every k-th request of the window.
func some(k int, change func(r *request.Request)) func(*record.Trial, []request.Request) []request.Request {
	return func(t *record.Trial, requests []request.Request) []request.Request {
		for i := range requests {
			if t.InWindow(requests[i]) && i%k == 0 {
				change(&requests[i])
			}
		}
		return requests
	}
}

// decisions are an arm's verdicts by metric.
func decisions(r *record.Comparison, arm string) map[string]string {
	got := map[string]string{}
	for _, v := range r.Verdicts {
		if v.Arm == arm {
			got[v.Metric.String()] = v.Verdict.String()
		}
	}
	return got
}

func verdictOf(t *testing.T, vs []record.Verdict, arm, metric string) record.Verdict {
	t.Helper()
	for _, v := range vs {
		if v.Arm == arm && v.Metric.String() == metric {
			return v
		}
	}
	t.Fatalf("no verdict on %s of %s", metric, arm)
	return record.Verdict{}
}

// comparisonOf is FromRecord of a run in blocks.
func comparisonOf(dir *record.Dir, run record.Run) (*record.Comparison, error) {
	r, err := FromRecord(dir, run)
	c, _ := r.(*record.Comparison)
	return c, err
}
