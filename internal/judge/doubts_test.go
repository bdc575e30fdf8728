package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// One CPU for every server is a doubt; more for all of them, or for one that was started
// elsewhere, is none.
func TestOneCPU(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpus, attached string
		want           bool
	}{{"0", "", true}, {"0", "0", true}, {"0", "0-1", false}, {"0,2", "", false}} {
		got := len(oneCPU(&record.Result{Env: record.Env{CPUs: 4, ServerCPUs: c.cpus}, Arms: []record.Arm{{Name: "a"}, {Name: "b", CPUs: c.attached}}})) > 0
		if got != c.want {
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
		want := record.Fact{Code: faultPlanted, Arm: "nethttp", Names: record.Names{"flags": strings.Join(flags, " ")}}
		r := synthetic{servers: "0,2", plan: plant}.judged(t)
		if len(r.Doubts) != 2 || !cmp.Equal(r.Doubts[0], want) {
			t.Errorf("%q: got %v, want %v first", flags, r.Doubts, want)
		}
		run := record.Run{Status: record.Complete}
		run.Plan.Arms = []record.PlanArm{{Name: "nethttp", Command: argv}}
		if got := capacityDoubts(&record.Result{Status: record.Complete, Env: record.Env{ServerCPUs: "0,2"}}, run, nil); len(got) == 0 || !cmp.Equal(got[0], want) {
			t.Errorf("%q, a search for capacity: got %v, want %v first", flags, got, want)
		}
	}
	if got := Planted(record.Plan{Arms: []record.PlanArm{{Name: "a", Command: []string{"./server", "--plants", "--addr", "{addr}"}}}}); got != nil {
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
		edit: func(t *record.Trial, requests []record.Request) []record.Request {
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
		if v.Verdict != "SAME" {
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
	if len(r.Doubts) != 1 || r.Doubts[0].Code != record.OneHost {
		t.Errorf("got %q, want one host alone", doubtTexts(r))
	}
	if got := incomplete(record.Run{Trials: 48}, 48, 0); got != nil {
		t.Errorf("48 trials of 48: got %v, want no doubt", got)
	}
	got := incomplete(record.Run{Trials: 48}, 46, 1)
	if len(got) != 2 || got[0].Code != missingTrials || got[0].Values["missing"] != 2 || got[1].Code != trialsCut {
		t.Errorf("46 trials of 48 and one that was cut: got %v", got)
	}
}

// A run beside programs that used a quarter of the servers' CPUs says so; unknown shares say nothing.
func TestMuchDisturbedIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		foreign float64
		want    []record.Fact
	}{{-1, nil}, {.24, nil}, {.25, []record.Fact{{Code: muchDisturbed, Values: record.Values{"share": .25}}}}} {
		r := &record.Result{Status: record.Complete, Env: record.Env{CPUs: 4, ServerCPUs: "0,2"}, Arms: []record.Arm{
			{Name: "a", Disturbed: &record.Disturbed{Foreign: -1}}, {Name: "b", Disturbed: &record.Disturbed{Foreign: c.foreign}},
		}}
		if got := (blocks{}).standing(r); !cmp.Equal(got, c.want) {
			t.Errorf("a share of %v: got %v, want %v", c.foreign, got, c.want)
		}
	}
}

// A program that disturbed the run is among the doubts on the screen. It comes first if verdicts are open.
func TestDisturbanceIsOnTheScreen(t *testing.T) {
	t.Parallel()
	const said = "over the whole run of 41 s compile (pid 9) used 60 % of a CPU, mostly CPU 0 (server)"
	for name, c := range map[string]struct {
		run   synthetic
		first bool
	}{
		"open":       {synthetic{times: noisy}, true},
		"cut short":  {synthetic{times: noisy, blocks: 5, status: record.Interrupted}, false},
		"decided":    {synthetic{}, false},
		"overloaded": {synthetic{edit: slowly}, false},
	} {
		run := c.run.run()
		run.Others = &record.Others{Seconds: 41, Troubles: []record.Trouble{{Cause: record.Program, Side: record.ServerSideCPU, Share: .6, Program: "compile", PID: 9}}}
		run.Plan.Doubts = []record.Fact{{Code: record.StickyPool, Arm: "pool", Values: record.Values{"waiting": 60, "connections": 64, "workers": 4}}}
		j, err := New("run", "dir", run, Aim{})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range c.run.trials() {
			j.Take(trial, nil)
		}
		r := j.judge().result
		if got := screen(t, r); !strings.Contains(got, said) {
			t.Errorf("%s: the screen has no %q: %s", name, said, got)
		}
		if got := doubtTexts(r); (got[0] == said) != c.first || !slices.Contains(got, said) {
			t.Errorf("%s: got the doubts %q, the disturbance first: %v", name, got, c.first)
		}
	}
}

// A server on a cluster whose CPU limit stopped it is named; the run's verdicts stand.
func TestLimitedServerIsTold(t *testing.T) {
	t.Parallel()
	limit := func(trial *record.Trial, requests []record.Request) []record.Request {
		if trial.Arm == "pool" {
			trial.Server.Throttled = .05 * trial.Window
		}
		return requests
	}
	r := (synthetic{edit: limit}).judged(t)
	said := doubtTexts(r)
	if want := "its CPU limit stopped the server for 5 % of the median window"; !slices.ContainsFunc(said, func(d string) bool { return strings.Contains(d, want) }) {
		t.Errorf("got the doubts %q, want %q", said, want)
	}
	if none := (synthetic{}).judged(t); strings.Contains(strings.Join(doubtTexts(none), " "), "CPU limit") {
		t.Errorf("nobody was stopped, and it is doubted: %q", doubtTexts(none))
	}
}

func TestDescribeTrouble(t *testing.T) {
	t.Parallel()
	for want, tr := range map[string]record.Trouble{
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
	j, err := New("run", "dir", run, Aim{})
	if err != nil {
		t.Fatal(err)
	}
	r := j.judge().result
	want := []string{"over the whole run of 41 s 12 % of CPU 0 (server) was stolen by the hypervisor; cc1 (pid 9) used 2 % of a CPU, mostly CPU 1 (load)"}
	if diff := cmp.Diff(want, doubtTexts(&record.Result{Doubts: othersDoubts(run.Others)})); diff != "" {
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
