package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

// stepping takes the place of reading the clock in package runtime, to have a wall clock that somebody
// sets: an hour forward half a second after the process began, and two hours back a second later. The
// monotonic clock goes on, as the machine's does. It is one line and declares nothing, so that other
// packages find all of package runtime where it was.
const (
	reading  = "\treturn time_now()\n"
	stepping = "\tsec, nsec, mono = time_now(); if age := mono - runtimeInitTime; age >= 1500e6 { sec -= 3600 } else if age >= 500e6 { sec += 3600 }; return\n"
)

// buildStepping builds this program with that package runtime. go build -overlay would compile every
// package anew, which takes a minute and a half of CPU time. The packages do not differ, so this compiles
// package runtime alone and links it with the others, which the linker checks.
func buildStepping(t *testing.T) (bin string) {
	t.Helper()
	dir := t.TempDir()
	original := filepath.Join(strings.TrimSpace(output(t, exec.Command("go", "env", "GOROOT"))), "src", "runtime", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), reading) != 1 {
		t.Fatalf("%s does not read the clock by %q any more; see how time.Now does", original, reading)
	}
	changed, replaced, packages := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "packages")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Replace(string(text), reading, stepping, 1)
	if err := errors.Join(os.WriteFile(changed, []byte(steps), 0o600), os.WriteFile(replaced, overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	inRoot := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = moduleRoot(t)
		return output(t, cmd)
	}
	// The linker is to see the name that the compiler gives to the file of a Go installation.
	stepped := strings.TrimSpace(inRoot("list", "-overlay", replaced, "-gcflags=runtime=-trimpath="+changed+"=>$GOROOT/src/runtime/time.go", "-export", "-f", "{{.Export}}", "runtime"))
	var list strings.Builder
	program := ""
	for line := range strings.Lines(inRoot("list", "-buildvcs=false", "-deps", "-export", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}", "./cmd/schedlab")) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case name == "runtime":
			file = stepped
		case strings.HasSuffix(name, "/cmd/schedlab"):
			program = file
		}
		fmt.Fprintf(&list, "packagefile %s=%s\n", name, file)
	}
	if err := os.WriteFile(packages, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(dir, "schedlab")
	inRoot("tool", "link", "-importcfg", packages, "-o", bin, program)
	return bin
}

// Somebody sets the machine's clock an hour forward and then two back while a
// server serves, an attack runs and a comparison compares: no duration, rate or
// order of anything changes, and no timeout comes early.
func TestClockIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: it builds package runtime anew")
	}
	t.Parallel()
	bin := buildStepping(t)

	server := startChild(t, exec.Command(bin, serveArgs("pool-request", "--stamps", "basic", "--iters", "1000")...), (*exec.Cmd).Start)
	for _, load := range [][]string{
		{"--rate", "100/s", "--arrivals", "constant", "--duration", "2500ms"},
		{"--rate", "100/s", "--loop", "closed", "--duration", "2500ms"},
		{"--loop", "closed", "--duration", "2500ms"},
	} {
		cmd := exec.Command(bin, append([]string{"attack", "--target", "http://" + server.addr + "/work?sleep=2ms", "--connections", "8", "--output", "json"}, load...)...)
		var sum record.Comparison
		if err := json.Unmarshal([]byte(output(t, cmd)), &sum); err != nil {
			t.Fatal(err)
		}
		arm := sum.Arms[0]
		if arm.Requests == 0 || arm.Errors > 0 || arm.Fairness == nil || arm.Fairness.Served != 8 {
			t.Fatalf("%v: %d requests, %d failed, connections %+v; want all good, on 8", load, arm.Requests, arm.Errors, arm.Fairness)
		}
		// A duration with a step in it would be an hour off.
		times := map[string]float64{"mean": *arm.Mean, "longest lag": arm.Generator.LongestLag, "first reply": arm.Fairness.FirstReply}
		for _, p := range arm.Phases {
			times[p.Name] = p.Mean
		}
		for _, p := range arm.Curve {
			times[fmt.Sprint(p.Quantile)] = p.Seconds
		}
		for name, seconds := range times {
			if seconds < 0 || seconds > childLimit.Seconds() {
				t.Errorf("%v: %s is %g s", load, name, seconds)
			}
		}
		if arm.P50 == nil || *arm.P50 < 0.002 {
			t.Errorf("%v: a request that sleeps 2 ms takes %v", load, arm.P50)
		}
		if sum.Rate > 0 && (*arm.Goodput < 50 || *arm.Goodput > 110) {
			t.Errorf("%v: %g requests/s, want 100", load, *arm.Goodput)
		}
	}
	server.stop(t)
	began, ended := logTimes(t, server.logged())
	if back := began.Sub(ended); back < 59*time.Minute || back > 61*time.Minute {
		t.Errorf("the server's log goes from %v to %v: its clock was not set back an hour", began, ended)
	}

	dir := t.TempDir()
	compare := exec.Command(bin, "compare", "quick", "--arms", "fasthttp,pool-request", "--rate", "300/s", "--blocks", "10",
		"--warmup", "20ms", "--window", "200ms", "--stamps", "basic", "--progress", "none", "--out", dir)
	text, err := compare.CombinedOutput()
	if code := compare.ProcessState.ExitCode(); code != 0 && code != session.NoAnswer { // a busy machine may refuse all it measured
		t.Fatalf("compare: %v\n%s", err, text)
	}
	opened, run, err := record.Open("latest", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range run.Comparison().Refused {
		if strings.Contains(refused.Rule, "out of order") || strings.Contains(refused.Rule, "below zero") {
			t.Errorf("refused: %+v", refused)
		}
	}
	trials := 0
	for trial, err := range opened.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		trials++
		if s := trial.Server; s.CPU < 0 || s.CPU > childLimit.Seconds() {
			t.Errorf("trial %d: the server used %g s of CPU time", trial.Number, s.CPU)
		}
		for i, r := range trial.Requests {
			if r.Sent < r.Scheduled || r.Done < r.Sent || time.Duration(r.Done) > childLimit {
				t.Fatalf("trial %d, request %d: %+v", trial.Number, i, r)
			}
			if s := trial.Stamps[i]; s.Joined() && (s.Read < s.Wrote || s.Write < s.Read || s.First < s.Write) {
				t.Fatalf("trial %d, request %d: stamps %+v", trial.Number, i, s)
			}
		}
	}
	if trials < 30 {
		t.Errorf("%d trials, want 30", trials)
	}
}

// logTimes are the times of a log's first and last line.
func logTimes(t *testing.T, log string) (first, last time.Time) {
	t.Helper()
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") {
			continue // a warning, before there is a log
		}
		var l struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if last = l.Time; first.IsZero() {
			first = last
		}
	}
	return first, last
}
