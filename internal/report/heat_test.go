package report

import (
	"strings"
	"testing"

	"schedlab/internal/record"
)

// However long a run was, every request is in one cell, and one without a reply is in the row above
// all times.
func TestHeatGridHasEveryRequest(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{1, 12, 40, 700} {
		arms := []record.Arm{{Name: "a", Heat: heated(blocks, 0)}, {Name: "b", Heat: heated(blocks, 3)}}
		g := newHeatGrid(arms)
		if n := g.columns(); n > heatColumns || g.rows > heatRows {
			t.Errorf("%d blocks have %d columns and %d rows, want at most %d and %d", blocks, n, g.rows, heatColumns, heatRows)
		}
		for i, columns := range g.cells {
			sum, lost := 0, 0
			for _, column := range columns {
				for _, n := range column {
					sum += n
				}
				lost += column[g.rows]
			}
			if want := blocks * (record.HeatSlices*88 + 1); sum != want || lost != blocks {
				t.Errorf("%d blocks: arm %d has %d requests in cells, %d of them without a reply, want %d and %d", blocks, i, sum, lost, want, blocks)
			}
		}
	}
	if g := newHeatGrid([]record.Arm{{Name: "a"}}); g != nil {
		t.Errorf("nothing is known, and the grid is %+v", g)
	}
}

// Colours go from one request to the most, without a gap, and the strongest is always used.
func TestHeatColours(t *testing.T) {
	t.Parallel()
	for _, most := range []uint32{1, 2, 5, 1000} {
		c := new(record.HeatCounts)
		c[0][30], c[3][31] = 1, most
		g := newHeatGrid([]record.Arm{{Name: "a", Heat: []record.Heat{{Block: 1, Valid: true, Counts: c}}}})
		last := len(g.bounds) - 1
		if g.bounds[0] != 1 || g.bounds[last] > int(most) || len(g.bounds) > heatSteps || g.class(last) != "heat h5" {
			t.Errorf("up to %d requests: colours begin at %d, the strongest is %s", most, g.bounds, g.class(last))
		}
	}
}

// ten are ten minutes of five arms: 120 blocks of a second.
func ten() *record.Result {
	r := quick()
	r.Arms = append(r.Arms, r.Arms[2])
	r.Arms[4].Name = "fasthttp-2"
	for i := range r.Arms {
		r.Arms[i].Heat = heated(120, i)
	}
	return r
}

// A page of ten minutes and five arms stays below 1.5 MB.
func TestPageOfALongRunIsSmall(t *testing.T) {
	t.Parallel()
	page := rendered(t, "html", ten())
	if most := 1_500_000; len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	if n := strings.Count(page, `class="cells"`); n != 5 {
		t.Errorf("it has %d heat maps, want one for each of five arms", n)
	}
}

// BenchmarkPage renders the page of ten minutes and five arms.
func BenchmarkPage(b *testing.B) {
	r := ten()
	var w strings.Builder
	for b.Loop() {
		w.Reset()
		if err := Render(&w, "html", r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Len()), "bytes/page")
}
