package fact_test

import (
	"encoding/json"
	"strings"
	"testing"

	_ "schedlab/internal/attack"
	_ "schedlab/internal/audit"
	_ "schedlab/internal/doctor"
	_ "schedlab/internal/experiment"
	_ "schedlab/internal/explain"
	"schedlab/internal/fact"
	_ "schedlab/internal/size"
)

// Every sentence can be filled in, even for a fact that lacks its values, as one of another version may.
func TestSentences(t *testing.T) {
	t.Parallel()
	for _, code := range fact.Codes() {
		if strings.Contains(string(code), " ") { // part of another
			continue
		}
		f := fact.Fact{
			Code: code, Arm: "pool", Baseline: "nethttp", Metric: "p99", Values: map[string]float64{},
			Names:   map[string]string{"error": "it broke", "said": "so", "why": "it is", "source": "tsc", "untold": "not told"},
			Because: []fact.Fact{{Code: "unknown-cpu", Arm: "pool"}},
		}
		if text := f.String(); strings.HasPrefix(text, string(code)+" (") || strings.Contains(text, "<no value>") {
			t.Errorf("%s: got %q", code, text)
		}
	}
}

func TestFactInWords(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]fact.Fact{
		"1 worker cannot keep up: by Little's law 500/s x 2.5 ms held keeps 1.25 busy, so give it 2 or more": {
			Code: "too-few-workers", Values: map[string]float64{"workers": 1, "rate": 500, "held": .0025, "busy": 1.25, "needed": 2},
		},
		"its own copy: too few requests: p99 needs 1100 (--window)": {
			Code: "aa", Because: []fact.Fact{{Code: "few-requests", Metric: "p99", Values: map[string]float64{"needed": 1100}}},
		},
		"36 == 64 in the median; true in 0 of 10 blocks": {
			Code: "tally", Values: map[string]float64{"yes": 0, "blocks": 10}, Names: map[string]string{"sides": "36 == 64"},
		},
		"3 of 10 blocks outside: 2 below, 1 above": {
			Code: "tally", Values: map[string]float64{"yes": 7, "blocks": 10, "outside": 3, "below": 2, "above": 1},
		},
		"words of a newer version": {Code: "unheard-of", Text: "words of a newer version"},
		"unheard-of":               {Code: "unheard-of"},
	} {
		if got := f.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// A fact on disk has its words beside code and values, and is worded anew when it is read.
func TestFactJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal([]fact.Fact{{Code: "missing-trials", Values: map[string]float64{"missing": 1, "trials": 4}}, {}})
	if want := `[{"code":"missing-trials","values":{"missing":1,"trials":4},"text":"1 of 4 trials are missing from the record"},{"code":""}]`; err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	var f fact.Fact
	if err := json.Unmarshal([]byte(`{"code":"missing-trials","values":{"missing":1,"trials":4},"text":"old words"}`), &f); err != nil || f.String() != "1 of 4 trials are missing from the record" {
		t.Errorf("got %q, %v", f, err)
	}
}
