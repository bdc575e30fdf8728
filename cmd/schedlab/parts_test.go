package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// notRun skips a test whose real part is missing, or fails it where
// SCHEDLAB_REQUIRE=1 says that nothing may be missing.
func notRun(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("SCHEDLAB_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf("NOT RUN: "+format, args...)
}

// need finds a program that is not part of the module.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		notRun(t, "%s is not in PATH; make deps installs it", program)
	}
	return path
}

// moduleRoot is the directory of go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	need(t, "go")
	file, err := goMod()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(file)))
}

var goMod = sync.OnceValues(func() ([]byte, error) { return exec.Command("go", "env", "GOMOD").Output() })

// output runs a command to its end and returns its standard output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

// eventually asks until an answer is right, and fails with the last that was
// not when it takes longer than a minute.
func eventually(t *testing.T, what string, right func() (ok bool, got string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, got := right()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %s after a minute", what, got)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
