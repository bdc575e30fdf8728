package queueing

import (
	"math"
	"slices"
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

func measure(jobs []Job) Load {
	var gaps, demands, cpu, block moments
	for i, j := range jobs {
		if i > 0 {
			gaps.add((j.At - jobs[i-1].At).Seconds())
		}
		demands.add((j.CPU + j.Block).Seconds())
		cpu.add(j.CPU.Seconds())
		block.add(j.Block.Seconds())
	}
	l := Load{Rate: math.NaN(), CA2: math.NaN(), Service: cpu.mean(), SCV: demands.scv(), Block: block.mean()}
	if gaps.sum > 0 {
		l.Rate, l.CA2 = 1/gaps.mean(), gaps.scv()
	}
	return l
}

// moments sums up values to compute their mean and variation.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) { m.n++; m.sum += x; m.squares += x * x }

func (m moments) mean() float64 { return m.sum / m.n }

// scv returns the variance divided by the squared mean; 0 if all values are 0.
func (m moments) scv() float64 {
	if m.sum == 0 {
		return 0
	}
	return max(0, m.squares*m.n/(m.sum*m.sum)-1)
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
	var took moments
	responses := make([]float64, 0, len(jobs))
	for i, f := range completions {
		if f.Lost {
			continue
		}
		t := (f.Finish - jobs[i].At).Seconds()
		took.add(t)
		responses = append(responses, t)
	}
	p := Prediction{Formula: "replay"}
	p.Loss = new(1 - took.n/float64(len(jobs)))
	if took.n > 0 {
		slices.Sort(responses)
		p.Mean = new(took.mean())
		p.quantiles(func(q float64) float64 { return responses[max(int(math.Ceil(q*took.n*(1-1e-12))), 1)-1] })
	}
	return p
}

// quantiles sets the quantiles from the function at, or removes them if at is nil.
func (p *Prediction) quantiles(at func(q float64) float64) {
	p.P50, p.P90, p.P99, p.Quantile = nil, nil, nil, at
	if at != nil {
		p.P50, p.P90, p.P99 = new(at(0.5)), new(at(0.9)), new(at(0.99))
	}
}
