package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The first step of the GitHub action passes on what schedlab gate says: as output, as summary, and
// as success or failure.
func TestGitHubActionPassesOnTheAnswer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), "deploy", "github", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				ID  string            `yaml:"id"`
				Env map[string]string `yaml:"env"`
				Run string            `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[0]
	if step.ID != "gate" {
		t.Fatalf("the first step is %q, want gate", step.ID)
	}
	for _, tt := range []struct {
		code, failOnOpen, answer string
		passes                   bool
	}{
		{"0", "false", "answer=fine\n", true},
		{"3", "false", "answer=worse\n", false},
		{"4", "false", "answer=open\n", true},
		{"4", "true", "answer=open\n", false},
		{"2", "false", "", false}, // wrong usage is no answer
	} {
		dir := t.TempDir()
		fake := filepath.Join(dir, "schedlab")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\nprintf '%s|' \"$@\"\nexit "+tt.code+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Env = append(os.Environ(), "SCHEDLAB="+fake, "BUILD=go build -o {out} .", "RUN={out} {addr}", "RATE=2000/s", "ASKED=/x y", "OLD_REF=origin/main",
			"FLAGS=--metric p50 --allow p50=5%", "FAIL_ON_OPEN="+tt.failOnOpen, "RUNNER_TEMP="+dir,
			"GITHUB_OUTPUT="+filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"))
		for name := range step.Env {
			if !strings.Contains(strings.Join(cmd.Env, "\n"), "\n"+name+"=") {
				t.Errorf("the step reads %s, which this test does not set", name)
			}
		}
		out, err := cmd.CombinedOutput()
		if (err == nil) != tt.passes {
			t.Errorf("exit code %s, fail-on-open %s: %v, want it to pass: %v\n%s", tt.code, tt.failOnOpen, err, tt.passes, out)
		}
		answer, _ := os.ReadFile(filepath.Join(dir, "output"))
		summary, _ := os.ReadFile(filepath.Join(dir, "summary"))
		if string(answer) != tt.answer {
			t.Errorf("exit code %s: output %q, want %q", tt.code, answer, tt.answer)
		}
		want := "gate|--old-ref|origin/main|--build|go build -o {out} .|--run|{out} {addr}|--path|/x y|--rate|2000/s|--metric|p50|--allow|p50=5%|--output|markdown|"
		if tt.answer != "" && string(summary) != want {
			t.Errorf("exit code %s: summary %q, want %q", tt.code, summary, want)
		}
	}
}
