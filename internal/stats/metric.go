package stats

// A Metric is one figure that arms are compared by, with the sizes that matter
// for it. Both sizes are symmetric in the logarithm: an effect of 0.05 is met
// by a ratio of 1.05 and by one of 1/1.05.
type Metric struct {
	Name           string // as in records: p50, p90, p99, goodput, cpu_per_request
	Primary        bool   // takes part in choosing a winner, and counts in the correction for many comparisons
	HigherIsBetter bool
	Amount         bool    // not a time: FASTER and SLOWER are written as HIGHER and LOWER
	Effect         float64 // smallest median difference called FASTER or SLOWER, a ratio: |ln ratio| >= ln(1+Effect); not negative
	Same           float64 // largest difference called SAME, a ratio: |ln ratio| <= ln(1+Same); positive
}

// Metrics returns every compared metric in presentation order.
func Metrics() []Metric {
	return []Metric{
		{Name: "p50", Primary: true, Effect: 0.05, Same: 0.10},
		{Name: "p90", Primary: true, Effect: 0.05, Same: 0.10},
		{Name: "p99", Primary: true, Effect: 0.05, Same: 0.10},
		{Name: "goodput", HigherIsBetter: true, Amount: true, Effect: 0.02, Same: 0.03},
		{Name: "cpu_per_request", Amount: true, Effect: 0.05, Same: 0.10},
	}
}

// further holds figures that runs give no verdicts on, but that can be compared on request: the
// mean response time of good replies and the memory that a server holds.
var further = []Metric{
	{Name: "good_mean", Effect: 0.05, Same: 0.10},
	{Name: "memory", Amount: true, Effect: 0.05, Same: 0.10},
}

// MetricOf returns the metric with this name. For an unknown name it returns a Metric with no
// other field set.
func MetricOf(name string) Metric {
	for _, m := range append(Metrics(), further...) {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name}
}

// A Decision is the verdict on one metric of one arm.
type Decision string

// The decisions, in the order their rules are tried once the data can be judged
// at all. Faster and Slower mean better and worse: a lower time or cost, a
// higher goodput.
const (
	Faster       Decision = "FASTER"       // the interval excludes no difference, and the median is at least Effect better
	Slower       Decision = "SLOWER"       // the same, at least Effect worse
	Same         Decision = "SAME"         // the whole interval lies within Same
	Inconclusive Decision = "INCONCLUSIVE" // none of these: more blocks are needed
	Refused      Decision = "REFUSED"      // the data cannot carry a verdict; Reason says why
)

// Word returns a decision as records and reports write it. Faster means better and Slower means
// worse; for an amount the word is HIGHER or LOWER instead.
func (m Metric) Word(d Decision) string {
	switch {
	case !m.Amount || d != Faster && d != Slower:
		return string(d)
	case (d == Faster) == m.HigherIsBetter:
		return "HIGHER"
	}
	return "LOWER"
}

// Decision returns the decision that Word wrote as word.
func (m Metric) Decision(word string) Decision {
	for _, d := range []Decision{Faster, Slower} {
		if m.Word(d) == word {
			return d
		}
	}
	return Decision(word)
}
