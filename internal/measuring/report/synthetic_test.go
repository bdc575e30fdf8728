package report

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// quick is a whole comparison as the quick scenario makes them: fasthttp like
// nethttp, pool slower at the tail. Its verdicts are stats' own.
func quick() *record.Comparison {
	r := &record.Comparison{
		Common: record.Common{
			Schema: record.Schema, Kind: record.Compared, Run: "20261107-123005-quick-beef", Dir: "schedlab-runs/20261107-123005-quick-beef",
			Scenario: "quick", Question: "Does a small fixed pool keep up when one request in five waits 10 ms?",
			Status: record.Complete, Seed: 42, Asked: "each request computes 100us and sleeps 10ms", Window: record.Lasting(1050 * time.Millisecond),
			Started: time.Date(2026, 11, 7, 12, 30, 5, 0, time.UTC),
			Env: record.Env{CPU: "Intel Xeon 2.80GHz", CPUs: 2, Virtualised: true, Kernel: "Linux 6.1.0", Clocksource: "tsc",
				Go: "go1.26.8", Version: "v0.1.0", ServerCPUs: "0", LoadCPUs: "1", ServerProcs: 1, LoadProcs: 2, GOGC: "100",
				Somaxconn: 4096, PortRange: "32768-60999", NoFile: 1048576, Load1: 0.21, PSI: "avg10=0.00", StealRatio: 0.0004, ItersPerUsec: 412.5}, Headline: "pool is slower than nethttp at p99 (+42 %); fasthttp is the same",
			Doubts: []fact.Fact{
				{Arm: "pool", Text: "by Little's law 1,127 requests/s that hold a worker for 2.1 ms keep 2.4 of 4 workers busy on average: a queue is to be expected"},
				{Text: "the machine is virtual: other guests can take its CPU unseen by steal time"},
			},
			NotChecked: []string{"run-queue wait of the server", "pauses of the platform"},
		},
		Rate: 1127, Planned: 12, Valid: 12,
		Winner: record.Winner{Outcome: outcome.Yes},
		Laws: []record.Law{
			{Name: "Little's law", Unit: "ratio", Windows: 48, Block: 7, Arm: "pool", Value: .0041, Limit: .0236},
			{Name: "utilisation law", Unit: "ratio of CPU time", Windows: 48, Block: 2, Arm: "pool", Value: .2494, Limit: 1.02},
			{Name: "flow law", Unit: "requests", Windows: 48, Block: 1, Arm: "nethttp"},
			{Name: "flow law", Unit: "connections", Windows: 36, Block: 1, Arm: "nethttp"},
		},
		Order: [][]string{{"pool", "nethttp", "fasthttp", "nethttp'"}, {"nethttp'", "fasthttp", "nethttp", "pool"}},
	}
	rng := rand.New(rand.NewPCG(7, 7))
	base := record.Arm{Contestant: record.Contestant{Name: "nethttp", Mode: "nethttp", Role: record.Baseline, Command: "schedlab serve --mode nethttp --addr 127.0.0.1:0"}, Figures: record.Figures{XMax: new(1610.)}}
	twin := record.Arm{Contestant: record.Contestant{Name: "nethttp'", Mode: "nethttp", Role: record.Copy, CopyOf: "nethttp", Command: base.Command}}
	fast := record.Arm{Contestant: record.Contestant{Name: "fasthttp", Mode: "fasthttp", Role: record.Challenger, Command: "schedlab serve --mode fasthttp --addr 127.0.0.1:0"}, Figures: record.Figures{XMax: new(1795.)}}
	pool := record.Arm{Contestant: record.Contestant{Name: "pool", Mode: "pool", Role: record.Challenger, Command: "schedlab serve --mode pool --workers 4 --queue-depth 1024 --overflow block --addr 127.0.0.1:0"}, Figures: record.Figures{XMax: new(1702.)}}
	r.Arms = []record.Arm{base, twin, fast, pool}
	for i := range r.Arms {
		r.Arms[i].Phases, r.Arms[i].Joined = passed(i), 1
	}
	effect := []map[string]float64{
		{}, {}, {"p50": .985, "p90": 1.004, "p99": .99, "cpu_per_request": .9}, {"p50": 1.01, "p90": 1.18, "p99": 1.42, "cpu_per_request": 1.04},
	}
	r.Differences = []record.Difference{differing(r.Arms[0], r.Arms[3])}
	level := map[string]float64{"p50": .00041, "p90": .0107, "p99": .0131, "goodput": 1126, "cpu_per_request": .00021}
	noise := map[string]float64{"p50": .05, "p99": .015, "goodput": .002}
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Twin, a.Counters, a.Heat = twinned(i), opened(i), heated(12, i)
		a.Requests, a.Blocks, a.Curve = 14196, stats.Series{}, shape(effect[i])
		a.Switches, a.Overflows = new(digits(2.13+.4*float64(i))), new(0.)
		a.Jain, a.Fairness = new(digits(1-.004*float64(i))), &record.Fairness{Asked: 64, Served: 64, FirstReply: digits(.0118 + .0007*float64(i))}
	}
	for range 12 {
		for _, m := range stats.Metrics() {
			common := rng.NormFloat64() * 0.06 // what the arms of a block share
			for i := range r.Arms {
				own := cmp.Or(noise[m.Name], .01)
				v := cmp.Or(level[m.Name], 1) * cmp.Or(effect[i][m.Name], 1) * math.Exp(common*own*20+own*rng.NormFloat64())
				r.Arms[i].Blocks[m.Figure] = append(r.Arms[i].Blocks[m.Figure], digits(v))
			}
		}
	}
	for i := range r.Arms {
		a := &r.Arms[i]
		for _, m := range stats.Metrics() {
			a.SetMedian(m.Figure, stats.Known(digits(stats.Median(a.Blocks[m.Figure]))))
		}
	}
	for i := range r.Arms {
		r.Arms[i].Disturbed = &record.Disturbed{Late: stats.Figures{stats.P50: stats.Known(1e-6), stats.P99: stats.Known(digits(2e-5 * float64(i+1)))}, Foreign: .011, Steal: .003}
	}
	for _, m := range stats.Metrics() {
		if m.Primary {
			c := stats.Compare(m, r.Arms[0].Blocks[m.Figure], r.Arms[1].Blocks[m.Figure], 6)
			r.AA = append(r.AA, verdict(c, "nethttp", "nethttp'"))
		}
	}
	for i := 2; i < 4; i++ {
		for _, m := range stats.Metrics() {
			r.Verdicts = append(r.Verdicts, verdict(stats.Compare(m, r.Arms[0].Blocks[m.Figure], r.Arms[i].Blocks[m.Figure], 6), "nethttp", r.Arms[i].Name))
		}
	}
	return r
}

// differing is where an arm's time surely differs from another's, by a tenth more or less.
func differing(from, to record.Arm) record.Difference {
	d := record.Difference{Arm: to.Name, Baseline: from.Name}
	step := func(was, is float64) stats.Step {
		by := digits(is - was)
		return stats.Step{From: digits(was), To: digits(is), By: by, Low: digits(min(.9*by, 1.1*by)), High: digits(max(.9*by, 1.1*by))}
	}
	var was, is float64
	for _, st := range timeline.Stretches() {
		mean := func(p timeline.Phase) float64 { return p.Mean }
		f, t := st.In(from.Phases, mean), st.In(to.Phases, mean)
		was, is = was+f, is+t
		if math.Abs(t-f) > 20e-6 {
			d.Pieces = append(d.Pieces, record.Piece{Stretch: st.Name, Step: step(f, t)})
		}
	}
	d.Step = step(was, is)
	return d
}

// digits keeps six, so that golden files hold on every processor.
func digits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

func verdict(c stats.Comparison, base, arm string) record.Verdict {
	return record.Verdict{Metric: c.Metric.Figure, Primary: c.Metric.Primary, Baseline: base, Arm: arm, Verdict: c.Decision,
		Ratio: digits(c.Ratio), Low: digits(c.Low), High: digits(c.High), Blocks: c.Blocks, Look: c.Look, Lean: c.Lean, Won: c.Won, Lost: c.Lost, Needed: c.Needed, Reason: said(c.Reason)}
}

// shape is a two-humped distribution: most requests compute, one in five also
// sleeps 10 ms.
func shape(effect map[string]float64) []responses.Point {
	p50, p90, p99 := cmp.Or(effect["p50"], 1), cmp.Or(effect["p90"], 1), cmp.Or(effect["p99"], 1)
	h := responses.NewHistogram()
	rng := rand.New(rand.NewPCG(3, 9))
	for range 14196 {
		t := 0.00025 + rng.ExpFloat64()*0.00022*p50
		if rng.Float64() < 0.2 {
			t = 0.0103*p90 + rng.ExpFloat64()*0.0006*math.Pow(p99, 5)
		}
		h.Record(time.Duration(t * 1e9))
	}
	return h.Curve()
}

// interrupted is a run cut off after eleven blocks, one refused, with failing
// and starved clients and a foreign arm.
func interrupted() *record.Comparison {
	r := quick()
	r.Status, r.Valid, r.Ran = record.Interrupted, 10, 11
	r.Env.ServerCPUs, r.Env.LoadCPUs, r.Env.ServerProcs = "", "", 2
	r.Note = "laptop on battery"
	r.Headline = "pool starved 28 connections; nothing else is certain"
	r.Refused = []record.Refusal{{Block: 3, Arm: "pool", Rule: "flow law (connections)", Value: 3, Limit: 0}}
	r.Arms[3].Errors, r.Arms[3].StarvedConnections, r.Arms[3].Jain = 31, 28, new(0.5625)
	r.Arms[3].Fairness = &record.Fairness{Asked: 64, Served: 36, FirstReply: .0342}
	r.Arms[2].Overflows, r.Arms[3].Switches = new(812.), nil
	r.Arms[2].Sessions = &record.SessionTimes{Complete: 1312, Broken: 2, PerWindow: 118, P50: new(.104), P90: new(.22)}
	r.Arms[3].Sessions = &record.SessionTimes{Complete: 340, PerWindow: 31, P50: new(.417)}
	r.Arms[2].P99 = nil
	r.Arms[2].Curve = r.Arms[2].Curve[:30]
	for i, v := range r.Verdicts {
		if v.Arm == "fasthttp" && v.Metric == stats.P99 {
			r.Verdicts[i] = record.Verdict{Metric: stats.P99, Primary: true, Baseline: "nethttp", Arm: "fasthttp", Verdict: decision("refused"), Blocks: 10,
				Reason: said("940 requests in the shortest window, p99 needs 1,000")}
		}
	}
	r.Arms[2].Twin = &record.Twin{Why: said("unknown discipline: another program")}
	r.Expectations = expecting()
	r.AA[2] = record.Verdict{Metric: stats.P99, Primary: true, Baseline: "nethttp", Arm: "nethttp'", Verdict: decision("refused"), Blocks: 10, Reason: said("too few requests")}
	r.AA[0].Verdict, r.AA[0].Ratio, r.AA[0].Low, r.AA[0].High = decision("SLOWER"), 1.08, 1.02, 1.12
	return r
}

// hopeless is a run in which every verdict was refused, its strings hostile.
func hopeless() *record.Comparison {
	r := quick()
	r.Status, r.Valid, r.Winner, r.Differences = record.Partial, 4, record.Winner{Outcome: outcome.Open}, nil
	r.Ran = 13
	r.Question = `Is <b>5 > 3 & "true"</b>? </script><script>alert(1)</script> | \x1b[31m` + "\x1b[2J"
	r.Headline = "No verdict: errors: nethttp failed 31 of 4732 requests (0.66 %), above 0.1 %: mostly reset."
	r.Dir = "runs/it's <here>"
	r.Arms[3].Name, r.Arms[3].Mode = `ev|il_*"<svg onload=alert(1)>`, ""
	r.AA = nil
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		*v = record.Verdict{Metric: v.Metric, Primary: v.Primary, Baseline: v.Baseline, Arm: v.Arm, Verdict: decision("refused"), Blocks: 4, Reason: said("errors: nethttp failed 31 of 4732 requests (0.66 %), above 0.1 %: mostly reset")}
		if v.Arm == "pool" {
			v.Arm = r.Arms[3].Name
		}
	}
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Requests = 4 * 1183
		a.P50, a.P90, a.P99, a.Curve, a.Fairness = nil, nil, nil, nil, nil
		for f, v := range a.Blocks {
			a.Blocks[f] = slices.Clip(v[:min(len(v), 1)])
		}
	}
	return r
}

// expecting is what an interrupted run says of three assertions.
func expecting() []record.Expectation {
	return []record.Expectation{
		{Text: `same("p50") && p99("pool") < 20ms`, Outcome: outcome.Yes, Answer: outcome.Expectation.Phrase(outcome.Yes), Reason: said("12.1 ms < 20 ms in the median; true in 10 of 10 blocks")},
		{Text: `served("pool") == 64`, Outcome: outcome.No, Answer: outcome.Expectation.Phrase(outcome.No), Reason: said("36 == 64 in the median; true in 0 of 10 blocks")},
		{Text: `explained("queue") >= 0.8`, Outcome: outcome.Refused, Answer: outcome.Expectation.Phrase(outcome.Refused), Reason: said("timeline not recorded")},
	}
}

// killed is a run that ended before its first trial.
func killed() *record.Comparison {
	return &record.Comparison{Common: record.Common{Schema: record.Schema, Kind: record.Compared, Run: "20261107-123005-quick-beef", Dir: "schedlab-runs/x", Scenario: "quick", Status: record.Running}, Planned: 12}
}

// twinned is the i-th arm of quick beside its ideal twin.
func twinned(i int) *record.Twin {
	about := func(v, by float64) *stats.Spread { return &stats.Spread{Median: v, Low: v - by, High: v + by} }
	t := &record.Twin{
		Measured: about(2.42e-3, 4e-5), Ideal: about(2.12e-3, 2e-5), Mean: about(2.14e-3, 2e-5), Overhead: about(2e-5, 1e-6),
		Interference: about(2.8e-4, 3e-5), Beyond: about(1.1e-4, 2e-6), P99: about(.0124, 1e-4), MeasuredP99: about(.0131, 2e-4),
	}
	if i == 3 {
		t.Measured, t.Mean, t.Overhead, t.Interference = about(3.7e-3, 1e-4), about(3.72e-3, 1e-4), about(1.6e-3, 5e-5), about(-2e-5, 4e-5)
		t.P99, t.MeasuredP99 = nil, nil
		t.Note, t.Loss, t.MeasuredLoss = "each connection on a loop taken by chance", about(.02, .01), about(.031, .02)
	}
	return t
}

// opened are the connections of the i-th arm of quick over time: 64 kept ones.
func opened(int) *record.Counters {
	c := &record.Counters{OpenPeak: 64, Block: 7}
	for i := range 11 {
		c.Readings = append(c.Readings, record.Reading{At: digits(.1*float64(i) - .03), Accepted: 65, Done: 1, Open: 64})
	}
	return c
}

// heated are the windows of the i-th arm of quick, in this many blocks: times of half a millisecond and,
// of one request in five, 10 ms, longer for later arms. The second block was left out, and the last
// request of each window has no reply.
func heated(blocks, i int) (all []responses.Heat) {
	for block := 1; block <= blocks; block++ {
		c := new(responses.HeatCounts)
		for slice := range c {
			c[slice][responses.HeatRow(.0005*float64(1+slice%3))] = 70
			c[slice][responses.HeatRow(.01*float64(1+i+block%2))] = 18
		}
		c[len(c)-1][responses.NoReply] = 1
		all = append(all, responses.Heat{Block: block, Valid: block != 2, Counts: c})
	}
	return all
}

// comingAndGoing is a comparison with a connection per request at half as many again as
// can be served: nethttp accepts them all, the pool no more than it serves, and fasthttp told nothing.
func comingAndGoing() *record.Comparison {
	r := quick()
	for i := range r.Arms {
		accepted := []int64{37, 37, 0, 25}[i]
		c := &record.Counters{Accepted: 10 * float64(accepted), AcceptedPeak: 480, Done: 250, DonePeak: 260, Block: 7}
		for k := range int64(11) {
			c.Readings = append(c.Readings, record.Reading{At: digits(.1*float64(k) - .03), Accepted: accepted*k + 30, Done: 25 * k, Open: (accepted-25)*k + 30})
		}
		c.OpenPeak = float64(c.Readings[10].Open)
		r.Arms[i].Counters = c
	}
	r.Arms[2].Counters = nil
	return r
}

// passed is where the time of the i-th arm of quick went: the pool's in its queue.
func passed(i int) []timeline.Phase {
	queue, wakeup := 0.0, 35e-6
	if i == 3 {
		queue, wakeup = 1.2e-3, 22e-6
	}
	return []timeline.Phase{
		{Name: "lag", Mean: 60e-6, Tail: 90e-6}, {Name: "connect", Mean: 70e-6, Tail: 0.1e-3}, {Name: "build", Mean: 2e-6, Tail: 2e-6},
		{Name: "accept", Mean: 12e-6, Tail: 0.3e-3}, {Name: "ingress", Mean: 5e-6, Tail: 5e-6}, {Name: "wakeup", Mean: wakeup, Tail: 9 * wakeup},
		{Name: "parse", Mean: 14e-6, Tail: 20e-6}, {Name: "queue", Mean: queue, Tail: 8 * queue}, {Name: "handover"},
		{Name: "cpu", Mean: 100e-6, Tail: 300e-6}, {Name: "sleep", Mean: 2e-3, Tail: 9.4e-3}, {Name: "unexplained", Mean: 90e-6, Tail: 1.1e-3},
		{Name: "finish", Mean: 11e-6, Tail: 15e-6}, {Name: "egress", Mean: 30e-6, Tail: 40e-6}, {Name: "receive", Mean: 1e-6, Tail: 1e-6},
	}
}

// swept is a comparison over four numbers of workers and two rates.
func swept() *record.Comparison {
	r := quick()
	arm := r.Arms[2]
	r.Arms, r.Verdicts, r.Differences = r.Arms[:2], nil, nil
	r.Arms[0].NEff, r.Env.Pause = 412.3, .0031
	r.Arms[0].Generator = &record.Proofs{Busy: .31, LongestLag: .0021}
	for i, workers := range []string{"1", "4", "16", "64"} {
		for j, rate := range []string{"500/s", "900/s"} {
			a := arm
			a.Family, a.Name = "pool", "pool,rate="+strings.TrimSuffix(rate, "/s")+",workers="+workers
			a.Levels = []record.Level{{Factor: "rate", Value: rate}, {Factor: "workers", Value: workers}}
			p50, p99 := .004/float64(i+1), .02/float64(i+1)+.001*float64(j)
			a.P50, a.P99, a.Goodput = &p50, &p99, new(500+400*float64(j))
			r.Arms = append(r.Arms, a)
		}
	}
	return r
}
