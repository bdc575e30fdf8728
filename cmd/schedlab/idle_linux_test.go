package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/host"
)

// busyLoop keeps the first CPU of the servers busy until the test ends.
func busyLoop(t *testing.T) {
	t.Helper()
	cpus, err := experiment.CPUs(experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	taskset := need(t, "taskset")
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
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"compare", "--wait-idle", "3s", "--out", dir + "/runs"}, &out, &said)
	if code != exitPartial || !strings.Contains(said.String(), "--wait-idle 3s: no 3s of that were quiet, so nothing was started: in the last ") || out.Len() > 0 {
		t.Errorf("got exit code %d, %q and %q", code, out.String(), said.String())
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
		var said bytes.Buffer
		show := newProgress(&said, "plain")
		show.terminal = terminal
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		began := time.Now()
		waited, err := (&compareFlags{}).beforeStart(ctx, experiment.Options{}, show)
		took := time.Since(began)
		cancel()
		if got := said.String(); !strings.HasPrefix(got, "busy: ") || !strings.Contains(got, "or give --wait-idle 2m, which starts as soon as 3 s were quiet") || strings.Contains(got, "starting in 5s") != terminal {
			t.Errorf("on a terminal %v: said %q", terminal, got)
		}
		if bad, ok := errors.AsType[*exitError](err); waited || terminal != (ok && bad.code == exitInterrupted) || !terminal && took > 2500*time.Millisecond {
			t.Errorf("on a terminal %v: got %v after %v", terminal, err, took)
		}
	}
}

// Mistakes in --wait-idle are told before anything is looked at.
func TestWaitIdleMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"1s", "--wait-idle 1s is too short for 3s without others; give that or more"},
		{"0s", "--wait-idle 0s must be above 0; leave it out for the default"},
		{"-5s", "--wait-idle -5s must be above 0; leave it out for the default"},
	} {
		for _, command := range []string{"compare", "capacity", "explain"} {
			var out, said bytes.Buffer
			if code := run(t.Context(), []string{command, "--wait-idle=" + c[0]}, &out, &said); code != exitUsage || !strings.Contains(said.String(), c[1]) {
				t.Errorf("%s --wait-idle %s: got exit code %d and %q", command, c[0], code, said.String())
			}
		}
	}
}
