package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

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
