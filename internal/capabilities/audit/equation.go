package audit

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"schedlab/internal/shared/fact"
)

// An equation is one law of the tables: a relation that holds between the figures of a run,
// whatever the server. An example is "rate = requests / seconds".
//
// The signs = <= >= allow for rounding alone, ~ <~ >~ for clocks that were read at different
// moments as well, and ~~ for a part of the run that the tool's samples leave out. A figure with
// a question mark counts as 0 where it is missing. An equation is checked only where all conditions
// behind "if" and none behind "unless" are other than 0. A condition is a figure, or an expression
// without spaces. A comparison is 1 where it holds and missing elsewhere: a > b holds where a is
// above b for certain, and a >= b where it may not be below.
type equation struct {
	code              fact.Code // of the finding if it is broken; "" for one that is no law
	text              string    // as it is written, with its conditions
	left, sign, right string    // of it
	leftSide, value   ast.Node
	when, unless      []ast.Node
}

var (
	// equationLine splits an equation into left side, sign, right side and conditions.
	equationLine = regexp.MustCompile(`^(.+?) ([<>]?[=~]|~~) (.+?)(?: if (.+?))?(?: unless (.+))?$`)
	// notation turns an expression of the tables into one of expr. "name?" becomes a call, name(),
	// because expr's question mark needs an alternative.
	notation = strings.NewReplacer("×", "*", "?", "()")
)

// newEquation parses an equation. expr's parser reads both sides, so the tables need none here.
// It panics for text that is no equation, which is a bug in the tables.
func newEquation(code, l string) *equation {
	m := equationLine.FindStringSubmatch(l)
	if m == nil {
		panic("no equation: " + l)
	}
	parse := func(texts ...string) (all []ast.Node) {
		for _, text := range texts {
			x, err := parser.Parse(notation.Replace(text))
			if err != nil {
				panic("no expression: " + l)
			}
			all = append(all, x.Node)
		}
		return all
	}
	sides := parse(m[1], m[3])
	return &equation{fact.Code(code), l, m[1], m[2], m[3], sides[0], sides[1], parse(strings.Fields(m[4])...), parse(strings.Fields(m[5])...)}
}

// A lookup finds a figure by its name. It returns false for a figure that is not known.
type lookup func(name string) (Figure, bool)

// functions has the functions that expressions can call.
var functions = map[string]func(a, b Figure) Figure{
	"floor":   func(a, _ Figure) Figure { return Figure{Value: math.Floor(a.Value)} },
	"ceil":    func(a, _ Figure) Figure { return Figure{Value: math.Ceil(a.Value)} },
	"larger":  func(a, b Figure) Figure { return Figure{max(a.Value, b.Value), max(a.Half, b.Half)} },
	"smaller": func(a, b Figure) Figure { return Figure{min(a.Value, b.Value), max(a.Half, b.Half)} },
	// The ends and the middle of what a figure can be, without rounding, and how much its rounding is of it.
	"most":   func(a, _ Figure) Figure { return Figure{Value: a.high()} },
	"least":  func(a, _ Figure) Figure { return Figure{Value: max(0, a.low())} },
	"middle": func(a, _ Figure) Figure { return Figure{Value: a.Value} },
	"blur":   func(a, _ Figure) Figure { return Figure{Value: a.Half / math.Abs(a.Value)} },
	// wrk's samples leave its calibration out, so they may differ from the whole run.
	"sampled": func(a, _ Figure) Figure { return Figure{a.Value, a.Half + .15*a.Value} },
	"whole":   func(a, _ Figure) Figure { return Figure{Value: wholeNumber(a)} },
}

// wholeNumber returns the whole number, 1 or more, that f is close to, and 0 if it is close to none. The
// load needs a moment between an answer and its next request, so f may be off by 5 %.
func wholeNumber(f Figure) float64 {
	const off, apart = .05, .3
	n := math.Round(f.Value)
	if f.Half > apart || math.Abs(f.Value-n) > min(off*n, apart) {
		return 0
	}
	return n
}

// nameOf returns the name of the figure at a node of an expression: an identifier, or a
// member such as thread_rate.mean. It returns "" for any other node.
func nameOf(x ast.Node) string {
	switch x := x.(type) {
	case *ast.IdentifierNode:
		return x.Value
	case *ast.MemberNode:
		return nameOf(x.Node) + "." + x.Property.(*ast.StringNode).Value
	}
	return ""
}

// compute evaluates an expression as an interval, by the rounding of each figure. ok is false
// where a figure is missing, or where a divisor is not surely above 0; f means nothing then.
func (of lookup) compute(x ast.Node) (f Figure, ok bool) {
	switch x := x.(type) {
	case *ast.CallNode:
		return of.call(nameOf(x.Callee), x.Arguments)
	case *ast.BuiltinNode: // expr has a function of that name, too
		return of.call(x.Name, x.Arguments)
	case *ast.IntegerNode:
		return Figure{Value: float64(x.Value)}, true
	case *ast.FloatNode:
		return Figure{Value: x.Value}, true
	case *ast.BinaryNode:
		a, known := of.compute(x.Left)
		b, also := of.compute(x.Right)
		switch ok = known && also; x.Operator {
		case "+":
			return a.plus(b), ok
		case "-":
			return a.plus(b.times(Figure{Value: -1})), ok
		case "*":
			return a.times(b), ok
		case ">":
			return Figure{Value: 1}, ok && a.low() > b.high()
		case ">=":
			return Figure{Value: 1}, ok && a.high() >= b.low()
		}
		return a.per(b), ok && b.low() > 0
	}
	return of(nameOf(x))
}

// call evaluates a call of a function or, as notation writes "name?", the figure of a call without arguments.
func (of lookup) call(name string, arguments []ast.Node) (f Figure, ok bool) {
	if len(arguments) == 0 {
		f, _ = of(name)
		return f, true
	}
	// A function of one argument gets it twice and ignores the second.
	a, known := of.compute(arguments[0])
	b, also := of.compute(arguments[len(arguments)-1])
	return functions[name](a, b), known && also
}

// applies reports whether the conditions of the equation are met.
func (e *equation) applies(of lookup) bool {
	is0 := func(x ast.Node) bool { f, ok := of.compute(x); return !ok || f.Value == 0 }
	not0 := func(x ast.Node) bool { return !is0(x) }
	return !slices.ContainsFunc(e.when, is0) && !slices.ContainsFunc(e.unless, not0)
}

// broken computes both sides, and reports whether they break the equation for certain: only a gap
// that rounding cannot close does.
func (e *equation) broken(of lookup) (left, right Figure, broken bool) {
	left, known := of.compute(e.leftSide)
	right, also := of.compute(e.value)
	if !known || !also || !e.applies(of) {
		return left, right, false
	}
	// 1e-6 covers the rounding of floating point, where the text has exact figures.
	room := left.Half + right.Half + 1e-6*math.Abs(right.Value)
	switch larger := math.Max(math.Abs(left.Value), math.Abs(right.Value)); {
	case e.sign == "~~":
		room += unsteady * larger
	case strings.Contains(e.sign, "~"):
		room += slack * larger
	}
	// With <= only a left side that is too large breaks the law, with >= only one that is too small.
	above, below := left.Value > right.Value+room, left.Value < right.Value-room
	return left, right, above && e.sign[0] != '>' || below && e.sign[0] != '<'
}
