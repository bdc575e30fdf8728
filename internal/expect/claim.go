package expect

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"schedlab/internal/prose"
)

// A Sentence is what a claim says, with figures in braces: its mean is {mean("pool")}. The zero
// value says nothing. A Sentence does not change, and may be used by many goroutines.
type Sentence struct {
	texts   []string   // between the figures: one more than figures
	figures []ast.Node // numbers; Say writes their medians over the blocks
}

// ParseSentence parses the sentence of a claim. It checks the figures as [Parse] checks an
// assertion. The error is an [*Error]. arms are the arms that it may name; nil allows any.
func ParseSentence(text string, arms []string) (s Sentence, err error) {
	for at, rest := 0, text; ; {
		before, inside, found := strings.Cut(rest, "{")
		s.texts = append(s.texts, before)
		if !found {
			return s, nil
		}
		// at is now the position of the figure. An error of the figure counts from its own start.
		at += utf8.RuneCountInString(before) + 1
		figure, after, closed := strings.Cut(inside, "}")
		if !closed {
			return s, &Error{at - 1, "a { without its }"}
		}
		root, err := parse(figure, arms, expr.AsFloat64())
		if bad, ok := errors.AsType[*Error](err); ok {
			bad.At += at
			return s, bad
		}
		s.figures = append(s.figures, root)
		at, rest = at+utf8.RuneCountInString(figure)+1, after
	}
}

// Say returns the sentence with the medians over a run's blocks: times as in 20.9 ms, rates as in
// 1,048/s, other numbers with three digits, and … for a figure that the run does not have. It
// follows from the units of the words whether a figure is a time or a rate.
func (s Sentence) Say(r Run) string {
	var b strings.Builder
	for i, text := range s.texts {
		b.WriteString(text)
		if i == len(s.figures) {
			break
		}
		b.WriteString(said(r, s.figures[i]))
	}
	return b.String()
}

// said writes the median of a figure.
func said(r Run, n ast.Node) string {
	v, ok := median(r, n)
	switch {
	case !ok || r.Blocks() == 0 || math.IsNaN(v):
		return "…"
	case power(n) == 1:
		return prose.Seconds(v)
	case power(n) == -1:
		return prose.PerSecond(v)
	}
	return prose.Digits(v)
}
