package race

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

var _ report.Content = (*Race)(nil)

// sample is a race of two arms that are the same, one that is slower, one that fails its requests and one that ended. A sixth did not fit.
func sample(t *testing.T) *Race {
	f := field{
		arms: []string{"a", "bb", "ccc", "dddd", "eeeee"}, times: map[string]float64{"ccc": 1.3},
		edit: func(t *record.TrialRecord) {
			for i := range t.Requests {
				if t.Arm == "dddd" && i%10 == 0 {
					t.Requests[i].Status = 500
				}
			}
		},
		ends: map[string]record.ArmEnd{"eeeee": {Died: true, Why: "the server ended (exit status 7)"}}, lacks: func(block int, arm string) bool { return arm == "eeeee" && block > 2 },
	}
	r, _ := f.race(t)
	r.Dir, r.Run, r.Started = "schedlab-runs/20261129-101500-demo-cafe", "20261129-101500-demo-cafe", time.Date(2026, 11, 29, 10, 15, 0, 0, time.UTC)
	r.LeftOut = []fact.Fact{doubt.LeftOutOfRace.On("pool").Since(doubt.StickyPool.Of(doubt.Sticky{Waiting: 62, Connections: 64, Workers: 2}).On("pool"))}
	return r
}

func TestRaceGolden(t *testing.T) {
	t.Parallel()
	r := sample(t)
	var brief bytes.Buffer
	if err := report.Brief(&brief, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(brief.String(), "\n"); lines > 24 { // a screen
		t.Errorf("%d lines, want 24 at most", lines)
	}
	for l := range strings.Lines(brief.String()) {
		if n := utf8.RuneCountInString(l) - 1; n > 100 {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
	files := map[string]string{"race.brief.txt": brief.String()}
	for format, file := range map[string]string{"text": "race.txt", "json": "race.json", "markdown": "race.md", "html": "race.html", "csv": "race.csv"} {
		var b bytes.Buffer
		if err := report.Formats().Render(&b, format, r); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		files[file] = b.String()
	}
	for file, got := range files {
		golden.Check(t, filepath.Join("testdata", file), got)
	}
}

// A race is read from JSON as it was written.
func TestARaceIsReadAgain(t *testing.T) {
	t.Parallel()
	r := sample(t)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Race
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Arms, again.Arms, cmpopts.EquateEmpty(), cmp.Comparer(fact.Fact.Equal), cmpopts.IgnoreFields(record.Verdict{}, "Least")); diff != "" {
		t.Error(diff)
	}
}
