package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// The lines over the clients go from the left to the right, and labels do not touch.
func TestSweepOverClients(t *testing.T) {
	t.Parallel()
	r := &record.Result{}
	for i, n := range []int{16, 1, 4, 64, 256, 1024, 2048} {
		clients, v := strconv.Itoa(n), .001*float64(i+1)
		r.Arms = append(r.Arms, record.Arm{
			Name: "goroutine,connections=" + clients, Family: "goroutine", Levels: []record.Level{{Factor: "connections", Value: clients}},
			P50: &v, P99: &v, Goodput: new(9_000.), CPUPerRequest: &v,
		})
	}
	var labels []string
	for _, c := range sweeps(r) {
		metric, _, _ := strings.Cut(c.Caption, " over ")
		labels = append(labels, metric)
		var ticks []string
		for _, x := range c.Panels[0].X.Ticks {
			ticks = append(ticks, x.Label)
		}
		if want := []string{"1", "4", "16", "64", "256", "", "2048"}; !slices.Equal(ticks, want) {
			t.Errorf("%s: got the labels %q, want %q: two of them would touch", c.Label, ticks, want)
		}
		for _, l := range c.Panels[0].Lines {
			if !slices.IsSortedFunc(l.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) }) {
				t.Errorf("%s of %s goes back and forth: %+v", c.Label, l.Name, l.Points)
			}
		}
	}
	if want := []string{"p50", "p99", "goodput", "CPU/request"}; !slices.Equal(labels, want) {
		t.Errorf("got the charts %q, want %q", labels, want)
	}
}
