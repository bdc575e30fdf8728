package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A histogram counts times by bucket. counts[i] is the number of times above bounds[i-1] and up to
// bounds[i]; they are not cumulative.
type histogram struct {
	bounds, counts []float64 // bounds in seconds, ascending
	beyond         float64   // number of times above the last bound
	sum            float64   // of all times, seconds; NaN if the exposition has none
}

// addUp adds up the series of a metric. They must have the same bounds and at least one time.
func addUp(name string, series []*dto.Metric) (h histogram, err error) {
	for i, m := range series {
		one, err := read(m.GetHistogram())
		if err != nil {
			return h, fmt.Errorf("%s%s: %w", name, labelled(m), err)
		}
		if i == 0 {
			h = one
			continue
		}
		if !slices.Equal(h.bounds, one.bounds) {
			return h, fmt.Errorf("%s: its series have different buckets; give an exposition of one of them", name)
		}
		for k := range h.counts {
			h.counts[k] += one.counts[k]
		}
		h.beyond += one.beyond
		h.sum += one.sum
	}
	if total := h.total(); total == 0 || math.IsInf(total, 0) {
		return h, fmt.Errorf("%s: no time was observed", name)
	}
	return h, nil
}

// total returns the number of times counted.
func (h histogram) total() float64 {
	total := h.beyond
	for _, n := range h.counts {
		total += n
	}
	return total
}

// read converts a classic histogram from cumulative to plain counts, and checks that it is consistent.
func read(m *dto.Histogram) (h histogram, err error) {
	below, count := 0.0, float64(m.GetSampleCount())
	for _, b := range m.GetBucket() {
		bound, upTo := b.GetUpperBound(), float64(b.GetCumulativeCount())
		last := 0.0
		if n := len(h.bounds); n > 0 {
			last = h.bounds[n-1]
		}
		switch {
		case upTo < below:
			return h, fmt.Errorf("the bucket le=%q counts %.0f, fewer than the %.0f of the one before it; buckets are cumulative", leText(bound), upTo, below)
		case math.IsInf(bound, 1) && upTo != count:
			return h, fmt.Errorf("its _count is %.0f and its bucket le=%q %.0f; they are the same number in a sound exposition", count, leText(bound), upTo)
		case math.IsInf(bound, 1):
			continue
		case !(bound > last || bound == 0 && len(h.bounds) == 0) || bound > longestHeld.Seconds():
			return h, fmt.Errorf("a bucket's bound is %g after %g; they ascend, in seconds up to %v", bound, last, longestHeld)
		}
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, upTo-below)
		below = upTo
	}
	if len(h.bounds) == 0 {
		return h, fmt.Errorf("it has no bucket with a bound; classic buckets are needed")
	}
	h.beyond, h.sum = count-below, math.NaN()
	if h.beyond < 0 {
		return h, fmt.Errorf("its count of %.0f is less than its buckets'", count)
	}
	if m.SampleSum == nil {
		return h, nil
	}
	h.sum = m.GetSampleSum()
	return h, h.checkSum()
}

// leText returns a bucket's bound as the exposition writes it.
func leText(bound float64) string {
	if math.IsInf(bound, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(bound, 'g', -1, 64)
}

// rounding is the relative error allowed to a sum of floats.
const rounding = 1e-6

// checkSum returns an error if no times within the buckets can add up to the sum.
func (h histogram) checkSum() error {
	least, most, low := 0.0, 0.0, 0.0
	for i, high := range h.bounds {
		least, most = least+h.counts[i]*low, most+h.counts[i]*high
		low = high
	}
	least += h.beyond * low
	switch {
	case math.IsNaN(h.sum) || math.IsInf(h.sum, 0):
		return fmt.Errorf("its _sum is %g; it is the seconds of all times", h.sum)
	case h.sum < least*(1-rounding):
		return fmt.Errorf("its _sum is %.6g s, and the times in its buckets add up to %.6g s at least; it is no exposition of one moment", h.sum, least)
	case h.beyond == 0 && h.sum > most*(1+rounding):
		return fmt.Errorf("its _sum is %.6g s, and the times in its buckets add up to %.6g s at most; it is no exposition of one moment", h.sum, most)
	}
	return nil
}

// demand returns a demand of drawn samples, spread evenly within each bucket. Times above the last
// bound all get one value: their mean by the histogram's sum, or the bound itself without a sum.
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
	doubts := []record.Fact{{Code: sizeBuckets}}
	if h.beyond > 0 {
		tail := min(max(low, (h.sum-known)/h.beyond), longestHeld.Seconds())
		if math.IsNaN(tail) {
			tail = low
		}
		for len(samples) < drawn {
			samples = append(samples, time.Duration(math.Round(tail*1e9)))
		}
		doubts = append(doubts, record.Fact{Code: sizeBeyond, Values: record.Values{
			"share": h.beyond / total, "bound": low, "taken": tail, "no_sum": float64(stats.Count(math.IsNaN(h.sum))),
		}})
	}
	d := sampled(samples, from, doubts)
	if mean, ours := h.sum/total, d.Held().Seconds(); h.sum > 0 && math.Abs(ours/mean-1) > 0.05 {
		d.Doubts = append(d.Doubts, record.Fact{Code: sizeCoarse, Values: record.Values{"own": ours, "mean": mean}})
	}
	return d
}
