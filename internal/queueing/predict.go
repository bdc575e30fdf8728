package queueing

import (
	"math"
	"slices"
	"time"
)

// A Load is what reaches a station: its moments, all that formulas know of it.
type Load struct {
	Rate    float64 // lambda: requests per second
	CA2     float64 // Ca² of the gaps between arrivals: 0 even, 1 Poisson
	Service float64 // S: mean CPU demand, seconds
	SCV     float64 // Cs² of the demand, CPU and blocking together
	Block   float64 // mean time blocked after it, seconds
	// Long is a CPU demand, in seconds: 1 % of the CPU time goes to requests that ask for
	// more. It tells demands that end within a turn. 0: unknown, taken as S·(1+6·Cs), 7
	// times the mean of exponential demands and too little for much heavier tails.
	Long float64
	// Trace, if there is one, is replayed where no formula reaches.
	Trace []Job
}

// Poisson is the load of exponential gaps and demands, without blocking.
func Poisson(rate, service float64) Load {
	return Load{Rate: rate, CA2: 1, Service: service, SCV: 1}
}

// Measure returns the load that a trace offers, the trace included: moments of its
// gaps and demands. A trace of fewer than two jobs, or with all at one moment, has
// no rate: NaN.
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

type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) { m.n++; m.sum += x; m.squares += x * x }

func (m moments) mean() float64 { return m.sum / m.n }

// scv is the variance over the squared mean; 0 where all are 0.
func (m moments) scv() float64 {
	if m.sum == 0 {
		return 0
	}
	return max(0, m.squares*m.n/(m.sum*m.sum)-1)
}

// A Prediction is what theory says of a station under a load. Figures that it does
// not give are nil.
type Prediction struct {
	// Formula names what was used; empty when nothing reaches.
	Formula string
	// Utilization is the busy part of the scarcer of workers and cores, if nothing were
	// lost; at 1 and beyond an unbounded queue grows for ever and has no response time.
	Utilization float64
	Throughput  *float64 // requests served per second
	Loss        *float64 // ratio of arrivals turned away

	// Response times of those served, seconds.
	Mean, P50, P90, P99 *float64
	// Quantile is the response time that the ratio q of those served do not exceed, 0 <
	// q < 1; nil where P99 is nil. That of a replay keeps all its response times in
	// memory. It is safe for concurrent use.
	Quantile func(q float64) float64
}

// Predict says what the station would do under the load, by the formula that fits
// both, or else by replaying the load's trace, if it has one. A station or load
// that cannot be gets no formula and no figure.
func Predict(s Station, l Load) Prediction {
	if s.check() != nil || !meaningful(l.Rate, l.Service+l.Block) || !(min(l.CA2, l.SCV, l.Service, l.Block) >= 0) {
		return Prediction{}
	}
	p := s.formula(l)
	if p.Formula == "" {
		p = Twin(s, l.Trace)
	}
	p.Utilization = s.utilization(l)
	return p
}

// utilization is of the cores, or of the workers if they are scarcer.
func (s Station) utilization(l Load) float64 {
	u := l.Rate * l.Service / float64(s.Cores)
	if s.Kind != Goroutines {
		u = max(u, l.Rate*(l.Service+l.Block)/float64(s.Workers))
	}
	return u
}

// Twin replays a trace and returns its figures: those of this trace, not of the
// long run. It needs a station and jobs that [Replay] takes, or is without figures.
func Twin(s Station, jobs []Job) Prediction {
	fates, err := Replay(s, jobs)
	if err != nil || len(jobs) == 0 {
		return Prediction{}
	}
	p := Figures(jobs, fates)
	last := len(jobs) - 1
	span := jobs[last].At - jobs[0].At
	p.Throughput = Throughput(fates, jobs[0].At, jobs[last].At+span/time.Duration(max(last, 1)))
	p.Utilization = s.utilization(measure(jobs))
	return p
}

// Throughput is how many of the replayed jobs were served from one time up to another,
// per second: a window's, whenever they arrived. nil where no time passes.
func Throughput(fates []Fate, from, to time.Duration) *float64 {
	if to <= from {
		return nil
	}
	served := 0
	for _, f := range fates {
		if !f.Lost && f.Finish >= from && f.Finish < to {
			served++
		}
	}
	return new(float64(served) / (to - from).Seconds())
}

// Figures are those of replayed jobs, or of some of them that follow each other:
// fates[i] is that of jobs[i], and both are not empty. Utilization is left at 0, and
// [Throughput] is a matter of all jobs and a window.
func Figures(jobs []Job, fates []Fate) Prediction {
	var took moments
	responses := make([]float64, 0, len(jobs))
	for i, f := range fates {
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

// quantiles takes them from at, or away where at is nil.
func (p *Prediction) quantiles(at func(q float64) float64) {
	p.P50, p.P90, p.P99, p.Quantile = nil, nil, nil, at
	if at != nil {
		p.P50, p.P90, p.P99 = new(at(0.5)), new(at(0.9)), new(at(0.99))
	}
}
