package report

import (
	"math"
	"strconv"

	"schedlab/internal/record"
)

// logSpread is the spread of times from which an axis becomes logarithmic.
const logSpread = 20

// px is a coordinate in an SVG's own units, written to a tenth.
type px float64

func (p px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

// A tick is a labelled place on an axis. A minor one gives way on a narrow
// screen.
type tick struct {
	At    px
	Label string
	Minor bool
}

// An axis maps low..high to from..to, linearly or by logarithm.
type axis struct {
	low, high float64
	from, to  px
	log       bool
}

// timeAxis fits times: from zero, or logarithmic when they spread over more
// than twentyfold.
func timeAxis(values []float64, from, to px) axis {
	low, high := span(values)
	if high == 0 {
		high = 1
	}
	if low > 0 && high/low > logSpread {
		return axis{low / 1.15, high * 1.15, from, to, true}
	}
	return axis{0, high * 1.06, from, to, false}
}

// closeAxis fits times without zero, so that small spreads can be seen.
func closeAxis(values []float64, from, to px) axis {
	a := timeAxis(values, from, to)
	low, high := span(values)
	if room := (high - low) * 0.08; !a.log && room > 0 {
		a.low, a.high = max(low-room, 0), high+room
	}
	return a
}

// at is where v lies; values outside the axis lie on its edge.
func (a axis) at(v float64) px {
	v = min(max(v, a.low), a.high)
	share := (v - a.low) / (a.high - a.low)
	if a.log {
		share = math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return a.from + px(share)*(a.to-a.from)
}

// timeTicks marks round times, about n of them.
func (a axis) timeTicks(n int) []tick {
	var ticks []tick
	if a.log {
		wide := math.Log10(a.high/a.low) > 3
		for decade := math.Pow(10, math.Floor(math.Log10(a.low))); decade <= a.high; decade *= 10 {
			for _, m := range []float64{1, 2, 5} {
				if v := decade * m; v >= a.low && v <= a.high && (m == 1 || !wide) {
					ticks = append(ticks, tick{a.at(v), tickLabel(v), m != 1})
				}
			}
		}
		return ticks
	}
	step := roundStep((a.high - a.low) / float64(n))
	for i := math.Ceil(a.low / step); i*step <= a.high; i++ {
		ticks = append(ticks, tick{a.at(i * step), tickLabel(i * step), math.Mod(i, 2) == 1})
	}
	return ticks
}

// roundStep is the least of 1, 2, 5 × 10^k that is not below v.
func roundStep(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= v*(1-1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}

// tickLabel writes a round time without trailing zeros.
func tickLabel(v float64) string {
	if v == 0 {
		return "0"
	}
	s := timeScale(v)
	return strconv.FormatFloat(v/s.factor, 'g', 3, 64) + nbsp + s.unit
}

// A series is how one arm is drawn and named everywhere on the page. Colours
// repeat after seven challengers; dashes then tell them apart.
type series struct {
	Name  string
	Class string
}

// seriesOf gives the baseline the colour of text, its copy the same dashed,
// and each challenger one of the palette.
func seriesOf(arms []record.Arm) []series {
	var all []series
	challenger := 0
	for _, a := range arms {
		s := series{Name: a.Name, Class: "base"}
		switch a.Role {
		case record.Copy:
			s.Class = "base dash"
		case record.Challenger:
			s.Class = "c" + strconv.Itoa(challenger%7)
			if challenger >= 7 {
				s.Class += " dash"
			}
			challenger++
		}
		all = append(all, s)
	}
	return all
}
