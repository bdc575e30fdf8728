package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/capabilities/session"
)

// codeOf returns the blocks of code of a page in a language, in their order.
func codeOf(page, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// What docs/guide/my-service.md tells a stranger to type finds the slower build, and leaves the repository as it was.
func TestMyServicePageFindsTheSlowerBuild(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "guide", "my-service.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, commands := codeOf(string(page), "go"), codeOf(string(page), "sh")
	if len(program) != 1 || len(commands) != 3 {
		t.Fatalf("the page has %d programs and %d commands: want the service, and the commands that make it, ask and profile", len(program), len(commands))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = t\n\temail = t@example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := func(script string) *exec.Cmd {
		cmd := exec.Command("bash", "-euc", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+config)
		return cmd
	}
	output(t, shell(commands[0]))
	ask := strings.TrimSpace(commands[1])
	if profiled := strings.TrimSpace(commands[2]); profiled != ask+" --profiles" {
		t.Errorf("the page profiles with %q: want the same command with --profiles", profiled)
	}
	cmd := shell(ask + " --progress none")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || exit.ExitCode() != session.NotKept || !strings.HasPrefix(string(text), "gate: new is worse than old: ") {
		t.Errorf("%v, want exit code %d and that new is worse:\n%s%s", err, session.NotKept, text, &stderr)
	}
	// The screen on the page has the rows that the command prints.
	var rows []string
	for line := range strings.Lines(string(text)) {
		if first, _, _ := strings.Cut(line, " "); slices.Contains([]string{"p50", "p90", "p99", "goodput", "CPU/request", "memory", "capacity"}, first) {
			rows = append(rows, first)
		}
	}
	for _, row := range rows {
		if !strings.Contains(string(page), "\n"+row+" ") {
			t.Errorf("the command prints a row %q, and the page's screen has none", row)
		}
	}
	if len(rows) < 6 {
		t.Errorf("the command prints the rows %q only:\n%s", rows, text)
	}
	if left := output(t, shell("git worktree list")); strings.Contains(left, "schedlab-gate") {
		t.Errorf("left behind: %s", left)
	}
}
