package queueing

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// A Load describes the requests that reach a station in a Poisson process, by the moments of their demands. Formulas
// need no more.
type Load struct {
	Rate    float64 // lambda: requests per second
	Service float64 // S: mean CPU demand, seconds
	SCV     float64 // Cs² of the demand, CPU and blocking together
	Block   float64 // mean time blocked after it, seconds
	// Long is a CPU demand in seconds: requests that ask for more take 1 % of the CPU time. It
	// tells whether demands end within a turn. 0: unknown, taken as S·(1+6·Cs), which is 7 times
	// the mean of exponential demands and too little for much heavier tails.
	Long float64
	// Trace has requests of the load, to be replayed if no formula applies.
	Trace []Job
}

// Long returns the CPU demand of Load.Long in seconds: the largest that jobs with 1 % of all CPU time reach or exceed.
func Long(jobs []Job) (long float64) {
	cpu := make([]time.Duration, len(jobs))
	var all float64
	for i, j := range jobs {
		cpu[i] = j.CPU
		all += j.CPU.Seconds()
	}
	slices.Sort(cpu)
	beyond := 0.01 * all
	for i := len(cpu) - 1; i >= 0 && beyond >= 0; i-- {
		long = cpu[i].Seconds()
		beyond -= long
	}
	return long
}

// A Prediction holds the figures of replayed jobs. Figures without a value are nil.
type Prediction struct {
	Loss *float64 // ratio of arrivals turned away
	// Response times of the jobs served, seconds.
	Mean, P99 *float64
}

// Figures returns the figures of replayed jobs, or of some of them that follow each other.
// completions[i] says how jobs[i] ended. Both slices have the same length, 1 or more.
func Figures(jobs []Job, completions []Completion) Prediction {
	took, mean := after(jobs, completions, finished)
	p := Prediction{Loss: new(1 - float64(len(took))/float64(len(jobs)))}
	if len(took) > 0 {
		p.Mean, p.P99 = &mean, new(ranked(took)(0.99))
	}
	return p
}

// finished returns when a job ended, and started when a worker took it up.
func finished(c Completion) time.Duration { return c.Finish }
func started(c Completion) time.Duration  { return c.Start }

// after returns how long after its arrival each job that was served came to a moment, and the mean,
// in seconds. completions[i] says how jobs[i] ended.
func after(jobs []Job, completions []Completion, moment func(Completion) time.Duration) (all []float64, mean float64) {
	all = make([]float64, 0, len(jobs))
	for i, c := range completions {
		if !c.Lost {
			all = append(all, (moment(c) - jobs[i].At).Seconds())
			mean += all[len(all)-1]
		}
	}
	return all, mean / float64(len(all))
}

// ranked returns a function that gives quantiles by nearest rank; NaN if there are no values. It
// sorts at the first call, because most outcomes of a search are judged by one figure.
func ranked(values []float64) func(q float64) float64 {
	sorted := sync.OnceValue(func() []float64 { slices.Sort(values); return values })
	return func(q float64) float64 {
		n := float64(len(values))
		if n == 0 || !(q >= 0 && q <= 1) {
			return math.NaN()
		}
		return sorted()[max(int(math.Ceil(q*n*(1-1e-12))), 1)-1]
	}
}

// MeanByFormula returns the mean response time in seconds of a pool of workers that share the cores, with one queue
// without a bound, and the name of its formula. With 0 workers there is a goroutine for each request. The name is "" if
// no formula fits, or beyond saturation.
//
// The choice depends on the resource that requests wait for. Workers that each have a core, or
// mostly sleep, are c servers. Workers that share the cores count as one server per core: the way
// they share does not change the mean of exponential demands, and demands that end within a turn
// are served whole, first come first served. Demands much longer than a turn share the cores
// evenly.
func MeanByFormula(workers, cores int, l Load) (mean float64, name string) {
	short := cmp.Or(l.Long, l.Service*(1+6*math.Sqrt(l.SCV))) <= GoTurn.Seconds() // nearly all demands end within a turn
	switch {
	case workers > 0 && (workers <= cores || sleepy(cores, l)):
		l.Service += l.Block
		mean, name = l.inOrder(workers)
	case workers > 0 && (l.Block > 0 || !short && !l.exponential()):
		return 0, ""
	case l.Service == 0:
		name = "no queue"
	case short || workers > 0:
		mean, name = l.inOrder(cores)
	case GoTurn.Seconds() <= l.Service/10: // most demands are many turns long
		// The number present depends only on the mean demand, so the formula for exponential demands gives it.
		mean, name = MMc(l.Rate, l.Service, cores), "M/G/c processor sharing"
	case l.exponential():
		mean, name = l.inOrder(cores)
	}
	if math.IsInf(mean, 1) || name == "" {
		return 0, ""
	}
	if workers == 0 {
		mean += l.Block // blocking delays all requests alike, and no request waits for it
	}
	return mean, name
}

// sleepy reports whether workers mostly sleep, so that requests do not wait for cores.
func sleepy(cores int, l Load) bool {
	return l.Block > 9*l.Service && l.Rate*l.Service <= 0.1*float64(cores)
}

// exponential reports whether the demands look exponential: C² is within 0.05 of 1, as in a trace of exponential draws.
func (l Load) exponential() bool { return math.Abs(l.SCV-1) <= 0.05 }

// inOrder returns the mean response time of servers with one queue in order of arrival, and the name of its formula.
func (l Load) inOrder(servers int) (mean float64, name string) {
	name = "M/G/1 (Pollaczek-Khinchine)"
	switch {
	case l.exponential():
		return MMc(l.Rate, l.Service, servers), "M/M/c"
	case servers > 1:
		name = "G/G/c (Allen-Cunneen)"
	case l.SCV < 1e-6: // rounding of moments
		name, l.SCV = "M/D/1", 0
	}
	return AllenCunneen(l.Rate, l.Service, servers, 1, l.SCV), name
}
