package report

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// The law is drawn over the throughput it was fitted to and nowhere else, and only
// where its parameters are identified.
func TestFittedLawIsDrawn(t *testing.T) {
	t.Parallel()
	r := scaled()
	labels := map[string]bool{}
	for _, c := range sweeps(r) {
		labels[c.Label] = true
		var ticks []string
		for _, x := range c.X {
			ticks = append(ticks, x.Label)
		}
		if want := []string{"1", "4", "16", "64", "256", "", "2048"}; !slices.Equal(ticks, want) {
			t.Errorf("%s: got the labels %q, want %q: two of them would touch", c.Label, ticks, want)
		}
		for _, l := range c.Lines {
			if !slices.IsSortedFunc(l.Points, func(a, b sweepPoint) int { return cmp.Compare(a.X, b.X) }) {
				t.Errorf("%s of %s goes back and forth: %+v", c.Label, l.Name, l.Points)
			}
			want := c.Label == "goodput" && l.Name == "goroutine"
			if (l.Fit != "") != want {
				t.Errorf("%s of %s: got the fitted path %q, want one: %v", c.Label, l.Name, l.Fit, want)
			}
			if want && strings.Count(l.Fit, "L") != fitPoints {
				t.Errorf("got %q, want %d lines", l.Fit, fitPoints)
			}
		}
		if (c.FitName != "") != (c.Label == "goodput") {
			t.Errorf("%s: got the legend %q", c.Label, c.FitName)
		}
	}
	for _, want := range []string{"p50", "p99", "goodput", "CPU/request"} {
		if !labels[want] {
			t.Errorf("no chart of %s over the clients, got %v", want, labels)
		}
	}
}

func TestScaleSaysWhatItKnows(t *testing.T) {
	t.Parallel()
	families := scaled().Scales
	if len(families) != 2 {
		t.Fatalf("got %d families, want two", len(families))
	}
	for i, want := range []string{"goroutine: highest at N* = 105, 8,890/s; lambda 5,000/s (4,800/s to 5,210/s), sigma 0.55 (0.53 to 0.57)", "loop: unidentified: the interval of kappa holds 0"} {
		if got := scaleSentence(&families[i]); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for i, columns := range []int{5, 3} {
		for _, row := range scaleRows(&families[i]) {
			if len(row) != columns || row[2] == none {
				t.Errorf("got %q, want %d figures with the CPU per request, fitted ones only where they are identified", row, columns)
			}
		}
	}
	bare := &record.Result{Scales: []record.Scale{{Line: "goroutine", Points: []record.ScalePoint{}, Why: said("0 valid blocks of 10 that are needed")}}}
	for _, format := range []string{"text", "markdown", "html"} {
		if got := rendered(t, format, bare); !strings.Contains(got, "goroutine: unidentified: 0 valid blocks") {
			t.Errorf("%s: got %s, want why there is no law", format, got)
		}
	}
}
