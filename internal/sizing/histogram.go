package sizing

import (
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
)

// drawn is how many samples a histogram becomes.
const drawn = 1 << 16

// ReadHistogram reads a Prometheus histogram of the seconds a worker is held from a
// text exposition, named file in messages. Metric is its name; "" takes the one that
// ends in _seconds, beside those that tell no time held: the Go runtime's, the
// process's and schedlab's, in which waits are. An error lists several. Series with
// different labels are added up. A time within a bucket is taken to be anywhere in it
// alike, one above the last bound to be where the histogram's sum leaves it; the doubts
// say how many those are.
func ReadHistogram(r io.Reader, file, metric string) (Demand, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %w", file, err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if families[name].GetType() == dto.MetricType_HISTOGRAM {
			names = append(names, name)
		}
	}
	name, err := chosen(metric, names)
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %w", file, err)
	}
	h, err := addUp(families[name])
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %s: %w", file, name, err)
	}
	d := h.demand(fmt.Sprintf("the histogram %s in %s", name, file))
	if d.Held() == 0 {
		return Demand{}, fmt.Errorf("reading %s: %s: all times are 0; nothing is held", file, name)
	}
	return d, nil
}

// foreign are the beginnings of names of histograms that hold no time of a handler
// alone: schedlab's have the wait for a worker in them, or are of nothing else.
var foreign = []string{"go_", "process_", "schedlab_"}

// chosen is the histogram of that name, or the only one that may be meant by "".
func chosen(metric string, names []string) (string, error) {
	had := "it has none"
	if len(names) > 0 {
		had = "it has " + strings.Join(names, ", ")
	}
	if slices.Contains(names, metric) {
		return metric, nil
	}
	if metric != "" {
		return "", fmt.Errorf("no histogram %s; %s", metric, had)
	}
	var fit []string
	for _, n := range names {
		not := func(prefix string) bool { return strings.HasPrefix(n, prefix) }
		if strings.HasSuffix(n, "_seconds") && !slices.ContainsFunc(foreign, not) {
			fit = append(fit, n)
		}
	}
	switch len(fit) {
	case 0:
		return "", fmt.Errorf("no histogram *_seconds of a handler's times; %s; name one with --metric", had)
	case 1:
		return fit[0], nil
	}
	return "", fmt.Errorf("%d histograms may be meant: %s; choose one with --metric", len(fit), strings.Join(fit, ", "))
}

// A histogram has counts of times up to each bound, ascending; beyond counts those
// above the last.
type histogram struct {
	bounds, counts []float64
	beyond         float64
	sum            float64 // of all times, seconds
}

// addUp joins a family's series, whose bounds must be the same.
func addUp(f *dto.MetricFamily) (h histogram, err error) {
	for i, m := range f.GetMetric() {
		one, err := read(m.GetHistogram())
		if err != nil {
			return h, err
		}
		if i == 0 {
			h = one
			continue
		}
		if !slices.Equal(h.bounds, one.bounds) {
			return h, fmt.Errorf("its series have different buckets; give an exposition of one of them")
		}
		for k := range h.counts {
			h.counts[k] += one.counts[k]
		}
		h.beyond += one.beyond
		h.sum += one.sum
	}
	if total := h.total(); total == 0 || math.IsInf(total, 0) {
		return h, fmt.Errorf("no time was observed")
	}
	return h, nil
}

func (h histogram) total() float64 {
	total := h.beyond
	for _, n := range h.counts {
		total += n
	}
	return total
}

func read(m *dto.Histogram) (h histogram, err error) {
	below := 0.0
	for _, b := range m.GetBucket() {
		bound, upTo := b.GetUpperBound(), float64(b.GetCumulativeCount())
		if math.IsInf(bound, 1) {
			continue
		}
		last := 0.0
		if n := len(h.bounds); n > 0 {
			last = h.bounds[n-1]
		}
		switch {
		case !(bound > last || bound == 0 && len(h.bounds) == 0) || bound > longestHeld.Seconds():
			return h, fmt.Errorf("a bucket's bound is %g after %g; they ascend, in seconds up to %v", bound, last, longestHeld)
		case upTo < below:
			return h, fmt.Errorf("the bucket le=%g counts %g, fewer than the one before it; buckets are cumulative", bound, upTo)
		}
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, upTo-below)
		below = upTo
	}
	if len(h.bounds) == 0 {
		return h, fmt.Errorf("it has no bucket with a bound; classic buckets are needed")
	}
	h.beyond = float64(m.GetSampleCount()) - below
	h.sum = m.GetSampleSum()
	if h.beyond < 0 {
		return h, fmt.Errorf("its count of %d is less than its buckets'", m.GetSampleCount())
	}
	return h, nil
}

// demand spreads the counts over samples.
func (h histogram) demand(from string) Demand {
	total := h.total()
	samples := make([]time.Duration, 0, drawn)
	low, before, known := 0.0, 0.0, 0.0
	for i, high := range h.bounds {
		known += h.counts[i] * (low + high) / 2
		for len(samples) < drawn {
			rank := (float64(len(samples)) + 0.5) / drawn * total
			if rank >= before+h.counts[i] {
				break
			}
			at := low + (high-low)*(rank-before)/h.counts[i]
			samples = append(samples, time.Duration(math.Round(at*1e9)))
		}
		low = high
		before += h.counts[i]
	}
	doubts := []string{"a histogram tells a time to within its bucket: a quantile may lie anywhere between the bounds around it"}
	if h.beyond > 0 {
		tail := min(max(low, (h.sum-known)/h.beyond), longestHeld.Seconds())
		if math.IsNaN(tail) {
			tail = low
		}
		for len(samples) < drawn {
			samples = append(samples, time.Duration(math.Round(tail*1e9)))
		}
		doubts = append(doubts, fmt.Sprintf("%.3g %% of the times are above its last bound of %.4g s: how far is not known, and each is taken as the %.4g s that its sum leaves them on average",
			100*h.beyond/total, low, tail))
	}
	d := sampled(samples, from, doubts)
	if mean, ours := h.sum/total, d.Held().Seconds(); h.sum > 0 && math.Abs(ours/mean-1) > 0.05 {
		d.Doubts = append(d.Doubts, fmt.Sprintf("its buckets are coarse: they put the mean at %.4g s, its sum at %.4g s", ours, mean))
	}
	return d
}
