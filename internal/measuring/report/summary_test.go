package report

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

func TestPack(t *testing.T) {
	t.Parallel()
	entries := []PackEntry{
		{Scenario: "quick", Question: "Which?", Result: interrupted()},
		{Scenario: "shards", Question: "How many?", Expect: []string{`same("p50")`, `p50("a") < 1ms`}, NotRun: "needs 2 CPUs for the server, here are 1"},
	}
	var b bytes.Buffer
	for _, e := range entries {
		if err := PackScenario(&b, e, TextOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := PackSummary(&b, entries, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`  kept same("p50") && p99("pool") < 20ms`, "  not kept served", "  refused explained",
		"\nNOT RUN: needs 2 CPUs for the server, here are 1\n\nrefused same(\"p50\")\n",
		"scenario     kept  not kept  open  refused  blocks   answer\n",
		"shards          0         0     0        2       -  not run\n2 scenarios     1         1     0        3\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if n := entries[1].Answers(); n[outcome.Refused] != 2 || len(n) != 1 {
		t.Errorf("not run: got %v, want 2 refused", n)
	}
}

// A gate that passes names what is surely better by half of what is allowed.
func TestGateSaysWhatIsBetter(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "old"}}, {Contestant: record.Contestant{Name: "old'"}}, {Contestant: record.Contestant{Name: "new"}}}, Gate: []record.Gated{
		{Metric: stats.P50, Allow: .10, Ratio: .67, Low: .6, High: .7, Outcome: outcome.Yes},
		{Metric: stats.Goodput, Allow: .03, Ratio: 1.2, Low: 1.1, High: 1.3, Outcome: outcome.Yes},
		{Metric: stats.CPUPerRequest, Allow: .10, Ratio: .97, Low: .95, High: .99, Outcome: outcome.Yes}, // too little
		{Metric: stats.Memory, Allow: .10, Ratio: .8, Low: .7, High: 1.01, Outcome: outcome.Yes},         // not sure
	}}
	want := "new is not worse than old: p50, goodput, CPU/request, memory within what is allowed. Surely better: p50 -33 %, goodput +20 %."
	if got := strings.ReplaceAll(gateAnswer(r), say.NBSP, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Gate[0].Outcome = outcome.Refused
	if got := gateAnswer(r); strings.Contains(got, "p50 -") {
		t.Errorf("a refused metric is surely better: %s", got)
	}
}

// A comment tells the command of a gate, and not its note.
func TestCommentTellsTheCommand(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Gate = []record.Gated{{Metric: stats.P50, Allow: .1, Ratio: 1.2, Low: 1.1, High: 1.3, Outcome: outcome.No}}
	r.Command, r.Note = "schedlab gate --old-ref v1", "PR 12"
	var b strings.Builder
	if err := gateComment(&b, r); err != nil || !strings.Contains(b.String(), "gate --old-ref v1") || strings.Contains(b.String(), "Command: PR 12") {
		t.Errorf("got %v and\n%s", err, b.String())
	}
}

// While other programs keep a gate open no flag of it helps, so none is advised; and beside those that do not, no budget without the
// number of blocks that it is for.
func TestNothingIsAdvisedBesideOthers(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{true, false} {
		r := quick()
		r.Command, r.Doubts = "", []fact.Fact{doubt.MachineBusy.Of(doubt.Taken{Side: "server", CPUs: 1, Share: .4, Open: keeps})}
		r.Gate = []record.Gated{{Metric: stats.P50, Allow: .1, Ratio: 1.1, Low: .9, High: 1.3, Outcome: outcome.Open, Needed: 10}}
		for _, f := range gateEvidence(r) {
			if keeps && f.Label == "Open" || strings.Contains(f.Text, "--budget") || strings.HasPrefix(strings.TrimSpace(f.Text), ";") {
				t.Errorf("others keep it open: %t; advised: %s %q", keeps, f.Label, f.Text)
			}
		}
	}
}

// A gate that is worse tells of threads and context switches that changed by much, and of no others.
func TestGateTellsOfOtherWaits(t *testing.T) {
	t.Parallel()
	arm := func(name string, threads int, switches float64) record.Arm {
		return record.Arm{Contestant: record.Contestant{Name: name}, Figures: record.Figures{Switches: &switches}, Details: record.Details{Footprint: &record.Footprint{Threads: threads}}}
	}
	for _, tt := range []struct {
		outcome  outcome.Outcome
		threads  int
		switches float64
		want     string
	}{
		{outcome.No, 9, 11.9, "new has 9 threads instead of 1 thread, and 11.9 context switches a request instead of 0.757 (not judged): its requests may wait in another way, as in a pool of threads or at a lock"},
		{outcome.No, 1, .2, "new has 0.2 context switches a request instead of 0.757 (not judged): its requests may wait in another way, as in a pool of threads or at a lock"},
		{outcome.No, 1, 1.5, ""},
		{outcome.Open, 9, 11.9, ""},
	} {
		r := &record.Comparison{Arms: []record.Arm{arm("old", 1, .757), arm("old'", 1, .757), arm("new", tt.threads, tt.switches)}, Gate: []record.Gated{{Metric: stats.P50, Outcome: tt.outcome}}}
		if got := strings.ReplaceAll(otherWaits(r), say.NBSP, " "); got != tt.want {
			t.Errorf("%s with %d threads: got %q, want %q", tt.outcome, tt.threads, got, tt.want)
		}
	}
}

// The old build ran twice in each block of a gate: its figure is the median over both runs.
func TestBothRunsOfTheOldBuild(t *testing.T) {
	t.Parallel()
	held := func(bytes int64) *record.Footprint { return &record.Footprint{Memory: bytes} }
	r := &record.Comparison{Arms: []record.Arm{
		{Figures: record.Figures{P50: new(1.), P99: new(9.), Blocks: stats.Series{stats.P50: {1, 1, 2}, stats.P90: {1}}}, Details: record.Details{Footprint: held(100)}},
		{Figures: record.Figures{Blocks: stats.Series{stats.P50: {3, 4, 4}, stats.P90: {1}}}, Details: record.Details{Footprint: held(300)}}, {Figures: record.Figures{P50: new(5.)}},
	}}
	for metric, want := range map[string]float64{"p50": 2.5, "p99": 9, "memory": 200} {
		if before, _ := builds(r, stats.MetricOf(metric)); before == nil || *before != want {
			t.Errorf("%s: got %v, want %g", metric, before, want)
		}
	}
	if p90, memory := func() (*float64, *float64) {
		p90, _ := builds(r, stats.P90.Row())
		_, memory := builds(r, stats.Memory.Row())
		return p90, memory
	}(); p90 != nil || memory != nil {
		t.Errorf("got a p90 of %v, which was not judged, and a memory of %v, which is not known", p90, memory)
	}
}

// The report of a gate has the answers of the gate, and no others about the same figures.
func TestReportOfAGateHasItsAnswers(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Gate = []record.Gated{{Metric: stats.P50, Allow: .1, Ratio: 1.2, Low: 1.1, High: 1.3, Outcome: outcome.No}}
	got := whole(r, true).Text(document.Options{Width: 100})
	if !strings.Contains(got, "surely between") || strings.Contains(got, "is SLOWER than") {
		t.Errorf("got\n%s", got)
	}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `<table class="gate">`); n != 1 || strings.Count(page.String(), ">surely between<") != 1 || strings.Contains(page.String(), `class="overview"`) || strings.Contains(page.String(), "is SLOWER than") {
		t.Errorf("the page has the gate's table %d times, or verdicts beside it", n)
	}
}

// What would close an open gate: less load only where the server is busy, what this machine can allow or
// tell, and never metrics alone that a slower build leaves as they are.
func TestRemediesOfAnOpenGate(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{
		Rate: 2000, Arms: []record.Arm{{Contestant: record.Contestant{Name: "old"}, Figures: record.Figures{CPUPerRequest: new(100e-6)}}, {Contestant: record.Contestant{Name: "old'"}}, {Contestant: record.Contestant{Name: "new"}}},
		Gate: []record.Gated{
			{Metric: stats.P50, Allow: .1, Ratio: 1.01, Low: .94, High: 1.122, Outcome: outcome.Open},
			{Metric: stats.P99, Allow: .2, Ratio: 1, Low: .6, High: 2, Outcome: outcome.Open, Watched: true},
			{Metric: stats.Goodput, Allow: .03, Ratio: 1, Low: 1, High: 1, Outcome: outcome.Yes},
		},
	}
	check := func(want string) {
		t.Helper()
		if got := remedies(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("--allow p50=13% is what this machine can tell")
	r.Gate = append(r.Gate, record.Gated{Metric: stats.CPUPerRequest, Allow: .1, Ratio: 1, Low: .99, High: 1.01, Outcome: outcome.Yes})
	check("--allow p50=13% is what this machine can tell; --metric goodput,cpu leaves out what was not decided")
	r.Rate = 6000
	r.Gate[0].Ratio = 1.08
	check("a lower --rate has less noise of queueing; --allow can allow more")
	r.Rate = 2000
	for i := range r.Gate[:2] {
		r.Gate[i].Outcome = outcome.Refused
	}
	check("--metric goodput,cpu leaves out what was not decided")
}

// A gate gives a reason once for all metrics that were refused for it, and shows no change of a refused metric.
func TestGateRefusesInOneSentence(t *testing.T) {
	t.Parallel()
	overload := fact.Plain("test-overload", 0, `{{.Arm}} falls behind`).On("new")
	refused := func(m stats.Figure) record.Gated {
		return record.Gated{Metric: m, Allow: .10, Ratio: 33, Low: 20, High: 40, Outcome: outcome.Refused, Reason: overload}
	}
	r := &record.Comparison{
		Arms: []record.Arm{{Contestant: record.Contestant{Name: "old"}}, {Contestant: record.Contestant{Name: "old'"}}, {Contestant: record.Contestant{Name: "new"}}},
		Gate: []record.Gated{refused(stats.P50), refused(stats.P90), {Metric: stats.Memory, Allow: .10, Ratio: 1, Low: .99, High: 1.01, Outcome: outcome.Yes}, refused(stats.CPUPerRequest)},
	}
	if got, want := gateAnswer(r), "Whether new is worse than old is open. Refused: p50, p90, CPU/request (new falls behind)."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (document.Document{Parts: []document.Part{gateFigures(r)}}).Text(document.Options{}); strings.Contains(got, "×33") || strings.Contains(got, "×20") {
		t.Errorf("a refused metric has a change: %s", got)
	}
}

// A gate that lets a build pass tells how often that is wrong, and any other how often a false alarm is.
func TestGateTellsItsError(t *testing.T) {
	t.Parallel()
	for o, want := range map[outcome.Outcome]string{
		outcome.Yes:  "of a build that is worse than allowed",
		outcome.No:   "of equal builds",
		outcome.Open: "of equal builds",
	} {
		r := &record.Comparison{Valid: 10, Ran: 10, Arms: []record.Arm{{}, {}, {}}, Gate: []record.Gated{{Metric: stats.P50, Outcome: o}}}
		if sure := gateEvidence(r)[0]; sure.Label != "Sure" || !strings.Contains(sure.Text, want) {
			t.Errorf("%s: %+v; want the error %q", o, sure, want)
		}
	}
}
