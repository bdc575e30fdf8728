package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
	"schedlab/internal/report"
)

// chart is a map from rows of cells, the last Y first: a is won by a, b by b, = is
// the same, ~ undecided, . not reached; a second character ! means b is short.
func chart(rows ...string) *record.Map {
	m := &record.Map{Arms: []string{"a", "b"}}
	m.Plan.X.Name, m.Plan.Y.Name = "share", "workers"
	columns := len(strings.Fields(rows[0]))
	for x := range columns {
		m.Plan.X.Values = append(m.Plan.X.Values, string(rune('1'+x)))
	}
	for y := range rows {
		m.Plan.Y.Values = append(m.Plan.Y.Values, string(rune('1'+y)))
		for x, text := range strings.Fields(rows[len(rows)-1-y]) {
			c := record.Cell{X: x, Y: y, State: record.Sampled}
			switch text[0] {
			case 'a', 'b':
				c.Decision, c.Winner = record.Wins, text[:1]
			case '=':
				c.Decision, c.Among = record.Ties, m.Arms
			case '~':
				c.Decision = record.InDoubt
			case '.':
				c.State = record.Unreached
			}
			if strings.HasSuffix(text, "!") {
				c.Short = []string{"b"}
			}
			m.Cells = append(m.Cells, c)
		}
	}
	return m
}

func TestBorder(t *testing.T) {
	t.Parallel()
	line := func(value string, law, from, to int, known, within bool) record.BorderLine {
		return record.BorderLine{Value: value, Law: law, From: from, To: to, Known: known, Within1: within}
	}
	for _, c := range []struct {
		name  string
		m     *record.Map
		along string
		want  []record.BorderLine
	}{
		{"as the law says, a cell above, two above", chart(
			"= = b",
			"= a a",
			"= a! a",
			"a! a! a!",
		), "workers", []record.BorderLine{line("1", 1, 1, 1, true, true), line("2", 2, 3, 3, true, true), line("3", 1, 3, 3, true, false)}},
		{"undecided at it, beyond it, within it", chart(
			"= ~ =",
			"= = a",
			"~ a ~!",
			"a! a! a!",
		), "workers", []record.BorderLine{line("1", 1, 1, 2, true, true), line("2", 1, 2, 2, true, true), line("3", 2, 3, 3, true, true)}},
		{"not reached, coming back, outside", chart(
			"= a = a",
			". = = a!",
			"a! a! = a!",
		), "workers", []record.BorderLine{line("1", 1, 1, 2, false, false), line("2", 1, 3, 3, false, false), line("3", 0, 0, 0, true, true), line("4", 2, 3, 3, true, true)}},
		{"short at the high end", chart(
			"a! a!",
			"a =!",
			"= =",
		), "workers", []record.BorderLine{line("1", 2, 1, 1, true, true), line("2", 1, 2, 2, true, true)}},
		{"along the columns", chart(
			"a! a =",
			"a! = =",
		), "share", []record.BorderLine{line("1", 1, 1, 1, true, true), line("2", 1, 2, 2, true, true)}},
	} {
		b := border(c.m)
		if b == nil {
			t.Errorf("%s: no border", c.name)
			continue
		}
		if diff := cmp.Diff(c.want, b.Lines); diff != "" || b.Along != c.along || b.Arm != "b" {
			t.Errorf("%s: along %s of %s (want, got): %s", c.name, b.Along, b.Arm, diff)
		}
	}
	if b := border(chart("a b", "a b")); b != nil {
		t.Errorf("without a short arm: got %+v", b)
	}
	if b := border(chart("a! b!", "a! b!")); b != nil {
		t.Errorf("short everywhere: got %+v", b)
	}
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	m := chart("= b ~", "a! a! .")
	m.Cells[0].State = record.Inferred
	m.Theory = border(m)
	want := "a and b overtake one another here. Of 6 cells, 4 of them measured: 2 won by a, 1 won by b, 1 the same, 1 undecided, 1 not reached." +
		" Where b loses lies within one cell of Little's law in 2 of 3 columns (in 1 no border can be told)."
	if got := report.MapHeadline(m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
