package size

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"schedlab/internal/shared/fact"
)

// longestHeld is the longest time accepted in a file. A longer one suggests a wrong unit.
const longestHeld = time.Hour

// drawn is the number of samples that represent a histogram. Above p99.9 there are 65 of them.
const drawn = 1 << 16

// ReadHistogram reads a Prometheus histogram of the seconds that a worker is held. r is a text
// exposition; file is its name in messages.
//
// metric names the histogram. "" takes the only one that ends in _seconds. Histograms of the Go
// runtime, of the process and of schedlab do not count, because they hold no times of handlers
// alone. If several are left, the error lists them.
//
// Series with different labels are added up, and From names them. If a series' count or sum
// contradicts its buckets, that is an error. Times are assumed to be uniform within a bucket. Times
// above the last bound are all given the mean that the histogram's sum leaves for them; a doubt
// tells their ratio.
//
// The way through this file: choose finds the metric, read turns a series into plain counts and
// checks it, addUp adds the series up, and demand draws samples from the sum.
func ReadHistogram(r io.Reader, file, metric string) (d Demand, err error) {
	defer func() {
		if err != nil {
			d, err = Demand{}, fmt.Errorf("reading %s: %w", file, err)
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return d, err
	}
	maps.DeleteFunc(families, func(_ string, f *dto.MetricFamily) bool { return f.GetType() != dto.MetricType_HISTOGRAM })
	name, err := choose(metric, slices.Sorted(maps.Keys(families)))
	if err != nil {
		return d, err
	}
	series := families[name].GetMetric()
	h, err := addUp(name, series)
	if err != nil {
		return d, err
	}
	if d = h.demand(fmt.Sprintf("the histogram %s in %s%s", name, file, added(series))); d.held() == 0 {
		return d, fmt.Errorf("%s: all times are 0; nothing is held", name)
	}
	return d, nil
}

// foreign are the name prefixes of histograms that hold no times of handlers alone. schedlab's
// include the wait for a worker, or are about something else.
var foreign = []string{"go_", "process_", "schedlab_"}

// choose returns metric if it is one of names. If metric is "", it returns the only name that fits.
func choose(metric string, names []string) (string, error) {
	fit := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if metric != "" {
			return name != metric
		}
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		return !strings.HasSuffix(name, "_seconds") || slices.ContainsFunc(foreign, begins)
	})
	had := "it has " + cmp.Or(strings.Join(names, ", "), "none")
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case metric != "":
		return "", fmt.Errorf("no histogram %s; %s", metric, had)
	case len(fit) > 1:
		return "", fmt.Errorf("%d histograms may be meant: %s; choose one with --metric", len(fit), strings.Join(fit, ", "))
	}
	return "", fmt.Errorf("no histogram *_seconds of a handler's times; %s; name one with --metric", had)
}

// labels returns a series' labels as an exposition has them: handler="/a",code="200".
func labels(m *dto.Metric) string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return strings.Join(all, ",")
}

// mostNamed is the number of series that added names. A handler's histogram may have a hundred.
const mostNamed = 4

// added returns a phrase that names the series added up, "" for a single one.
func added(series []*dto.Metric) string {
	if len(series) < 2 {
		return ""
	}
	var names []string
	for _, m := range series[:min(len(series), mostNamed)] {
		names = append(names, labels(m))
	}
	if more := len(series) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf(" (%d series added: %s)", len(series), strings.Join(names, "; "))
}

// A histogram counts times by bucket. counts[i] is the number of times above bounds[i-1] and up to
// bounds[i]; they are not cumulative, unlike in an exposition. The first bucket begins at 0.
type histogram struct {
	bounds, counts []float64 // bounds in seconds, ascending
	beyond         float64   // number of times above the last bound
	total          float64   // number of all times
	sum            float64   // of all times, seconds; NaN if the exposition has none
}

// addUp adds up the series of a metric. They must have the same bounds and at least one time.
func addUp(name string, series []*dto.Metric) (h histogram, err error) {
	for i, m := range series {
		one, err := read(m.GetHistogram())
		if err != nil {
			return h, fmt.Errorf("%s{%s}: %w", name, labels(m), err)
		}
		if i == 0 {
			h = one
			continue
		}
		// Counts of different buckets cannot be added.
		if !slices.Equal(h.bounds, one.bounds) {
			return h, fmt.Errorf("%s: its series have different buckets; give an exposition of one of them", name)
		}
		for k := range h.counts {
			h.counts[k] += one.counts[k]
		}
		h.beyond += one.beyond
		h.total += one.total
		h.sum += one.sum
	}
	if h.total == 0 {
		return h, fmt.Errorf("%s: no time was observed", name)
	}
	return h, nil
}

// read converts a classic histogram from cumulative to plain counts, and checks that it is
// consistent. The bucket le="+Inf" is not kept: it is the count. Errors tell which rule of the
// format is broken.
func read(m *dto.Histogram) (h histogram, err error) {
	last, below, count := 0.0, 0.0, float64(m.GetSampleCount())
	for _, b := range m.GetBucket() {
		bound, upTo := b.GetUpperBound(), float64(b.GetCumulativeCount())
		switch {
		case upTo < below:
			return h, fmt.Errorf(`the bucket le="%v" counts %.0f, fewer than the %.0f of the one before it; buckets are cumulative`, bound, upTo, below)
		// This test comes before the next one, which skips the bucket.
		case math.IsInf(bound, 1) && upTo != count:
			return h, fmt.Errorf(`its _count is %.0f and its bucket le="%v" %.0f; they are the same number in a sound exposition`, count, bound, upTo)
		case math.IsInf(bound, 1):
			continue
		case !(bound > last || bound == 0 && len(h.bounds) == 0) || bound > longestHeld.Seconds():
			return h, fmt.Errorf("a bucket's bound is %g after %g; they ascend, in seconds up to %v", bound, last, longestHeld)
		}
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, upTo-below)
		last, below = bound, upTo
	}
	if len(h.bounds) == 0 {
		return h, fmt.Errorf("it has no bucket with a bound; classic buckets are needed")
	}
	if h.beyond, h.total, h.sum = count-below, count, math.NaN(); h.beyond < 0 {
		return h, fmt.Errorf("its count of %.0f is less than its buckets'", count)
	}
	if m.SampleSum == nil {
		return h, nil
	}
	h.sum = m.GetSampleSum()
	return h, h.checkSum()
}

// rounding is the relative error allowed to a sum of floats: the exporter added them up one by one.
const rounding = 1e-6

// checkSum returns an error if no times within the buckets can add up to the sum. The least sum has
// every time at the lower bound of its bucket, the largest at the upper one; times above the last
// bound have no upper one.
func (h histogram) checkSum() error {
	least, most, low := 0.0, 0.0, 0.0
	for i, high := range h.bounds {
		least, most = least+h.counts[i]*low, most+h.counts[i]*high
		low = high
	}
	if h.beyond > 0 {
		least, most = least+h.beyond*low, math.MaxFloat64
	}
	// Written so that NaN is refused as well.
	if !(h.sum >= least*(1-rounding) && h.sum/(1+rounding) <= most) {
		return fmt.Errorf("its _sum is %.6g s, and the times in its buckets add up to %.6g s at least and %.6g s at most; it is no exposition of one moment", h.sum, least, most)
	}
	return nil
}

// demand returns a demand of drawn samples, spread evenly within each bucket. Times above the last
// bound all get one value: their mean by the histogram's sum, or the bound itself without a sum. If
// the samples' mean is more than 5 % off the histogram's own, a doubt says that the buckets are
// coarse.
func (h histogram) demand(from string) Demand {
	samples := make([]time.Duration, 0, drawn)
	low, before, known := 0.0, 0.0, 0.0
	for i, high := range h.bounds {
		known += h.counts[i] * (low + high) / 2
		for len(samples) < drawn {
			// The next sample is the time of this rank among all times counted. It is in this bucket
			// if the bucket's bound is the first with at least rank times below it.
			rank := (float64(len(samples)) + 0.5) / drawn * h.total
			if rank >= before+h.counts[i] {
				break
			}
			at := low + (high-low)*(rank-before)/h.counts[i]
			samples = append(samples, time.Duration(math.Round(at*1e9)))
		}
		low = high
		before += h.counts[i]
	}
	doubts := []fact.Fact{sizeBuckets}
	if h.beyond > 0 {
		// The buckets' times are taken at their middles, known seconds in all; the rest of the sum
		// is left for the times beyond. Without a sum the last bound stands in.
		tail := low
		if !math.IsNaN(h.sum) {
			tail = min(max(low, (h.sum-known)/h.beyond), longestHeld.Seconds())
		}
		for len(samples) < drawn {
			samples = append(samples, time.Duration(math.Round(tail*1e9)))
		}
		doubts = append(doubts, sizeBeyond.Of(beyond{Share: h.beyond / h.total, Bound: low, Taken: tail, NoSum: math.IsNaN(h.sum)}))
	}
	d := sampled(samples, from)
	if mean, ours := h.sum/h.total, d.held().Seconds(); h.sum > 0 && math.Abs(ours/mean-1) > 0.05 {
		doubts = append(doubts, sizeCoarse.Of(coarse{Own: ours, Mean: mean}))
	}
	d.Doubts = doubts
	return d
}
