package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"schedlab/internal/record"
)

// A Proof reports on the generator itself during a load, so that its own delays are not
// taken for the server's. Times are seconds.
//
// Every load starts a processMeter before its first request, and takes a Proof from it at the end.
// countRequests then adds the lags, and the engine spin adds figures of its own turns (measured).
type Proof struct {
	record.Proof
	Elapsed float64 // from the start to the end of the last request
	CPU     float64 // CPU time of this process during Elapsed, in user and kernel mode; 0 off Linux
	Paused  float64 // total time for which garbage collections stopped the world; like LongestPause an upper bound, from the runtime's histogram
	LagAt   float64 // when the request with the LongestLag was due
}

// Work returns the time, in seconds, for which the engine was busy.
func (p *Proof) Work() float64 { return p.Busy * p.Elapsed }

// A processMeter holds the CPU time and the garbage collections of the process at a load's
// start.
type processMeter struct {
	start time.Time
	cpu   time.Duration
	procs int
	gcs   uint64
	pause metrics.Float64Histogram
}

// startProcessMeter begins to measure for a Proof.
func startProcessMeter() *processMeter {
	w := &processMeter{start: time.Now(), cpu: processTime(), procs: runtime.GOMAXPROCS(0)}
	w.gcs, w.pause = collections()
	return w
}

// proof returns the Proof since the start, without the fields that countRequests sets.
// Busy is the share of GOMAXPROCS threads' time that the process computed; the engine spin replaces it.
func (w *processMeter) proof() (p Proof) {
	p.Elapsed, p.CPU = time.Since(w.start).Seconds(), (processTime() - w.cpu).Seconds()
	if p.Elapsed > 0 {
		p.Busy = min(1, p.CPU/p.Elapsed/float64(w.procs))
	}
	gcs, pauses := collections()
	p.GCs = gcs - w.gcs
	// The runtime only counts pauses by length. Each pause counts with the upper edge of its bucket, so
	// that the figures are upper bounds. Buckets ascend: the last one that grew has the longest pause.
	for i, n := range pauses.Counts {
		if n -= w.pause.Counts[i]; n == 0 {
			continue
		}
		most := pauses.Buckets[i+1]
		if math.IsInf(most, 1) {
			// The last bucket has no upper edge.
			most = pauses.Buckets[i]
		}
		p.LongestPause = most
		p.Paused += float64(n) * most
	}
	return p
}

// countRequests sets Sent, LongestLag and LagAt from the requests of a load.
func (p *Proof) countRequests(reqs []record.Request) {
	for _, r := range reqs {
		if r.Sent < 0 {
			continue
		}
		p.Sent++
		// A closed loop without a rate has Scheduled equal to Sent, and so no lag.
		if lag := time.Duration(r.Sent - r.Scheduled).Seconds(); lag > p.LongestLag {
			p.LongestLag, p.LagAt = lag, time.Duration(r.Scheduled).Seconds()
		}
	}
}

// collections reads the garbage collector's count and its pauses so far.
// The histogram's bucket edges are the same in every call.
func collections() (gcs uint64, pauses metrics.Float64Histogram) {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), *samples[1].Value.Float64Histogram()
}
