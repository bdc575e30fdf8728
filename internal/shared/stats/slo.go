package stats

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An SLO is a service level objective: its terms, in the order in which they were given, all hold. No metric occurs twice. The
// zero value promises nothing.
type SLO []Term

// A Term is one promise about a metric. Goodput must be at least Limit, every other metric at most Limit.
type Term struct {
	Metric  Measure `json:"metric"`
	Limit   float64 `json:"limit"`              // seconds; a ratio of 0 to 1 for errors; good replies per second for goodput
	AtLeast bool    `json:"at_least,omitempty"` // the value must be Limit or more, rather than Limit or less
}

const (
	mostSLO    = 24 * time.Hour // longest time in a term: a float64 of seconds is exact to the nanosecond up to here
	mostDigits = 9              // digits of a quantile's percentage: with more, two quantiles may be the same float64
)

// A Measure is what a term is about: a quantile of the response times, or the figure Mean, Errors or Goodput. Its text, in
// JSON too, is p and the percentage of the quantile, as p99.9, or the figure's name.
type Measure struct {
	Figure   Figure  // NoFigure for a quantile
	Quantile float64 // above 0 and below 1; 0 for a figure
}

// String returns the measure's text.
func (m Measure) String() string {
	if m.Quantile > 0 {
		return "p" + percentage(m.Quantile)
	}
	return m.Figure.String()
}

// MarshalText returns the measure's text.
func (m Measure) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a measure. A text that only another version knows, in its record, is the zero Measure.
func (m *Measure) UnmarshalText(text []byte) error {
	*m = Measure{}
	if percent, is := strings.CutPrefix(string(text), "p"); is {
		m.Quantile, _ = hundredth(percent)
		return nil
	}
	m.Figure, _ = FigureOf(string(text))
	return nil
}

// ParseSLO reads terms such as "p99<=10ms,errors<=0.1%,goodput>=500/s". Times are above 0 and at most 24 h and have a unit,
// errors are a percentage or a ratio, and "/s" may be left out. An error names the term and says how to write it.
func ParseSLO(text string) (SLO, error) {
	var slo SLO
	for part := range strings.SplitSeq(text, ",") {
		term, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("parsing SLO term %q: %w", strings.TrimSpace(part), err)
		}
		if slices.ContainsFunc(slo, func(other Term) bool { return other.Metric == term.Metric }) {
			return nil, fmt.Errorf("parsing SLO term %q: %s has a limit already; give each metric once", strings.TrimSpace(part), term.Metric)
		}
		slo = append(slo, term)
	}
	return slo, nil
}

// termText matches a term: its metric, the percentage of a quantile, the comparison and the limit.
var termText = regexp.MustCompile(`^(p([0-9.]+)|mean|errors|goodput)\s*(<=|>=)\s*(.*)$`)

func parseTerm(text string) (t Term, err error) {
	parts := termText.FindStringSubmatch(text)
	if parts == nil || (parts[1] == "goodput") != (parts[3] == ">=") {
		return t, errors.New(`write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`)
	}
	t.AtLeast = parts[3] == ">="
	t.Metric.Figure, _ = FigureOf(parts[1])
	if percent := parts[2]; percent != "" {
		q, err := hundredth(percent)
		if err != nil || q <= 0 || q >= 1 || len(percent) > mostDigits {
			return t, fmt.Errorf("%q is not a quantile: p and a percentage above 0 and below 100, as in p99 or p99.9", parts[1])
		}
		t.Metric = Measure{Quantile: q}
	}
	read := parseTime
	switch t.Metric.Figure {
	case Errors:
		read = parseRatio
	case Goodput:
		read = parseRate
	}
	t.Limit, err = read(parts[4])
	return t, err
}

// parseTime reads a time with a unit, above 0 and at most mostSLO, in seconds.
func parseTime(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > mostSLO {
		return 0, fmt.Errorf("%q is not a time above 0 and at most %v: use a number and a unit, as in 10ms or 1.5s", text, mostSLO)
	}
	return d.Seconds(), nil
}

// parseRatio reads a percentage or a ratio, from 0 to 1.
func parseRatio(text string) (float64, error) {
	ratio, err := parseDecimal(text)
	if percent, found := strings.CutSuffix(text, "%"); found {
		ratio, err = hundredth(percent)
	}
	if err != nil || ratio > 1 {
		return 0, fmt.Errorf("%q is not a share of requests: use a percentage from 0%% to 100%%, or a ratio from 0 to 1", text)
	}
	return ratio, nil
}

// parseRate reads a rate per second, above 0.
func parseRate(text string) (float64, error) {
	rate, err := parseDecimal(strings.TrimSuffix(text, "/s"))
	if err != nil || rate == 0 || math.IsInf(rate, 0) {
		return 0, fmt.Errorf("%q is not a rate: use a number above 0, as in 500/s", text)
	}
	return rate, nil
}

// parseDecimal reads digits with at most one point, and no signs, exponents, NaN and the like.
func parseDecimal(text string) (float64, error) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

// hundredth reads a percentage as the ratio nearest to it: "99.9" is 0.999, which 99.9/100 in floating point is not.
func hundredth(text string) (float64, error) {
	if _, err := parseDecimal(text); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text+"e-2", 64)
}

// percentage returns the shortest text that hundredth reads as this ratio.
func percentage(ratio float64) string {
	for digits := 1; ; digits++ {
		short, _ := strconv.ParseFloat(strconv.FormatFloat(ratio*100, 'g', digits, 64), 64)
		text := strconv.FormatFloat(short, 'f', -1, 64)
		if back, _ := hundredth(text); back == ratio || digits == 17 {
			return text
		}
	}
}

// String returns the SLO in the form that ParseSLO reads.
func (s SLO) String() string {
	terms := make([]string, len(s))
	for i, t := range s {
		terms[i] = t.String()
	}
	return strings.Join(terms, ",")
}

// Figure returns the figure of trials that the term is about, NoFigure if they have none.
func (t Term) Figure() Figure {
	if t.Metric.Quantile == 0 {
		return t.Metric.Figure
	}
	for _, q := range Quantiles() {
		if q.Quantile == t.Metric.Quantile {
			return q.Figure
		}
	}
	return NoFigure
}

// Figures returns the figures of trials that the terms are about, ascending.
func (s SLO) Figures() (all []Figure) {
	for _, t := range s {
		if f := t.Figure(); f != NoFigure {
			all = append(all, f)
		}
	}
	slices.Sort(all)
	return all
}

// Goodput returns the term that promises goodput, and so limits the rates that can keep the objective; the zero Term if there
// is none.
func (s SLO) Goodput() (t Term) {
	if i := slices.IndexFunc(s, func(t Term) bool { return t.AtLeast }); i >= 0 {
		t = s[i]
	}
	return t
}

// String returns the term in the form that ParseSLO reads, such as "p99<=10ms".
func (t Term) String() string {
	switch t.Metric.Figure {
	case Errors:
		text := percentage(t.Limit)
		if back, err := hundredth(text); err == nil && back == t.Limit {
			return "errors<=" + text + "%"
		}
		return "errors<=" + strconv.FormatFloat(t.Limit, 'f', -1, 64)
	case Goodput:
		return "goodput>=" + strconv.FormatFloat(t.Limit, 'f', -1, 64) + "/s"
	}
	return t.Metric.String() + "<=" + time.Duration(math.Round(t.Limit*1e9)).String()
}

// Requests returns how many requests a window needs before the term can be judged from it: [MinRequests] for a quantile, and
// 1/Limit for errors. The three windows that verify a rate then hold 3/Limit requests, and n requests that all went well bound
// the error ratio by 3/n with 95 % confidence (the rule of three; Hanley and Lippman-Hand, "If Nothing Goes Wrong, Is
// Everything All Right?", 1983). It is 1 for the mean, for goodput, and for a limit of no errors at all, which no number of
// requests can prove.
func (t Term) Requests() int {
	switch {
	case t.Metric.Quantile > 0:
		return MinRequests(t.Metric.Quantile)
	case t.Metric.Figure == Errors && t.Limit > 0:
		if need := math.Ceil(1 / t.Limit * (1 - rounding)); need < math.MaxInt {
			return int(need)
		}
		return math.MaxInt
	}
	return 1
}

// Timed reports whether the term promises a response time: a quantile or the mean.
func (t Term) Timed() bool { return t.Metric.Quantile > 0 || t.Metric.Figure == Mean }

// Holds reports whether a measured or predicted value, in the unit of Limit, keeps the term. NaN keeps none.
func (t Term) Holds(value float64) bool {
	if t.AtLeast {
		return value >= t.Limit
	}
	return value <= t.Limit
}
