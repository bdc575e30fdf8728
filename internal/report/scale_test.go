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
	var fits []string
	for _, c := range sweeps(r) {
		p := c.Panels[0]
		metric, _, _ := strings.Cut(c.Caption, " over ")
		labels[metric] = true
		var ticks []string
		for _, x := range p.X.Ticks {
			ticks = append(ticks, x.Label)
		}
		if want := []string{"1", "4", "16", "64", "256", "", "2048"}; !slices.Equal(ticks, want) {
			t.Errorf("%s: got the labels %q, want %q: two of them would touch", metric, ticks, want)
		}
		for _, l := range p.Lines {
			if !slices.IsSortedFunc(l.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) }) {
				t.Errorf("%s of %s goes back and forth: %+v", metric, l.Name, l.Points)
			}
			if l.Stroke == "line fit" {
				fits = append(fits, metric+" of "+l.Class)
				if len(l.Points) != fitPoints+1 {
					t.Errorf("got %d points, want %d lines", len(l.Points), fitPoints)
				}
			}
		}
	}
	if want := []string{"goodput of c0"}; !slices.Equal(fits, want) {
		t.Errorf("got the law fitted to %q, want %q", fits, want)
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
