package queueing

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// A Load describes the requests that reach a station, by their moments. Formulas need no more.
type Load struct {
	Rate    float64 // lambda: requests per second
	CA2     float64 // Ca² of the gaps between arrivals: 0 even, 1 Poisson
	Service float64 // S: mean CPU demand, seconds
	SCV     float64 // Cs² of the demand, CPU and blocking together
	Block   float64 // mean time blocked after it, seconds
	// Long is a CPU demand in seconds: requests that ask for more take 1 % of the CPU time. It
	// tells whether demands end within a turn. 0: unknown, taken as S·(1+6·Cs), which is 7 times
	// the mean of exponential demands and too little for much heavier tails.
	Long float64
	// Trace, if there is one, is replayed if no formula applies.
	Trace []Job
}

// Poisson returns the load of Poisson arrivals with exponential demands, without blocking. service
// is in seconds.
func Poisson(rate, service float64) Load {
	return Load{Rate: rate, CA2: 1, Service: service, SCV: 1}
}

// Measure returns the load that a trace offers: the moments of its gaps and demands, and the trace
// itself. A trace of fewer than two jobs, or with all jobs at one moment, has no rate: NaN.
func Measure(jobs []Job) Load {
	l := measure(jobs)
	l.Trace = jobs
	cpu := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		cpu[i] = j.CPU
	}
	slices.Sort(cpu)
	beyond := 0.01 * l.Service * float64(len(jobs))
	for i := len(cpu) - 1; i >= 0 && beyond >= 0; i-- {
		l.Long = cpu[i].Seconds()
		beyond -= l.Long
	}
	return l
}

// measure is Measure without the trace and the longest demands, which need a sort.
func measure(jobs []Job) Load {
	n := len(jobs)
	gap, ca2 := moments(n-1, func(i int) time.Duration { return jobs[i+1].At - jobs[i].At })
	if !(gap > 0) {
		gap, ca2 = math.NaN(), math.NaN()
	}
	service, _ := moments(n, func(i int) time.Duration { return jobs[i].CPU })
	block, _ := moments(n, func(i int) time.Duration { return jobs[i].Block })
	_, scv := moments(n, func(i int) time.Duration { return jobs[i].CPU + jobs[i].Block })
	return Load{Rate: 1 / gap, CA2: ca2, Service: service, SCV: scv, Block: block}
}

// moments returns the mean of n times in seconds, and their variance divided by the squared mean; 0
// if all are 0.
func moments(n int, value func(i int) time.Duration) (mean, scv float64) {
	var sum, squares float64
	for i := range n {
		t := value(i).Seconds()
		sum += t
		squares += t * t
	}
	if sum > 0 {
		scv = max(0, squares*float64(n)/(sum*sum)-1)
	}
	return sum / float64(n), scv
}

// A Prediction holds the figures that theory predicts for a station under a load. Figures that it
// does not give are nil.
type Prediction struct {
	// Formula names the formula; empty if none applies.
	Formula string
	// Utilization is the busy ratio of the workers or of the cores, whichever is larger, if
	// nothing were lost. From 1 on an unbounded queue grows for ever and has no response time.
	Utilization float64
	Throughput  *float64 // requests served per second
	Loss        *float64 // ratio of arrivals turned away

	// Response times of the requests served, seconds.
	Mean, P50, P90, P99 *float64
	// Quantile returns the response time that the ratio q of the requests served do not exceed, 0
	// < q < 1. It is nil if P99 is nil. After a replay it keeps all response times in memory. It
	// is safe for concurrent use.
	Quantile func(q float64) float64
}

// Predict returns the prediction for the station under the load: by the formula that fits both, or
// else by replaying the load's trace, if it has one. An impossible station or load gives no
// formula and no figure.
func Predict(s Station, l Load) Prediction {
	if checkStation(s) != nil || !meaningful(l.Rate, l.Service+l.Block) || !(min(l.CA2, l.SCV, l.Service, l.Block) >= 0) {
		return Prediction{}
	}
	p := formula(s, l)
	if p.Formula == "" {
		p = Twin(s, l.Trace)
	}
	p.Utilization = utilization(s, l)
	return p
}

// utilization returns the busy ratio of the cores, or of the workers if that is larger.
func utilization(s Station, l Load) float64 {
	u := l.Rate * l.Service / float64(s.Cores)
	if s.Kind != Goroutines {
		u = max(u, l.Rate*(l.Service+l.Block)/float64(s.Workers))
	}
	return u
}

// Twin replays a trace and returns its figures. They describe this trace and not the long run. It
// returns no figures if [Replay] does not accept the station or the jobs.
func Twin(s Station, jobs []Job) Prediction {
	completions, err := Replay(s, jobs)
	if err != nil || len(jobs) == 0 {
		return Prediction{}
	}
	p := Figures(jobs, completions)
	last := len(jobs) - 1
	span := jobs[last].At - jobs[0].At
	p.Throughput = Throughput(completions, jobs[0].At, jobs[last].At+span/time.Duration(max(last, 1)))
	p.Utilization = utilization(s, measure(jobs))
	return p
}

// Throughput returns how many replayed jobs per second finished from one time up to another,
// whenever they arrived; nil if to is not after from. Lost jobs do not count.
func Throughput(completions []Completion, from, to time.Duration) *float64 {
	if to <= from {
		return nil
	}
	served := 0
	for _, f := range completions {
		if !f.Lost && f.Finish >= from && f.Finish < to {
			served++
		}
	}
	return new(float64(served) / (to - from).Seconds())
}

// Figures returns the figures of replayed jobs, or of some of them that follow each other.
// completions[i] says how jobs[i] ended. Both slices have the same length, 1 or more. Utilization is 0,
// and Throughput is nil because it needs all jobs and a window: see [Throughput].
func Figures(jobs []Job, completions []Completion) Prediction {
	took, mean := after(jobs, completions, finished)
	p := Prediction{Formula: "replay", Loss: new(1 - float64(len(took))/float64(len(jobs)))}
	if len(took) > 0 {
		p.Mean = &mean
		p.quantiles(ranked(took))
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

// quantiles sets the quantiles from the function at, or removes them if at is nil.
func (p *Prediction) quantiles(at func(q float64) float64) {
	p.P50, p.P90, p.P99, p.Quantile = nil, nil, nil, at
	if at != nil {
		p.P50, p.P90, p.P99 = new(at(0.5)), new(at(0.9)), new(at(0.99))
	}
}

// formula returns the prediction of the formula that fits the station and the load; the zero
// Prediction if none fits.
//
// The choice depends on the resource that requests wait for. Workers that each have a core, or
// mostly sleep, are c servers. Workers that share the cores count as one server per core: the way
// they share does not change the mean of exponential demands, and demands that end within a turn
// are served whole, first come first served. Demands much longer than a turn share the cores
// evenly.
func formula(s Station, l Load) Prediction {
	switch {
	case s.Overflow == Oldest || aging(s) || !patient(s, l) || !inTurn(s) || s.Steal || s.Overflow == Blocks && s.Places > 0:
		return Prediction{}
	case s.Kind == Goroutines:
		return goroutinesFormula(s, l)
	case pooled(s):
		return poolFormula(s, l)
	case s.Workers > s.Cores && !sleepy(s, l):
		return Prediction{} // separate queues, but shared cores
	}
	held := l.Service + l.Block
	if s.Kind == PerWorker && s.Places == 0 && l.exponential() { // response times are exponential
		mean := RoundRobin(l.Rate, held, s.Workers)
		return Prediction{Formula: "E_c/M/1"}.settle(l, s.Workers, mean, func(q float64) float64 { return -mean * math.Log1p(-q) })
	}
	// Connections divide a stream at random: one part keeps Ca²-1 divided by the number of parts.
	// Dealing in turn makes one gap from c gaps.
	c := float64(s.Workers)
	one := Load{Rate: l.Rate / c, CA2: 1 + (l.CA2-1)/c, Service: held, SCV: l.SCV}
	if s.Kind == PerWorker {
		one.CA2 = l.CA2 / c
	}
	p := one.served(1, s.Places)
	if p.Throughput != nil {
		p.Throughput = new(c * *p.Throughput)
	}
	return p
}

// patient reports whether at most one request in 1,000 would wait longer than the station's
// patience, with demands taken as exponential.
func patient(s Station, l Load) bool {
	servers, held := s.Workers, l.Service+l.Block
	if s.Workers > s.Cores && !sleepy(s, l) {
		servers, held = s.Cores, l.Service
	}
	return s.Patience == 0 || MMcWait(l.Rate, held, servers, time.Duration(s.Patience).Seconds()) <= 0.001
}

// short reports whether nearly all demands end within a turn.
func short(s Station, l Load) bool {
	return cmp.Or(l.Long, l.Service*(1+6*math.Sqrt(l.SCV))) <= s.Turn.Seconds()
}

// even reports whether most demands are many turns long.
func even(s Station, l Load) bool { return s.Turn.Seconds() <= l.Service/10 }

// sleepy reports whether workers mostly sleep, so that requests do not wait for cores.
func sleepy(s Station, l Load) bool {
	return l.Block > 9*l.Service && l.Rate*l.Service <= 0.1*float64(s.Cores)
}

// exponential reports whether gaps and demands look exponential.
func (l Load) exponential() bool { return near1(l.CA2) && near1(l.SCV) }

// near1 reports whether a squared coefficient of variation is within 0.05 of 1, as in a trace of
// exponential draws.
func near1(c2 float64) bool { return math.Abs(c2-1) <= 0.05 }

// poolFormula is formula for a Pool.
func poolFormula(s Station, l Load) Prediction {
	switch {
	case s.Workers <= s.Cores || sleepy(s, l):
		l.Service, l.Block = l.Service+l.Block, 0
		return l.served(s.Workers, s.Places)
	case l.Block > 0 || !short(s, l) && !l.exponential():
		return Prediction{}
	}
	p := l.served(s.Cores, s.Places)
	if !short(s, l) {
		p.quantiles(nil) // sharing changes everything but the mean
	}
	return p
}

// goroutinesFormula is formula for Goroutines.
func goroutinesFormula(s Station, l Load) Prediction {
	block := l.Block
	l.Block = 0
	var p Prediction
	switch {
	case block > 0 && s.Places > 0:
		return Prediction{}
	case l.Service == 0:
		p = Prediction{Formula: "no queue", Throughput: new(l.Rate), Loss: new(0.0), Mean: new(0.0)}
	case short(s, l):
		p = l.served(s.Cores, s.Places)
	case even(s, l) && s.Places == 0 && near1(l.CA2):
		// The number present depends only on the mean demand, so the formula for exponential demands gives it.
		p = Prediction{Formula: "M/G/c processor sharing"}.settle(l, s.Cores, MMc(l.Rate, l.Service, s.Cores), nil)
	case l.exponential():
		p = l.served(s.Cores, s.Places)
		p.quantiles(nil)
	}
	if block > 0 && p.Mean != nil { // blocking delays all requests alike, and no request waits for it
		p.Mean = new(*p.Mean + block)
		p.quantiles(nil)
	}
	return p
}

// served is the prediction for servers with one queue in order of arrival.
func (l Load) served(servers, places int) Prediction {
	name := "G/G/c (Allen-Cunneen)"
	switch {
	case places > 0:
		return l.bounded(servers, places)
	case l.exponential():
		at := func(q float64) float64 { return MMcQuantile(l.Rate, l.Service, servers, q) }
		return Prediction{Formula: "M/M/c"}.settle(l, servers, MMc(l.Rate, l.Service, servers), at)
	case servers > 1:
	case !near1(l.CA2):
		name = "G/G/1 (Kingman)"
	case l.SCV < 1e-6: // rounding of moments
		name, l.CA2, l.SCV = "M/D/1", 1, 0
	default:
		name, l.CA2 = "M/G/1 (Pollaczek-Khinchine)", 1
	}
	return Prediction{Formula: name}.settle(l, servers, AllenCunneen(l.Rate, l.Service, servers, l.CA2, l.SCV), nil)
}

// bounded is the prediction for a queue that loses arrivals without a place.
func (l Load) bounded(servers, places int) Prediction {
	switch {
	case places <= servers && near1(l.CA2):
		loss := ErlangB(places, l.Rate*l.Service)
		return Prediction{Formula: "M/G/c/c (Erlang B)", Loss: &loss, Throughput: new(l.Rate * (1 - loss)), Mean: new(l.Service)}
	case !l.exponential():
		return Prediction{}
	}
	b := MMcK(l.Rate, l.Service, servers, places)
	p := Prediction{Formula: "M/M/c/K", Loss: &b.Loss, Throughput: &b.Throughput, Mean: &b.Response}
	p.quantiles(func(q float64) float64 { return MMcKQuantile(l.Rate, l.Service, servers, places, q) })
	return p
}

// settle adds the figures of a queue without a bound: its mean, and the quantiles at if at is not
// nil. Beyond saturation there are no response times, and the throughput is the servers' limit.
func (p Prediction) settle(l Load, servers int, mean float64, at func(q float64) float64) Prediction {
	p.Loss = new(0.0)
	if math.IsInf(mean, 1) {
		p.Throughput = new(float64(servers) / (l.Service + l.Block))
		return p
	}
	p.Throughput, p.Mean = new(l.Rate), &mean
	p.quantiles(at)
	return p
}
