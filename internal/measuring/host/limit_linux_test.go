package host

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// A command starts in the group of its limit, and the thread that started it leaves the group. Remove ends what the
// command has left behind.
func TestLimit(t *testing.T) {
	t.Parallel()
	l, err := NewLimit(.5)
	if err != nil {
		t.Skip("no group can be made here: ", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := fromRoot("proc/thread-self/cgroup")
	cmd := exec.Command("sh", "-c", "sleep 60 >&- & cat /proc/self/cgroup")
	var said strings.Builder
	cmd.Stdout = &said
	Isolate(cmd)
	if err := l.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(l.dir); !strings.Contains(said.String(), "/"+name+"\n") {
		t.Errorf("its groups are %q, want one of them to be %s", said.String(), name)
	}
	if after := fromRoot("proc/thread-self/cgroup"); after != before {
		t.Errorf("the groups of the thread are %q after the start, and were %q", after, before)
	}
	for range 2 {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(l.dir); !os.IsNotExist(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

// Both versions of control groups have other files for the same limit.
func TestNewLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v1         bool
		file, want string
	}{
		{true, "cpu.cfs_quota_us", "50000"},
		{false, "cpu.max", "50000 100000"},
	} {
		l, err := newLimit(t.TempDir(), c.v1, .5)
		if err != nil {
			t.Fatal(err)
		}
		if got := readFile(filepath.Join(l.dir, c.file)); got != c.want {
			t.Errorf("%s has %q, want %q", c.file, got, c.want)
		}
	}
	if _, err := newLimit(filepath.Join(t.TempDir(), "none"), true, 1); err == nil || !strings.Contains(err.Error(), "run schedlab as root") {
		t.Errorf("got %v in a group that cannot be written, want an error with what to do", err)
	}
}

// Groups of a schedlab that was killed go with the next limit; those of one that runs stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	gone, runs := filepath.Join(parent, limitPrefix+"4194305-1"), filepath.Join(parent, limitPrefix+strconv.Itoa(os.Getpid())+"-7") // no pid is above 4194304
	for _, dir := range []string{gone, runs} {
		if err := os.Mkdir(dir, fs.ModePerm); err != nil {
			t.Fatal(err)
		}
	}
	sweep(parent)
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(runs) {
		t.Errorf("left are %v (%v), want only the group of this process", left, err)
	}
}
