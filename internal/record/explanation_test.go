package record

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/outcome"
)

// Profiles lie in a directory of their arm, also of arms whose names begin alike.
func TestWriteProfile(t *testing.T) {
	t.Parallel()
	d := Dir{path: t.TempDir()}
	seen := map[string]bool{}
	long := strings.Repeat("x", 60)
	for _, arm := range []string{"pool", "pool,workers=8", long + "1", long + "2"} {
		at, err := d.WriteProfile(arm, "cpu.pb.gz", func(w io.Writer) error { _, err := io.WriteString(w, arm); return err })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(d.path, at)); err != nil || string(got) != arm || seen[at] {
			t.Errorf("%s: got %q at %s (%v), which another arm has: %v", arm, got, at, err, seen[at])
		}
		seen[at] = true
	}
	if !seen["profiles/pool/cpu.pb.gz"] || !seen["profiles/pool-workers-8/cpu.pb.gz"] {
		t.Errorf("got %v, want the arms' names in the paths", seen)
	}
}

// An old explanation has the profiles of its record. They stay when it is replaced.
func TestProfilesOfAnOldExplanation(t *testing.T) {
	t.Parallel()
	d, err := Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	if p, err := d.Profiles(); p != nil || err != nil {
		t.Errorf("got %+v and %v, want no profiles", p, err)
	}
	const old = `{"schema": 1, "profiles": {"arms": [{"arm": "a", "files": [], "samples": 5}, {"arm": "b", "files": [], "samples": 6}], "moved": [{"function": "f", "from": 0.1, "to": 0.2}]}}`
	if err := d.WriteFile(whyFile, func(w io.Writer) error { _, err := io.WriteString(w, old); return err }); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		p, err := d.Profiles()
		if err != nil || len(p.Arms) != 2 || len(p.Arms[0].Moved) != 0 || len(p.Arms[1].Moved) != 1 || p.Arms[1].Samples != 6 {
			t.Errorf("%s: got %+v, %v", when, p, err)
		}
		if err := d.WriteExplanation(&Explanation{}); err != nil {
			t.Fatal(err)
		}
	}
}

// An explanation of an older record has other words for its outcome and those of its causes.
func TestOlderExplanation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]outcome.Outcome{
		`{"outcome": "because", "causes": [{"state": "confirmed"}]}`:                   {outcome.Yes, outcome.Yes},
		`{"outcome": "shown", "causes": [{"state": "shown"}]}`:                         {outcome.Yes, outcome.Yes},
		`{"outcome": "correlated", "causes": [{"state": "not-confirmed"}]}`:            {outcome.Open, outcome.No},
		`{"outcome": "no-cause", "slower": "b"}`:                                       {outcome.Open},
		`{"outcome": "no-cause", "reason": {"code": "starvation", "text": "starved"}}`: {outcome.Refused},
		`{"outcome": "no-difference"}`:                                                 {outcome.No},
		`{"outcome": "not-known"}`:                                                     {outcome.Open},
	} {
		var x Explanation
		err := json.Unmarshal([]byte(text), &x)
		got := [2]outcome.Outcome{x.Outcome}
		if len(x.Causes) > 0 {
			got[1] = x.Causes[0].Outcome
		}
		if err != nil || got != want || x.Answer != outcome.Difference.Phrase(want[0]) {
			t.Errorf("%s: got %s (%s), %v, want %s", text, got, x.Answer, err, want)
		}
	}
}
