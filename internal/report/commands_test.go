package report

import (
	"regexp"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A tested choice says for each model whether it kept the SLO.
func TestChoiceSaysWhoKeptTheSLO(t *testing.T) {
	t.Parallel()
	kept := record.Fact{Code: "test", Text: "pool kept p99<=10ms in 12 of 12 blocks"}
	broke := record.Fact{Code: "test", Text: "goroutine did NOT keep p99<=10ms"}
	var got strings.Builder
	if err := WriteChoice(&got, "text", record.Choice{Verified: &record.ChoiceTest{Keeps: []record.Fact{kept, broke}, Dir: "runs/x"}}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ *Kept +pool kept p99<=10ms in 12 of 12 blocks\n +goroutine did NOT keep p99<=10ms`).MatchString(got.String()) {
		t.Errorf("got %s", &got)
	}
}
