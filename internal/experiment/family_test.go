package experiment

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// Children that come and go take no CPU time along: the sum over the family
// never falls.
func TestFamilyCPUNeverFalls(t *testing.T) {
	t.Parallel()
	if processCPU(os.Getpid()) < 0 || statFields(os.Getpid()) == nil {
		t.Skip("NOT RUN: no clocks of other processes")
	}
	// Each child counts for some hundredths of a second, one after the other.
	cmd := exec.Command("sh", "-c", "for n in 1 2 3 4 5; do (i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done); done; echo done; read wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	over := make(chan bool)
	go func() {
		out.Read(make([]byte, 4))
		close(over)
	}()
	highest, samples := 0.0, 0
	for late := time.After(time.Minute); ; samples++ {
		now := familyCPU(cmd.Process.Pid)
		if now < highest-backwards {
			t.Fatalf("sample %d: CPU time fell from %.3f s to %.3f s", samples, highest, now)
		}
		highest = max(highest, now)
		select {
		case <-over:
			own := processCPU(cmd.Process.Pid)
			if total := familyCPU(cmd.Process.Pid); total < own+.01 {
				t.Errorf("the shell used %.3f s and with its ended children %.3f s, want theirs too", own, total)
			}
			return
		case <-late:
			t.Fatal("the children do not end")
		default:
		}
	}
}

// CPU time that nobody can account for makes the change unknown, not small.
func TestReadingsThatFall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ then, now, want float64 }{
		{1, 2.5, 1.5}, {1, 1 - backwards/2, 0}, {1, .5, -1}, {-1, 1, -1}, {1, -1, -1},
	} {
		if got := (reading{server: c.now}).since(reading{server: c.then}).server; got != c.want {
			t.Errorf("from %g to %g s: got %g, want %g", c.then, c.now, got, c.want)
		}
	}
}

func TestFootprint(t *testing.T) {
	t.Parallel()
	f := footprint(os.Getpid())
	if f == nil {
		t.Skip("NOT RUN: no /proc")
	}
	if f.Memory < 1<<20 || f.Peak < 1<<20 || f.Threads < 1 || f.Processes < 1 {
		t.Errorf("this process: got %+v", f)
	}
	if got := footprint(1<<22 + 1); got != nil { // above every pid
		t.Errorf("no such process: got %+v", got)
	}
	if got := footprint(0); got != nil {
		t.Errorf("unknown process: got %+v", got)
	}
	want := map[string]int64{"VmRSS": 12, "Threads": 3}
	if diff := cmp.Diff(want, procFields("Name:\tx y\nVmRSS:\t 12 kB\nThreads:\t3\nEmpty:\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the trials noted of their servers is told once, and footprints are medians.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := synthetic{edit: func(trial *record.Trial, requests []record.Request) []record.Request {
		if trial.Arm != "pool" {
			trial.Server.Footprint = &record.Footprint{Memory: int64(trial.Block) << 20, Threads: 4, Processes: 1}
		}
		if trial.Arm == "pool" {
			trial.Server.CPU = -1
		}
		if trial.Arm == "fasthttp" || trial.Arm == "nethttp'" {
			trial.Server.Doubts = []string{"odd", fmt.Sprintf("odd %d", trial.Block)}
		}
		return requests
	}}
	dir, run := s.write(t)
	r, err := Judge(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	var odd []string
	for _, d := range r.Doubts {
		if strings.HasPrefix(d.Text, "odd") {
			odd = append(odd, d.Arm+": "+d.Text)
		}
	}
	if want := []string{"fasthttp: odd", "fasthttp: odd 1", "fasthttp: odd 2", "fasthttp: odd 3"}; !cmp.Equal(odd, want) {
		t.Errorf("got %q, want %q", odd, want)
	}
	for _, v := range r.Verdicts {
		if unknown := v.Metric == "cpu_per_request" && v.Arm == "pool"; unknown != (v.Reason == "the server CPU time of pool is not known") {
			t.Errorf("got %+v", v)
		}
	}
	for _, a := range r.Arms {
		switch f := a.Footprint; {
		case a.Name == "pool" && f != nil:
			t.Errorf("pool's is not known: got %+v", f)
		case a.Name != "pool" && (f == nil || f.Memory < 6<<20 || f.Memory > 7<<20 || f.Threads != 4):
			t.Errorf("%s: got %+v, want the median of 1 to 12 MiB", a.Name, f)
		}
	}
}

func TestListedCPUs(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{"0": "0", "0-3,5": "0-3,5", "": "", "x": "", "3-1": "", "0-99999999": ""} {
		if got := listedCPUs(list).String(); got != want {
			t.Errorf("%q: got %s, want %s", list, got, want)
		}
	}
}
