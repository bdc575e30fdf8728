package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// An equation holds between the figures of a run, for a server of any kind.
type equation struct {
	code       record.Code
	left, sign string
	right      [][]factor // a sum of products
	said       string     // the right side as it is written
	unless     []string
}

type factor struct {
	name     string // "" for a number
	value    float64
	divides  bool
	optional bool // 0 where it is not there
}

// newEquation reads a line of laws: the finding where it does not hold, and the equation.
// = and <= allow for rounding alone, ~ and <~ for clocks that were read at different
// moments, and ~~ for a part of the run that the tool's samples leave out. A figure with a
// question mark is 0 where it is not there; behind "unless" are figures with which the
// equation says nothing, because they are there and not 0.
func newEquation(l string) *equation {
	l, unless, _ := strings.Cut(l, " unless ")
	words := strings.Fields(l)
	e := &equation{code: record.Code("audit-" + words[0]), left: words[1], sign: words[2], said: strings.Join(words[3:], " "), unless: strings.Fields(unless)}
	product, divides := []factor{}, false
	sign := 1.
	for _, w := range words[3:] {
		switch w {
		case "+", "-":
			if e.right, product = append(e.right, product), nil; w == "-" {
				sign = -1
			}
		case "×", "/":
			divides = w == "/"
		default:
			f := factor{divides: divides, value: sign}
			if v, err := strconv.ParseFloat(w, 64); err == nil {
				f.value *= v
			} else {
				f.name, f.optional = strings.CutSuffix(w, "?")
			}
			product, divides, sign = append(product, f), false, 1
		}
	}
	e.right = append(e.right, product)
	return e
}

// value is the right side; ok is false where the run does not say it.
func (e *equation) value(c *Claim) (sum Figure, ok bool) {
	for _, product := range e.right {
		term := Figure{Value: 1}
		for _, f := range product {
			v := Figure{Value: f.value}
			switch {
			case f.name == "":
			case c.has(f.name):
				v = c.get(f.name)
			case f.optional:
				v = Figure{}
			default:
				return Figure{}, false
			}
			if f.divides {
				if v.low() <= 0 {
					return Figure{}, false
				}
				// The middle of the two ends, which is not the inverse of the middle.
				low, high := 1/v.high(), 1/v.low()
				v = Figure{(low + high) / 2, (high - low) / 2}
			}
			term = Figure{term.Value * v.Value, math.Abs(term.Value)*v.Half + math.Abs(v.Value)*term.Half + term.Half*v.Half}
		}
		sum = Figure{sum.Value + term.Value, sum.Half + term.Half}
	}
	return sum, true
}

// unsteady is how far the mean of a tool's samples may be from the rate of the whole run, a
// ratio: wrk leaves out samples in which nothing ended.
const unsteady = 1. / 3

// check holds a run to the equation.
func (e *equation) check(c *Claim) *finding {
	if !c.has(e.left) || slices.ContainsFunc(e.unless, func(name string) bool { return c.get(name).Value != 0 }) {
		return nil
	}
	left := c.get(e.left)
	right, ok := e.value(c)
	if !ok {
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
		return c.twice(e.code, e.left, left.Value, map[byte]string{'<': "at most", '>': "at least"}[e.sign[0]], e.said, right.Value)
	}
	return nil
}

// twice is a figure that is said once more, and not the same. Names.is is "at least", "at
// most" or nothing.
func (c *Claim) twice(code record.Code, name string, value float64, is, other string, otherValue float64) *finding {
	return &finding{code, record.Values{"left": value, "right": otherValue}, record.Names{"left": name, "right": other, "is": is, "unit": unitOf(name), "of": c.part}}
}

// unitOf is what a report prints behind a figure: "s" for times, "" for what is a number.
func unitOf(name string) string {
	if kindFor(name) == "time" {
		return "s"
	}
	return ""
}
