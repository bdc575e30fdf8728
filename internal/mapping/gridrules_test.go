package mapping

import (
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// drawn is a grid from lines of one character a cell: a digit is a measured verdict, ? was
// undecided, ! was refused, and any other cell was not measured.
func drawn(lines string) grid {
	rows := strings.Split(lines, "/")
	g := gridOf(len(rows[0]), len(rows), 1)
	for y, row := range rows {
		for x, c := range row {
			switch p := (place{x, y}); {
			case c == '?':
				g.sample(p, open)
			case c == '!':
				g.sample(p, refused)
			case c >= '0' && c <= '9':
				g.sample(p, verdict(c-'0'))
			}
		}
	}
	return g
}

// picture draws one character for each cell.
func picture(g grid, of func(record.Cell) byte) string {
	var b strings.Builder
	for i, k := range g.Cells {
		if i > 0 && k.X == 0 {
			b.WriteByte('/')
		}
		b.WriteByte(of(k))
	}
	return b.String()
}

func drawnVerdict(c record.Cell) byte {
	switch {
	case c.Decided():
		return '0' + byte(verdictOf(c))
	case c.Visits == 0:
		return '.'
	case undecided(&c):
		return '?'
	}
	return '!'
}

func drawnBorder(c record.Cell) byte {
	if c.Border {
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
		if got := picture(g, drawnVerdict); got != c.known {
			t.Errorf("measured %s: known is %s, want %s", c.measured, got, c.known)
		}
		if got := picture(g, drawnBorder); got != c.borders {
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
		p, again, ok := g.chosen()
		if ok != want || again != want || want && p != (place{1, 0}) {
			t.Errorf("measured %s: next is %v, again %t, found %t; want the middle again: %t", measured, p, again, ok, want)
		}
	}
}

// The lattice comes first, then cells of which nothing is known, then inferred cells at a
// border; of each kind the cell that is farthest from every measured one.
func TestTheFarthestCellIsNext(t *testing.T) {
	t.Parallel()
	for _, size := range []place{{9, 9}, {13, 4}, {3, 11}} {
		is := below(func(x float64) float64 { return x * float64(size.Y) / float64(size.X) })
		g := gridOf(size.X, size.Y, 5)
		kind := func(c record.Cell) int {
			switch {
			case c.Visits > 0:
				return 4
			case slices.Contains(stations(size.X), c.X) && slices.Contains(stations(size.Y), c.Y):
				return 0
			case c.State == record.Unreached:
				return 1
			case c.Border:
				return 2
			}
			return 3
		}
		var measured []place
		away := func(p place) int {
			least := 1000
			for _, q := range measured {
				x, y := p.X-q.X, p.Y-q.Y
				least = min(least, max(x, -x)+max(y, -y))
			}
			return least
		}
		for {
			p, _, ok := g.chosen()
			if !ok {
				break
			}
			mine := kind(*g.At(p.X, p.Y))
			for _, c := range g.Cells {
				if q := (place{c.X, c.Y}); kind(c) < mine || kind(c) == mine && away(q) > away(p) {
					t.Errorf("%v: after %v the next is %v, and %v says more", size, measured, p, q)
				}
			}
			g.sample(p, is(p))
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
