package report

import (
	"testing"

	"schedlab/internal/record"
)

func TestLaws(t *testing.T) {
	t.Parallel()
	got := plainText(laws([]record.Law{
		{Name: "Little's law", Unit: "ratio", Windows: 4, Value: .34, Limit: .43},
		{Name: "interactive law", Unit: "ratio", Windows: 2, Value: .0041, Limit: .05},
		{Name: "utilisation law", Unit: "ratio of CPU time", Windows: 4, Value: .388, Limit: 1.02},
		{Name: "flow law", Unit: "connections", Windows: 4},
	}))
	want := "worst of 4 windows: Little's law 34 % (43 % allowed, which checks little); interactive law 0.41 % (5.0 % allowed, 2 windows); " +
		"utilisation law 39 % of CPU time (102 % allowed); flow law 0 connections (none allowed)"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
