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
	"testing"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

// stranger builds the service of testdata/stranger, whose requests cost so much
// more CPU time, and returns its path.
func stranger(t *testing.T, extra string) string {
	t.Helper()
	root := moduleRoot(t)
	program := filepath.Join(t.TempDir(), "stranger")
	build := exec.Command("go", "build", "-o", program, "-ldflags", "-X main.extra="+extra, "./cmd/schedlab/testdata/stranger")
	build.Dir = root
	output(t, build)
	return program
}

// short are the flags of the shortest comparison there is.
var short = []string{"--blocks", "10", "--window", "100ms", "--warmup", "20ms", "--budget", "60s", "--rate", "400/s", "--output", "json", "--progress", "none"}

// compareArms runs a comparison into a fresh directory and returns its result. A
// noisy machine may refuse its verdicts. It must leave nothing in the temporary
// directory.
func compareArms(t *testing.T, args ...string) (*record.Comparison, *record.Dir) {
	t.Helper()
	out, temp := t.TempDir(), t.TempDir()
	cmd := exec.Command("schedlab", slices.Concat([]string{"compare", "--out", out}, short, args)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != session.NoAnswer) {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	var r record.Comparison
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	dir, _, err := record.Open("latest", out)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return &r, dir
}

// saidOf are the doubts about an arm.
func saidOf(r *record.Comparison, arm string) string {
	var all []string
	for _, d := range r.Doubts {
		if d.Arm == arm {
			all = append(all, d.String())
		}
	}
	return strings.Join(all, "\n")
}

// Two builds of a service that knows nothing of schedlab are compared with each
// other alone, with their memory, CPU time and their own metrics on record.
func TestTwoBuildsAsArms(t *testing.T) {
	t.Parallel()
	before, after := stranger(t, "1"), stranger(t, "1.15")
	r, dir := compareArms(t, "--path", "/", "--arm", "old=metrics=/metrics GOGC=50 "+before+" -listen {addr}", "--arm", "new="+after+" -listen {addr}")
	var names []string
	for _, a := range r.Arms {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"old", "old'", "new"}) {
		t.Fatalf("got the arms %q", names)
	}
	if want := "GOGC=50 " + before + " -listen '{addr}'"; r.Arms[0].Command != want && r.Arms[0].Command != strings.ReplaceAll(want, "'", "") {
		t.Errorf("the baseline's command: got %s", r.Arms[0].Command)
	}
	used := 0.
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		f := trial.Server.Footprint
		if f == nil || f.Memory < 1<<20 || f.Peak < f.Memory || f.Threads < 2 || f.Processes != 1 {
			t.Errorf("trial %d: got the footprint %+v of a Go server", trial.Number, f)
		}
		if trial.Server.CPU < 0 {
			t.Errorf("trial %d: the CPU time is not known", trial.Number)
		}
		used += trial.Server.CPU
		if trial.Arm == "new" {
			continue
		}
		count := func(file string) string {
			text, err := os.ReadFile(filepath.Join(trial.Path, file))
			if err != nil {
				t.Fatal(err)
			}
			_, n, _ := strings.Cut(string(text), "\nstranger_served_total ")
			return strings.TrimSpace(n)
		}
		if first, last := count("metrics-before.om"), count("metrics.om"); first != "1" || len(last) < 2 {
			t.Errorf("trial %d: served %s before the load and %s after it, want the one reply that showed it ready, and many", trial.Number, first, last)
		}
	}
	if used == 0 {
		t.Error("no trial took CPU time")
	}
}

// A server that runs already is asked, not started, stopped or pinned, and what
// follows from that is said.
func TestRunningServerAsArm(t *testing.T) {
	t.Parallel()
	s := serve(t, "nethttp")
	r, dir := compareArms(t, "--path", "/plaintext", "--arm", "prod=http://"+s.addr, "--arm", "nethttp")
	if said := saidOf(r, "prod"); !strings.Contains(said, "was running already: its trials share its state") {
		t.Errorf("got the doubts %s", said)
	}
	if r.Arms[0].Command != "http://"+s.addr {
		t.Errorf("got the command %s", r.Arms[0].Command)
	}
	seen := map[int]bool{}
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Arm == "prod" {
			seen[trial.Server.PID] = true
			if trial.Server.CPU < 0 || trial.Server.Footprint == nil {
				t.Errorf("trial %d: the process that listens is ours to read: got %+v", trial.Number, trial.Server)
			}
		}
	}
	if len(seen) != 1 || seen[0] {
		t.Errorf("got the processes %v, want the one that listens", seen)
	}
	if s.cmd.ProcessState != nil {
		t.Error("the server was stopped")
	}
}

// Every arm of a block is asked the same stretch of a log, each block another.
func TestLogReplayed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "h - - [10/Oct/2000:13:55:%02d +0000] \"GET %s HTTP/1.1\" 200 9\n", i/500, []string{"/plaintext", "/json", "/bytes/100"}[i%3])
	}
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, dir := compareArms(t, "--log", log, "--arm", "nethttp", "--arm", "fasthttp")
	if !strings.HasPrefix(r.Asked, "2000 requests of ") || !strings.HasSuffix(r.Asked, "3 different ones") || r.Rate != 400 {
		t.Errorf("got %g/s of %s", r.Rate, r.Asked)
	}
	asked := map[int]string{} // by block
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		var when, what []int64
		for _, request := range trial.Requests {
			when = append(when, request.Scheduled)
			if request.Good() {
				what = append(what, int64(request.Bytes))
			}
		}
		if len(what) < len(when)*9/10 {
			t.Errorf("trial %d: %d of %d requests were answered well", trial.Number, len(what), len(when))
			continue
		}
		if got := fmt.Sprint(when); asked[trial.Block] == "" {
			asked[trial.Block] = got
		} else if asked[trial.Block] != got {
			t.Errorf("block %d: %s met other arrivals", trial.Block, trial.Arm)
		}
		slices.Sort(what)
		if sizes := slices.Compact(what); len(sizes) != 3 {
			t.Errorf("trial %d: answers of the sizes %d, want three", trial.Number, sizes)
		}
	}
	seen := map[string]bool{}
	for _, arrivals := range asked {
		seen[arrivals] = true
	}
	if len(seen) != len(asked) || len(asked) < 10 {
		t.Errorf("%d blocks met %d stretches", len(asked), len(seen))
	}
}

// nginx is an arm beside a mode, with what it could not stamp told.
func TestNginxAsArm(t *testing.T) {
	t.Parallel()
	nginx := need(t, "nginx")
	config := filepath.Join(moduleRoot(t), "cmd", "schedlab", "testdata", "nginx.conf")
	command := `sh -c 'sed -e s/HOST/{host}/ -e s/PORT/{port}/ -e s,DIR,{dir}, ` + config + ` > {dir}/nginx.conf && exec ` + nginx + ` -p {dir} -c {dir}/nginx.conf'`
	r, dir := compareArms(t, "--path", "/plaintext", "--arm", "nethttp", "--arm", "nginx="+command)
	a := r.Arms[2]
	if a.Name != "nginx" || a.Errors > 0 || a.Joined != 0 {
		t.Errorf("got %+v", a)
	}
	if said := saidOf(r, "nginx"); !strings.Contains(said, "another program: whether it does the work") {
		t.Errorf("got the doubts %s", said)
	}
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if f := trial.Server.Footprint; trial.Arm == "nginx" && (f == nil || f.Processes != 2) {
			t.Errorf("trial %d: got the footprint %+v, want that of the master and its worker", trial.Number, f)
		}
	}
	if len(a.Phases) == 0 { // every block was refused
		return
	}
	text := output(t, exec.Command("schedlab", "runs", "show", dir.Path()))
	if want := "of a server that stamps nothing"; !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		t.Errorf("the report does not say %q:\n%s", want, text)
	}
}
