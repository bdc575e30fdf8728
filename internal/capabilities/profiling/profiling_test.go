package profiling

import (
	"io"
	"testing"
	"time"

	"schedlab/internal/shared/record"
)

// An old explanation has the profiles of its record. They stay when it is replaced.
func TestProfilesOfAnOldExplanation(t *testing.T) {
	t.Parallel()
	d, err := record.Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Kept(d); p != nil || err != nil {
		t.Errorf("got %+v and %v, want no profiles", p, err)
	}
	const old = `{"schema": 1, "profiles": {"arms": [{"arm": "a", "files": [], "samples": 5}, {"arm": "b", "files": [], "samples": 6}], "moved": [{"function": "f", "from": 0.1, "to": 0.2}]}}`
	if err := d.WriteFile("why.json", func(w io.Writer) error { _, err := io.WriteString(w, old); return err }); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		p, err := Kept(d)
		if err != nil || len(p.Arms) != 2 || len(p.Arms[0].Moved) != 0 || len(p.Arms[1].Moved) != 1 || p.Arms[1].Samples != 6 {
			t.Errorf("%s: got %+v, %v", when, p, err)
		}
		if err := KeepOld(d); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteFile("why.json", func(w io.Writer) error { _, err := io.WriteString(w, `{"schema": 1}`); return err }); err != nil {
			t.Fatal(err)
		}
	}
}
