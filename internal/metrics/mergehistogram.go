package metrics

import (
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// addHistogram adds h to sum, classic buckets and native ones. Both have the same
// classic bounds, being one program's; their native resolutions may differ,
// because a histogram that grows too large halves its own: the sum has the
// coarser one.
func addHistogram(sum, h *dto.Histogram) {
	sum.SampleCount = new(sum.GetSampleCount() + h.GetSampleCount())
	sum.SampleSum = new(sum.GetSampleSum() + h.GetSampleSum())
	for i := range min(len(sum.Bucket), len(h.Bucket)) {
		b := sum.Bucket[i]
		b.CumulativeCount = new(b.GetCumulativeCount() + h.Bucket[i].GetCumulativeCount())
		b.Exemplar = nil
	}
	if sum.Schema == nil || h.Schema == nil {
		return
	}
	schema := min(sum.GetSchema(), h.GetSchema())
	positive := nativeBucketsOf(sum.PositiveSpan, sum.PositiveDelta, sum.GetSchema()-schema)
	for i, n := range nativeBucketsOf(h.PositiveSpan, h.PositiveDelta, h.GetSchema()-schema) {
		positive[i] += n
	}
	negative := nativeBucketsOf(sum.NegativeSpan, sum.NegativeDelta, sum.GetSchema()-schema)
	for i, n := range nativeBucketsOf(h.NegativeSpan, h.NegativeDelta, h.GetSchema()-schema) {
		negative[i] += n
	}
	sum.Schema = new(schema)
	sum.ZeroThreshold = new(max(sum.GetZeroThreshold(), h.GetZeroThreshold()))
	sum.ZeroCount = new(sum.GetZeroCount() + h.GetZeroCount())
	sum.PositiveSpan, sum.PositiveDelta = nativeSpans(positive)
	sum.NegativeSpan, sum.NegativeDelta = nativeSpans(negative)
	if len(sum.PositiveSpan)+len(sum.NegativeSpan) == 0 {
		// What marks a histogram without observations as native.
		sum.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
}

// nativeBucketsOf returns counts by bucket number, at a resolution coarser by
// that many schemas. Bucket i ends at base^i, and base doubles its exponent with
// each schema less, so that i goes to ⌈i/2⌉. (Prometheus, Native Histograms, Schema.)
func nativeBucketsOf(spans []*dto.BucketSpan, deltas []int64, coarser int32) map[int32]int64 {
	counts := map[int32]int64{}
	var number int32
	var count int64
	for _, span := range spans {
		number += span.GetOffset()
		for range span.GetLength() {
			if len(deltas) == 0 {
				return counts
			}
			count, deltas = count+deltas[0], deltas[1:]
			i := number
			for range coarser {
				i = (i + 1) >> 1
			}
			counts[i] += count
			number++
		}
	}
	return counts
}

// nativeSpans is the inverse: runs of consecutive buckets, and the differences
// from each count to the next.
func nativeSpans(counts map[int32]int64) (spans []*dto.BucketSpan, deltas []int64) {
	var end int32
	var before int64
	for n, i := range slices.Sorted(maps.Keys(counts)) {
		if n == 0 || i != end {
			spans = append(spans, &dto.BucketSpan{Offset: new(i - end), Length: new(uint32(0))})
		}
		last := spans[len(spans)-1]
		last.Length = new(last.GetLength() + 1)
		deltas = append(deltas, counts[i]-before)
		before, end = counts[i], i+1
	}
	return spans, deltas
}
