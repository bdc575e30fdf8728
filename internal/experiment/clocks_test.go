package experiment

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A server's clocks are those of all its processes.
func TestOverFamily(t *testing.T) {
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
	one := func(int) float64 { return 1 }
	if overFamily(os.Getpid(), one) < 2 {
		if os.Getenv("SCHEDLAB_REQUIRE") == "1" {
			t.Fatal("the kernel does not list children")
		}
		t.Skip("NOT RUN: the kernel does not list children")
	}
	for late := time.Now().Add(time.Minute); overFamily(cmd.Process.Pid, one) != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("got %g processes, want the shell and its two children", overFamily(cmd.Process.Pid, one))
		}
	}
	if got := overFamily(cmd.Process.Pid, func(int) float64 { return -1 }); got != -1 {
		t.Errorf("unknown: got %g, want -1", got)
	}
	if got := processCPU(cmd.Process.Pid); overFamily(cmd.Process.Pid, processCPU) < got {
		t.Errorf("got less than the first process alone used, %g", got)
	}
}
