package stats

import (
	"cmp"
	"strconv"

	"schedlab/internal/shared/outcome"
)

// A Metric describes a figure of a trial's window: its names, its unit and how it is compared. Effect and Same are symmetric in
// the logarithm: both 1.05 and 1/1.05 are an effect of 0.05.
type Metric struct {
	Figure   Figure  // its place in the table
	Name     string  // as in records: p50, p90, p99, goodput, cpu_per_request
	Word     string  // in expectations; "" if they cannot ask for it
	Label    string  // in reports
	In       string  // follows "than nethttp" in a sentence: "at p99", "in goodput"
	Unit     string  // base unit: s, 1/s or bytes; "" for counts and ratios
	Bench    string  // unit in the Go benchmark format, of nanoseconds for a time; "" unless Compared
	Quantile float64 // 0..1, of the response times; 0 for any other figure

	Compared       bool    // runs give verdicts on it
	Primary        bool    // takes part in choosing a winner, and counts in the correction for many comparisons
	HigherIsBetter bool    // as goodput; else lower is better
	Amount         bool    // not a time: verdicts on it are HIGHER and LOWER instead of FASTER and SLOWER
	Effect         float64 // smallest median difference called a difference, a ratio: |ln ratio| >= ln(1+Effect); not negative
	Same           float64 // largest difference called SAME, a ratio: |ln ratio| <= ln(1+Same); positive
	Allow          float64 // largest worsening that a gate allows unless told otherwise, a ratio; 0 if no gate can ask for it

	Proof Proof

	ByClass bool // requests of one class have it, too: it counts requests and times, and nothing of the server's
}

// A Proof tells which trouble of an arm leaves a figure right.
type Proof int

// The zero Proof: the figure means nothing if clients starve or requests fail.
const (
	InStarvation Proof = iota + 1 // clients of a closed loop starve
	InOverload                    // the queue grows without end, or requests fail; starvation as well
)

// metrics is the table of all figures: with verdicts, then compared on request, then read by expectations only.
var metrics = completed([numFigures]Metric{
	P50:           {Name: "p50", Word: "p50", Label: "p50", In: "at p50", Unit: "s", Bench: "p50-ns", Compared: true, Quantile: .5, Primary: true, Effect: .05, Same: .10, Allow: .10, ByClass: true},
	P90:           {Name: "p90", Word: "p90", Label: "p90", In: "at p90", Unit: "s", Bench: "p90-ns", Compared: true, Quantile: .9, Primary: true, Effect: .05, Same: .10, Allow: .10, ByClass: true},
	P99:           {Name: "p99", Word: "p99", Label: "p99", In: "at p99", Unit: "s", Bench: "p99-ns", Compared: true, Quantile: .99, Primary: true, Effect: .05, Same: .10, Allow: .20, ByClass: true},
	Goodput:       {Name: "goodput", Word: "goodput", Label: "goodput", In: "in goodput", Unit: "1/s", Bench: "req/s", Compared: true, HigherIsBetter: true, Amount: true, Effect: .02, Same: .03, Allow: .03, Proof: InOverload, ByClass: true},
	CPUPerRequest: {Name: "cpu_per_request", Word: "cpu", Label: "CPU/request", In: "in CPU per request", Unit: "s", Bench: "cpu-ns/req", Compared: true, Amount: true, Effect: .05, Same: .10, Allow: .10, Proof: InStarvation},

	GoodMean: {Name: "good_mean", Word: "good_mean", Label: "mean of good replies", Unit: "s", Effect: .05, Same: .10, ByClass: true}, // response time
	Memory:   {Name: "memory", Label: "memory", Unit: "bytes", Amount: true, Effect: .05, Same: .10, Allow: .10},                      // that a server holds

	// Good replies a second while every client sends its next request as soon as it has a reply.
	Capacity: {Name: "capacity", Label: "capacity", Unit: "1/s", HigherIsBetter: true, Amount: true, Effect: .02, Same: .05, Allow: .05, Proof: InOverload},

	Mean:       {Name: "mean", Word: "mean", Unit: "s", ByClass: true}, // response time
	Tail:       {Name: "tail", Word: "tail", Unit: "s", ByClass: true}, // mean of the slowest 1 %
	TwinMean:   {Name: "twin_mean", Word: "twin_mean", Unit: "s"},
	Overhead:   {Name: "overhead", Word: "overhead", Unit: "s"},
	Throughput: {Name: "throughput", Word: "throughput", Unit: "1/s", Proof: InOverload, ByClass: true},
	Errors:     {Name: "errors", Word: "errors", Proof: InOverload, ByClass: true},       // ratio of requests without a good reply
	Loss:       {Name: "loss", Word: "loss", Proof: InOverload, ByClass: true},           // ratio of requests turned away
	Starved:    {Name: "starved", Word: "starved", Proof: InOverload},                    // connections without a reply
	Served:     {Name: "served", Word: "served", Proof: InOverload},                      // connections with one
	FirstReply: {Name: "first_reply", Word: "first_reply", Unit: "s", Proof: InOverload}, // the slowest of a connection
	Busy:       {Name: "busy", Word: "busy", Proof: InOverload},                          // ratio, of the load's CPUs
	Accepted:   {Name: "accepted", Word: "accepted", Proof: InOverload},                  // connections, by the server
	Done:       {Name: "done", Word: "done", Proof: InOverload},
	StillOpen:  {Name: "open", Word: "open", Proof: InOverload},
	Switches:   {Name: "switches", Word: "switches", Proof: InOverload},                   // of context, per request
	Loops:      {Name: "loops", Word: "loops", Proof: InOverload},                         // ratio of CPU time that event loops use
	InTime:     {Name: "in_time", Word: "in_time", Proof: InOverload, ByClass: true},      // ratio of requests with a good reply within their deadline
	Retries:    {Name: "retries", Word: "retries", Proof: InOverload, ByClass: true},      // attempts after the first, per request
	Recovered:  {Name: "recovered", Word: "recovered", Unit: "s", Proof: InOverload},      // from the window's start, when requests got good replies within their deadline again
	Throttled:  {Name: "throttled", Word: "throttled", Proof: InOverload},                 // seconds a second in which a CPU limit stops the server
	Stops:      {Name: "throttled_periods", Word: "throttled_periods", Proof: InOverload}, // periods a second in which it does
	Overflows:  {Name: "overflows", Word: "overflows", Proof: InOverload},                 // of the accept queue
})

// completed fills in Figure, from a row's place, and the words that are the name unless a row has its own.
func completed(table [numFigures]Metric) [numFigures]Metric {
	for f := P50; int(f) < numFigures; f++ {
		m := &table[f]
		m.Figure, m.Label, m.In = f, cmp.Or(m.Label, m.Name), cmp.Or(m.In, "in "+m.Name)
	}
	return table
}

// Printed returns a value of the metric as reports print it: a time with three digits (from 1,000 s on in whole seconds), a
// size in the largest unit of 1,024 below it, in tenths below 100, and a rate in whole numbers from 10 on, with two digits
// below. Reports compute a change from Printed values, so that a reader who divides the two printed figures finds the same
// change.
func (m Metric) Printed(v float64) float64 {
	unit, format, digits := 1., byte('f'), Decimals(v, 2)
	switch {
	case m.Unit == "s" && v < 999.5:
		format, digits = 'e', 2
	case m.Unit == "s":
		digits = 0
	case m.Unit == "bytes":
		for digits = 0; v/unit >= 1024 && unit < 1<<30; {
			unit *= 1024
		}
		if unit > 1 && v/unit < 100 {
			digits = 1
		}
	}
	printed, _ := strconv.ParseFloat(strconv.FormatFloat(v/unit, format, digits, 64), 64)
	return printed * unit
}

// rows returns the rows of the table for which want returns true, in its order.
func rows(want func(Metric) bool) (all []Metric) {
	for _, m := range metrics[P50:] {
		if want(m) {
			all = append(all, m)
		}
	}
	return all
}

// Metrics returns every metric that runs give verdicts on, in presentation order.
func Metrics() []Metric { return rows(func(m Metric) bool { return m.Compared }) }

// Quantiles returns the metrics with a Quantile, in ascending order.
func Quantiles() []Metric { return rows(func(m Metric) bool { return m.Quantile > 0 }) }

// All returns every metric.
func All() []Metric { return rows(func(Metric) bool { return true }) }

// Primaries returns the number of primary metrics. They share the probability of error.
func Primaries() int { return len(rows(func(m Metric) bool { return m.Primary })) }

// Names returns the names of metrics.
func Names(metrics []Metric) []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	return names
}

// MetricOf returns the metric with this name. For a name that only another version knows, the Metric has words but no Effect
// and Same.
func MetricOf(name string) Metric {
	if f, ok := FigureOf(name); ok {
		return f.Row()
	}
	return Metric{Name: name, Label: name, In: "in " + name}
}

// A Rank tells which of two figures or of two arms is better, or that they are the same. A time is Faster or Slower, an
// amount Higher or Lower; [Metric.Better] and [Metric.Worse] tell which of these is good. Arms are ranked by all their figures.
type Rank string

// The ranks, in the order in which their rules are tried. The zero Rank means no rank.
const (
	Faster Rank = "FASTER" // the interval excludes no difference, and the median is at least Effect off
	Slower Rank = "SLOWER" // as FASTER
	Higher Rank = "HIGHER" // as FASTER
	Lower  Rank = "LOWER"  // as FASTER
	Same   Rank = "SAME"   // the whole interval lies within the metric's Same
	Trade  Rank = "TRADE"  // for arms only: better at one figure, worse at another
)

// Differs reports whether a rank of figures is a difference, better or worse.
func (r Rank) Differs() bool { return r == Faster || r == Slower || r == Higher || r == Lower }

// Reversed returns the rank as seen from the other arm. Same, Trade and none are the same from both.
func (r Rank) Reversed() Rank {
	switch r {
	case Faster:
		return Slower
	case Slower:
		return Faster
	case Higher:
		return Lower
	case Lower:
		return Higher
	}
	return r
}

// A Decision is the result of comparing one figure of two arms. Its text is the rank or, without one, the outcome's word.
type Decision struct {
	Outcome outcome.Outcome // Yes if the rank is known; Open or Refused
	Rank    Rank            // set for Yes only
}

// Decided returns the decision for a rank.
func Decided(r Rank) Decision { return Decision{Outcome: outcome.Yes, Rank: r} }

// Open is the decision that the data do not allow, yet or at all.
func Open() Decision { return Decision{Outcome: outcome.Open} }

// String returns the rank or, without one, the outcome's word.
func (d Decision) String() string { return cmp.Or(string(d.Rank), string(d.Outcome)) }

// MarshalText writes what String returns.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a decision, also in the words of records that an older schedlab wrote.
func (d *Decision) UnmarshalText(text []byte) error {
	if r := Rank(text); r == Same || r.Differs() {
		*d = Decided(r)
		return nil
	}
	d.Rank = ""
	if string(text) == "INCONCLUSIVE" {
		d.Outcome = outcome.Open
		return nil
	}
	return d.Outcome.UnmarshalText(text)
}

// Better reports whether a rank on the metric says that the arm is better.
func (m Metric) Better(r Rank) bool { return r == m.direction(m.HigherIsBetter) }

// Worse reports whether a rank on the metric says that the arm is worse.
func (m Metric) Worse(r Rank) bool { return r == m.direction(!m.HigherIsBetter) }

// direction returns the rank of an arm with larger values than the baseline, or with smaller ones.
func (m Metric) direction(larger bool) Rank {
	switch {
	case m.Amount && larger:
		return Higher
	case m.Amount:
		return Lower
	case larger == m.HigherIsBetter:
		return Faster
	}
	return Slower
}
