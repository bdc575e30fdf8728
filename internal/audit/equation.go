package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// An equation is one law of the tables: a relation that holds between the figures of any run of
// a tool, whatever the server. An example is "rate = requests / seconds".
//
// newEquation parses the text with Go's own expression parser, so the tables need no parser
// here. compute evaluates the right side as an interval, by the rounding of each figure, and
// broken compares it with the left side. Both sides may be off by rounding, so only a gap that
// rounding cannot close breaks the law.
type equation struct {
	// left is the name of one figure. sign is one of = <= >= ~ <~ ~~. unless names figures that
	// turn the check off where they are not 0.
	left, sign string
	right      ast.Expr
	text       string // the right side as it is written
	unless     []string
}

// notation turns an expression of the tables into one of Go, for its parser. "name?" becomes a
// call, name(), because Go has no question mark. In compute a call then means that a missing
// figure counts as 0.
var notation = strings.NewReplacer("×", "*", "?", "()")

// newEquation parses a figure, a sign and an expression. = and <= allow for rounding alone, ~ and
// <~ for clocks that were read at different moments, and ~~ for a part of the run that the tool's
// samples leave out. A figure with a question mark counts as 0 where it is missing. The equation
// is not checked if a figure behind "unless" is there and not 0.
func newEquation(l string) *equation {
	l, unless, _ := strings.Cut(l, " unless ")
	left, rest, _ := strings.Cut(l, " ")
	sign, text, _ := strings.Cut(rest, " ")
	right, err := parser.ParseExpr(notation.Replace(text))
	if err != nil {
		panic(l) // a bug in the tables
	}
	return &equation{left, sign, right, text, strings.Fields(unless)}
}

// nameOf returns the name of the figure at a node of an expression: an identifier, or a
// selector such as thread_rate.mean. It returns "" for any other node.
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return nameOf(x.X) + "." + x.Sel.Name
	}
	return ""
}

// compute evaluates an expression over the figures of the run, with the rounding of the result.
// ok is false where the run lacks a figure, or where a divisor is not surely above 0; f means
// nothing then.
func (c *Claim) compute(x ast.Expr) (f Figure, ok bool) {
	switch x := x.(type) {
	case *ast.CallExpr:
		return c.get(nameOf(x.Fun)), true
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(x.Value, 64)
		return Figure{Value: v}, err == nil
	case *ast.BinaryExpr:
		a, known := c.compute(x.X)
		b, ok := c.compute(x.Y)
		switch ok = ok && known; x.Op {
		case token.ADD:
			return a.plus(b), ok
		case token.SUB:
			return a.plus(b.times(Figure{Value: -1})), ok
		case token.MUL:
			return a.times(b), ok
		}
		// An interval from 1/high to 1/low; 1/Value is not its middle.
		low, high := 1/b.high(), 1/b.low()
		return a.times(Figure{(low + high) / 2, (high - low) / 2}), ok && b.low() > 0
	}
	return c.get(nameOf(x)), c.has(nameOf(x))
}

// unsteady is how far the mean of a tool's samples may be from the rate of the whole run, a
// ratio: wrk leaves out samples in which nothing ended.
const unsteady = 1. / 3

// broken reports whether the run breaks the equation for certain. It fills f with both sides.
// It fits the field of the same name in law.
func (e *equation) broken(c *Claim, f *finding) bool {
	left := c.get(e.left)
	right, ok := c.compute(e.right)
	// 1e-6 covers the rounding of floating point, where the text has exact figures.
	room := left.Half + right.Half + 1e-6*math.Abs(right.Value)
	switch larger := math.Max(math.Abs(left.Value), math.Abs(right.Value)); {
	case e.sign == "~~":
		room += unsteady * larger
	case strings.Contains(e.sign, "~"):
		room += slack * larger
	}
	is := map[byte]string{'<': "at most", '>': "at least"}[e.sign[0]]
	twice(f, c.part, e.left, left.Value, is, e.text, right.Value)
	// With <= only a left side that is too large breaks the law, with >= only one that is too
	// small.
	above, below := left.Value > right.Value+room, left.Value < right.Value-room
	return ok && !slices.ContainsFunc(e.unless, func(name string) bool { return c.value(name) != 0 }) &&
		(above && e.sign[0] != '>' || below && e.sign[0] != '<')
}

// twice fills f with two values of one figure: name has value here, and other, a place or an
// expression, makes it otherValue. of is the part that the figures are about, "" for whole
// requests. is tells how the two should compare: "at least", "at most" or "" for equal.
func twice(f *finding, of, name string, value float64, is, other string, otherValue float64) {
	f.Numbers = record.Values{"left": value, "right": otherValue}
	f.Names = record.Names{"left": name, "right": other, "is": is, "unit": unitOf(name), "of": of}
}
