package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// seen is what a run saw of one arm, in every block but for a little noise.
type seen struct {
	parts     map[timeline.Part]float64 // seconds of a good request
	tails     map[timeline.Part]float64 // of its slowest
	values    stats.Figures             // of its windows
	late      float64                   // at p99, s
	shown     map[string]float64        // counters of its server
	cpu       float64                   // share of its one CPU in use
	workers   int
	fullest   float64 // of ten connections at two listeners, those of the fuller one
	overtaken float64 // share of its requests
	away      float64 // for which the load was kept from its CPU
}

const madeBlocks = 10

// arm is it as explanations read it: 1000 requests in each window of a second.
func (s seen) arm(name string) *arm {
	a := &arm{Arm: record.Arm{Contestant: record.Contestant{Name: name}, Figures: record.Figures{Joined: 1}}, plan: record.PlanArm{Name: name, Mode: "made", KeepAlive: true}, cpus: 1}
	if s.workers > 0 {
		a.plan.Station = &queueing.Station{Workers: s.workers}
	}
	for i := range madeBlocks {
		noise := 1 + .004*float64(i%3-1)
		w := window.Window{Good: 1000, Values: s.values, Phases: window.Phases{Stamped: true, Joined: 1000, Overtaken: s.overtaken}}
		w.Trial = record.Trial{Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: s.cpu}, Client: record.ClientSide{Proof: &record.Proof{Away: s.away}}}
		for part, v := range s.parts {
			w.Phases.Mean[part] = v * noise
		}
		for part, v := range s.tails {
			w.Phases.Tail[part] = v * noise
		}
		for f, v := range w.Values {
			w.Values[f] = stats.Known(v.Or(0))
		}
		w.Values[stats.Goodput] = stats.Known(s.values[stats.Goodput].Or(1000))
		w.Late[stats.P99], w.Foreign = stats.Known(s.late), stats.Known(0)
		c := counters{requests: {1000}, "process_cpu_seconds_total": {1}, "schedlab_connections_accepted_total": {1000}}
		for name, v := range s.shown {
			c[name] = []float64{v}
		}
		if s.fullest > 0 {
			const name = "schedlab_listener_connections_accepted_total"
			c[name] = []float64{s.fullest, 10 - s.fullest}
		}
		a.windows, a.counters = append(a.windows, w), append(a.counters, c)
	}
	return a
}

// madeCase is a run of two arms, of which "slow" is asked for in that way.
func madeCase(fast, slow seen, asked scenario.Arm, path string) *Case {
	c := &Case{Result: &record.Comparison{Valid: madeBlocks}, arms: map[string]*arm{"fast": fast.arm("fast"), "slow": slow.arm("slow")}}
	c.arms["slow"].Phases = []timeline.Phase{{Name: timeline.PhaseSleep, Mean: 1e-3}}
	asked.Name, asked.Mode = "slow", "made"
	c.scenario.Workload.Path = path
	c.scenario.Arms = []scenario.Arm{{Name: "fast", Mode: "plain"}, asked}
	return c
}

const mutex = "go_sync_mutex_wait_total_seconds_total"

// evidence is for each rule what it is suspected from, and what speaks against it although
// the same part is longer.
var evidence = map[fact.Code]struct {
	mode         mode.Mode
	asked        scenario.Arm
	path         string
	pro, against seen
	knob         string // of the test; "" for none
}{
	"cause-workers": {
		mode: mode.Mode{Flags: []string{"workers"}},
		pro:  seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 3.6e-3), cpu: .2, workers: 4}, knob: "made,workers=16",
		against: seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 1e-3), cpu: .2, workers: 4},
	},
	"cause-inline": {
		mode: mode.Mode{Without: map[string]string{mode.Inline: "plain"}},
		pro:  seen{parts: parts(timeline.Ingress, 2e-3), cpu: .2}, knob: "plain",
		against: seen{parts: parts(timeline.Ingress, 2e-3), cpu: .99},
	},
	"cause-threads": {
		mode: mode.Mode{Flags: []string{"locked"}}, asked: scenario.Arm{Flags: map[string]string{"locked": "true"}},
		pro: seen{parts: parts(timeline.Wakeup, 2e-3), values: stats.Figures{stats.Switches: stats.Known(4)}}, knob: "made,locked=false",
		against: seen{parts: parts(timeline.Wakeup, 2e-3), values: stats.Figures{stats.Switches: stats.Known(2)}},
	},
	"cause-queue-lock": {
		mode: mode.Mode{Without: map[string]string{mode.SharedQueue: "plain"}},
		pro:  seen{parts: parts(timeline.Queue, 2e-3), shown: map[string]float64{mutex: 1}}, knob: "plain,queue=rr,steal=true",
		against: seen{parts: parts(timeline.Queue, 2e-3), shown: map[string]float64{mutex: 0}},
	},
	"cause-hand-off": {
		mode: mode.Mode{Without: map[string]string{mode.HandOff: "plain"}},
		pro:  seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 1e-3), workers: 8}, knob: "plain",
		against: seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 6e-3), workers: 8},
	},
	"cause-own-queues": {
		mode: mode.Mode{Flags: []string{"steal"}},
		pro:  seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 1e-3), workers: 8}, knob: "made,steal=true",
		against: seen{parts: parts(timeline.Queue, 2e-3, timeline.Service, 7.9e-3), workers: 8},
	},
	"cause-lock": {
		path: "/kv/key", pro: seen{parts: parts(timeline.Service, 2e-3), shown: map[string]float64{mutex: 1}}, knob: "made,kv-locks=64",
		against: seen{parts: parts(timeline.Service, 2e-3), shown: map[string]float64{mutex: 1e-3}},
	},
	"cause-gc": {
		pro: seen{parts: parts(timeline.Service, 2e-3), shown: map[string]float64{"go_cpu_classes_gc_total_cpu_seconds_total": .3}}, knob: "made,env.GOGC=400",
		against: seen{parts: parts(timeline.Service, 2e-3), shown: map[string]float64{"go_cpu_classes_gc_total_cpu_seconds_total": .03}},
	},
	"cause-backlog": {
		pro: seen{parts: parts(timeline.Connect, 2e-3), values: stats.Figures{stats.Overflows: stats.Known(5)}}, knob: "made,backlog=4096",
		against: seen{parts: parts(timeline.Connect, 2e-3), values: stats.Figures{stats.Overflows: stats.Known(0)}},
	},
	"cause-uneven": {
		mode: mode.Mode{Flags: []string{"deal"}},
		pro:  seen{parts: parts(timeline.Ingress, 2e-3), fullest: 9}, knob: "made,deal=random",
		against: seen{parts: parts(timeline.Ingress, 2e-3), fullest: 5},
	},
	"cause-acceptor": {
		mode: mode.Mode{Without: map[string]string{mode.OneAcceptor: "plain"}},
		pro:  seen{parts: parts(timeline.Accept, 2e-3), cpu: .2}, knob: "plain,listeners=4",
		against: seen{parts: parts(timeline.Accept, 2e-3), cpu: .99},
	},
	"cause-batches": {
		mode:  mode.Mode{Flags: []string{"batch"}},
		asked: scenario.Arm{Flags: map[string]string{"batch": "newest-first"}},
		pro:   seen{parts: parts(timeline.Service, .5e-3), tails: parts(timeline.Ingress, 2e-3), overtaken: .5}, knob: "made,batch=in-order",
		against: seen{parts: parts(timeline.Service, .5e-3), tails: parts(timeline.Ingress, 2e-3), overtaken: .1},
	},
	turnedAway.Code: {
		mode: mode.Mode{Overflow: "drop", Axes: mode.Axes{Overflow: "block|drop"}},
		pro:  seen{values: stats.Figures{stats.Errors: stats.Known(.05)}, shown: map[string]float64{"schedlab_connections_dropped_total": 50}}, knob: "made,overflow=block",
		against: seen{values: stats.Figures{stats.Errors: stats.Known(.05)}, shown: map[string]float64{"schedlab_connections_dropped_total": 0}},
	},
	"cause-load": {
		pro:     seen{parts: parts(timeline.Lag, 2e-3), late: 5e-3, away: .1},
		against: seen{parts: parts(timeline.Lag, 2e-3), late: 5e-6},
	},
	"cause-cost": {
		pro:     seen{parts: parts(timeline.Service, 2e-3), values: stats.Figures{stats.CPUPerRequest: stats.Known(2e-3)}},
		against: seen{parts: parts(timeline.Service, 2e-3), values: stats.Figures{stats.CPUPerRequest: stats.Known(1e-3)}},
	},
}

func parts(list ...any) map[timeline.Part]float64 {
	all := map[timeline.Part]float64{}
	for i := 0; i < len(list); i += 2 {
		all[list[i].(timeline.Part)] = list[i+1].(float64)
	}
	return all
}

// Every rule is suspected from its evidence, with the knob that would take the cause away,
// and not where a witness that must agree says the contrary; nor of the arm that is faster.
func TestRulesAreSuspectedFromEvidence(t *testing.T) {
	t.Parallel()
	quick := seen{parts: parts(timeline.Service, .5e-3), cpu: .2, workers: 8, fullest: 5,
		values: stats.Figures{stats.Switches: stats.Known(2), stats.CPUPerRequest: stats.Known(1e-3)}, shown: map[string]float64{mutex: 1e-3, "go_cpu_classes_gc_total_cpu_seconds_total": .02}}
	for _, r := range rules {
		e, ok := evidence[r.cause.Code]
		if !ok {
			t.Errorf("%s: no case", r.cause.Code)
			continue
		}
		modes := map[string]mode.Mode{"made": e.mode, "plain": {Flags: []string{"steal", "listeners"}}}
		of := func(fast, slow seen) *Explanation {
			x, err := madeCase(fast, slow, e.asked, e.path).Explain("fast", "slow", modes)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		find := func(x *Explanation) int {
			return slices.IndexFunc(x.Causes, func(c Suspect) bool { return c.Code == r.cause.Code })
		}
		x := of(quick, e.pro)
		if i := find(x); i < 0 {
			t.Errorf("%s: not suspected from its evidence; got %+v", r.cause.Code, x.Causes)
		} else if c := x.Causes[i]; c.Knob != e.knob || (c.Knob == "") != (c.Control == "") || c.Knob != "" && c.Control == c.Knob {
			t.Errorf("%s: got the knob %q and the control %q, want %q and another", r.cause.Code, c.Knob, c.Control, e.knob)
		} else if c.Outcome == outcome.Yes && !c.Shown {
			t.Errorf("%s: confirmed without a test", r.cause.Code)
		}
		if x := of(quick, e.against); find(x) >= 0 {
			t.Errorf("%s: suspected although a witness that must agree says the contrary", r.cause.Code)
		}
		if x := of(e.pro, e.pro); len(x.Causes) > 0 || x.Outcome != outcome.No {
			t.Errorf("%s: of two equal arms: %s, %+v", r.cause.Code, x.Outcome, x.Causes)
		}
	}
}

// An arm that loses requests and is slower has its times explained where no rule explains the
// loss; not those of an arm that is faster for what it loses.
func TestTimesBesideLosses(t *testing.T) {
	t.Parallel()
	e := evidence["cause-workers"]
	quick := seen{parts: parts(timeline.Service, .5e-3), cpu: .2, workers: 8}
	slow := e.pro
	slow.values = stats.Figures{stats.Errors: stats.Known(.04)}
	modes := map[string]mode.Mode{"made": e.mode, "plain": {}}
	x, err := madeCase(quick, slow, e.asked, "").Explain("fast", "slow", modes)
	if err != nil || !slices.ContainsFunc(x.Causes, func(s Suspect) bool { return s.Code == "cause-workers" }) {
		t.Errorf("an arm that waits and loses requests: %+v, %v; want too few workers", x.Causes, err)
	}
	gains := quick // loses requests, and is quicker for it
	gains.values = stats.Figures{stats.Errors: stats.Known(.04)}
	x, err = madeCase(e.pro, gains, e.asked, "").Explain("fast", "slow", modes)
	if err != nil || x.Slower != "slow" || len(x.Causes) != 0 || x.Outcome != outcome.Open {
		t.Errorf("an arm that is quick and loses requests: %s of %s, %+v, %v", x.Outcome, x.Slower, x.Causes, err)
	}
}

// What the baseline, run twice, differs by from itself, or the load itself adds, is not explained.
func TestNoCauseOfNoise(t *testing.T) {
	t.Parallel()
	e := evidence["cause-workers"]
	modes := map[string]mode.Mode{"made": e.mode, "plain": {}}
	quick := seen{parts: parts(timeline.Service, .5e-3), cpu: .2, workers: 8}
	apart := quick
	apart.parts = parts(timeline.Service, 6e-3)
	for _, c := range []struct {
		name   string
		copied seen
		floor  *record.Floor
		slower string
		why    string // said of the mean
	}{
		{"a copy like the baseline", quick, &record.Floor{P50: 40e-6}, "slow", ""},
		{"a copy that is as far off", apart, nil, "", "on average they differ by 5.10 ms, and fast, run twice as a check, differs from itself by up to 5.51 ms"},
		{"a load that adds more", quick, &record.Floor{P50: 6e-3}, "", "on average they differ by 5.10 ms, and the load engine itself adds to a time by up to 6.00 ms"},
	} {
		made := madeCase(quick, e.pro, e.asked, "")
		made.arms["fast'"] = c.copied.arm("fast'")
		made.Result.Arms = []record.Arm{{Contestant: record.Contestant{Name: "fast"}}, {Contestant: record.Contestant{Name: "fast'", Role: record.Copy}}}
		made.run.Env.Floor = c.floor
		x, err := made.Explain("fast", "slow", modes)
		if err != nil || x.Outcome != outcome.Open || x.Slower != c.slower || (c.slower == "") != (len(x.Causes) == 0) || !strings.HasPrefix(x.Reason.String(), c.why) {
			t.Errorf("%s: got %s, slower %q, %q, %v; want open, %q, %q", c.name, x.Outcome, x.Slower, x.Reason, err, c.slower, c.why)
		}
	}
}

// Arms that surely differ by less than is explained are said not to differ by enough, with the figures. All else without a
// sure difference is not known (TestNoCauseOfNoise).
func TestNothingToExplain(t *testing.T) {
	t.Parallel()
	modes := map[string]mode.Mode{"made": {}, "plain": {}}
	for micros, want := range map[float64]string{
		0: "on average they differ by 0 s at most, and the least that is explained is ", 1: "on average they differ by 1.00 µs at most, and the least that is explained is ",
	} {
		fast, slow := seen{parts: parts(timeline.Service, .5e-3)}, seen{parts: parts(timeline.Service, .5e-3+micros*1e-6)}
		x, err := madeCase(fast, slow, scenario.Arm{}, "").Explain("fast", "slow", modes)
		if err != nil || x.Outcome != outcome.No || !strings.HasPrefix(x.Reason.String(), want) {
			t.Errorf("%v µs apart: got %s, %q, %v; want %q", micros, x.Outcome, x.Reason, err, want)
		}
	}
}

// Times of an arm that starves connections are not explained: they lack the longest waits.
func TestStarvationIsNotExplained(t *testing.T) {
	t.Parallel()
	e := evidence["cause-workers"]
	c := madeCase(seen{parts: parts(timeline.Service, .5e-3)}, e.pro, e.asked, "")
	slow := c.arms["slow"]
	slow.StarvedConnections = 63
	for i := range slow.windows {
		slow.windows[i].Asked, slow.windows[i].Starved = 64, 63
	}
	x, err := c.Explain("fast", "slow", map[string]mode.Mode{"made": e.mode, "plain": {}})
	if err != nil || x.Outcome != outcome.Refused || x.Slower != "" || len(x.Causes) > 0 || x.Reason.Code != doubt.Starvation.Code {
		t.Errorf("got %s of %q, %q, %v; want no times to explain", x.Outcome, x.Slower, x.Reason, err)
	}
}

// The tests have as many blocks as the exact test needs for their comparisons, in windows that fit
// into the budget.
func TestBlocksOfTheTest(t *testing.T) {
	t.Parallel()
	e := evidence["cause-workers"]
	modes := map[string]mode.Mode{"made": e.mode, "plain": {}}
	c := madeCase(seen{parts: parts(timeline.Service, 1e-3), cpu: .2, workers: 8}, e.pro, e.asked, "")
	x, err := c.Explain("fast", "slow", modes)
	if err != nil {
		t.Fatal(err)
	}
	test, ok, err := c.Test(x, modes, time.Minute)
	if err != nil || !ok {
		t.Fatalf("no test of %+v: %v", x.Causes, err)
	}
	p, arms := test.Scenario.Protocol, len(test.Scenario.Arms)
	if stats.LookRank(p.Blocks, stats.Alpha/float64(stats.Primaries()*(arms-1))) == 0 {
		t.Errorf("%d blocks decide nothing with %d arms", p.Blocks, arms)
	}
	trial := time.Duration(p.Window) + time.Duration(p.Warmup) + testSpare
	if took := time.Duration(p.Blocks*(arms+1))*trial + testsSpare; took > time.Minute {
		t.Errorf("%d blocks of %v take %v, and the budget is a minute", p.Blocks, trial, took)
	}
	c.run.Plan.Heating = record.Lasting(5 * time.Second)
	if hot, _, err := c.Test(x, modes, time.Minute); err != nil || test.Warmup != 0 || hot.Warmup != 5*time.Second+testWarmup {
		t.Errorf("a warm-up of %v, and of %v after a run that kept its servers busy for 5 s, %v", test.Warmup, hot.Warmup, err)
	}
	for challengers, want := range map[int]int{1: fewBlocks, 2: fewBlocks, 3: 12, 7: 12} {
		if got := blocksFor(challengers); got != want {
			t.Errorf("%d challengers: %d blocks, want %d", challengers, got, want)
		}
	}
}

// A cause is confirmed when the knob takes most of the longer part away and the control does
// not; it is not when the knob does nothing or too little, or the control does as much.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		knob, control float64 // the part in each; 1 ms in the faster arm, 3 ms in the slower
		state         outcome.Outcome
		outcome       outcome.Outcome
	}{
		{"knob takes it away", 1e-3, 3e-3, outcome.Yes, outcome.Yes},
		{"knob takes most of it away", 1.8e-3, 3e-3, outcome.Yes, outcome.Yes},
		{"knob does nothing", 3e-3, 3e-3, outcome.No, outcome.Open},
		{"knob does too little", 2.5e-3, 3e-3, outcome.No, outcome.Open},
		{"knob makes it worse", 5e-3, 3e-3, outcome.No, outcome.Open},
		{"control does as much", 1e-3, 1e-3, outcome.No, outcome.Open},
		{"control does half as much", 1e-3, 2e-3, outcome.No, outcome.Open},
		{"control makes it worse", 1e-3, 5e-3, outcome.No, outcome.Open},
	} {
		test := &Case{Result: &record.Comparison{Valid: madeBlocks, Common: record.Common{Dir: "tests"}}, arms: map[string]*arm{}}
		for _, a := range []struct {
			name string
			part float64
		}{{"slow", 3e-3}, {"slow'", 3e-3}, {"fast", 1e-3}, {"knob", c.knob}, {"control", c.control}} {
			test.arms[a.name] = seen{parts: parts(timeline.Queue, a.part)}.arm(a.name)
			test.Result.Arms = append(test.Result.Arms, record.Arm{Contestant: record.Contestant{Name: a.name}})
		}
		before := &Explanation{From: "fast", To: "slow", Slower: "slow", Outcome: outcome.Open, Causes: []Suspect{
			{Code: "cause-workers", Outcome: outcome.Open, Knob: "knob", Control: "control"},
			{Code: "cause-cost", Outcome: outcome.Refused},
		}}
		x := (&Case{}).Confirm(before, test)
		i := slices.IndexFunc(x.Causes, func(s Suspect) bool { return s.Code == "cause-workers" })
		if got := x.Causes[i].Outcome; got != c.state || x.Outcome != c.outcome {
			t.Errorf("%s: %s and %s, want %s and %s", c.name, got, x.Outcome, c.state, c.outcome)
		}
		if why := x.Causes[i].Why; why.None() != (c.state == outcome.Yes) || !why.None() && why.String() == "" {
			t.Errorf("%s: the reason is %q", c.name, why)
		}
		if c.state == outcome.Yes && i != 0 {
			t.Errorf("%s: a confirmed cause comes first, got %+v", c.name, x.Causes)
		}
		if before.Causes[0].Outcome != outcome.Open || x.Tests == nil || x.Tests.Dir != "tests" {
			t.Errorf("%s: Confirm changes the explanation it is given, or forgets its tests", c.name)
		}
	}
}

// The control changes what must not matter: a queue that refuses requests does.
func TestTheControlOfAQueue(t *testing.T) {
	t.Parallel()
	made := mode.Mode{Flags: []string{"workers", "queue-depth", "overflow"}, Overflow: "reject", Depth: func(int) int { return 8 }}
	for overflow, want := range map[string]string{"": "made,max-conns=8192", "drop": "made,max-conns=8192,overflow=drop", "block": "made,overflow=block,queue-depth=16"} {
		asked := scenario.Arm{Flags: map[string]string{}}
		if overflow != "" {
			asked.Flags["overflow"] = overflow
		}
		c := madeCase(seen{}, seen{workers: 4}, asked, "")
		s, err := sideOf(c.arms["slow"], c.scenario, map[string]mode.Mode{"made": made})
		if err != nil {
			t.Fatal(err)
		}
		if control, ok := another(s); !ok || control.Name != want {
			t.Errorf("overflow %q: %q, %v; want %q", overflow, control.Name, ok, want)
		}
	}
}

// What is slow by the order of Go's poller is tested with loops of both orders, also where the mean
// has a cause of its own, and not where handlers wait, which a loop would not bear.
func TestTheOrderOfThePoller(t *testing.T) {
	t.Parallel()
	modes := map[string]mode.Mode{"made": {Without: map[string]string{mode.NewestFirst: "plain"}}, "plain": {Flags: []string{"batch"}}}
	quick := seen{parts: parts(timeline.Service, 1e-3), tails: parts(timeline.Ingress, 2e-3), values: stats.Figures{stats.CPUPerRequest: stats.Known(1e-3)}}
	slow := seen{parts: parts(timeline.Service, 1.3e-3), tails: parts(timeline.Ingress, 4e-3), values: stats.Figures{stats.CPUPerRequest: stats.Known(1.3e-3)}, overtaken: .5}
	for _, sleeps := range []bool{false, true} {
		c := madeCase(quick, slow, scenario.Arm{}, "")
		if !sleeps {
			c.arms["slow"].Phases = nil
		}
		x, err := c.Explain("fast", "slow", modes)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range x.Causes {
			got = append(got, string(s.Code)+" "+s.Knob+" "+s.Control)
		}
		want := []string{"cause-batches plain plain,batch=newest-first", "cause-cost  "}
		if sleeps {
			want = want[1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("sleeps %v: got %q, want %q", sleeps, got, want)
		}
	}
}

// No more workers are in use than there are, nor more CPU time than passed: requests that are served after their window are in
// its means, and not in its throughput.
func TestNothingIsInUseForMoreThanAllTheTime(t *testing.T) {
	t.Parallel()
	made := seen{parts: parts(timeline.Service, 3e-3), values: stats.Figures{stats.Goodput: stats.Known(700)}, cpu: 1.004, workers: 2}.arm("slow")
	made.windows[0].Good = 1000 // 300 of them after the window
	if got := workersInUse.of(made, 0); got != 1 {
		t.Errorf("workers in use: %g, want 1", got)
	}
	if got := cpuUse.of(made, 0); got != 1 {
		t.Errorf("CPU in use: %g, want 1", got)
	}
	made.windows[0].Values[stats.Goodput] = stats.Known(400)
	if got := workersInUse.of(made, 0); got < .59 || got > .61 {
		t.Errorf("workers in use: %g, want 400/s that hold one of two for 3 ms, .6", got)
	}
}
