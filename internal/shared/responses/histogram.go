// Package responses counts response times: a histogram with its quantiles and its curve, and the rows of a heat map.
package responses

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

// curveNine is the number of points of a Curve between one nine and the next (between 0.9 and 0.99, say).
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

// Record counts one response time. A time outside the range counts as the nearest end of the range.
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
	shares := slices.DeleteFunc(slices.Clone(between), func(above float64) bool { return above < least })
	for i, above := 1, 1.; above >= least; i++ {
		shares = append(shares, above)
		above = math.Pow(10, -float64(i)/curveNine)
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

// A Point of a percentile curve: Quantile in 0..1, Seconds of response time.
type Point struct {
	Quantile float64 `json:"q"`
	Seconds  float64 `json:"s"`
}

// Quantiles summarise one time, in seconds, from an HDR histogram of three digits. A quantile q needs at least
// 10/(1-q) requests to be evidence. Count is the number of times that were recorded.
type Quantiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Quantiles returns the mean, the usual quantiles and the maximum; all zero when h is empty.
func (h *Histogram) Quantiles() Quantiles {
	at := func(q float64) float64 { return h.Quantile(q).Seconds() }
	return Quantiles{h.Count(), h.hdr.Mean() / 1e9, at(.5), at(.9), at(.99), at(.999), at(1)}
}
