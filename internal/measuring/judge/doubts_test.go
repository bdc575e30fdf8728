package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// One CPU for every server is a doubt; more for all of them, or for one that was started
// elsewhere, is none.
func TestOneCPU(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpus, attached string
		want           bool
	}{{"0", "", true}, {"0", "0", true}, {"0", "0-1", false}, {"0,2", "", false}} {
		all := hostDoubts(&record.Comparison{Common: record.Common{Env: record.Env{CPUs: 4, ServerCPUs: c.cpus}}, Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b", CPUs: c.attached}}}})
		if got := slices.ContainsFunc(all, func(f fact.Fact) bool { return f.Code == onlyOneCPU.Code }); got != c.want {
			t.Errorf("servers on CPU %s, b on %q: got %v, want %v", c.cpus, c.attached, got, c.want)
		}
	}
}

// A planted fault is told beside every result of its arm, first of all doubts.
func TestPlantedFaultIsTold(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--plant", "lock=1ms"}, {"--plant-cpu=1.10"}, {"--plant", "pin", "--plant-cpu", "2"}} {
		argv := append([]string{"A=b", "schedlab", "serve", "--mode", "pool"}, flags...)
		plant := func(p *record.Plan) { p.Arms[0].Command, p.Arms[1].Command = argv, argv } // and the copy
		want := faultPlanted.Of(planted{strings.Join(flags, " ")}).On("nethttp")
		r := synthetic{servers: "0,2", plan: plant}.judged(t)
		if len(r.Doubts) != 2 || !cmp.Equal(r.Doubts[0], want) {
			t.Errorf("%q: got %v, want %v first", flags, r.Doubts, want)
		}
		run := record.Run{Status: record.Complete}
		run.Plan.Arms = []record.PlanArm{{Name: "nethttp", Command: argv}}
		trials, err := NewTrials("run", "dir", run)
		if err != nil {
			t.Fatal(err)
		}
		if got := trials.Doubts(&record.Comparison{Common: record.Common{Env: record.Env{ServerCPUs: "0,2"}}}, false); len(got) == 0 || !cmp.Equal(got[0], want) {
			t.Errorf("%q, a result of another kind: got %v, want %v first", flags, got, want)
		}
	}
	if got := plantedFaults(record.Plan{Arms: []record.PlanArm{{Name: "a", Command: []string{"./server", "--plants", "--addr", "{addr}"}}}}); got != nil {
		t.Errorf("nothing planted: got %v", got)
	}
}

// A baseline alone is compared with its copy all the same.
func TestBaselineAlone(t *testing.T) {
	t.Parallel()
	r := synthetic{
		plan: func(p *record.Plan) {
			p.Arms, p.Order = p.Arms[:2], slices.Repeat([][]int{{0, 1}}, fakeBlocks)
		},
		edit: func(t *record.Trial, requests []request.Request) []request.Request {
			if t.Arm == "fasthttp" || t.Arm == "pool" {
				return nil
			}
			return requests
		},
	}.judged(t)
	if len(r.AA) == 0 || len(r.Verdicts) != 0 {
		t.Fatalf("got %d verdicts on the copy and %d others, want some and none", len(r.AA), len(r.Verdicts))
	}
	for _, v := range r.AA {
		if v.Verdict.String() != "SAME" {
			t.Errorf("%s of the copy: got %s, want SAME", v.Metric, v.Verdict)
		}
	}
	for _, a := range r.Arms {
		if len(a.Curve) == 0 || a.Jain != nil {
			t.Errorf("%s: got %d points of its curve and the fairness %v, want a curve, and no fairness where no connection was counted", a.Name, len(a.Curve), a.Jain)
		}
	}
}

// Nothing is said against a whole run on two CPUs but that load and servers share a machine.
func TestAWholeRunHasNoDoubts(t *testing.T) {
	t.Parallel()
	r := synthetic{servers: "0,2"}.judged(t)
	if len(r.Doubts) != 1 || r.Doubts[0].Code != oneHost.Code {
		t.Errorf("got %q, want one host alone", doubtTexts(r))
	}
	if got := lacking(record.Run{Trials: 48}, 48, 0); got != nil {
		t.Errorf("48 trials of 48: got %v, want no doubt", got)
	}
	got := lacking(record.Run{Trials: 48}, 46, 1)
	if len(got) != 2 || got[0].String() != "2 of 48 trials are missing from the record" || got[1].Code != trialsCut.Code {
		t.Errorf("46 trials of 48 and one that was cut: got %v", got)
	}
}

// Others that took more than a tenth of a side's CPUs are the first doubt of an answer that stands. Where the question is
// open because of them, they are the answer: its first line, with who that was and the ways out below it.
func TestOthersAreTheAnswer(t *testing.T) {
	t.Parallel()
	const first = "demo: Too busy to tell: cc1 took 60 % of the servers' CPU."
	const below = "Busy: cc1 (23 processes of make, pid 9) used 60 % of the servers' CPU Effect: pool against nethttp may be anything from "
	const words = "cc1 took 60 % of the servers' CPU: cc1 (23 processes of make, pid 9) used 60 % of the servers' CPU; the intervals allow for that, and are wider; " +
		"end cc1, or give --wait-idle 2m, which starts as soon as 3 s were quiet"
	for name, c := range map[string]struct {
		run  synthetic
		open bool
	}{
		"open":       {synthetic{times: noisy}, true},
		"cut short":  {synthetic{times: noisy, blocks: 5, status: record.Interrupted}, false},
		"too few":    {synthetic{times: noisy, blocks: 5}, false},
		"goes on":    {synthetic{times: noisy, status: record.Running}, true},
		"decided":    {synthetic{}, false},
		"overloaded": {synthetic{edit: slowly}, false},
	} {
		run := c.run.run()
		run.Plan.Doubts = []fact.Fact{
			doubt.StickyPool.Of(doubt.Sticky{Waiting: 60, Connections: 64, Workers: 4}).On("pool"),
			doubt.BudgetEnded.Of(doubt.Ended{Verdicts: "pool at p99", Open: 1, Blocks: 12, Room: 36, Needed: 150}),
		}
		j, err := New("run", "dir", run, Winner{})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range c.run.trials() {
			j.Take(trial, nil)
		}
		calm := j.judge().result
		j.Watched(&record.Others{Seconds: 41, Troubles: []record.Trouble{{Cause: record.Program, Side: record.ServerSideCPU, Share: .6, Server: .6, Program: "cc1", PID: 9, Parent: "make", Processes: 23}}})
		r := j.judge().result
		got := screen(t, r)
		if strings.Contains(got, first) != c.open || strings.Contains(got, below) != c.open || doubt.TooBusy(r.Doubts).None() == c.open {
			t.Errorf("%s: the first line is the answer: %v, want %v: %s", name, strings.Contains(got, first), c.open, got)
		}
		if c.open && !strings.Contains(got, "So far: ") {
			t.Errorf("%s: what the run found is not told: %s", name, got)
		}
		if said := doubtTexts(r); !doubt.MachineBusy.Code.Is(r.Doubts[0]) || !c.open && said[0] != words || !c.open && !strings.Contains(got, words) {
			t.Errorf("%s: got the doubts %q, want %q first: %s", name, said, words, got)
		}
		// More blocks do not help.
		if all := got + strings.Join(doubtTexts(r), " "); strings.Contains(all, "would decide") || strings.Contains(all, "may be enough") {
			t.Errorf("%s: a number of blocks or a budget is advised: %s", name, all)
		}
		if all := strings.Join(doubtTexts(calm), " "); !strings.Contains(all, "has room for 36, which may be enough") || slices.ContainsFunc(calm.Doubts, doubt.MachineBusy.Code.Is) {
			t.Errorf("%s, nobody else: got the doubts %q", name, all)
		}
	}
}

// The answer has twelve words at most and names what took most of the side's CPUs from which most was taken.
func TestBusy(t *testing.T) {
	t.Parallel()
	two, shared := record.Env{CPUs: 4, ServerCPUs: "0-1", LoadCPUs: "2-3"}, record.Env{CPUs: 2}
	program := func(name string, server, load float64) record.Trouble {
		return record.Trouble{Cause: record.Program, Program: name, PID: 7, Server: server, Load: load, Share: server + load}
	}
	for _, c := range []struct {
		env      record.Env
		troubles []record.Trouble
		want     string
		next     string
	}{
		{two, []record.Trouble{program("hog", .1, .1)}, "", ""},
		{two, []record.Trouble{program("hog", .3, 0), program("cron", .02, .2)}, "Too busy to tell: hog took 30 % of the servers' CPUs", "end hog, or give"},
		{two, []record.Trouble{program("hog", .3, 0), program("cc1", .02, .4)}, "Too busy to tell: cc1 took 40 % of the load's CPUs", "end cc1, or give"},
		{two, []record.Trouble{program("a", .05, 0), program("b", .06, 0), program("c", .05, 0)}, "Too busy: b 6 %, others 10 % of the servers' CPUs", "end b and the others, or give"},
		{two, []record.Trouble{program("Web Content", .5, 0)}, "Too busy: Web Content took 50 % of the servers' CPUs", "end Web Content, or give"},
		{two, []record.Trouble{{Cause: record.Stolen, CPU: 0, Server: .1}, {Cause: record.Stolen, CPU: 1, Server: .08}, program("hog", .01, 0)},
			"Too busy: the hypervisor took 18 % of the servers' CPUs", "use a machine with CPUs of its own, or give"},
		{two, []record.Trouble{{Cause: record.Passing, CPU: -1, Server: .3}, program("hog", .1, 0)}, "Too busy: unseen programs took 30 % of the servers' CPUs", "look for them on the host (top) and end them, or give"},
		{two, []record.Trouble{{Cause: record.SoftIRQ, Load: .2}}, "Too busy: interrupts took 20 % of the load's CPUs", "keep that traffic away, or give"},
		{two, []record.Trouble{{Cause: record.Own, Server: .9}}, "", ""},
		{shared, []record.Trouble{program("hog", .4, .4)}, "Too busy to tell: hog took 40 % of the shared CPUs", "end hog, or give"},
		{record.Env{CPUs: 2, ServerCPUs: "0", LoadCPUs: "1"}, []record.Trouble{program("cc1", .834, 0)}, "Too busy to tell: cc1 took 83 % of the servers' CPU", "end cc1, or give"},
	} {
		busy := Busy(&record.Others{Seconds: 10, Troubles: c.troubles}, c.env)
		got := ""
		if !busy.None() {
			got = busy.Part("answer")
		}
		if got != c.want || len(strings.Fields(got)) > 12 || c.next != "" && !strings.HasPrefix(busy.Part("do"), c.next) {
			t.Errorf("%+v: got %q and %q, want %q and %q", c.troubles, got, busy.Part("do"), c.want, c.next)
		}
	}
	if got := Busy(nil, two); !got.None() {
		t.Errorf("a machine that does not tell: got %v", got)
	}
}

// Where every arm falls behind, others are the reason if the arms' own work would not fill their CPUs, and not otherwise;
// and neither where an arm answers wrongly.
func TestOthersMakeArmsFallBehind(t *testing.T) {
	t.Parallel()
	behind := func(cpu float64) func(*record.Trial, []request.Request) []request.Request {
		return func(t *record.Trial, requests []request.Request) []request.Request {
			t.Server.CPU = cpu
			for i := range requests {
				requests[i].Done = requests[i].Scheduled*10/6 + 2e6
			}
			return requests
		}
	}
	failing := some(10, func(r *request.Request) { r.Status = 500 })
	waiting := some(10, func(r *request.Request) { r.Status, r.Outcome = 0, request.TimedOut })
	for name, c := range map[string]struct {
		edit func(*record.Trial, []request.Request) []request.Request
		open bool
	}{
		"little work": {behind(.3), true}, "too much work": {behind(.95), false},
		"status 500": {failing, false}, "timeouts": {waiting, true},
	} {
		s := synthetic{edit: c.edit}
		j, err := New("run", "dir", s.run(), Winner{})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range s.trials() {
			j.Take(trial, nil)
		}
		j.Watched(&record.Others{Seconds: 41, Troubles: []record.Trouble{{Cause: record.Program, Share: .6, Server: .6, Program: "cc1", PID: 9}}})
		r := j.judge().result
		if got := report.Headline(r); strings.HasPrefix(got, "Too busy to tell: cc1") != c.open {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// Where other programs used more than half of the servers' CPU time, an arm that needs clearly less of it is not called
// faster: the question is open, and the machine is the reason. Any other verdict stands.
func TestTimesOfServersWithoutTheirCPU(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taken, times, cpu float64 // of the pool, against net/http
		verdict           string
		code              fact.Code
	}{
		"less taken":                {.49, .6, .8, "FASTER", ""},
		"quicker by less CPU":       {.51, .6, .8, "refused", causeTaken.Code},
		"quicker by nearly as much": {.51, .6, .95, "FASTER", ""},
		"slower by more CPU":        {.51, 1.5, 1.3, "refused", causeTaken.Code},
		"slower with less":          {.51, 1.5, .8, "SLOWER", ""},
	} {
		s := synthetic{times: scaled(map[string]float64{"pool": c.times}), edit: func(trial *record.Trial, requests []request.Request) []request.Request {
			trial.Server.Foreign = c.taken * trial.Window.Seconds()
			if trial.Arm == "pool" {
				trial.Server.CPU *= c.cpu
			}
			return requests
		}}
		dir, run := s.write(t)
		r, err := comparisonOf(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []stats.Figure{stats.P50, stats.P99} {
			i := slices.IndexFunc(r.Verdicts, func(v record.Verdict) bool { return v.Arm == "pool" && v.Metric == m })
			if v := r.Verdicts[i]; v.Verdict.String() != c.verdict || v.Reason.Code != c.code {
				t.Errorf("%s: pool at %s is %s (%v)", name, m, v.Verdict, v.Reason)
			}
		}
		if busy := strings.HasPrefix(report.Headline(r), "Too busy: other programs took 51 % of the servers' CPU"); busy != (c.code != "") {
			t.Errorf("%s: %q", name, report.Headline(r))
		}
	}
}

// What other programs used before the first block is no doubt about a run that was watched as a whole; a lasting fault is.
func TestFirstLookIsSuperseded(t *testing.T) {
	t.Parallel()
	look := fact.Fact{Code: "machine-unfit", Because: []fact.Fact{doubt.MachineVerdict.Of(doubt.Fitness{Verdict: "unfit", Passing: true})}}
	lasting := fact.Fact{Code: "machine-unfit", Because: []fact.Fact{doubt.MachineVerdict.Of(doubt.Fitness{Verdict: "unfit"})}}
	both := []fact.Fact{look, lasting}
	if got := withoutFirstLook(both, nil); len(got) != 2 {
		t.Errorf("nobody watched the run: got %v, want both doubts", got)
	}
	if got := withoutFirstLook(both, &record.Others{}); len(got) != 1 || passes(got[0].Because[0]) {
		t.Errorf("the run was watched: got %v, want what does not pass", got)
	}
}

// A program that began late took little of the whole run, but a quarter of the windows: their own figure tells that.
func TestBusyWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		foreign float64
		want    string
	}{{-1, ""}, {.24, ""}, {.25, "Too busy: other programs took 25 % of the servers' CPUs"}} {
		r := &record.Comparison{Common: record.Common{Status: record.Complete, Env: record.Env{CPUs: 4, ServerCPUs: "0,2", LoadCPUs: "1"}}, Arms: []record.Arm{
			{Contestant: record.Contestant{Name: "a"}, Details: record.Details{Disturbed: &record.Disturbed{Foreign: -1}}}, {Contestant: record.Contestant{Name: "b"}, Details: record.Details{Disturbed: &record.Disturbed{Foreign: c.foreign}}},
		}}
		busy, got := blocks{aim: Winner{}}.busy(r), ""
		if !busy.None() {
			got = busy.Part("answer")
		}
		if got != c.want {
			t.Errorf("a share of %v: got %q, want %q", c.foreign, got, c.want)
		}
	}
}

// What a busy machine may do to a gate is told by the gate's own intervals, of what must be fine.
func TestBusyGateTellsItsOwnInterval(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{
		Common: record.Common{Status: record.Complete, Env: record.Env{CPUs: 4, ServerCPUs: "0,2", LoadCPUs: "1"}},
		Arms: []record.Arm{
			{Contestant: record.Contestant{Name: "old"}, Details: record.Details{Disturbed: &record.Disturbed{Foreign: .4}}}, {Contestant: record.Contestant{Name: "new"}},
		},
		Verdicts: []record.Verdict{{Metric: stats.P99, Primary: true, Baseline: "old", Arm: "new", Verdict: stats.Decision{Outcome: outcome.Open}, Low: .5, High: 2}},
		Gate: []record.Gated{
			{Metric: stats.P50, Outcome: outcome.Open, Low: .88, High: 1.17}, {Metric: stats.P90, Outcome: outcome.Open, Low: .4, High: 3, Watched: true}, {Metric: stats.Goodput, Outcome: outcome.Yes, Low: .9, High: 1.3},
		},
	}
	f := blocks{aim: Gate{}}.busy(r)
	busy, is := fact.In(doubt.MachineBusy, f)
	if !is || f.Metric != "p50" || busy.Low != .88 || busy.High != 1.17 {
		t.Errorf("got %s, of %g to %g; want the open p50 of the gate", f.Metric, busy.Low, busy.High)
	}
}

// A window in which the load stood still for 3 s has no weight: its block is left out, and a doubt says so.
func TestALoadThatStoodStillHasNoWeight(t *testing.T) {
	t.Parallel()
	still := func(seconds float64, rest string) func(*record.Trial, []request.Request) []request.Request {
		return at("pool", func(t *record.Trial, requests []request.Request) []request.Request {
			t.Client.Proof = &record.Proof{Planned: len(requests), Sent: len(requests), Rest: rest, LongestGap: seconds}
			if rest == "" { // another engine
				t.Client.Proof.LongestGap, t.Client.Proof.LongestLag = 0, seconds
			}
			return requests
		}, 4, 7)
	}
	for _, c := range []struct {
		seconds float64
		rest    string
		valid   int
	}{{3.5, record.RestSpins, 10}, {3.5, record.RestWaits, 10}, {3.5, "", 10}, {2.9, record.RestSpins, 12}, {2.9, "", 12}} {
		r := synthetic{servers: "0,2", edit: still(c.seconds, c.rest)}.judged(t)
		const want = "pool: the load stood still for 3.50 s in block 4 and in 1 more window: what it measured there has no weight"
		if said := slices.Contains(doubtTexts(r), want); r.Valid != c.valid || said != (c.valid == 10) {
			t.Errorf("%.1f s with %q: got %d blocks that count and the doubts %q", c.seconds, c.rest, r.Valid, doubtTexts(r))
		}
		if c.valid == 10 && (len(r.Refused) != 2 || r.Refused[0].Block != 4 || r.Refused[0].Rule != "load stood still (s)") {
			t.Errorf("got %+v refused, want blocks 4 and 7", r.Refused)
		}
	}
}

// A server on a cluster whose CPU limit stopped it is named; the run's verdicts stand.
func TestLimitedServerIsTold(t *testing.T) {
	t.Parallel()
	limit := func(trial *record.Trial, requests []request.Request) []request.Request {
		if trial.Arm == "pool" {
			trial.Server.Throttled = .05 * trial.Window.Seconds()
		}
		return requests
	}
	r := (synthetic{edit: limit}).judged(t)
	said := doubtTexts(r)
	if want := "its CPU limit stopped the server for 5 % of the median window"; !slices.ContainsFunc(said, func(d string) bool { return strings.Contains(d, want) }) {
		t.Errorf("got the doubts %q, want %q", said, want)
	}
	asked := func(p *record.Plan) {
		for i := range p.Arms {
			p.Arms[i].Command = append([]string{"limit=0.5"}, p.Arms[i].Command...)
		}
	}
	if none := (synthetic{edit: limit, plan: asked}).judged(t); strings.Contains(strings.Join(doubtTexts(none), " "), "CPU limit") {
		t.Errorf("the arms' own limits are doubted: %q", doubtTexts(none))
	}
	if none := (synthetic{}).judged(t); strings.Contains(strings.Join(doubtTexts(none), " "), "CPU limit") {
		t.Errorf("nobody was stopped, and it is doubted: %q", doubtTexts(none))
	}
}

// A server that becomes faster all through its saturated turns was not warm, unless it does so only at times or hardly.
func TestAColdServerIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		later func(block int) int // good replies of the second half, of 1000 in the first
		want  string
	}{
		"cold":     {func(int) int { return 1300 }, "it was not warm: when it was saturated after the windows, it answered 30 % more in the second half of that time than in the first (12 of 12 times)"},
		"at most":  {func(block int) int { return 1300 - 400*(block/12) }, ""},
		"warm":     {func(int) int { return 1000 }, ""},
		"hardly":   {func(int) int { return 1080 }, ""},
		"at times": {func(block int) int { return 900 + 500*(block%2) }, ""},
		"no turns": {func(int) int { return 0 }, ""},
		"waits":    {func(int) int { return 1300 }, ""}, // its clients come back together
	} {
		edit := func(trial *record.Trial, requests []request.Request) []request.Request {
			if later := tt.later(trial.Block); trial.Arm == "pool" && later > 0 {
				trial.Server.Saturated = &record.Saturation{Answered: 1000 + later, Later: later, Elapsed: .3, CPUs: 1, CPU: .3}
				if name == "waits" {
					trial.Server.Saturated.Idle = .1
				}
			}
			return requests
		}
		said := ""
		for _, d := range (synthetic{edit: edit}).judged(t).Doubts {
			if d.Code == doubt.ColdServer.Code {
				said = strings.ReplaceAll(d.String(), "\u00a0", " ")
				if d.Arm != "pool" {
					t.Errorf("%s: the doubt is about %q", name, d.Arm)
				}
			}
		}
		if said != tt.want {
			t.Errorf("%s: %q, want %q", name, said, tt.want)
		}
	}
}

// Where the load was at its limit before a server, that capacity is worked out is told, of that arm alone; and nothing of one that
// used too little of its CPU, whose capacity is refused.
func TestCapacityThatIsWorkedOutIsTold(t *testing.T) {
	t.Parallel()
	for used, want := range map[float64]string{
		.24: "pool: when it was saturated, the load was at its limit and the server used 80 % of its CPU: its capacity is what all of it would serve, at the same CPU time a reply",
		.09: "",
	} {
		edit := func(trial *record.Trial, requests []request.Request) []request.Request {
			trial.Server.Saturated = &record.Saturation{Answered: 2000, Elapsed: .3, CPUs: 1, CPU: used, Idle: .3 - used, LoadLimited: trial.Arm == "pool"}
			return requests
		}
		var said []string
		for _, d := range (synthetic{edit: edit}).judged(t).Doubts {
			if d.Code == capacityWorkedOut.Code {
				said = append(said, d.Arm+": "+strings.ReplaceAll(d.String(), "\u00a0", " "))
			}
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("with %g s of .3: got %q, want %q", used, got, want)
		}
	}
}

// A longer warm-up is advised where it would be spent saturated, and up to half a minute.
func TestAdvisedWarmUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command bool
		had     time.Duration
		want    string
	}{{true, 60 * time.Millisecond, "; --warmup 3s may be enough"}, {true, 5 * time.Second, "; --warmup 16s may be enough"}, {true, 12 * time.Second, ""}, {false, 0, ""}} {
		edit := func(trial *record.Trial, requests []request.Request) []request.Request {
			trial.Server.Saturated = &record.Saturation{Answered: 2300, Later: 1300, Elapsed: .3, CPUs: 1, CPU: .3}
			return requests
		}
		plan := func(p *record.Plan) {
			p.Heating = record.Lasting(tt.had)
			for i := range p.Arms {
				if p.Arms[i].Command = []string{"./server"}; tt.command {
					p.Arms[i].Mode = ""
				}
			}
		}
		said := strings.Join(doubtTexts((synthetic{edit: edit, plan: plan}).judged(t)), " ")
		_, advice, found := strings.Cut(said, "than in the first (12 of 12 times)")
		if !found || !strings.HasPrefix(advice, tt.want) || tt.want == "" && strings.Contains(said, "--warmup") {
			t.Errorf("commands %t, after %v: %q, want the advice %q", tt.command, tt.had, said, tt.want)
		}
	}
}

// A server that is busy all the time at a rate that it could serve in half of it does something else, such as compiling itself; one
// whose requests take longer for being woken up has idle CPUs.
func TestAServerThatDoesSomethingElseIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		busy, each float64 // of the window; CPU seconds a reply when saturated
		want       bool
	}{{.95, .95 / fakeRate / 10, true}, {.95, .95 / fakeRate / 1.2, false}, {.3, .3 / fakeRate / 10, false}} {
		edit := func(trial *record.Trial, requests []request.Request) []request.Request {
			if trial.Arm == "pool" {
				trial.Server.CPU = tt.busy * trial.Window.Seconds()
				trial.Server.Saturated = &record.Saturation{Answered: 2000, Later: 1000, Elapsed: 2000 * tt.each, CPUs: 1, CPU: 2000 * tt.each}
			}
			return requests
		}
		r := (synthetic{edit: edit}).judged(t)
		told := strings.Contains(strings.Join(doubtTexts(r), " "), "so most of it went into something else")
		if told != tt.want {
			t.Errorf("busy for %v of the time, %v s a reply when saturated: told %t, want %t", tt.busy, tt.each, told, tt.want)
		}
		// At a fixed rate a full CPU has the same CPU time a request, whatever the requests take.
		for _, v := range r.Verdicts {
			if v.Arm == "pool" && v.Metric == stats.CPUPerRequest && (v.Reason.Code == causeBusyBeside.Code) != tt.want {
				t.Errorf("busy for %v of the time, %v s a reply when saturated: CPU time a request is %v, %v", tt.busy, tt.each, v.Verdict.Outcome, v.Reason)
			}
		}
	}
}

// Doubts about a run on several machines name the flags that the site has for it, and say what to change where it has none.
func TestDoubtsNameTheFlagsOfTheSite(t *testing.T) {
	t.Parallel()
	limit := func(trial *record.Trial, requests []request.Request) []request.Request {
		trial.Server.Throttled = .05 * trial.Window.Seconds()
		return requests
	}
	for _, c := range []struct {
		words record.SiteWords
		want  []string
	}{
		{record.SiteWords{CPUs: "--more", Apart: "--these and --those"}, []string{
			"in its times; give the servers more with --more",
			"servers and load shared a (--these and --those part them); the network",
			"share a run queue; repeat with --more 2 or more",
		}},
		{record.SiteWords{}, []string{
			"in its times; give the servers a higher limit",
			"servers and load shared a (give each machines of its own); the network",
			"share a run queue; with more CPUs repeat on two or more",
		}},
	} {
		dir, run := (synthetic{edit: limit}).write(t)
		run.Env.Site = &record.Site{ServerCPUs: 1, ServerMachines: []string{"a"}, LoadMachines: []string{"a", "b"}, Words: c.words}
		r, err := FromRecord(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(doubtTexts(r.(*record.Comparison)), "\n")
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%+v: got the doubts\n%s\nwant %q", c.words, said, want)
			}
		}
	}
}

func TestDescribeTrouble(t *testing.T) {
	t.Parallel()
	for want, tr := range map[string]record.Trouble{
		"cc1 (41 processes of make, pid 7) used 80 % of a CPU, mostly CPU 0 (server)":             {Cause: record.Program, Side: record.ServerSideCPU, Share: .8, Program: "cc1", PID: 7, Parent: "make", Processes: 41},
		"cc1 (started by sh, pid 7) used 80 % of a CPU, mostly CPU 0 (server)":                    {Cause: record.Program, Side: record.ServerSideCPU, Share: .8, Program: "cc1", PID: 7, Parent: "sh"},
		"hog (2 processes, mostly pid 8) used 60 % of a CPU, mostly CPU 0 (server)":               {Cause: record.Program, Side: record.ServerSideCPU, Share: .6, Program: "hog", PID: 8, Processes: 2},
		"ffmpeg (pid 812) used 31 % of a CPU, mostly CPU 0 (server)":                              {Cause: record.Program, Side: record.ServerSideCPU, Share: .31, Program: "ffmpeg", PID: 812},
		"0.4 % of CPU 1 (load) went to interrupts of devices":                                     {Cause: record.Interrupt, CPU: 1, Side: record.LoadSideCPU, Share: .004},
		"7 % of CPU 1 (load) went to soft interrupts for other traffic than the load's":           {Cause: record.SoftIRQ, CPU: 1, Side: record.LoadSideCPU, Share: .07},
		"this program's own threads used 4 % of CPU 0 (server)":                                   {Cause: record.Own, Side: record.ServerSideCPU, Share: .04},
		"other programs (small ones, or gone before they were seen) used 14 % of the CPUs in use": {Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: .14},
		"20 % of CPU 3 (server and load) was stolen by the hypervisor":                            {Cause: record.Stolen, CPU: 3, Side: record.BothSides, Share: .2},
	} {
		if got := took(tr).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The result has the amounts over the whole run and one doubt that says them.
func TestOthersInResult(t *testing.T) {
	t.Parallel()
	run := synthetic{}.run()
	run.Others = &record.Others{Seconds: 41, Steal: .06, Troubles: []record.Trouble{
		{Cause: record.Stolen, Side: record.ServerSideCPU, Share: .12},
		{Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: .05},
		{Cause: record.Program, CPU: 1, Side: record.LoadSideCPU, Share: .02, Program: "cc1", PID: 9},
		{Cause: record.Interrupt, CPU: 1, Side: record.LoadSideCPU, Share: .004},
	}}
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	r := j.judge().result
	want := []string{"over the whole run of 41 s 12 % of CPU 0 (server) was stolen by the hypervisor; cc1 (pid 9) used 2 % of a CPU, mostly CPU 1 (load)"}
	if diff := cmp.Diff(want, doubtTexts(&record.Comparison{Common: record.Common{Doubts: othersDoubts(run.Others)}})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Others != run.Others || r.Env.StealRatio != .06 || !slices.Contains(doubtTexts(r), want[0]) {
		t.Errorf("got %+v, a steal ratio of %g, doubts %q", r.Others, r.Env.StealRatio, doubtTexts(r))
	}
}

// While the run goes on, the sentence says so.
func TestTroubleSoFar(t *testing.T) {
	t.Parallel()
	got := TroubleSoFar(record.Trouble{Cause: record.Stolen, CPU: 0, Side: record.ServerSideCPU, Share: .12}).String()
	if want := "12 % of CPU 0 (server) was stolen by the hypervisor so far; intervals get wider, the run goes on"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
