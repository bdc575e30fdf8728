package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"schedlab/internal/capabilities/doctor"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/outcome"
)

// examined runs a doctor to its end. A process that is not allowed what its
// attributes ask for skips the test.
func examined(t *testing.T, cmd *exec.Cmd) doctor.Report {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	exit, ended := errors.AsType[*exec.ExitError](err)
	if err != nil && !ended {
		notRun(t, "%q: %v", cmd.Args, err)
	}
	var r doctor.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	code := session.Done
	if ended {
		code = exit.ExitCode()
	}
	if want := map[outcome.Outcome]int{outcome.No: session.NotKept, outcome.Open: session.NoAnswer}[r.Outcome]; code != want {
		t.Errorf("%q: exit code %d of a machine that is %s, want %d", cmd.Args, code, r.Answer, want)
	}
	return r
}

func quickDoctor(flags ...string) *exec.Cmd {
	return exec.Command("schedlab", append([]string{"doctor", "--quick", "--output", "json"}, flags...)...)
}

// inShell runs a doctor after a command of the shell.
func inShell(before string) *exec.Cmd {
	return exec.Command("sh", "-c", before+` && exec "$0" "$@"`, "schedlab", "doctor", "--quick", "--output", "json")
}

// finds fails unless the doctor's check has the answer no, found that, and names the fix.
func finds(t *testing.T, r doctor.Report, check, found, fix string) {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("no finding of %q among %+v", check, r.Findings)
	}
	f := r.Findings[i]
	if f.Outcome != outcome.No || !strings.Contains(f.Found, found) || !strings.Contains(f.Fix, fix) || f.Spoils == "" {
		t.Errorf("got %+v, want it not fit, found %q, fix %q", f, found, fix)
	}
	if r.Outcome != outcome.No || r.Answer != "unfit" || !strings.Contains(r.Sentence, check+": ") {
		t.Errorf("got %q, want unfit for %s", r.Sentence, check)
	}
}

func TestDoctorFindsLowDescriptorLimit(t *testing.T) {
	t.Parallel()
	finds(t, examined(t, inShell("ulimit -n 256")), "descriptors", "256 descriptors, hard limit 256: 192 connections", "prlimit --nofile=65536:65536 --pid $$")
}

// The backlog's limit is one of the network namespace.
func TestDoctorFindsSmallBacklog(t *testing.T) {
	t.Parallel()
	cmd := inShell("echo 16 > /proc/sys/net/core/somaxconn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if out, err := exec.Command("unshare", "-n", "sh", "-c", "echo 16 > /proc/sys/net/core/somaxconn").CombinedOutput(); err != nil {
		notRun(t, "a network namespace with a backlog of its own: %v: %s", err, out)
	}
	finds(t, examined(t, cmd), "backlog", "somaxconn 16", "sysctl -w net.core.somaxconn=4096")
}

func TestDoctorFindsOneCPU(t *testing.T) {
	t.Parallel()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			last = cpu
		}
	}
	cmd := exec.Command(need(t, "taskset"), append([]string{"-c", fmt.Sprint(last)}, quickDoctor().Args...)...)
	fix := "use a machine with two CPUs or more"
	if all.Count() > 1 {
		fix = "taskset -c"
	}
	finds(t, examined(t, cmd), "cpus", fmt.Sprintf("one CPU only (%d): server and load share it", last), fix)
}

// A program that takes a CPU is named, however many others do.
func TestDoctorFindsHog(t *testing.T) {
	t.Parallel()
	spinning := exec.Command("hog")
	if err := spinning.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		spinning.Process.Kill()
		spinning.Wait()
	})
	pid := fmt.Sprintf("hog (pid %d)", spinning.Process.Pid)
	eventually(t, "a doctor beside "+pid, func() (bool, string) {
		r := examined(t, quickDoctor())
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Check == "other programs" })
		f := r.Findings[i]
		return f.Outcome == outcome.No && strings.Contains(f.Found, pid) && strings.HasPrefix(f.Fix, "measure when they are idle"), f.Found
	})
}

// Not even root writes to a file system that is mounted read-only.
func TestDoctorFindsReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "readonly")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	fix := "--out DIR"
	if os.Geteuid() == 0 {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
			notRun(t, "mounting a read-only tmpfs: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		fix = "mount -o remount,rw on the file system of " + dir
	}
	out := filepath.Join(dir, "runs")
	finds(t, examined(t, quickDoctor("--out", out)), "output", out+" cannot be written", fix)
}

// Without --quick net/http is compared with itself: the table says what a quick and
// a full comparison can judge, or the finding says why nothing can be.
func TestDoctorJudgesNoise(t *testing.T) {
	t.Parallel()
	r := examined(t, exec.Command("schedlab", "doctor", "--output", "json"))
	if r.Noise == nil || r.Noise.Scenario != "quick" || r.Noise.Err == "" && len(r.Noise.Judges) == 0 {
		t.Fatalf("got %+v, want a judgement, or why there is none", r.Noise)
	}
	for _, j := range r.Noise.Judges {
		window := .53
		if j.Comparison == "full" {
			window = 3.6
		}
		if j.Blocks < 10 || j.Blocks > 40 || j.Window != window || j.Takes <= float64(3*j.Blocks)*window || j.HalfWidth != nil && j.NeedsWindow > 0 {
			t.Errorf("got %+v, want its blocks, its time, and not both a half-width and a longer window", j)
		}
	}
	if len(r.Findings) != 21 {
		t.Errorf("got %d findings, want one of each check: %+v", len(r.Findings), r.Findings)
	}
}
