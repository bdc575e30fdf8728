package outcome

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The glossary has the table of questions, outcomes and phrases.
func TestGlossary(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| question | yes | no | open | refused |\n|---|---|---|---|---|\n"
	for _, q := range []struct {
		asked string // so that Yes is the good answer
		Question
	}{
		{"compare: is it decided which arm is best?", Winner},
		{"gate: is the new build good enough?", Gate},
		{"expectation, SLO: does it hold?", Expectation},
		{"capacity: is a rate known that keeps the SLO?", Capacity},
		{"size: is there a number of workers that will do?", Workers},
		{"doctor: is the machine fit?", Machine},
		{"audit: are the figures possible?", Figures},
		{"explain: is it known why the arms differ?", Difference},
		{"cause: does it explain the difference?", Cause},
	} {
		table += "| " + q.asked
		for _, o := range All() {
			table += strings.TrimRight(" | "+q.Phrase(o), " ")
		}
		table += " |\n"
	}
	if !strings.Contains(string(page), table) {
		t.Errorf("docs/reference/glossary.md has another table than\n%s", table)
	}
}

// Records have the outcome's word, and older ones have other words.
func TestRead(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Outcome{
		"": "", "yes": Yes, "no": No, "open": Open, "refused": Refused,
		"pass": Yes, "fail": No, "REFUSED": Refused, "fine": Yes, "worse": No,
		"because": Yes, "shown": Yes, "no-difference": No, "correlated": Open, "no-cause": Open, "not-known": Open,
		"between": Yes, "beyond": Yes, "below": No, "never": No, "slow": Refused, "died": Refused,
		"one-wins": Yes, "trade": Yes, "tie": Yes, "tie-for-best": Yes, "several-win": Open, "undecided": Open, "other-loads": Refused, "no-verdict": Refused,
	} {
		var got Outcome
		if err := json.Unmarshal([]byte(`"`+word+`"`), &got); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", word, got, err, want)
		}
	}
	var got Outcome
	if err := json.Unmarshal([]byte(`"perhaps"`), &got); err == nil {
		t.Errorf("an unknown word: got %q and no error", got)
	}
}

func TestNot(t *testing.T) {
	t.Parallel()
	for o, want := range map[Outcome]Outcome{Yes: No, No: Yes, Open: Open, Refused: Refused} {
		if got := o.Not(); got != want || o.Decided() != (o != want) {
			t.Errorf("%s: the contrary is %s, decided %v", o, got, o.Decided())
		}
	}
}
