package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/runner"
)

// busyLoop keeps the first CPU of the servers busy until the test ends.
func busyLoop(t *testing.T) {
	t.Helper()
	cpus, err := runner.CPUs(runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("NOT RUN: taskset is not in PATH; make deps installs it")
	}
	// A child of this process would count as its own, so a shell leaves the loop behind. The loop ends by itself, too.
	const loop = `i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done`
	said, err := exec.Command("sh", "-c", taskset+" -c "+cpus.Server[:1].String()+" sh -c '"+loop+"' >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	for began := time.Now(); host.FamilyCPU(pid) < .1; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("the loop has %v s of CPU time after 10 s", host.FamilyCPU(pid))
		}
	}
}

// Beside a program that uses the servers' CPU, --wait-idle gives up when its time is over: nothing is started, exit
// code 4, and the reason names who used the CPU.
func TestWaitIdleGivesUp(t *testing.T) {
	busyLoop(t)
	dir := t.TempDir()
	r := Compare{Common: Common{Where: Where{WaitIdle: 3 * time.Second, Out: dir + "/runs"}}}
	answer, err := r.Run(t.Context(), Program{Self: "schedlab", Modes: modes}, &heard{})
	if bad, ok := errors.AsType[*Error](err); !ok || bad.Code != NoAnswer || answer.Result != nil ||
		!strings.Contains(err.Error(), "--wait-idle 3s: no 3s of that were quiet, so nothing was started: in the last ") {
		t.Errorf("got %v and %v", answer, err)
	}
	if _, err := os.Stat(dir + "/runs"); err == nil {
		t.Error("there is a record of nothing")
	}
}

// Without --wait-idle the same is told before the first window. On a terminal there is time to end it; elsewhere
// nobody could, so nothing waits.
func TestBusyMachineIsToldFirst(t *testing.T) {
	busyLoop(t)
	for _, terminal := range []bool{false, true} {
		show := &heard{watched: terminal}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		began := time.Now()
		waited, err := beforeStart(ctx, runner.Options{}, 0, show)
		took := time.Since(began)
		cancel()
		if got := strings.Join(show.said, "\n"); !strings.HasPrefix(got, "busy: ") || !strings.Contains(got, "or give --wait-idle 2m, which starts as soon as 3 s were quiet") || strings.Contains(got, "starting in 5s") != terminal {
			t.Errorf("on a terminal %v: said %q", terminal, got)
		}
		if bad, ok := errors.AsType[*Error](err); waited || terminal != (ok && bad.Code == Interrupted) || !terminal && took > 2500*time.Millisecond {
			t.Errorf("on a terminal %v: got %v after %v", terminal, err, took)
		}
	}
}
