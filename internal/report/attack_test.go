package report

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A closed loop sends when it is answered, so there is no lag to tell.
func TestAttackTellsLagOfOpenLoopsAlone(t *testing.T) {
	t.Parallel()
	for loop, told := range map[string]bool{"open": true, "closed": false} {
		a := record.Attack{
			Loop: loop, Target: "http://127.0.0.1:8080/", Status: record.Complete, FirstError: -1, Scheduled: 1, Sent: 1, Good: 1,
			Generator: &record.Generator{LongestLag: 1e-9},
		}
		var b bytes.Buffer
		if err := Attack(&b, &a); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "lag"); got != told {
			t.Errorf("%s loop: lag told %v, want %v:\n%s", loop, got, told, b.String())
		}
	}
}
