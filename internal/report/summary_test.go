package report

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/record"
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
	if err := PackSummary(&b, entries); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`  pass same("p50") && p99("pool") < 20ms`, "  fail served", "  REFUSED explained",
		"\nNOT RUN: needs 2 CPUs for the server, here are 1\n\nREFUSED same(\"p50\")\n",
		"scenario     pass  fail  open  REFUSED  blocks   answer\n",
		"shards          0     0     0        2       -  not run\n2 scenarios     1     1     0        3\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if n := entries[1].Answers(); n[record.NoAnswer] != 2 || len(n) != 1 {
		t.Errorf("not run: got %v, want 2 refused", n)
	}
}

// A gate that passes names what is surely better by half of what is allowed.
func TestGateSaysWhatIsBetter(t *testing.T) {
	t.Parallel()
	r := &record.Result{Arms: []record.Arm{{Name: "old"}, {Name: "old'"}, {Name: "new"}}, Gate: []record.Gated{
		{Metric: "p50", Allow: .10, Ratio: .67, Low: .6, High: .7, Answer: record.GateFine},
		{Metric: "goodput", Allow: .03, Ratio: 1.2, Low: 1.1, High: 1.3, Answer: record.GateFine},
		{Metric: "cpu_per_request", Allow: .10, Ratio: .97, Low: .95, High: .99, Answer: record.GateFine}, // too little
		{Metric: "memory", Allow: .10, Ratio: .8, Low: .7, High: 1.01, Answer: record.GateFine},           // not sure
	}}
	want := "new is not worse than old: p50, goodput, CPU/request, memory within what is allowed. Surely better: p50 -33 %, goodput +20 %."
	if got := strings.ReplaceAll(gateAnswer(r), nbsp, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
