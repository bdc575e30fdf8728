package host

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// What a server leaves behind when it ends becomes ours, so that its CPU time is not another program's, and is gone after its burial.
func TestWorkersOfAnEndedServerAreOurs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $!")
	Isolate(cmd)
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := strconv.Atoi(strings.TrimSpace(string(said)))
	if err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	t.Cleanup(func() { _ = unix.Kill(-group, unix.SIGKILL) })
	p, err := procfs.NewProc(worker)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if stat.PPID != os.Getpid() {
		t.Errorf("the worker's parent is %d, want this process, %d", stat.PPID, os.Getpid())
	}
	if family := Family(group); !slices.Contains(family, worker) {
		t.Errorf("the family of server %d is %v, without its worker %d", group, family, worker)
	}
	if err := unix.Kill(-group, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	Bury(group)
	if err := unix.Kill(worker, 0); err != unix.ESRCH {
		t.Errorf("the worker is still there after its burial: %v", err)
	}
}
