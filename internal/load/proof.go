package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"schedlab/internal/record"
)

// A Proof says what the generator itself did during a load, so that a delay of
// its own is not taken for the server's.
type Proof struct {
	// Planned is how many requests the schedule has; 0 in a closed loop without
	// a rate. Sent is how many of them left.
	Planned, Sent int
	// Elapsed is from the start to the last end of a request.
	Elapsed time.Duration
	// CPU is what this process used meanwhile, in user and kernel; where the system
	// does not tell (off Linux), 0. Busy is the share of its time, 0 to 1, in which the
	// spinner sent or handled something, whether it sleeps otherwise or not; of another
	// engine the share of CPU in what GOMAXPROCS threads could have used. Near 1 a load
	// is at its limit.
	CPU  time.Duration
	Busy float64
	// GCs counts collections that ended, Paused the time they stopped the world and
	// LongestPause the longest such pause: the latter two are upper bounds, from a
	// histogram of the runtime's.
	GCs                  uint64
	Paused, LongestPause time.Duration
	// LongestLag is the latest any request was sent after its time, and LagAt that
	// time: a stop of the generator (a busy CPU, SIGSTOP) shows here.
	LongestLag, LagAt time.Duration
	// Rest is what the spinner does between requests; "" of another engine.
	Rest Rest
	// LongestGap is the longest time between two looks of the spinner for what is due
	// or has come, and Away the time for which it had nothing to do and was kept from
	// its CPU all the same. 0 of another engine, and asleep.
	LongestGap, Away time.Duration
	ReadLate         *record.ReadLate // nil: nothing was audited
}

// Work is the time in which the engine worked.
func (p *Proof) Work() time.Duration { return time.Duration(p.Busy * float64(p.Elapsed)) }

// A witness remembers the clocks at a load's start.
type witness struct {
	start time.Time
	cpu   time.Duration
	procs int
	gcs   uint64
	pause metrics.Float64Histogram
}

// observeProcess begins a Proof.
func observeProcess() *witness {
	w := &witness{start: time.Now(), cpu: processTime(), procs: runtime.GOMAXPROCS(0)}
	w.gcs, w.pause = collections()
	return w
}

// proof is the Proof at this moment, but for what requests tell.
func (w *witness) proof() (p Proof) {
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

// tell fills in what the requests of a load say.
func (p *Proof) tell(reqs []record.Request) {
	p.LongestLag = 0
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
