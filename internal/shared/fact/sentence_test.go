package fact_test

import (
	"encoding/json"
	"strings"
	"testing"

	_ "schedlab/internal/capabilities/attack"
	_ "schedlab/internal/capabilities/audit"
	_ "schedlab/internal/capabilities/capacity"
	_ "schedlab/internal/capabilities/doctor"
	_ "schedlab/internal/capabilities/explain"
	_ "schedlab/internal/capabilities/size"
	_ "schedlab/internal/measuring/runner"
	"schedlab/internal/shared/fact"
)

// Every sentence can be filled in, even for a fact that lacks its values, as one of another version may.
func TestSentences(t *testing.T) {
	t.Parallel()
	for _, code := range fact.Codes() {
		if strings.Contains(string(code), " ") { // part of another
			continue
		}
		f := asRecorded(t, `{"arm": "pool", "baseline": "nethttp", "metric": "p99", "because": [{"code": "unknown-cpu", "arm": "pool"}],
			"names": {"error": "it broke", "said": "so", "why": "it is", "source": "tsc", "untold": "not told"}}`)
		f.Code = code
		if text := f.String(); strings.HasPrefix(text, string(code)+" (") || strings.Contains(text, "<no value>") {
			t.Errorf("%s: got %q", code, text)
		}
	}
}

func TestFactInWords(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"1 worker cannot keep up: by Little's law 500/s x 2.5 ms held keeps 1.25 busy, so give it 2 or more": `{"code": "too-few-workers", "values": {"workers": 1, "rate": 500, "held": 0.0025, "busy": 1.25, "needed": 2}}`,
		"run twice as a check: too few requests: p99 needs 1100 (--window)":                                  `{"code": "aa", "because": [{"code": "few-requests", "metric": "p99", "values": {"needed": 1100}}]}`,
		"36 == 64 in the median; true in 0 of 10 blocks":                                                     `{"code": "tally", "values": {"yes": 0, "blocks": 10}, "names": {"sides": "36 == 64"}}`,
		"3 of 10 blocks outside: 2 below, 1 above":                                                           `{"code": "tally", "values": {"yes": 7, "blocks": 10, "outside": 3, "below": 2, "above": 1}}`,
		"words of a newer version":                                                                           `{"code": "unheard-of", "text": "words of a newer version"}`,
		"unheard-of":                                                                                         `{"code": "unheard-of"}`,
	} {
		f := asRecorded(t, text)
		if got := f.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// A fact on disk has its words beside code and values, and is worded anew when it is read.
func TestFactJSON(t *testing.T) {
	t.Parallel()
	const text = `{"code":"missing-trials","values":{"missing":1,"trials":4},"text":"old words"}`
	got, err := json.Marshal([]fact.Fact{asRecorded(t, text), {}})
	if want := `[{"code":"missing-trials","values":{"missing":1,"trials":4},"text":"1 of 4 trials are missing from the record"},{"code":""}]`; err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// asRecorded is a fact as a record has it.
func asRecorded(t *testing.T, text string) (f fact.Fact) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	return f
}
