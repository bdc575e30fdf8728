package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"schedlab/internal/record"
)

// A Proof reports on the generator itself during a load, so that its own delays are not
// taken for the server's.
type Proof struct {
	// Planned is the number of requests in the schedule; 0 in a closed loop without
	// a rate. Sent is the number of requests that were sent.
	Planned, Sent int
	// Elapsed is the time from the start to the end of the last request.
	Elapsed time.Duration
	// CPU is the CPU time of this process during Elapsed, in user and kernel mode; 0 off
	// Linux. Busy, 0 to 1, is the share of Elapsed in which the spinner sent or handled
	// something. For the engine vegeta it is CPU divided by the time that GOMAXPROCS
	// threads could have used. Near 1 the generator is at its limit.
	CPU  time.Duration
	Busy float64
	// GCs counts garbage collections that ended. Paused is the total time for which they
	// stopped the world, and LongestPause the longest single stop. Both are upper bounds,
	// from the runtime's histogram.
	GCs                  uint64
	Paused, LongestPause time.Duration
	// LongestLag is the largest lag of a request, and LagAt the time at which that request
	// was due. A stop of the generator (a busy CPU, SIGSTOP) shows here.
	LongestLag, LagAt time.Duration
	// Rest tells how the spinner waits between requests; "" for the engine vegeta.
	Rest Rest
	// LongestGap is the longest turn of the spinner: from one check for due requests and
	// replies to the next. Away is the total time of turns that had nothing to do and still
	// took long, because something else had the CPU. Sleep counts in neither. Both are 0
	// for the engine vegeta.
	LongestGap, Away time.Duration
	ReadLate         *record.ReadLate // nil: no connection was audited
}

// A Rest is what the spinner does while no request is due and no reply comes.
type Rest string

// The kinds of Rest.
const (
	RestSpins Rest = record.RestSpins // it has a CPU to itself and polls for events all the time
	RestWaits Rest = record.RestWaits // it sleeps in the kernel, because it shares its CPU with the server
	RestFirst Rest = record.RestFirst // as RestWaits, but under SCHED_RR, so that it runs as soon as it wakes
)

// Work returns the time for which the engine was busy.
func (p *Proof) Work() time.Duration { return time.Duration(p.Busy * float64(p.Elapsed)) }

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
func (w *processMeter) proof() (p Proof) {
	p.Elapsed, p.CPU = time.Since(w.start), processTime()-w.cpu
	if p.Elapsed > 0 {
		p.Busy = min(1, float64(p.CPU)/float64(p.Elapsed)/float64(w.procs))
	}
	gcs, pauses := collections()
	p.GCs = gcs - w.gcs
	for i, n := range pauses.Counts {
		if n -= w.pause.Counts[i]; n == 0 {
			continue
		}
		most := pauses.Buckets[i+1]
		if math.IsInf(most, 1) {
			most = pauses.Buckets[i]
		}
		p.LongestPause = time.Duration(most * 1e9)
		p.Paused += time.Duration(float64(n) * most * 1e9)
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
		if lag := time.Duration(r.Sent - r.Scheduled); lag > p.LongestLag {
			p.LongestLag, p.LagAt = lag, time.Duration(r.Scheduled)
		}
	}
}

// collections reads the garbage collector's count and its pauses so far.
func collections() (gcs uint64, pauses metrics.Float64Histogram) {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), *samples[1].Value.Float64Histogram()
}
