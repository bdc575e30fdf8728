package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Dist is a distribution of demand: a constant, an exponential, a lognormal, or
// a mix of at most eight such terms. It is a small comparable value; the zero Dist is the
// constant 0. It implements the text interfaces of package encoding, for YAML, JSON and
// flag.TextVar.
//
// A plan or a query names a Dist by a text ([ParseDist]). A handler draws from it with
// [Dist.Sample]; the theory of queues takes its [Dist.Mean] and [Dist.SquaredCV].
type Dist struct {
	n     int // terms in use
	terms [maxTerms]term
}

// maxTerms keeps Dist free of pointers: parsing one allocates nothing.
const maxTerms = 8

// A term is one part of a mix: a distribution and its share of the draws.
type term struct {
	weight float64       // probability; the weights of a Dist sum to 1
	mean   time.Duration // for a constant, its value
	kind   kind
	scv    float64 // for a lognormal, its squared coefficient of variation
}

// A kind is the shape of a term. The zero value is the constant.
type kind uint8

const (
	constant kind = iota
	exponential
	lognormal
)

// maxSCV limits a lognormal's variability. Above it any run sees the tail too seldom,
// so its mean is not the mean of the distribution.
const maxSCV = 100

// ParseDist reads a distribution. A term is one of:
//
//	200us  const(200us)   a constant of at least 0
//	exp(200us)            an exponential with that mean
//	lognormal(200us,4)    a lognormal with that mean and squared coefficient of
//	                      variation, which lies in (0, 100]
//
// A mix is a sum of weighted terms ("0.8*0s+0.2*exp(10ms)"). The weights lie in
// (0, 1] and sum to 1 within 1e-9. Spaces around terms are ignored.
func ParseDist(s string) (Dist, error) {
	d, err := parseDist(s)
	if err != nil {
		return Dist{}, fmt.Errorf("parsing demand %+.40q: %w", s, err)
	}
	return d, nil
}

func parseDist(s string) (Dist, error) {
	var d Dist
	var sum float64
	for part, more := s, true; more; {
		part, s, more = strings.Cut(s, "+")
		if d.n == maxTerms {
			return d, fmt.Errorf("more than %d terms", maxTerms)
		}
		weight, value, weighted := strings.Cut(part, "*")
		if !weighted {
			weight, value = "1", part
		}
		t, err := parseTerm(weight, value)
		if err != nil {
			return d, err
		}
		if !weighted && (more || d.n > 0) {
			return d, fmt.Errorf("term %+.20q of a mix has no weight, as in 0.2*10ms", strings.TrimSpace(value))
		}
		d.terms[d.n] = t
		d.n++
		sum += t.weight
	}
	// Decimal weights seldom sum to 1 exactly in floating point.
	if math.Abs(sum-1) > 1e-9 {
		return d, fmt.Errorf("the weights sum to %g, not 1", sum)
	}
	if d.n == 1 {
		d.terms[0].weight = 1
	}
	if d.n == 1 && d.terms[0].kind == constant {
		return Constant(d.terms[0].mean), nil
	}
	return d, nil
}

// Constant returns the distribution that is always d. d must be 0 or more.
func Constant(d time.Duration) Dist {
	if d == 0 {
		return Dist{} // one spelling of the constant 0
	}
	return Dist{n: 1, terms: [maxTerms]term{{weight: 1, mean: d}}}
}

func parseTerm(weight, value string) (term, error) {
	var t term
	var err error
	t.weight, err = strconv.ParseFloat(strings.TrimSpace(weight), 64)
	if err != nil || !(t.weight > 0 && t.weight <= 1) {
		return t, fmt.Errorf("weight %+.20q is not a number in (0, 1]", weight)
	}
	value = strings.TrimSpace(value)
	name, length := "const", value
	if inner, closed := strings.CutSuffix(value, ")"); closed {
		name, length, _ = strings.Cut(inner, "(")
	}
	switch name {
	case "const":
	case "exp":
		t.kind = exponential
	case "lognormal":
		t.kind = lognormal
		var scv string
		length, scv, _ = strings.Cut(length, ",")
		t.scv, err = strconv.ParseFloat(strings.TrimSpace(scv), 64)
		if err != nil || !(t.scv > 0 && t.scv <= maxSCV) {
			return t, fmt.Errorf("%+.30q needs a squared coefficient of variation in (0, %d], as in lognormal(200us,4)", value, maxSCV)
		}
	default:
		return t, fmt.Errorf("%+.20q is none of const(D), exp(D), lognormal(D,SCV)", value)
	}
	t.mean, err = time.ParseDuration(length)
	if err != nil {
		return t, fmt.Errorf("%+.20q is not a demand such as 200us, exp(200us), lognormal(200us,4) or 0.8*0s+0.2*10ms", value)
	}
	if t.mean < 0 {
		return t, errors.New("a demand cannot be negative")
	}
	return t, nil
}

// String returns d in the form that ParseDist reads, in ASCII and without spaces, so
// that it can be part of a URL: "200us", "exp(200us)", "0.8*0s+0.2*10ms".
func (d Dist) String() string {
	if d.n == 0 {
		return "0s"
	}
	var b strings.Builder
	for i, t := range d.terms[:d.n] {
		if i > 0 {
			b.WriteByte('+')
		}
		if d.n > 1 {
			b.WriteString(strconv.FormatFloat(t.weight, 'g', -1, 64) + "*")
		}
		value := strings.Replace(t.mean.String(), "µ", "u", 1)
		switch t.kind {
		case exponential:
			value = "exp(" + value + ")"
		case lognormal:
			value = "lognormal(" + value + "," + strconv.FormatFloat(t.scv, 'g', -1, 64) + ")"
		}
		b.WriteString(value)
	}
	return b.String()
}

// MarshalText returns String. It never fails.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses text as ParseDist does. On an error d keeps its value.
func (d *Dist) UnmarshalText(text []byte) error {
	parsed, err := ParseDist(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}

// Pauses returns the time that a client of a closed loop waits between a reply and its next request; nil for the zero
// Dist, with which it does not wait. Each pause seeds a new generator from the client's, so that pauses do not
// depend on the order in which clients run.
func (d Dist) Pauses() func(rng *rand.Rand) time.Duration {
	if d == (Dist{}) {
		return nil
	}
	return func(rng *rand.Rand) time.Duration { return d.Sample(NewRand(rng.Uint64())) }
}

// Exponential reports whether d is one exponential, and no mix.
func (d Dist) Exponential() bool { return d.n == 1 && d.terms[0].kind == exponential }

// Mean returns the expected value, rounded to the nanosecond:
//
//	E[X] = sum of w m    (w a term's weight, m its mean)
func (d Dist) Mean() time.Duration {
	first, _ := d.moments()
	return clampDuration(math.Round(first))
}

// SquaredCV returns the squared coefficient of variation, the measure of
// variability in queueing formulae: 0 for a constant, 1 for an exponential, the
// given value for a lognormal, and more for a mix of short and long. It is 0 when
// the mean is 0.
//
//	C² = E[X²] / E[X]² - 1,  E[X²] = sum of w m² (1 + c²)   (c² is the term's C²)
//
// (Moments of a mixture; Kleinrock, Queueing Systems I, 1975.)
func (d Dist) SquaredCV() float64 {
	first, second := d.moments()
	if first == 0 {
		return 0
	}
	return max(0, second/(first*first)-1)
}

// moments returns E[X] in nanoseconds and E[X²] in square nanoseconds.
func (d Dist) moments() (first, second float64) {
	for _, t := range d.terms[:d.n] {
		m := float64(t.mean)
		first += t.weight * m
		second += t.weight * m * m * (1 + t.squaredCV())
	}
	return first, second
}

func (t term) squaredCV() float64 {
	switch t.kind {
	case exponential:
		return 1
	case lognormal:
		return t.scv
	}
	return 0
}

// Sample draws one demand from d. It takes one number from r to choose the term of
// a mix, and one to draw an exponential or a lognormal by inversion:
//
//	exponential  -m ln(1-u)
//	lognormal    exp(µ + σ Φ⁻¹(u)),  σ² = ln(1 + c²),  µ = ln m - σ²/2
//
// (Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions 1, ch. 14.)
func (d Dist) Sample(r *Rand) time.Duration {
	if d.n == 0 {
		return 0
	}
	t := d.terms[0]
	if d.n > 1 {
		u := r.Float64()
		for _, t = range d.terms[:d.n] { // the last term also takes the rounding error
			if u -= t.weight; u < 0 {
				break
			}
		}
	}
	switch m := float64(t.mean); t.kind {
	case exponential:
		return clampDuration(math.Round(-m * math.Log1p(-r.Float64())))
	case lognormal:
		variance := math.Log1p(t.scv)
		// Φ⁻¹(u) = √2 erf⁻¹(2u-1). For u = 0 it is -Inf, and the draw is then 0.
		normal := math.Sqrt2 * math.Erfinv(2*r.Float64()-1)
		return clampDuration(math.Round(m * math.Exp(math.Sqrt(variance)*normal-variance/2)))
	}
	return t.mean
}

// largest returns the largest mean of any term; the mean of a constant is its value.
func (d Dist) largest() time.Duration {
	var most time.Duration
	for _, t := range d.terms[:d.n] {
		most = max(most, t.mean)
	}
	return most
}

// clampDuration converts nanoseconds to a Duration. It returns the largest Duration
// when they do not fit, because Go leaves that conversion undefined.
func clampDuration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// WithShare returns d with new weights: share of the draws, in [0, 1], come from the
// terms above zero, in their old proportions, and the rest are zero. With share 0.5
// both "0.8*0s+0.2*10ms" and "10ms" become "0.5*0s+0.5*10ms". It returns an error when
// d has no term above zero, or no room for a term for the zeros.
func (d Dist) WithShare(share float64) (Dist, error) {
	if !(share >= 0 && share <= 1) {
		return d, fmt.Errorf("%v is not a share from 0 to 1", share)
	}
	if share == 0 {
		return Dist{}, nil
	}
	above := slices.DeleteFunc(slices.Clone(d.terms[:d.n]), func(t term) bool { return t.mean == 0 })
	if len(above) == 0 {
		return d, errors.New("no part of the demand is above zero, so it has no share")
	}
	sum := 0.0
	for _, t := range above {
		sum += t.weight
	}
	for i := range above {
		above[i].weight = above[i].weight * share / sum
	}
	if share < 1 {
		above = slices.Insert(above, 0, term{weight: 1 - share})
	}
	if len(above) > maxTerms {
		return d, fmt.Errorf("more than %d terms", maxTerms)
	}
	made := Dist{n: len(above)}
	copy(made.terms[:], above)
	return made, nil
}
