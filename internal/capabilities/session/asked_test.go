package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/record"
)

// A record keeps what was asked, and not where it ran or for how long all of it might; a gate's and a search's keep nothing.
func TestAskedIsKept(t *testing.T) {
	t.Parallel()
	seed := uint64(1<<63 + 1) // more than a float64 holds
	var r Compare
	r.Scenarios, r.Arms, r.Seed, r.Window = []string{"quick", "plaintext"}, []string{"pool", "nethttp"}, &seed, time.Second
	r.Out, r.Total, r.WaitIdle, r.Resume = "elsewhere", time.Hour, time.Minute, "latest"
	for _, c := range []struct {
		request *Compare
		adhoc   Adhoc
		want    Compare
	}{
		{request: &r, want: Compare{Common: Common{Question: Question{Scenarios: []string{"plaintext"}, Arms: r.Arms, Seed: &seed}, Limits: Limits{Window: time.Second}}}},
		{request: &Compare{Common: Common{Question: Question{Adhoc: Adhoc{Path: "/x"}}}}, adhoc: Adhoc{Path: "/x"}, want: Compare{Common: Common{Question: Question{Adhoc: Adhoc{Path: "/x"}}}}},
		{},
	} {
		dir, err := record.Create(t.TempDir(), "quick", time.Now(), func() uint32 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		asked := &conduct{request: c.request}
		asked.Adhoc = c.adhoc
		if err := asked.keepAsked(dir, []string{"plaintext"}); err != nil {
			t.Fatal(err)
		}
		got, err := Asked(dir)
		if kept := HasAsked(dir.Path()); kept != (c.request != nil) || kept != (err == nil) || !cmp.Equal(got, c.want) {
			t.Errorf("kept %v, %v:\n%s", kept, err, cmp.Diff(c.want, got))
		}
	}
}
