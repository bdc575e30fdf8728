package record

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a Histogram; 600 s lies beyond every request timeout.
const (
	minResponse = time.Nanosecond
	maxResponse = 600 * time.Second
)

// curveNine is the number of points of a Curve between one nine and the next
// (between 0.9 and 0.99, say).
const curveNine = 20

// between are the shares of requests above p50, p75, p95 and p99.5. People read these quantiles,
// and the steps of curveNine miss them.
var between = []float64{.5, .25, .05, .005}

// curveTail is how many requests must lie above a quantile before it is shown
// (so a quantile q needs 10/(1-q) requests).
const curveTail = 10

// A Histogram counts response times of 1 ns to 600 s to three significant
// digits; about 250 KiB each. Use NewHistogram. Not safe for concurrent use.
//
// Three digits keep the error of any quantile within 0.1 % (HdrHistogram, hdrhistogram.org). Record takes
// the same time for every value.
type Histogram struct{ hdr *hdrhistogram.Histogram }

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(int64(minResponse), int64(maxResponse), 3)}
}

// Record counts one response time. A time outside the range counts as the nearest end of the
// range.
func (h *Histogram) Record(d time.Duration) {
	d = min(max(d, minResponse), maxResponse)
	// The library refuses only values outside the range.
	_ = h.hdr.RecordValue(int64(d))
}

// Merge adds the counts of other, exactly.
func (h *Histogram) Merge(other *Histogram) { h.hdr.Merge(other.hdr) }

// Count returns how many response times were recorded.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Quantile returns the response time that a share q (0..1) of the requests did not exceed,
// rounded up to three digits; 0 when the histogram is empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.ValueAtQuantile(q * 100))
}

// Curve returns the distribution for a chart: ascending quantiles on one grid for every
// histogram, 20 per nine, so that the tail is dense, and p50, p75, p95 and p99.5. It ends where
// fewer than ten requests lie above, since a maximum is no evidence. Nil below ten requests.
func (h *Histogram) Curve() []Point {
	n := float64(h.Count())
	// The small factor keeps 1000 requests at p99 despite rounding.
	least := curveTail * (1 - 1e-9) / n
	var shares []float64
	for i := 0; ; i++ {
		above := math.Pow(10, -float64(i)/curveNine)
		if !(above >= least) { // also true without requests, when least is infinite
			break
		}
		shares = append(shares, above)
	}
	for _, above := range between {
		if above >= least {
			shares = append(shares, above)
		}
	}
	slices.SortFunc(shares, func(a, b float64) int { return cmp.Compare(b, a) })
	var points []Point
	for _, above := range shares {
		q := math.Round((1-above)*1e9) / 1e9 // finer than MaxRequests can resolve
		points = append(points, Point{Quantile: q, Seconds: h.Quantile(q).Seconds()})
	}
	return points
}

// WriteHGRM writes the percentile distribution in HdrHistogram's text format, values in
// milliseconds, five ticks per halving. HdrHistogram's plotters and wrk2's tools read it.
func (h *Histogram) WriteHGRM(w io.Writer) error {
	if _, err := h.hdr.PercentilesPrint(w, 5, float64(time.Millisecond)); err != nil {
		return fmt.Errorf("writing percentile distribution: %w", err)
	}
	return nil
}

// InWindow reports whether r was scheduled after the warm-up and before the
// end of the window.
// The window is decided by the schedule and not by the sending, so a late generator or server cannot push
// slow requests out of it.
func (t Trial) InWindow(r Request) bool {
	at := float64(r.Scheduled) / 1e9
	return at >= t.Warmup && at < t.Warmup+t.Window
}

// Histogram counts the response times, from the scheduled time, of all requests in t's window. A
// failed request counts with the time until it failed, so a timeout weighs at least the time for
// which its client waited.
func (t Trial) Histogram(requests []Request) *Histogram {
	h := NewHistogram()
	for _, r := range requests {
		if t.InWindow(r) {
			h.Record(time.Duration(r.Done - r.Scheduled))
		}
	}
	return h
}

// Responses returns the response times, in seconds and ascending, of all requests in the trial's
// window. They count as in Histogram.
func (t TrialRecord) Responses() (seconds []float64) {
	for _, r := range t.Requests {
		if t.InWindow(r) {
			seconds = append(seconds, time.Duration(r.Done-r.Scheduled).Seconds())
		}
	}
	slices.Sort(seconds)
	return seconds
}
