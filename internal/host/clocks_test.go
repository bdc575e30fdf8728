package host

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A server is all its processes.
func TestFamily(t *testing.T) {
	t.Parallel()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "cat <&3 & cat <&3 & wait") // until the pipe is closed
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	defer cmd.Wait()
	defer ours.Close()
	if len(Family(os.Getpid())) < 2 {
		if os.Getenv("SCHEDLAB_REQUIRE") == "1" {
			t.Fatal("the kernel does not list children")
		}
		t.Skip("NOT RUN: the kernel does not list children")
	}
	for late := time.Now().Add(time.Minute); len(Family(cmd.Process.Pid)) != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("got the processes %v, want the shell and its two children", Family(cmd.Process.Pid))
		}
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	all, err := Affinity()
	if err != nil && !errors.Is(err, ErrNoAffinity) {
		t.Fatal(err)
	}
	now := readClocks(os.Getpid(), all)
	if now.Server <= 0 || now.Load <= 0 {
		t.Errorf("this process: got %+v, want CPU time", now)
	}
	if later := ProcessCPU(os.Getpid()); later < now.Load {
		t.Errorf("this process's CPU time went from %v s back to %v", now.Load, later)
	}
	gone := readClocks(1<<22+1, nil) // above every pid
	if gone.Server != -1 {
		t.Errorf("no such process: got %v s of CPU, want unknown", gone.Server)
	}
	diff := Reading{Server: 3, Load: 1, Idle: -1, Steal: 2}.Since(Reading{Server: 1, Load: 2, Idle: 1, Steal: -1})
	if diff.Server != 2 || diff.Load != 0 || diff.Idle != -1 || diff.Steal != -1 {
		t.Errorf("got %+v, want 2, never below 0, and unknown where either is", diff)
	}
}
