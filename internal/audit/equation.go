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

// An equation holds between the figures of any run of a tool, whatever the server.
type equation struct {
	left, sign string
	right      ast.Expr
	text       string // the right side as it is written
	unless     []string
}

// notation turns an expression of the tables into one of Go, for its parser: a call marks a
// figure that counts as 0 where it is missing.
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

// nameOf returns the figure that a part of an expression names, "" for none.
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return nameOf(x.X) + "." + x.Sel.Name
	}
	return ""
}

// compute evaluates an expression; ok is false where the run lacks one of its figures.
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

// broken is the law of the equation.
func (e *equation) broken(c *Claim, f *finding) bool {
	left := c.get(e.left)
	right, ok := c.compute(e.right)
	room := left.Half + right.Half + 1e-6*math.Abs(right.Value)
	switch larger := math.Max(math.Abs(left.Value), math.Abs(right.Value)); {
	case e.sign == "~~":
		room += unsteady * larger
	case strings.Contains(e.sign, "~"):
		room += slack * larger
	}
	is := map[byte]string{'<': "at most", '>': "at least"}[e.sign[0]]
	twice(f, c.part, e.left, left.Value, is, e.text, right.Value)
	above, below := left.Value > right.Value+room, left.Value < right.Value-room
	return ok && !slices.ContainsFunc(e.unless, func(name string) bool { return c.value(name) != 0 }) &&
		(above && e.sign[0] != '>' || below && e.sign[0] != '<')
}

// twice makes f the finding that a figure of a part has one value here and another there. is says
// how the two should compare: "at least", "at most" or "" for equal.
func twice(f *finding, of, name string, value float64, is, other string, otherValue float64) {
	f.Numbers = record.Values{"left": value, "right": otherValue}
	f.Names = record.Names{"left": name, "right": other, "is": is, "unit": unitOf(name), "of": of}
}
