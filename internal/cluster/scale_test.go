package cluster

import (
	"fmt"
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// BenchmarkMerge: what the collector needs to deal out a load of a million requests and to put the
// answers together, by the number of shards (docs/scale.md).
func BenchmarkMerge(b *testing.B) {
	const requests = 1_000_000
	o := drawn(requests, time.Second)
	for _, n := range []int{1, 10, 100, 1000} {
		dealt := parts(o, n, false)
		answers := make([]*Answer, n)
		for i, p := range dealt {
			r := &load.Result{Requests: make([]record.Request, len(p.Trace.At)), Stamps: make([]record.Stamps, len(p.Trace.At))}
			for k, at := range p.Trace.At {
				r.Requests[k] = record.Request{Scheduled: int64(at), Sent: int64(at), Done: int64(at) + 1000}
			}
			answers[i] = &Answer{Open: r}
		}
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parts(o, n, false)
				merge(o, dealt, answers)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
		})
	}
}

// BenchmarkClocks: how long the collector asks shards on this machine for their clocks, and how
// well it then knows them, by their number.
func BenchmarkClocks(b *testing.B) {
	for _, n := range []int{1, 10, 100, 300} {
		site := shardsFor(b, n)
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			worst := time.Duration(0)
			for b.Loop() {
				errs := make([]error, n)
				site.each(errs, 4, func(_ int, shard *remoteShard) error { return shard.setClock(b.Context(), site.client) })
				for i, err := range errs {
					if err != nil {
						b.Fatal(err)
					}
					worst = max(worst, site.shards[i].doubt)
				}
			}
			b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
		})
	}
}
