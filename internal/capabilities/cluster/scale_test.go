package cluster

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"testing"
	"time"

	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/request"
)

// BenchmarkMerge: what the collector needs to deal out a load of a million requests and to put the
// answers together, by the number of shards (docs/scale.md).
func BenchmarkMerge(b *testing.B) {
	const requests = 1_000_000
	o := drawn(requests, time.Second)
	for _, n := range []int{1, 10, 100, 1000} {
		dealt := parts(o, n)
		answers := make([]*answer, n)
		for i, p := range dealt {
			r := &load.Result{Requests: make([]request.Request, len(p.Trace.At)), Stamps: make([]request.Stamps, len(p.Trace.At))}
			for k, at := range p.Trace.At {
				r.Requests[k] = request.Request{Scheduled: int64(at), Sent: int64(at), Done: int64(at) + 1000}
			}
			answers[i] = &answer{Load: load.ClosedResult{Result: *r}}
		}
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parts(o, n)
				merge(o, dealt, answers)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
		})
	}
}

// BenchmarkAnswer: the bytes of a request on its way to a shard and back, and the time to write and read it.
func BenchmarkAnswer(b *testing.B) {
	const requests = 100_000
	o := drawn(requests, time.Second)
	r := &load.Result{}
	for i, at := range o.Trace.At {
		t := int64(at)
		done := t + 1_000_000 + int64(i%9973)*1000
		r.Requests = append(r.Requests, request.Request{Scheduled: t, Sent: t + 12_000, Done: done, Bytes: 13, Status: 200, Iters: o.Trace.Demand[i].Iters})
		r.Stamps = append(r.Stamps, request.Stamps{Ready: t + 13_000, Wrote: t + 14_000, First: done})
	}
	for name, value := range map[string]any{"job": job{Options: o}, "answer": answer{Load: load.ClosedResult{Result: *r}}} {
		b.Run(name, func(b *testing.B) {
			var text bytes.Buffer
			for b.Loop() {
				text.Reset()
				if err := gob.NewEncoder(&text).Encode(value); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(text.Len())/requests, "B/request")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
		})
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(answer{Load: load.ClosedResult{Result: *r}}); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			var a answer
			if err := gob.NewDecoder(bytes.NewReader(text.Bytes())).Decode(&a); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
	})
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
