package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolsTest runs tools/test on a small module of its own: a failed test is run again only where
// tools/flaky lists it.
func TestToolsTest(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	gotestsum, err := filepath.Abs(filepath.Join(root, "bin", "gotestsum"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gotestsum); err != nil {
		notRun(t, "make bin/gotestsum builds it: %v", err)
	}
	need(t, "jq")
	script, err := os.ReadFile(filepath.Join(root, "tools", "test"))
	if err != nil {
		t.Fatal(err)
	}
	// A test fails as often as the variable of its name says, by a file that counts.
	const fake = `package fake
import ("os"; "strconv"; "testing")
func fails(t *testing.T, name string) bool {
	n, _ := os.ReadFile(name)
	os.WriteFile(name, append(n, '.'), 0o600)
	most, _ := strconv.Atoi(os.Getenv(name))
	return len(n) < most
}
func TestListed(t *testing.T) { if fails(t, "LISTED") { t.Error("listed") } }
func TestPart(t *testing.T) { t.Run("of it (1)", func(t *testing.T) { if fails(t, "PART") { t.Error("part") } }) }
func TestListedNot(t *testing.T) { if fails(t, "UNLISTED") { t.Error("unlisted") } }
func TestPanics(t *testing.T) { if fails(t, "PANIC") { panic("listed") } }
`
	for name, c := range map[string]struct {
		fails []string
		code  int
		runs  string // of TestListed
		says  string
	}{
		"nothing":             {nil, 0, ".", "DONE 5 tests"},
		"listed, once":        {[]string{"LISTED=1"}, 0, "..", "PASSED when run again: fake/deep TestListed\nDONE 2 runs, 6 tests in "},
		"two listed":          {[]string{"LISTED=2", "PART=1"}, 0, "...", "DONE 4 runs, 8 tests in "},
		"listed, always":      {[]string{"LISTED=9"}, 1, "...", "FAILED, not run again: fake/deep TestListed, which failed three times\n"},
		"unlisted":            {[]string{"UNLISTED=1"}, 1, ".", "FAILED, not run again: fake/deep TestListedNot\n"},
		"listed and unlisted": {[]string{"LISTED=1", "UNLISTED=1"}, 1, ".", "FAILED, not run again: fake/deep TestListedNot\n"},
		"a panic":             {[]string{"PANIC=1"}, 1, ".", "FAILED, not run again: a panic or a data race\n"},
		"no build":            {[]string{"GOFLAGS=-tags=broken"}, 1, "", "FAILED, not run again: fake/deep "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{
				"tools/test": string(script), "tools/flaky": "# list\ndeep TestListed a reason\ndeep TestPart/of_it_(1) another\ndeep TestPanics one more\n",
				"go.mod": "module fake\n\ngo 1.26\n", "deep/fake_test.go": fake, "deep/broken_test.go": "//go:build broken\n\npackage fake\n\nvar broken int = \"\"\n",
			} {
				path := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.Symlink(gotestsum, filepath.Join(dir, "bin", "gotestsum"))); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(filepath.Join(dir, "tools", "test"), "./...", "-timeout", "1m")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), c.fails...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			ran, _ := os.ReadFile(filepath.Join(dir, "deep", "LISTED"))
			if code := cmd.ProcessState.ExitCode(); code != c.code || string(ran) != c.runs || !strings.Contains(string(out), c.says) {
				t.Errorf("exit code %d, TestListed ran %d times, want %d, %d and %q in\n%s", code, len(ran), c.code, len(c.runs), c.says, out)
			}
		})
	}
}
