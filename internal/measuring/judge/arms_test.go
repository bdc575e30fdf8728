package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// Each figure is known or not on its own, and an arm's only if every window's is.
func TestKernelFigures(t *testing.T) {
	t.Parallel()
	texts := []string{
		`switches("nethttp") > 1.99 && switches("nethttp") < 2.01`, `overflows("nethttp") == 0`,
		`switches("pool") > 0`, `overflows("pool") == 7`, `switches("fasthttp") > 0`, `overflows("fasthttp") == 0`,
	}
	s := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
		switch k := (&record.Kernel{Voluntary: 2000, Involuntary: 400}); {
		case t.Arm == "fasthttp":
		case t.Arm == "pool":
			k.Involuntary, k.ListenOverflows = -1, 7
			t.Server.Kernel = k
		default:
			t.Server.Kernel = k
		}
		return requests
	}}
	got := asserted(t, s, texts...)
	for i, want := range []outcome.Outcome{outcome.Yes, outcome.Yes, outcome.Refused, outcome.Yes, outcome.Refused, outcome.Refused} {
		if e := got[texts[i]]; e.Outcome != want {
			t.Errorf("%s: got %+v, want %s", texts[i], e, want)
		}
	}
	r := s.judged(t)
	base, fasthttp, pool := r.Arms[0], r.Arms[2], r.Arms[3]
	if base.Switches == nil || *base.Overflows != 0 || fasthttp.Switches != nil || fasthttp.Overflows != nil || pool.Switches != nil || *pool.Overflows != 7*12 {
		t.Errorf("got %v %v, %v %v, %v %v; want about 2 and 0, nothing, and 84 overflows", base.Switches, base.Overflows, fasthttp.Switches, fasthttp.Overflows, pool.Switches, pool.Overflows)
	}
}

// A quantile of an arm's sessions is the windows' median, and needs enough in each.
func TestArmSessions(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
		complete := map[string]int{"nethttp": 120, "fasthttp": 50, "pool": 3}[t.Arm]
		if complete > 0 {
			t.Client.Sessions = &record.Sessions{Complete: complete + t.Block%2, Broken: 1, Duration: responses.Quantiles{P50: .01 * float64(t.Block), P90: .02 * float64(t.Block)}}
		}
		return requests
	}}.judged(t)
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if (got == nil) != (want == 0) || got != nil && math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	base, fasthttp, pool := r.Arms[0].Sessions, r.Arms[2].Sessions, r.Arms[3].Sessions
	near("p50", base.P50, .065)
	near("p90", base.P90, .13)
	near("p50 of 50", fasthttp.P50, .065)
	near("p90 of 50", fasthttp.P90, 0)
	near("p50 of 3", pool.P50, 0)
	if base.Complete != 12*120+6 || base.Broken != 12 || base.PerWindow != 120 {
		t.Errorf("got %+v", base)
	}
	if r.Arms[1].Sessions != nil {
		t.Errorf("without sessions: got %+v", r.Arms[1].Sessions)
	}
}

// What is known of a run without a block that counts, or of arms that fail, and what is not.
func TestArmsKnowWhatTheyMeasured(t *testing.T) {
	t.Parallel()
	fails := func(every int) func(*record.Trial, []request.Request) []request.Request {
		return some(every, func(r *request.Request) { r.Status = 500 })
	}
	r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
		proof := &record.Proof{Planned: len(requests) + 2, Sent: len(requests)}
		switch t.Arm {
		case "fasthttp":
			requests = fails(7)(t, requests)
			proof.ReadLate = &record.ReadLate{Replies: 5, P50: .001, P99: .002}
		case "pool":
			requests = fails(2000)(t, requests) // none: a window has 1,200
			proof.ReadLate = &record.ReadLate{}
		}
		t.Client.Proof = proof
		return requests
	}}.judged(t)
	base, fasthttp, pool := r.Arms[0], r.Arms[2], r.Arms[3]
	if base.GoodMean != nil || pool.GoodMean != nil || fasthttp.GoodMean == nil {
		t.Errorf("the mean of good replies is that of an arm that fails: got %v, %v, %v", base.GoodMean, pool.GoodMean, fasthttp.GoodMean)
	}
	if g := base.Generator; g.Missing != 2*12 || g.ReadLate != nil {
		t.Errorf("a load that sent two too few in a window, and measured no lateness: %+v", g)
	}
	if g := fasthttp.Generator.ReadLate; g == nil || g.Replies != 5*12 || g.P50 != .001 || g.P99 != .002 {
		t.Errorf("replies read late: %+v", g)
	}
	if g := pool.Generator.ReadLate; g != nil {
		t.Errorf("no reply was read late: %+v", g)
	}

	without := synthetic{edit: each("pool", func(t *record.Trial) { t.Window = record.Span{} })}.judged(t)
	if a := without.Arms[0]; without.Valid != 0 || len(a.Curve) > 0 || a.Overflows != nil || a.Switches != nil || a.Generator != nil {
		t.Errorf("a run of no block that counts knows %+v", a)
	}
}

// The quantiles of sessions begin with the number of them that a quantile needs.
func TestSessionsAtTheirLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ complete, known int }{
		{stats.MinRequests(.5) - 1, 0}, {stats.MinRequests(.5), 1}, {stats.MinRequests(.9) - 1, 1}, {stats.MinRequests(.9), 2},
	} {
		b := blocks{valid: []int{1}, windows: windows{1: {"pool": {Window: window.Window{Trial: record.Trial{
			Client: record.ClientSide{Sessions: &record.Sessions{Complete: c.complete}},
		}}}}}}
		s := b.sessions("pool")
		if known := stats.Count(s.P50 != nil) + stats.Count(s.P90 != nil); known != c.known {
			t.Errorf("%d sessions: %d quantiles, want %d", c.complete, known, c.known)
		}
	}
}

// An arm's connections over time are medians of its windows', and the readings those of one
// block for all arms; an arm of which one window told nothing has none. The reading before the window,
// perhaps of a time without load, does not lower the rates.
func TestCounters(t *testing.T) {
	t.Parallel()
	s := synthetic{edit: func(trial *record.Trial, requests []request.Request) []request.Request {
		n := int64(trial.Block)
		if trial.Arm == "pool" && n == 5 {
			return requests
		}
		trial.Server.Readings = []record.Reading{ // in the first half 10 n more are accepted than done
			{At: -.1, Accepted: 20, Done: 20},
			{At: 0, Accepted: 20, Done: 20},
			{At: .5, Accepted: 20 + 20*n, Done: 20 + 10*n, Open: 10 * n},
			{At: 1, Accepted: 20 + 30*n, Done: 20 + 30*n},
		}
		return requests
	}}
	r := s.judged(t)
	for _, a := range r.Arms {
		if a.Name == "pool" {
			if a.Counters != nil {
				t.Errorf("pool told nothing in a block: got %+v", a.Counters)
			}
			continue
		}
		got := *a.Counters
		if got.Block != 6 || len(got.Readings) != 4 || got.Readings[2].Open != 60 {
			t.Errorf("%s: got the readings of block %d, %+v; want those of 6", a.Name, got.Block, got.Readings)
		}
		got.Readings = nil
		if want := (record.Counters{OpenPeak: 65, Accepted: 195, AcceptedPeak: 260, Done: 195, DonePeak: 260, Block: 6}); !cmp.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v, of blocks 1 to 12", a.Name, got, want)
		}
	}
}

// names are those of all phases.
func names() (all []string) {
	for _, st := range timeline.Stretches() {
		all = append(all, st.Phases...)
	}
	return all
}

// phases draws a time for each.
func phases(r *rand.Rand, scale float64) (list []timeline.Phase) {
	for _, name := range names() {
		mean := scale * r.ExpFloat64()
		if name == timeline.PhaseRest {
			mean -= scale / 4 // it can be below 0
		}
		list = append(list, timeline.Phase{Name: name, Mean: mean, Tail: 10 * mean})
	}
	return list
}

// Whatever the phases, the pieces add up to the difference, and those of a piece to the piece.
func TestPiecesAddUp(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var blocks []Block
		for range 2 + r.IntN(30) {
			blocks = append(blocks, Block{From: phases(r, 1e-3*r.ExpFloat64()), To: phases(r, 1e-3*r.ExpFloat64())})
		}
		for _, of := range []func(timeline.Phase) float64{MeanOf, TailOf} {
			w := Waterfall(blocks, timeline.Stretches(), of)
			var by, from, to float64
			for _, p := range w.Pieces {
				by, from, to = by+p.By, from+p.From, to+p.To
				sum := 0.0
				for _, part := range p.Phases {
					sum += part.By
				}
				if len(p.Phases) > 0 && math.Abs(sum-p.By) > 1e-12 {
					t.Errorf("seed %d: the phases of %s add up to %v, the piece is %v", seed, p.Stretch, sum, p.By)
				}
			}
			if math.Abs(by-w.By) > 1e-12 || math.Abs(from-w.From) > 1e-12 || math.Abs(to-w.To) > 1e-12 || math.Abs(w.From+w.By-w.To) > 1e-12 {
				t.Fatalf("seed %d: pieces lead from %v by %v to %v, the waterfall from %v by %v to %v", seed, from, by, to, w.From, w.By, w.To)
			}
		}
	}
}

// Intervals hold what the blocks were drawn from in 90 % of simulations and more, also where
// blocks drift together and one in ten is disturbed.
func TestIntervalsCoverTheTruth(t *testing.T) {
	const runs, truth = 2000, 30e-6
	for _, blocks := range []int{10, 14, 30} {
		held := 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, uint64(blocks)))
			var from, to []float64
			drift := 0.0
			for range blocks {
				drift += 5e-6 * r.NormFloat64()
				noise := func() float64 {
					v := 10e-6 * r.NormFloat64()
					if r.IntN(10) == 0 {
						v += 30e-6 * r.ExpFloat64()
					}
					return v
				}
				from = append(from, 200e-6+drift+noise())
				to = append(to, 200e-6+truth+drift+noise())
			}
			if s := Paired(from, to); s.Low <= truth && truth <= s.High {
				held++
			}
		}
		if got := float64(held) / runs; got < .93 {
			t.Errorf("%d blocks: the interval holds the truth in %.3f of %d simulations, want 0.93", blocks, got, runs)
		} else {
			t.Logf("%d blocks: %.3f", blocks, got)
		}
	}
}

// A result tells a difference of means whose interval excludes 0, that is more than the baseline's
// copy may be off and more than the load adds, with the pieces that are as sure.
func TestDifferencesThatAreTold(t *testing.T) {
	t.Parallel()
	const kernel, service = 4, timeline.Service // ingress
	var noise float64                           // by which blocks differ, of the pool
	said := stats.Decided(stats.Faster)         // the verdict on the pool's p50
	made := func(copied, copyNoise, pool float64, floor *record.Floor) []record.Difference {
		b := blocks{windows: windows{}, run: record.Run{Env: record.Env{Floor: floor}}}
		arms := []record.Arm{{Contestant: record.Contestant{Name: "a", Role: record.Baseline}, Figures: record.Figures{Joined: 1}}, {Contestant: record.Contestant{Name: "a'", Role: record.Copy}, Figures: record.Figures{Joined: 1}}, {Contestant: record.Contestant{Name: "pool", Role: record.Challenger}, Figures: record.Figures{Joined: 1}}}
		for _, a := range arms {
			b.run.Plan.Arms = append(b.run.Plan.Arms, record.PlanArm{Name: a.Name, Role: a.Role})
		}
		for block := range 12 {
			b.valid = append(b.valid, block)
			b.windows[block] = map[string]*modelled{}
			sign := float64(block%2*2 - 1)
			for name, more := range map[string]float64{"a": 0, "a'": copied + sign*copyNoise, "pool": pool + sign*noise} {
				p := window.Phases{Stamped: true, Good: 1000, Joined: 1000}
				p.Mean[kernel], p.Mean[service] = 200e-6+more, 1e-3+sign*5e-6*more/pool
				b.windows[block][name] = &modelled{Window: window.Window{Phases: p}}
			}
		}
		return b.differences(arms, []record.Verdict{{Arm: "pool", Baseline: "a", Metric: stats.P50, Primary: true, Verdict: said}})
	}
	for _, c := range []struct {
		name                           string
		copied, copyNoise, pool, noise float64
		floor                          *record.Floor
		want                           bool
	}{
		{"sure", 0, 10e-6, 321e-6, 10e-6, nil, true},
		{"its own interval holds 0", 0, 10e-6, 321e-6, 700e-6, nil, false},
		{"the copy is as far off as that", 237e-6, 150e-6, 321e-6, 10e-6, nil, false},
		{"the load adds more", 0, 10e-6, 321e-6, 10e-6, &record.Floor{P50: 330e-6}, false},
		{"little of the mean", 0, 1e-6, 59e-6, 1e-6, nil, false},
		{"faster", 0, 1e-6, -80e-6, 1e-6, nil, true},
	} {
		noise = c.noise
		got := made(c.copied, c.copyNoise, c.pool, c.floor)
		if (len(got) > 0) != c.want {
			t.Errorf("%s: got %+v", c.name, got)
			continue
		}
		if c.want && (got[0].Tail || got[0].Baseline != "a" || len(got[0].Pieces) != 1 || got[0].Pieces[0].Stretch != "kernel") {
			t.Errorf("%s: got %+v, want the kernel's piece alone: the handler's is not sure", c.name, got[0])
		}
		if c.want && got[0].Middle == 0 {
			t.Errorf("%s: the median of the blocks' differences is not known", c.name)
		}
	}
	// Times that could not be judged, as of a server that starves clients, are no finding.
	said, noise = stats.Decision{Outcome: outcome.Refused}, 10e-6
	if got := made(0, 10e-6, 321e-6, nil); len(got) > 0 {
		t.Errorf("with every verdict refused: got %+v", got)
	}
}

// An arm that only sends its clients elsewhere gets good statuses, and a doubt that says so. A 304 is a reply to its request.
func TestRedirectsAreDoubted(t *testing.T) {
	t.Parallel()
	for status, want := range map[uint16]bool{302: true, 304: false, 200: false} {
		r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
			for i := range requests {
				if t.Arm == "pool" && i%2 == 0 {
					requests[i].Status = status
				}
			}
			return requests
		}}.judged(t)
		i := slices.IndexFunc(r.Doubts, doubt.Redirects.Code.Is)
		if (i >= 0) != want {
			t.Errorf("status %d: doubts %v", status, r.Doubts)
		} else if want && (r.Doubts[i].Arm != "pool" || r.Doubts[i].String() != "it answered 50 % of its requests with a redirect (status 302), which is not followed: ask for the page that it names") {
			t.Errorf("status %d: got %q of %s", status, r.Doubts[i], r.Doubts[i].Arm)
		}
	}
}
