package crossover

import (
	"slices"
	"strings"
	"testing"
)

// drawn is a grid from lines of one character a cell: a digit is a measured verdict, ? was
// undecided, ! was refused, and any other cell was not measured.
func drawn(lines string) *Grid {
	rows := strings.Split(lines, "/")
	g := New(len(rows[0]), len(rows), 1)
	for y, row := range rows {
		for x, c := range row {
			switch p := (Place{x, y}); {
			case c == '?':
				g.Sample(p, Undecided)
			case c == '!':
				g.Sample(p, Refused)
			case c >= '0' && c <= '9':
				g.Sample(p, Verdict(c-'0'))
			}
		}
	}
	return g
}

// picture draws one character for each cell.
func picture(g *Grid, of func(Knowledge) byte) string {
	var b strings.Builder
	for i, k := range g.Cells() {
		if i > 0 && i%g.columns == 0 {
			b.WriteByte('/')
		}
		b.WriteByte(of(k))
	}
	return b.String()
}

func verdict(k Knowledge) byte {
	switch {
	case k.Known():
		return '0' + byte(k.Verdict)
	case k.Samples == 0:
		return '.'
	case k.Verdict == Undecided:
		return '?'
	}
	return '!'
}

func border(k Knowledge) byte {
	if k.Border {
		return '#'
	}
	return '-'
}

func TestWhatIsInferredAndWhatIsABorder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ measured, known, borders string }{
		{"0..0", "0000", "----"},                                        // both sides agree
		{"0..1", "0..1", "----"},                                        // they do not
		{"0...", "0...", "----"},                                        // one side only
		{"1/././1", "1/1/1/1", "-/-/-/-"},                               // a column
		{".../0.0/...", ".../000/...", "---/---/---"},                   // a row, where the column says nothing
		{".0./0.0/.0.", ".0./000/.0.", "---/---/---"},                   // row and column agree
		{".0./1.1/.0.", ".0./1.1/.0.", "---/---/---"},                   // they contradict each other
		{"0.0/.../0.0", "000/000/000", "---/---/---"},                   // inferred from what was inferred
		{"01", "01", "##"},                                              // two verdicts side by side
		{"0.0/111", "000/111", "###/###"},                               // also of an inferred cell
		{"0.?.0", "0.?.0", "--#--"},                                     // undecided: nothing is inferred across it
		{"0?0", "0?0", "#-#"},                                           // undecided within one region
		{"0?1", "0?1", "###"},                                           // undecided between two
		{"0!0", "0!0", "---"},                                           // refused: no border
		{"0!.0", "0!.0", "----"},                                        // refused: nothing is inferred across it
		{"?", "?", "-"},                                                 // no neighbour
		{"?0/00", "?0/00", "-#/#-"},                                     // in a corner
		{"0.1.0/...../0.1.0", "0.1.0/0.1.0/0.1.0", "-----/-----/-----"}, // columns, not rows
	} {
		g := drawn(c.measured)
		if got := picture(g, verdict); got != c.known {
			t.Errorf("measured %s: known is %s, want %s", c.measured, got, c.known)
		}
		if got := picture(g, border); got != c.borders {
			t.Errorf("measured %s: the borders are %s, want %s", c.measured, got, c.borders)
		}
	}
}

func TestWhatIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	for measured, want := range map[string]bool{
		"010": false, // everything is decided
		"0?0": false, // within a region more precision says nothing
		"0?1": true,
		"0!0": true,
	} {
		g := drawn(measured)
		p, again, ok := g.Next()
		if ok != want || again != want || want && p != (Place{1, 0}) {
			t.Errorf("measured %s: next is %v, again %t, found %t; want the middle again: %t", measured, p, again, ok, want)
		}
	}
}

// The lattice comes first, then cells of which nothing is known, then inferred cells at a
// border; of each kind the cell that is farthest from every measured one.
func TestTheFarthestCellIsNext(t *testing.T) {
	t.Parallel()
	for _, size := range []Place{{9, 9}, {13, 4}, {3, 11}} {
		is := below(func(x float64) float64 { return x * float64(size.Y) / float64(size.X) })
		g := New(size.X, size.Y, 5)
		kind := func(k Knowledge, i int) int {
			switch p := g.place(i); {
			case k.Samples > 0:
				return 4
			case slices.Contains(stations(size.X), p.X) && slices.Contains(stations(size.Y), p.Y):
				return 0
			case !k.Inferred:
				return 1
			case k.Border:
				return 2
			}
			return 3
		}
		var measured []Place
		away := func(p Place) int {
			least := 1000
			for _, q := range measured {
				x, y := p.X-q.X, p.Y-q.Y
				least = min(least, max(x, -x)+max(y, -y))
			}
			return least
		}
		for {
			cells := g.Cells()
			p, _, ok := g.Next()
			if !ok {
				break
			}
			mine := kind(cells[g.index(p)], g.index(p))
			for i, k := range cells {
				if q := g.place(i); kind(k, i) < mine || kind(k, i) == mine && away(q) > away(p) {
					t.Errorf("%v: after %v the next is %v, and %v says more", size, measured, p, q)
				}
			}
			g.Sample(p, is(p))
			measured = append(measured, p)
		}
	}
}

func TestStationsAreTheFewestThatLeaveNoWideGap(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 50; n++ {
		at := stations(n)
		if at[0] != 0 || at[len(at)-1] != n-1 {
			t.Errorf("%d places: %v, want both ends", n, at)
		}
		if n >= 3 && len(at) < 3 {
			t.Errorf("%d places: %v, want the middle", n, at)
		}
		if len(at) > 3 && (len(at)-2)*widest >= n-1 {
			t.Errorf("%d places: %v, and one fewer would do", n, at)
		}
		least, most := n, 0
		for i := range at[1:] {
			gap := at[i+1] - at[i]
			least, most = min(least, gap), max(most, gap)
		}
		if n > 1 && (least < 1 || most > widest || most-least > 1) {
			t.Errorf("%d places: %v, want even gaps of 1 to %d", n, at, widest)
		}
	}
}
