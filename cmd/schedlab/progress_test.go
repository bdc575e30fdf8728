package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
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
		"pool,workers=4 against nethttp is open after 14 blocks and leans slower (p50 +20 %): 14 of 14 blocks show it; 2 more would decide.",
		"pool,workers=4 against nethttp is open after 16 blocks and leans slower (p50 +9 %): 16 of 16 blocks show it; 4 more would decide.",
		"pool,workers=8 against nethttp is open after 20 blocks and leans slower (p50 ×3): 20 of 20 blocks show it; 4 more would decide.",
		"pool,workers=8 against nethttp is open after 24 blocks and leans slower (p50 ×2.5): 24 of 24 blocks show it; 4 more would decide.",
		"Open: a request takes 56.6 µs with 64 locks, and 1,200/s end.",
	} {
		show.Look(&record.Comparison{Common: record.Common{Scenario: "demo", Headline: headline}, Valid: 10 + 2*i}, 10+2*i)
	}
	var told []string
	for line := range strings.Lines(b.String()) {
		told = append(told, strings.TrimPrefix(line, "schedlab: ")[:len("so far, after 10 blocks: p")])
	}
	if want := "so far, after 10 blocks: O so far, after 14 blocks: p so far, after 18 blocks: p so far, after 22 blocks: O"; strings.Join(told, " ") != want {
		t.Errorf("told %q, want %q", told, want)
	}
	show.Look(&record.Comparison{Common: record.Common{Scenario: "other", Headline: "Open: a request takes 56.6 µs with 64 locks, and 1,200/s end."}, Valid: 10}, 10)
	if n := strings.Count(b.String(), "\n"); n != 5 {
		t.Errorf("%d lines, want another for another scenario", n)
	}
}

// Where stderr is no terminal, progress is lines, the first at once, and asking for a screen changes
// nothing.
func TestPipedProgressIsLines(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"auto": " 10 %  block 2: nethttp                         at most 20 s left\n", "plain": " 10 %  block 2: nethttp                         at most 20 s left\n",
		"live": " 10 %  block 2: nethttp                         at most 20 s left\n", "none": "",
	} {
		var b strings.Builder
		show := newProgress(&b, kind)
		for range 3 {
			show.Window(record.Plan{Arms: []record.PlanArm{{Name: "nethttp"}}}, window.Window{Trial: record.Trial{Number: 1, Arm: "nethttp"}})
			show.Step("block 2: nethttp", 3, 30, 20*time.Second)
		}
		if show.Done(); b.String() != want {
			t.Errorf("%s: got %q, want %q", kind, b.String(), want)
		}
	}
}

// For a program each step, note and record is a line of JSON, whatever the figures and names are.
func TestProgressForPrograms(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	show := newProgress(&b, "json")
	show.Machine("machine: fit")
	show.screen = watchedScreen()
	show.screen.Arms[3].Name = "ng\x1binx\n"
	show.Step("block 13: pool", 49, 160, 83*time.Second)
	show.Say("once")
	show.Say("once")
	verdict := func(is stats.Decision) []record.Verdict {
		return []record.Verdict{{Metric: stats.P99, Primary: true, Baseline: "nethttp", Arm: "pool", Verdict: is, Ratio: 1.2, Low: 1.1, High: 1.3, Blocks: 14}}
	}
	show.Look(&record.Comparison{Valid: 14, Verdicts: verdict(stats.Decision{Outcome: outcome.Open}), Common: record.Common{Headline: "pool is slower"}}, 14)
	show.Step("block 15: pool", 56, 160, 80*time.Second)
	dir, err := record.Create(t.TempDir(), "quick", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	show.Ended(dir, record.Run{Trials: 3, Result: &record.Comparison{Verdicts: verdict(stats.Decided(stats.Slower)), Common: record.Common{Headline: "No answer"}}})
	show.Ended(nil, record.Run{Trials: -1}) // no trial, no record
	var lines []session.Progress
	for text := range strings.Lines(b.String()) {
		var line session.Progress
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 5 || lines[0].Note != "machine: fit" || lines[2].Note != "once" {
		t.Fatalf("got %d lines: %s", len(lines), &b)
	}
	step, looked, end := lines[1], lines[3], lines[4]
	if diff := cmp.Diff([][]record.Verdict{nil, verdict(stats.Decision{Outcome: outcome.Open}), verdict(stats.Decided(stats.Slower))}, [][]record.Verdict{step.Verdicts, looked.Verdicts, end.Verdicts}, cmp.AllowUnexported(fact.Fact{})); diff != "" {
		t.Errorf("the verdicts before a look, after it and at the end (-want +got):\n%s", diff)
	}
	if step.Step != "block 13: pool" || step.Done != 49 || step.Total != 160 || step.Left != 83 || step.FirstLook != 10 || !strings.HasPrefix(step.Answer, "after 12 blocks: pool") {
		t.Errorf("the step is %+v", step)
	}
	first, unknown, other := step.Arms[0], step.Arms[2], step.Arms[3]
	if first.Name != "nethttp" || *first.P50.SoFar != (stats.Spread{Median: 1.25e-3, Low: 1.25e-3, High: 1.25e-3}) || len(first.P99.Blocks) != 12 || first.Connections.Open != 10 || first.Against != "" {
		t.Errorf("the first arm is %+v", first)
	}
	if unknown.P99.SoFar != nil || len(unknown.P99.Blocks) != 12 || unknown.P99.Blocks[0] != nil {
		t.Errorf("an unknown figure is %+v", unknown.P99)
	}
	if other.Against != "nethttp" || len(other.P90.Blocks) != 12 || other.Name != "ng\x1binx\n" || other.Connections != nil {
		t.Errorf("the last arm is %+v", other)
	}
	if end.Step != "" || end.Record != dir.Path() || end.Answer == "" || len(end.Arms) != 4 {
		t.Errorf("the end is %+v", end)
	}
}

// watchedScreen is a screen in the middle of a run of four arms: two with names that begin alike, one
// server that does not tell its connections, and one without a quantile.
func watchedScreen() (s screen) {
	plan := record.Plan{Looks: []int{10, 12}}
	arms := []struct {
		name     string
		p50, p99 float64
		conns    *record.Reading
	}{
		{"nethttp", 1.25e-3, 4e-3, &record.Reading{Accepted: 72010, Done: 72000, Open: 10}},
		{"pool,workers=4,steal=true", 90e-6, 9e-3, &record.Reading{Accepted: 64, Open: 64}},
		{"pool,workers=8,steal=true", 110e-6, math.NaN(), &record.Reading{}},
		{"nginx", 2, 8, nil},
	}
	for _, a := range arms {
		plan.Arms = append(plan.Arms, record.PlanArm{Name: a.name})
	}
	for block := range 12 {
		for i, a := range arms {
			w := window.Window{Trial: record.Trial{Number: block*len(arms) + i + 1, Arm: a.name}}
			w.Values = stats.Figures{stats.P50: stats.Known(a.p50), stats.P99: stats.Known(a.p99 * (1 + float64(block*i)/10)), stats.Goodput: stats.Known(2229)}
			if a.conns != nil {
				w.Trial.Server.Readings = []record.Reading{{Accepted: 1, Open: 1}, *a.conns}
			}
			s.take(plan, w)
		}
	}
	s.Step, s.Done, s.Total, s.Left = "block 13: pool,workers=8,steal=true", 49, 160, 83
	s.Answer = "after 12 blocks: pool,workers=4,steal=true against nethttp is open after 12 blocks and leans slower (p50 +20\u00a0%): 12 of 12 blocks show it; 2 more would decide."
	return s
}

func TestScreenAtEachWidth(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		60: `
 30 %  block 13: pool,workers=8,stea… at most 83 s left
after 12 blocks: pool,workers=4,steal=true against nethttp
is open after 12 blocks and leans slower (p50 +20 %): 12 of
12 blocks show it; 2 more would decide.
            p50    p99  goodput accepted   done  open p99
nethttp  1.25ms 4.00ms  2,229/s    72010  72000    10 ▁▁▁▁▁
…rs=4,s… 90.0µs 13.9ms  2,229/s       64      0    64 ▂▂▂▂▂
…rs=8,s…  110µs      -  2,229/s        0      0     0 ·····
nginx     2.00s  21.2s  2,229/s        -      -     - █████
`,
		80: `
 30 %  block 13: pool,workers=8,steal=true      at most 83 s left
after 12 blocks: pool,workers=4,steal=true against nethttp is open after 12
blocks and leans slower (p50 +20 %): 12 of 12 blocks show it; 2 more would
decide.
                          p50    p99  goodput accepted   done  open p99
nethttp                1.25ms 4.00ms  2,229/s    72010  72000    10 ▁▁▁▁▁▁▁▁▁▁▁
pool,workers=4,steal=… 90.0µs 13.9ms  2,229/s       64      0    64 ▁▁▁▂▂▂▂▂▂▂▂
pool,workers=8,steal=…  110µs      -  2,229/s        0      0     0 ···········
nginx                   2.00s  21.2s  2,229/s        -      -     - ▇██████████
`,
		120: `
 30 %  block 13: pool,workers=8,steal=true      at most 83 s left
after 12 blocks: pool,workers=4,steal=true against nethttp is open after 12 blocks and leans slower (p50 +20 %): 12 of
12 blocks show it; 2 more would decide.
                             p50    p99  goodput accepted   done  open p99 by block
nethttp                   1.25ms 4.00ms  2,229/s    72010  72000    10 ▁▁▁▁▁▁▁▁▁▁▁▁
pool,workers=4,steal=true 90.0µs 13.9ms  2,229/s       64      0    64 ▁▁▁▁▂▂▂▂▂▂▂▂
pool,workers=8,steal=true  110µs      -  2,229/s        0      0     0 ············
nginx                      2.00s  21.2s  2,229/s        -      -     - ▇▇██████████
`,
	} {
		got := watchedScreen().draw(columns, 24, false)
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s\n%s", columns, diff, got)
		}
	}
}

// Whatever the terminal's size, no line reaches its last column and none its last row, and what has no
// room is said; control characters of names never reach the terminal.
func TestScreenFitsIntoTheTerminal(t *testing.T) {
	t.Parallel()
	s := watchedScreen()
	s.Arms[0].Name = "net\x1b[2J\nhttp"
	for _, columns := range []int{1, 10, 30, 60, 61, 79, 200} {
		for _, rows := range []int{1, 2, 5, 8, 15} {
			text := s.draw(columns, rows, false)
			if n := strings.Count(text, "\n"); n > max(rows-1, 1) {
				t.Errorf("%d x %d: %d lines", columns, rows, n)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(columns-1, 1) {
					t.Errorf("%d x %d: %d columns: %q", columns, rows, n, line)
				}
			}
			if strings.Contains(text, "\x1b") {
				t.Errorf("%d x %d: an escape in %q", columns, rows, text)
			}
		}
	}
	if text := s.draw(80, 9, false); !strings.HasSuffix(text, "\nand 2 arms more; the terminal is too low\n") || !strings.Contains(text, "\npool,workers=4") {
		t.Errorf("9 rows: got %q, want two arms, and two told to be missing", text)
	}
	if text := s.draw(80, 24, true); strings.Count(text, "\x1b[1m") != 3 || strings.Count(text, "\x1b[2m") != 1 || strings.Count(text, "\x1b[0m") != 4 {
		t.Errorf("got %q, want the answer bold, the heading faint, and no other style", text)
	}
}

// Before the first window there is the step alone, and before the first look no answer. The first
// trial of another comparison forgets the one before.
func TestScreenBegins(t *testing.T) {
	t.Parallel()
	s := screen{Step: "measuring the throughput of nethttp", Total: 3, Left: 30}
	if got, want := s.draw(80, 24, true), "  0 %  measuring the throughput of nethttp      at most 30 s left\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s = watchedScreen()
	s.take(record.Plan{Looks: []int{10}, Arms: []record.PlanArm{{Name: "a"}, {Name: "b"}}}, window.Window{Trial: record.Trial{Number: 1, Arm: "b"},
		Values: stats.Figures{stats.P50: stats.Known(1), stats.P99: stats.Known(2), stats.Goodput: stats.Known(3)}})
	if got := strings.SplitAfter(s.draw(80, 24, false), "\n"); len(got) != 6 || got[1] != "no answer yet: the first look is after 10 blocks\n" ||
		strings.Join(strings.Fields(got[3]), " ") != "a - - - - - -" || strings.Join(strings.Fields(got[4]), " ") != "b 1.00s 2.00s 3/s - - - ▁" {
		t.Errorf("got %q", got)
	}
}
