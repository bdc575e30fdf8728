package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
)

// Before anything else, compare --explain says how long measuring and explaining take together.
func TestCompareExplainSaysHowLong(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"compare", "--explain", "--budget", "1m30s", "--dry-run", "--cpus", "none"}, &out, &errs); code != session.Done {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	said, _, _ := strings.Cut(errs.String(), "\nmachine: ")
	if want := "schedlab: measuring takes 90 s at most, and explaining (--explain) about 60 s more: 150 s together"; !strings.HasSuffix(said, want) {
		t.Errorf("got %q, want it to end with %q", said, want)
	}
}

// packTable is where TestExplainNamesPlantedFaults writes what it found, after what is there.
var packTable = flag.String("explain-pack", "", "run the faults that explanations are tested with, and add the table to this file (make test-explain)")

// A pathology is a fault that is planted in one of two arms.
type pathology struct {
	name, planted  string // in words
	load           string // workload and load, as a scenario has them
	clean, planter string // the arms
	cause          fact.Code
	also           []fact.Code // causes that are as true, and may be named before it
}

// pathologies are the ten of the design, §8.
func pathologies(loadCPU int) []pathology {
	return []pathology{
		{
			name: "single slow acceptor", planted: "`--plant accept=1ms`",
			load:  "workload: {cpu: 20us}\nload: {rate: 600/s, keepalive: false}",
			clean: "mode: nethttp", planter: "mode: nethttp, plant: accept=1ms", cause: "cause-acceptor",
		},
		{
			name: "tiny backlog", planted: "`--backlog 1`, bursts of 3",
			load:  "workload: {cpu: 300us}\nload: {rate: 60/s, arrivals: burst(3), keepalive: false, timeout: 5s}",
			clean: "mode: nethttp", planter: "mode: nethttp, backlog: 1", cause: "cause-backlog",
		},
		{
			name: "contended queue", planted: "`--plant queue=1ms`",
			load:  "workload: {cpu: 20us}\nload: {rate: 550/s, keepalive: false}",
			clean: "mode: pool, workers: 8", planter: "mode: pool, workers: 8, plant: queue=1ms", cause: "cause-queue-lock",
		},
		{
			name: "slow request at the head of the line", planted: "a queue for each of 8 workers, nobody steals, 5 % of requests wait 40 ms",
			load:  "workload: {sleep: 0.95*1ms+0.05*40ms}\nload: {rate: 600/s, keepalive: false, timeout: 5s}",
			clean: "mode: pool-perworker, workers: 8, steal: true", planter: "mode: pool-perworker, workers: 8", cause: "cause-own-queues",
		},
		{
			name: "all connections at one of four loops", planted: "`--plant pin`; handlers wait 2 ms on the loop",
			load:  "workload: {sleep: 2ms}\nload: {rate: 300/s, keepalive: false, timeout: 5s}",
			clean: "mode: loop, listeners: 4", planter: "mode: loop, listeners: 4, plant: pin", cause: "cause-uneven", also: []fact.Code{"cause-inline"},
		},
		{
			name: "garbage collection", planted: "`GOGC=1`",
			load:  "workload: {path: '/work?cpu=20us&alloc=65536'}\nload: {rate: 1000/s, connections: 32, keepalive: true}",
			clean: "mode: nethttp", planter: "mode: nethttp, env: {GOGC: 1}", cause: "cause-gc",
		},
		{
			name: "silent drop", planted: "`--overflow drop` with two places in the queue",
			load:  "workload: {sleep: 5ms}\nload: {rate: 500/s, keepalive: false, timeout: 300ms}",
			clean: "mode: pool, workers: 4", planter: "mode: pool, workers: 4, queue-depth: 2, overflow: drop", cause: "cause-turned-away",
		},
		{
			name: "blocking call on the event loop", planted: "handlers wait 2 ms in `loop-single`",
			load:  "workload: {sleep: 2ms}\nload: {rate: 300/s, connections: 32, keepalive: true, timeout: 5s}",
			clean: "mode: goroutine", planter: "mode: loop-single", cause: "cause-inline",
		},
		{
			name: "lock convoy", planted: "`--plant lock=1ms`",
			load:  "workload: {path: '/kv/key?keys=4096', method: PUT, body: value}\nload: {rate: 400/s, arrivals: burst(16), connections: 64, keepalive: true, timeout: 5s}",
			clean: "mode: goroutine", planter: "mode: goroutine, plant: lock=1ms", cause: "cause-lock",
		},
		{
			name: "starved load", planted: fmt.Sprintf("`--plant hog=%d`", loadCPU),
			load:  "workload: {cpu: 20us}\nload: {rate: 1000/s, connections: 32, keepalive: true}",
			clean: "mode: nethttp", planter: fmt.Sprintf("mode: nethttp, plant: hog=%d", loadCPU), cause: "cause-load",
		},
	}
}

// Of ten planted faults explain names nine or more, and of ten pairs of equal arms it names
// a cause of one at the most.
func TestExplainNamesPlantedFaults(t *testing.T) {
	if *packTable == "" {
		t.Skip("takes 15 minutes: make test-explain")
	}
	cpus, err := host.Affinity()
	if err != nil || len(cpus) < 2 {
		t.Fatalf("needs two CPUs, one for the load: %v, %v", cpus, err)
	}
	begun := time.Now()
	var faults, named, pairs, quiet int
	var rows strings.Builder
	add := func(format string, args ...any) {
		row := fmt.Sprintf(format, args...)
		t.Log(row)
		rows.WriteString(row + "\n")
	}
	all := pathologies(cpus[len(cpus)-1])
	add("| planted | how | named | confirmed by |\n|---|---|---|---|")
	for _, p := range all {
		t.Run("planted "+p.name, func(t *testing.T) {
			x, took := p.explain(t, p.planter)
			ok, first := p.named(x)
			faults++
			if ok {
				named++
			} else {
				var text strings.Builder
				err := explain.Text(&text, x, report.TextOptions{})
				t.Log(text.String(), err)
			}
			t.Logf("took %.0f s", took.Seconds())
			add("| %s | %s | %s | %s |", p.name, p.planted, verdictOn(x, ok, first), provedBy(first))
		})
	}
	add("")
	for _, p := range all {
		t.Run("equal "+p.name, func(t *testing.T) {
			x, took := p.explain(t, p.clean)
			found := string(x.Outcome)
			pairs++
			if len(x.Causes) == 0 {
				quiet++
			} else {
				found += ": " + string(x.Causes[0].Code)
				add("Two equal arms, `%s` under the load of \"%s\": %s.", p.clean, p.name, found)
			}
			t.Logf("%s after %.0f s", found, took.Seconds())
		})
	}
	summary := fmt.Sprintf("%d of %d planted faults named, nothing found in %d of %d pairs of equal arms; %.0f min on %d CPUs.",
		named, faults, quiet, pairs, time.Since(begun).Minutes(), runtime.NumCPU())
	t.Log(summary)
	if named < faults-1 || quiet < pairs-1 {
		t.Error("want nine of ten of both")
	}
	file, err := os.OpenFile(*packTable, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, "\n### Run of %s\n\n%s\n\n%s", begun.UTC().Format("2006-01-02 15:04"), summary, rows.String())
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// explain compares the clean arm with another, and explains the difference.
func (p pathology) explain(t *testing.T, other string) (*explain.Explanation, time.Duration) {
	t.Helper()
	begun, dir := time.Now(), t.TempDir()
	path := filepath.Join(dir, "fault.yaml")
	text := fmt.Sprintf("name: fault\nquestion: Is the fault found?\n%s\narms:\n  - {name: clean, %s}\n  - {name: other, %s}\nprotocol: {blocks: 10, window: 400ms, warmup: 150ms, budget: 40s}\n", p.load, p.clean, other)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(dir, "runs")
	if out, err := exec.Command("schedlab", "compare", path, "--blocks", "10", "--out", records, "--progress", "none").CombinedOutput(); !ended(err) {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	cmd := exec.Command("schedlab", "explain", "latest", "--budget", "45s", "--out", records, "--progress", "none", "--output", "json")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	x := &explain.Explanation{}
	if bad := json.Unmarshal(out, x); !ended(err) || bad != nil {
		t.Fatalf("%s: %v, %v\n%s", p.name, err, bad, complaint.String())
	}
	return x, time.Since(begun)
}

// ended reports whether a command did its work, whatever it found.
func ended(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return err == nil || ok && (exit.ExitCode() == session.NotKept || exit.ExitCode() == session.NoAnswer)
}

// named reports whether the fault's cause is the first that is confirmed or measured directly,
// but for those that are as true; and the cause, or what is suspected first instead.
func (p pathology) named(x *explain.Explanation) (bool, *explain.Suspect) {
	for i, c := range x.Causes {
		if c.Outcome != outcome.Yes {
			break
		}
		if !slices.Contains(p.also, c.Code) {
			return c.Code == p.cause, &x.Causes[i]
		}
	}
	if len(x.Causes) > 0 {
		return false, &x.Causes[0]
	}
	return false, nil
}

func verdictOn(x *explain.Explanation, ok bool, first *explain.Suspect) string {
	switch {
	case ok:
		return fmt.Sprintf("`%s`", first.Code)
	case first == nil:
		return "**no**: " + string(x.Outcome)
	}
	return fmt.Sprintf("**no**: `%s`, %s", first.Code, first.Answer)
}

func provedBy(c *explain.Suspect) string {
	switch {
	case c == nil:
		return ""
	case c.Shown:
		return "measured directly"
	case c.Moved == nil:
		return "not tested"
	}
	return fmt.Sprintf("`%s`: %s → %s (control %s)", c.Knob, amount(c, c.Moved.From), amount(c, c.Moved.To), amount(c, c.Still.To))
}

// amount is a figure of a cause's test.
func amount(c *explain.Suspect, v float64) string {
	if c.Code == "cause-turned-away" {
		return fmt.Sprintf("%.2g %%", 100*v)
	}
	return fmt.Sprintf("%.3g ms", 1000*v)
}
