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
