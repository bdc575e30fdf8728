package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/serving/server"
)

// systemdUnit returns the unit in deploy with another program in place of the installed one.
func systemdUnit(t *testing.T, program string) string {
	t.Helper()
	unit := read(t, filepath.Join(moduleRoot(t), "deploy", "systemd", "schedlab.service"))
	const installed = "\nExecStart=/usr/bin/schedlab "
	if !strings.Contains(unit, installed) {
		t.Fatalf("the unit has no line %q", installed)
	}
	return strings.Replace(unit, installed, "\nExecStart="+program+" ", 1)
}

// TestSystemdTakesTheUnit has systemd read the unit, and count what it may do: 0 is nothing, 100 all.
func TestSystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	analyze := need(t, "systemd-analyze")
	self, err := os.Executable() // verify wants a program that is there
	if err != nil {
		t.Fatal(err)
	}
	unit := systemdUnit(t, self)
	const threshold = "15" // two sockets and /proc are most of it
	try := func(name, text string, args ...string) (string, error) {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, append(args, file)...).CombinedOutput()
		return string(out), err
	}
	verify := []string{"verify", "--man=no"}
	security := []string{"security", "--offline=true", "--no-pager", "--threshold=" + threshold}
	// verify also reads units of this machine, and may complain of them.
	if out, err := try("schedlab.service", unit, verify...); err != nil || strings.Contains(out, "schedlab.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := try("schedlab.service", unit, security...); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
	// The controls: both see what they are there to see.
	if out, _ := try("misspelt.service", strings.Replace(unit, "LimitNOFILE", "LimitNOFILES", 1), verify...); !strings.Contains(out, "LimitNOFILES") {
		t.Errorf("verify does not tell of an unknown key:\n%s", out)
	}
	if out, err := try("open.service", strings.ReplaceAll(unit, "SystemCallFilter", "# "), security...); err == nil {
		t.Errorf("without a filter of system calls the unit is as safe:\n%s", out)
	}
}

// TestUnitServes runs the unit's command in the unit's environment, and holds its limits against the
// server's own.
func TestUnitServes(t *testing.T) {
	t.Parallel()
	var args, env []string
	limits := map[string]string{}
	for line := range strings.Lines(systemdUnit(t, "schedlab")) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ExecStart":
			args = strings.Fields(value)
		case "Environment":
			env = append(env, strings.Fields(value)...)
		default:
			limits[key] = value
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), env...), "SCHEDLAB_ADDR=127.0.0.1:0", "SCHEDLAB_ADMIN=127.0.0.1:0", "SCHEDLAB_LOG_FORMAT=json")
	s := startChild(t, cmd, (*exec.Cmd).Start)
	s.stop(t)
	if code := s.cmd.ProcessState.ExitCode(); code != session.Done {
		t.Errorf("exit code %d after SIGTERM:\n%s", code, s.logged())
	}
	drain := server.Default().DrainTimeout
	if stop, err := time.ParseDuration(limits["TimeoutStopSec"]); err != nil || stop <= drain {
		t.Errorf("TimeoutStopSec=%s (%v), want more than the %v of a drain", limits["TimeoutStopSec"], err, drain)
	}
}
