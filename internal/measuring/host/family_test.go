package host

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// Children that come and go take no CPU time along: the sum over the family
// never falls.
func TestFamilyCPUNeverFalls(t *testing.T) {
	t.Parallel()
	if ProcessCPU(os.Getpid()) < 0 {
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
		now := FamilyCPU(cmd.Process.Pid)
		if now < highest-backwards {
			t.Fatalf("sample %d: CPU time fell from %.3f s to %.3f s", samples, highest, now)
		}
		highest = max(highest, now)
		select {
		case <-over:
			own := ProcessCPU(cmd.Process.Pid)
			if total := FamilyCPU(cmd.Process.Pid); total < own+.01 {
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
		if got := (Reading{Server: c.now}).Since(Reading{Server: c.then}).Server; got != c.want {
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
}
