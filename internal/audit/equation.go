package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// An equation holds between the figures of any run of a tool, whatever the server.
type equation struct {
	code       record.Code // of the finding where it does not hold
	left, sign string
	right      []product // their sum
	text       string    // the right side as it is written
	unless     []string
}

type product struct {
	sign    float64
	factors []factor
}

type factor struct {
	name     string // "" for a number
	value    float64
	divides  bool
	optional bool // counts as 0 where the run does not have it
}

// newEquation parses a line of laws: a finding, a figure, a sign and an expression. = and
// <= allow for rounding alone, ~ and <~ for clocks that were read at different moments,
// and ~~ for a part of the run that the tool's samples leave out. A figure with a question
// mark counts as 0 where it is missing. The equation is not checked if a figure behind
// "unless" is there and not 0.
func newEquation(l string) *equation {
	l, unless, _ := strings.Cut(l, " unless ")
	words := strings.Fields(l)
	e := &equation{code: record.Code("audit-" + words[0]), left: words[1], sign: words[2], text: strings.Join(words[3:], " "), unless: strings.Fields(unless)}
	next, divides := product{sign: 1}, false
	for _, w := range words[3:] {
		switch w {
		case "+", "-":
			e.right, next = append(e.right, next), product{sign: 1}
			if w == "-" {
				next.sign = -1
			}
		case "×", "/":
			divides = w == "/"
		default:
			f := factor{divides: divides}
			if v, err := strconv.ParseFloat(w, 64); err == nil {
				f.value = v
			} else {
				f.name, f.optional = strings.CutSuffix(w, "?")
			}
			next.factors, divides = append(next.factors, f), false
		}
	}
	e.right = append(e.right, next)
	return e
}

// mentions reports whether the run has any figure of the right side.
func (e *equation) mentions(c *Claim) bool {
	return slices.ContainsFunc(e.right, func(p product) bool {
		return slices.ContainsFunc(p.factors, func(f factor) bool { return c.has(f.name) })
	})
}

// value computes the right side; ok is false where the run lacks one of its figures.
func (e *equation) value(c *Claim) (sum Figure, ok bool) {
	for _, p := range e.right {
		term := Figure{Value: p.sign}
		for _, f := range p.factors {
			v := Figure{Value: f.value}
			if f.name != "" {
				if v = c.get(f.name); !c.has(f.name) && !f.optional {
					return Figure{}, false
				}
			}
			if f.divides {
				if v.low() <= 0 {
					return Figure{}, false
				}
				// An interval from 1/high to 1/low; 1/Value is not its middle.
				low, high := 1/v.high(), 1/v.low()
				v = Figure{(low + high) / 2, (high - low) / 2}
			}
			term = term.times(v)
		}
		sum = sum.plus(term)
	}
	return sum, true
}

// unsteady is how far the mean of a tool's samples may be from the rate of the whole run, a
// ratio: wrk leaves out samples in which nothing ended.
const unsteady = 1. / 3

// check returns a finding if the run breaks the equation.
func (e *equation) check(c *Claim) *finding {
	left := c.get(e.left)
	right, ok := e.value(c)
	if !ok || !c.has(e.left) || slices.ContainsFunc(e.unless, func(name string) bool { return c.value(name) != 0 }) {
		return nil
	}
	room := left.Half + right.Half + 1e-6*math.Abs(right.Value)
	switch larger := math.Max(math.Abs(left.Value), math.Abs(right.Value)); {
	case e.sign == "~~":
		room += unsteady * larger
	case strings.Contains(e.sign, "~"):
		room += slack * larger
	}
	above, below := left.Value > right.Value+room, left.Value < right.Value-room
	if above && e.sign[0] != '>' || below && e.sign[0] != '<' {
		return c.twice(e.code, e.left, left.Value, map[byte]string{'<': "at most", '>': "at least"}[e.sign[0]], e.text, right.Value)
	}
	return nil
}

// twice is the finding that a figure has one value here and another there. is says how
// the two should compare: "at least", "at most" or "" for equal.
func (c *Claim) twice(code record.Code, name string, value float64, is, other string, otherValue float64) *finding {
	return &finding{code, record.Values{"left": value, "right": otherValue}, record.Names{"left": name, "right": other, "is": is, "unit": unitOf(name), "of": c.part}}
}
