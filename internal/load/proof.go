package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"schedlab/internal/record"
)

// A Proof says what the generator itself did during a load, so that its own delays are not
// taken for the server's.
type Proof struct {
	// Planned is how many requests the schedule has; 0 in a closed loop without
	// a rate. Sent is how many of them were sent.
	Planned, Sent int
	// Elapsed is from the start to the last end of a request.
	Elapsed time.Duration
	// CPU is the CPU time of this process meanwhile, in user and kernel mode; 0 off Linux.
	// Busy, 0 to 1, is the share of its time in which the spinner sent or handled
	// something; of the engine vegeta it is CPU over what GOMAXPROCS threads could have
	// used. Near 1 the generator is at its limit.
	CPU  time.Duration
	Busy float64
	// GCs counts garbage collections that ended. Paused is how long they stopped the
	// world, LongestPause the longest such pause: both are upper bounds, from the
	// runtime's histogram.
	GCs                  uint64
	Paused, LongestPause time.Duration
	// LongestLag is how late the latest request was sent, and LagAt when it was due. A
	// stop of the generator (a busy CPU, SIGSTOP) shows here.
	LongestLag, LagAt time.Duration
	// Rest is what the spinner does between requests; "" for the engine vegeta.
	Rest Rest
	// LongestGap is the longest turn of the spinner, from one look for due requests and
	// replies to the next. Away is the time of turns that had nothing to do and took
	// long all the same: something else had the CPU. Sleep counts in neither. Both are 0
	// for the engine vegeta.
	LongestGap, Away time.Duration
	ReadLate         *record.ReadLate // nil: nothing was audited
}

// A Rest is what the spinner does while no request is due and no reply comes.
type Rest string

// The kinds of Rest.
const (
	RestSpins Rest = record.RestSpins // it polls for events all the time, on a CPU of its own
	RestWaits Rest = record.RestWaits // it sleeps in the kernel, because it shares its CPU with the server
	RestFirst Rest = record.RestFirst // it sleeps likewise, as SCHED_RR, so that it runs as soon as it wakes
)

// Work is how long the engine was busy.
func (p *Proof) Work() time.Duration { return time.Duration(p.Busy * float64(p.Elapsed)) }

// A processMeter holds what the process had used at a load's start.
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

// proof is the Proof since the start, without what countRequests adds.
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

// countRequests adds what follows from the requests of a load.
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
