package audit

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A Figure is a number as it was printed, with the error that printing caused: seconds, bytes,
// a count, a rate per second or a ratio, always in base units. Because digits were rounded, the
// true value lies within Half on either side of Value. Half is 0 for an exact number and never
// negative. The zero Figure stands for a missing one.
//
// Arithmetic on figures is interval arithmetic: Half of a result covers every combination of
// true values. So a law that is broken beyond Half is broken whatever was rounded away.
type Figure struct{ Value, Half float64 }

// low and high are the ends of the interval in which the true value lies.
func (f Figure) low() float64  { return f.Value - f.Half }
func (f Figure) high() float64 { return f.Value + f.Half }

// plus returns the interval of the sum of two figures.
func (f Figure) plus(g Figure) Figure { return Figure{f.Value + g.Value, f.Half + g.Half} }

// times returns the product. Its Half covers every product of true values, of any sign.
func (f Figure) times(g Figure) Figure {
	return Figure{f.Value * g.Value, math.Abs(f.Value)*g.Half + math.Abs(g.Value)*f.Half + f.Half*g.Half}
}

// per returns the quotient; divisor must be above 0 for certain. Its Half covers every quotient of
// true values: they lie between f/high and f/low, and f/Value is not the middle of that.
func (f Figure) per(divisor Figure) Figure {
	least, most := 1/divisor.high(), 1/divisor.low()
	return f.times(Figure{(least + most) / 2, (most - least) / 2})
}

// kinds gives the kind of a figure by its name; the first that matches counts. The part
// before a dot tells what else than whole requests the figure is about.
var kinds = []struct {
	name string
	of   *regexp.Regexp
}{
	{"time", regexp.MustCompile(`^p\d`)},
	{"bytes", regexp.MustCompile(`^bytes|size(\.[^.]*)?$|^(sent|both|net)_rate$`)},
	{"si", regexp.MustCompile(`^network`)},
	{"share", regexp.MustCompile(`share(\.[^.]*)?$|(^|\.)(cpu|change|within|success)$`)},
	{"rate", regexp.MustCompile(`rate(\.[^.]*)?$|^offered$`)},
	{"time", regexp.MustCompile(`(^|\.)(mean|stdev|min|max|sum|(asked_)?seconds|service|timeout|calibration|attack|waited|cycle|period|response|transfer|user|system|bar|t|p\d[\d.]*)$|_(period|time)$`)},
	{"count", regexp.MustCompile(``)},
}

// kindFor returns the kind of a figure by its name, a key of units. Every name has one: the
// last rule matches all, so an unknown name is a count.
func kindFor(name string) string {
	i := 0
	for !kinds[i].of.MatchString(name) {
		i++
	}
	return kinds[i].name
}

// units are the factors by which a number with a unit becomes seconds, bytes and so on, for
// each kind. "" is the unit of a bare number; kinds without it need a unit, since
// a time "12" may be in ms or in s.
var units = map[string]map[string]float64{
	"time": {
		"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600,
		"microseconds": 1e-6, "milliseconds": 1e-3, "sec": 1, "secs": 1, "seconds": 1,
	},
	"count": {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}, // as wrk writes them
	"rate":  {"": 1, "/s": 1, "req/s": 1, "requests/s": 1, "rps": 1, "k": 1e3, "k/s": 1e3, "M": 1e6, "M/s": 1e6, "k req/s": 1e3, "M req/s": 1e6},
	// Load tools mean powers of 1024, whatever they write; only k6 does not.
	"bytes": {
		"": 1, "B": 1, "bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
	},
	"si":    {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9},
	"share": {"": 1, "%": .01},
	"exact": {"": 1}, // a ratio with all its digits
}

// number matches one number at the beginning of a text. Its groups are the digits, the exponent
// with its e, and the unit.
var number = regexp.MustCompile(`^([+-]?(?:\d{1,3}(?:[ '’]\d{3})+(?:[.,]\d+)?|[\d,.]*\d))(e[+-]?\d+)?\s*([^\d.,+-]*)`)

var (
	// groups matches digits in groups of three, parted by commas or dots; a fraction may follow
	// behind the other sign. Two groups at the beginning may have two digits, as in India. A
	// single dot parts no group, because tools write a fraction behind it.
	groups  = regexp.MustCompile(`^[+-]?(?:[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}(?:\.\d+)?|[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,})$`)
	decimal = regexp.MustCompile(`^[+-]?\d*[.,]?\d+$`)
	spaced  = strings.NewReplacer(" ", "", "'", "", "’", "")
)

// digitsOf returns the digits of a number with a dot for the decimal sign and without signs between
// groups; ok is false if text is not a number. A comma that does not separate groups of three is a decimal
// comma, as in 12,8 and 0,128.
func digitsOf(text string) (digits string, ok bool) {
	text = spaced.Replace(text)
	switch comma, dot := strings.LastIndex(text, ","), strings.LastIndex(text, "."); {
	case groups.MatchString(text) && (dot > comma && comma >= 0 || dot < 0):
		return strings.ReplaceAll(text, ",", ""), true
	case groups.MatchString(text):
		return strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", "."), true
	}
	return strings.Replace(text, ",", ".", 1), decimal.MatchString(text)
}

// figure parses a number and its unit into base units. Its last digit is taken as rounded, so
// Half is half a step of this digit. A time may have several parts, as Go writes them: 1m30.5s. A
// count is exact, unless it is written in thousands. The error quotes the text and tells whether the
// number or its unit is wrong.
func figure(text, kind string) (Figure, error) {
	text = strings.TrimSpace(text)
	sum := Figure{}
	for rest := text; ; {
		m := number.FindStringSubmatch(rest)
		if m == nil {
			return Figure{}, fmt.Errorf("%q is no number", text)
		}
		digits, isNumber := digitsOf(m[1])
		unit := strings.TrimSpace(m[3])
		v, err := strconv.ParseFloat(digits+m[2], 64)
		if err != nil || !isNumber {
			return Figure{}, fmt.Errorf("%q is no number", text)
		}
		factor, ok := units[kind][unit]
		rest = rest[len(m[0]):]
		switch {
		case !ok && unit == "":
			return Figure{}, fmt.Errorf("%q has no unit; write one, like %sms", text, text)
		case !ok, rest != "" && kind != "time":
			return Figure{}, fmt.Errorf("%q has an unknown unit", text)
		}
		// Half comes from the last part of a time alone, because only that part was rounded.
		exponent, _ := strconv.Atoi(strings.TrimPrefix(m[2], "e"))
		_, fraction, _ := strings.Cut(digits, ".")
		half := .5 * math.Pow10(exponent-len(fraction)) * factor
		if sum.Value >= 3600 && v == 0 && fraction == "" { // vegeta rounds such a time to minutes
			half = 30
		}
		sum = Figure{sum.Value + v*factor, half}
		if kind == "exact" || kind == "count" && sum.Half == .5 {
			sum.Half = 0
		}
		if rest == "" {
			return sum, nil
		}
	}
}

// unitOf returns the unit to print behind a figure with this name: "s" for times, "" for others.
func unitOf(name string) string { return map[string]string{"time": "s"}[kindFor(name)] }
