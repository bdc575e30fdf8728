package expect

import (
	"fmt"
	"math"
	"strconv"

	"time"

	"github.com/expr-lang/expr/ast"

	"schedlab/internal/shared/stats"
)

// Keeps returns the assertion that an arm keeps an objective, with a part for each term. The error names a quantile that
// expectations do not know.
func Keeps(slo stats.SLO, arm string) (e Expectation, err error) {
	for _, t := range slo {
		figure, limit, sign := figureOf(t, arm), limitOf(t), "<="
		if figure.root == nil {
			return Expectation{}, fmt.Errorf("expectations know p50, p90 and p99, and not %s; ask for one of these", t.Metric)
		}
		if t.AtLeast {
			sign = ">="
		}
		term := joined(figure, " "+sign+" ", sign, limit)
		if e.root != nil {
			term = joined(e.formula, " and ", "and", term)
		}
		e = Expectation{term}
	}
	return e, nil
}

// SaysKept returns the sentence that an arm keeps an objective, with its figure for each term. It is for an objective that
// [Keeps] takes.
func SaysKept(slo stats.SLO, arm string) (s Sentence) {
	between := fmt.Sprintf("%s keeps %s (", arm, slo)
	for _, t := range slo {
		s.texts = append(s.texts, between+t.Metric.String()+" ")
		s.figures = append(s.figures, figureOf(t, arm))
		between = ", "
	}
	s.texts = append(s.texts, ")")
	return s
}

// figureOf returns the figure of an arm that a term limits; the zero formula if expectations have no word for it.
func figureOf(t stats.Term, arm string) (f formula) {
	word := t.Figure().Row().Word
	if word == "" {
		return f
	}
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: word}, Arguments: []ast.Node{&ast.StringNode{Value: arm}}}
	return formula{call.String(), call}
}

// limitOf returns the limit of a term, with its unit.
func limitOf(t stats.Term) formula {
	switch {
	case t.AtLeast:
		return joined(number(t.Limit), "/", "/", unit("s"))
	case t.Timed():
		nanoseconds := math.Round(t.Limit * 1e9)
		for _, u := range []struct {
			name string
			of   time.Duration
		}{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}} {
			if nanoseconds >= float64(u.of) {
				return joined(number(nanoseconds/float64(u.of)), "", "*", unit(u.name))
			}
		}
		return joined(number(nanoseconds), "", "*", unit("ns"))
	}
	return number(t.Limit)
}

func number(v float64) formula {
	return formula{strconv.FormatFloat(v, 'g', -1, 64), &ast.FloatNode{Value: v}}
}

// unit returns the word of a unit.
func unit(name string) formula { return formula{name, &ast.IdentifierNode{Value: name}} }

// joined joins two formulas with an operator, and their texts with how the operator is written.
func joined(left formula, written, operator string, right formula) formula {
	return formula{left.text + written + right.text, &ast.BinaryNode{Operator: operator, Left: left.root, Right: right.root}}
}
