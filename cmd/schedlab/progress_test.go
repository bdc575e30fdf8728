package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"schedlab/internal/doctor"
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// After a look the answer is told if it says something else than the last one, not if only its figures
// are others.
func TestAnswerSoFarIsToldOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	show := newProgress(&b, "plain")
	for i, headline := range []string{
		"Open: a request takes 56.6 µs with 64 locks, and 1,200/s end.",
		"Open: a request takes 55.9 µs with 64 locks, and 1,194/s end.",
		"pool,workers=4 against nethttp is undecided after 14 blocks and leans slower (p50 +20 %): 14 of 14 blocks show it; 2 more would decide.",
		"pool,workers=4 against nethttp is undecided after 16 blocks and leans slower (p50 +9 %): 16 of 16 blocks show it; 4 more would decide.",
		"pool,workers=8 against nethttp is undecided after 20 blocks and leans slower (p50 ×3): 20 of 20 blocks show it; 4 more would decide.",
		"pool,workers=8 against nethttp is undecided after 24 blocks and leans slower (p50 ×2.5): 24 of 24 blocks show it; 4 more would decide.",
		"Open: a request takes 56.6 µs with 64 locks, and 1,200/s end.",
	} {
		show.soFar(&record.Result{Scenario: "demo", Valid: 10 + 2*i, Headline: headline})
	}
	var told []string
	for line := range strings.Lines(b.String()) {
		told = append(told, strings.TrimPrefix(line, "schedlab: ")[:len("after 10 blocks: p")])
	}
	if want := "after 10 blocks: O after 14 blocks: p after 18 blocks: p after 22 blocks: O"; strings.Join(told, " ") != want {
		t.Errorf("told %q, want %q", told, want)
	}
	show.soFar(&record.Result{Scenario: "other", Valid: 10, Headline: "Open: a request takes 56.6 µs with 64 locks, and 1,200/s end."})
	if n := strings.Count(b.String(), "\n"); n != 5 {
		t.Errorf("%d lines, want another for another scenario", n)
	}
}

// The short look of a comparison never calls a machine fit, as doctor's further checks may find
// something.
func TestShortLookCallsNothingFit(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]string{
		doctor.Fit:          "machine: a short look found nothing that disturbs it; `schedlab doctor` checks more",
		doctor.Reservations: "machine: fit with reservations: swap: 3 of 9 MiB in use; `schedlab doctor` says more",
	} {
		r := doctor.Report{Verdict: verdict, Sentence: verdict + ": swap: 3 of 9 MiB in use"}
		if got := machineLine(r); got != want {
			t.Errorf("%s: got %q, want %q", verdict, got, want)
		}
	}
}

// Where stderr is no terminal, progress is lines, the first at once, and asking for a screen changes
// nothing.
func TestPipedProgressIsLines(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"auto": " 10 %  block 2: nethttp                         about 20s left\n", "plain": " 10 %  block 2: nethttp                         about 20s left\n",
		"live": " 10 %  block 2: nethttp                         about 20s left\n", "none": "",
	} {
		var b strings.Builder
		show := newProgress(&b, kind)
		for range 3 {
			show.window(record.Plan{Arms: []record.PlanArm{{Name: "nethttp"}}}, window.Window{Trial: record.Trial{Number: 1, Arm: "nethttp"}})
			show.update("block 2: nethttp", 3, 30, 20*time.Second)
		}
		if show.done(); b.String() != want {
			t.Errorf("%s: got %q, want %q", kind, b.String(), want)
		}
	}
}

// For a program each step, note and record is a line of JSON, whatever the figures and names are.
func TestProgressForPrograms(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	show := newProgress(&b, "json")
	show.machine("machine: fit")
	show.screen = watchedScreen()
	show.screen.Arms[3].Name = "ng\x1binx\n"
	show.update("block 13: pool", 49, 160, 83*time.Second)
	show.say("once")
	show.say("once")
	show.soFar(&record.Result{Valid: 14, Headline: "pool is slower"})
	dir, err := record.Create(t.TempDir(), "quick", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	show.ended(dir, record.Run{Trials: 3, Result: &record.Result{Headline: "No answer"}})
	show.ended(nil, record.Run{Trials: -1}) // no trial, no record
	var lines []record.Progress
	for text := range strings.Lines(b.String()) {
		var line record.Progress
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 4 || lines[0].Note != "machine: fit" || lines[2].Note != "once" {
		t.Fatalf("got %d lines: %s", len(lines), &b)
	}
	step, end := lines[1], lines[3]
	if step.Step != "block 13: pool" || step.Done != 49 || step.Total != 160 || step.Left != 83 || step.FirstLook != 10 || !strings.HasPrefix(step.Answer, "after 12 blocks: pool") {
		t.Errorf("the step is %+v", step)
	}
	first, unknown, other := step.Arms[0], step.Arms[2], step.Arms[3]
	if first.Name != "nethttp" || *first.P50.SoFar != (record.Spread{Median: 1.25e-3, Low: 1.25e-3, High: 1.25e-3}) || len(first.P99.Blocks) != 12 || first.Connections.Open != 10 {
		t.Errorf("the first arm is %+v", first)
	}
	if unknown.P99.SoFar != nil || len(unknown.P99.Blocks) != 12 || unknown.P99.Blocks[0] != nil {
		t.Errorf("an unknown figure is %+v", unknown.P99)
	}
	if other.Name != "ng\x1binx\n" || other.Connections != nil {
		t.Errorf("the last arm is %+v", other)
	}
	if end.Step != "" || end.Record != dir.Path() || end.Answer == "" || len(end.Arms) != 4 {
		t.Errorf("the end is %+v", end)
	}
}
