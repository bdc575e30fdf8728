// Package advise gives the advice of `schedlab size` and `schedlab choose`.
//
// size: how many workers a pool needs. The package reads a service's demand (a workload as in a
// scenario, a Prometheus histogram, or a column of a CSV file), draws the trace by which
// internal/queueing sizes the pool, and writes the page and the scenario that tests the advice.
//
// choose: which model should serve requests of a kind. The advice rests on the experiment of the pack
// that measured this kind, or on the one that measured the nearest kind, or on queueing theory.
//
// The package measures nothing.
package advise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// A Demand is the time that one request needs of its worker: CPU time, then a time blocked. Its
// zero value needs none. It is safe for concurrent use once made.
//
// The file has the sources of a demand that need no file format: ParseWorkload, Held and
// Request.Cost. ReadHistogram and ReadCSV are the others. Load turns a demand into the requests
// that theory replays, and Workload turns it into the keys of a scenario, which the tests of an
// advice use.
//
// CPU is the time on a core and Sleep the time blocked after it, each a distribution of durations.
type Demand struct {
	CPU, Sleep workload.Dist

	// Samples, if there are any, replace Sleep. They are times that a worker is held, ascending and
	// equally likely. CPU is then a constant, and part of each sample.
	Samples []time.Duration

	From   string        // source of the demand, a phrase for messages
	Doubts []record.Fact // limits of the source
}

// ParseWorkload reads a text like "cpu=200us,sleep=exp(10ms)". The parts may come in any order, and
// one may be left out. Each value is one that workload.ParseDist reads.
func ParseWorkload(text string) (Demand, error) {
	d := Demand{From: "the workload " + text}
	given := map[string]bool{}
	for _, part := range scenario.SplitValues(text) {
		key, value, _ := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		to := map[string]*workload.Dist{"cpu": &d.CPU, "sleep": &d.Sleep}[key]
		switch {
		case to == nil:
			return Demand{}, fmt.Errorf("parsing workload %q: %q is neither cpu=DEMAND nor sleep=DEMAND", text, part)
		case given[key]:
			return Demand{}, fmt.Errorf("parsing workload %q: %s is there twice", text, key)
		}
		given[key] = true
		var err error
		if *to, err = workload.ParseDist(value); err != nil {
			return Demand{}, fmt.Errorf("parsing workload %q: %s: %w", text, key, err)
		}
	}
	if d.Held() == 0 {
		return Demand{}, fmt.Errorf("parsing workload %q: it asks no time; give cpu or sleep above 0", text)
	}
	return d, nil
}

// Held returns the demand of a request that holds its worker for held on average, with cpu of that
// time on a core. cv, 0..10, is the coefficient of variation of the time blocked. That time is
// constant for 0, exponential for 1, else lognormal.
func Held(held, cpu time.Duration, cv float64) (Demand, error) {
	switch {
	case held <= 0:
		return Demand{}, fmt.Errorf("a time held of %v; give one above 0", held)
	case cpu < 0 || cpu > held:
		return Demand{}, fmt.Errorf("%v of CPU time within %v held; give 0 up to the time held", cpu, held)
	case !(cv >= 0 && cv <= 10):
		return Demand{}, fmt.Errorf("a coefficient of variation of %g; give 0 to 10", cv)
	}
	blocked := held - cpu
	// The time blocked is written as a scenario writes it, and parsed. lognormal takes the squared
	// coefficient of variation.
	text := blocked.String()
	switch {
	case cv == 1:
		text = "exp(" + text + ")"
	case cv > 0:
		text = fmt.Sprintf("lognormal(%s,%s)", text, strconv.FormatFloat(cv*cv, 'g', -1, 64))
	}
	d := Demand{From: fmt.Sprintf("a time held of %v, %s", held, shape(cv))}
	if cpu > 0 {
		d.From = fmt.Sprintf("a time held of %v, %v of it on a core and the rest %s", held, cpu, shape(cv))
	}
	var err error
	if d.Sleep, err = workload.ParseDist(text); err == nil {
		d.CPU, err = workload.ParseDist(cpu.String())
	}
	return d, err
}

// SetCPU sets the constant time on a core that is part of each sample. cpu is at most the mean time
// held.
func (d *Demand) SetCPU(cpu time.Duration) error {
	if cpu < 0 || cpu > d.Held() {
		return fmt.Errorf("%v of CPU time within %v held on average; give 0 up to the time held", cpu, d.Held())
	}
	var err error
	d.CPU, err = workload.ParseDist(cpu.String())
	return err
}

// shape returns a phrase for the distribution that Held gives a time blocked with the coefficient
// of variation cv.
func shape(cv float64) string {
	switch cv {
	case 0:
		return "always the same"
	case 1:
		return "exponential (--cv 0: always the same)"
	}
	return fmt.Sprintf("lognormal with a coefficient of variation of %g", cv)
}

// Held returns the mean time that a worker is held, without waits for a core.
func (d Demand) Held() time.Duration {
	if len(d.Samples) == 0 {
		return d.CPU.Mean() + d.Sleep.Mean()
	}
	var sum float64
	for _, s := range d.Samples {
		sum += float64(s)
	}
	return time.Duration(math.Round(sum / float64(len(d.Samples))))
}

// Exponential reports whether the time held is exponential, so that Erlang's formulas hold. It
// allows for a CPU time of at most a hundredth of the time blocked. Samples are never taken as
// exponential.
func (d Demand) Exponential() bool {
	exp := func(t workload.Dist) bool { return strings.HasPrefix(t.String(), "exp(") }
	return len(d.Samples) == 0 && (exp(d.Sleep) && d.CPU.Mean() <= d.Sleep.Mean()/100 || exp(d.CPU) && d.Sleep.Mean() == 0)
}

// maxSamples is the largest number of samples that a demand keeps: 8 MiB of them. Thinned out
// evenly, they still have a thousand values above p99.9.
const maxSamples = 1 << 20

// Load returns n requests with Poisson arrivals at rate per second. The same seed gives the same
// requests. The load's moments are the exact ones of the demand, not those measured from the trace:
// a formula then has no error of chance.
func (d Demand) Load(rate float64, n int, seed uint64) queueing.Load {
	// Three generators, so that another demand of CPU time leaves arrivals and sleeps as they were:
	// the outcomes of two settings then differ by the settings alone. The two constants only make
	// the seeds differ.
	gaps, cpu, sleep := workload.NewRand(seed), workload.NewRand(seed^0xc0ffee), workload.NewRand(seed^0x51ee9)
	jobs := make([]queueing.Job, n)
	at := 0.0
	for i := range jobs {
		// An exponential gap, by the inverse of its distribution.
		at -= math.Log1p(-gaps.Float64()) / rate
		j := queueing.Job{At: time.Duration(at * 1e9), CPU: d.CPU.Sample(cpu)}
		if len(d.Samples) == 0 {
			j.Block = d.Sleep.Sample(sleep)
		} else {
			// A sample shorter than the CPU time is all CPU time.
			held := d.Samples[int(sleep.Float64()*float64(len(d.Samples)))]
			j.CPU = min(j.CPU, held)
			j.Block = held - j.CPU
		}
		jobs[i] = j
	}
	l := queueing.Measure(jobs)
	l.Rate, l.CA2 = rate, 1
	if len(d.Samples) == 0 {
		l.Service, l.Block = d.CPU.Mean().Seconds(), d.Sleep.Mean().Seconds()
		held := l.Service + l.Block
		// The variances of independent parts add up: Var(CPU) + Var(Sleep) over held squared.
		l.SCV = (d.CPU.SquaredCV()*l.Service*l.Service + d.Sleep.SquaredCV()*l.Block*l.Block) / (held * held)
	} else {
		l.Service, l.Block, l.SCV = d.moments()
	}
	return l
}

// moments returns the moments of the samples: the mean seconds on a core and blocked, and the
// squared coefficient of variation of the time held.
func (d Demand) moments() (cpu, block, scv float64) {
	var held, squares float64
	for _, s := range d.Samples {
		cpu += min(d.CPU.Mean(), s).Seconds()
		held += s.Seconds()
	}
	n := float64(len(d.Samples))
	cpu, held = cpu/n, held/n
	for _, s := range d.Samples {
		squares += (s.Seconds() - held) * (s.Seconds() - held)
	}
	return cpu, max(0, held-cpu), squares / n / (held * held)
}

// TestedUpTo is the highest quantile of the samples that Workload reproduces. Workload replaces all
// samples above it by their mean.
const TestedUpTo = 0.995

// groups are the quantiles at which Workload cuts the sorted samples, finer in the tail.
// workload.Dist has room for this many terms. Each group becomes one value, so what a quantile
// within a group was is lost; the group's mean is not.
var groups = []float64{0.3, 0.6, 0.8, 0.9, 0.96, 0.985, TestedUpTo, 1}

// Workload returns the demand as the cpu and sleep of a scenario. Samples become a mix of eight
// values; each is the mean of one group of the samples, less the CPU time. The mix has the samples'
// mean, but not their variance.
func (d Demand) Workload() (cpu, sleep string) {
	if len(d.Samples) == 0 {
		return d.CPU.String(), d.Sleep.String()
	}
	n, from := len(d.Samples), 0
	var terms []string
	for _, share := range groups {
		to := int(math.Round(share * float64(n)))
		// Few samples leave some groups empty.
		if to <= from {
			continue
		}
		var sum float64
		for _, s := range d.Samples[from:to] {
			sum += float64(max(0, s-d.CPU.Mean()))
		}
		mean := time.Duration(math.Round(sum / float64(to-from)))
		terms = append(terms, fmt.Sprintf("%s*%v", strconv.FormatFloat(float64(to-from)/float64(n), 'g', -1, 64), mean))
		from = to
	}
	mix, err := workload.ParseDist(strings.Join(terms, "+"))
	if err != nil { // cannot happen: the weights add up to 1
		panic(err)
	}
	return d.CPU.String(), mix.String()
}

// sampled returns a demand of samples, which it sorts. It thins them out evenly to maxSamples: each
// that stays is the middle one of its neighbours, so quantiles hardly move.
func sampled(samples []time.Duration, from string, doubts []record.Fact) Demand {
	slices.Sort(samples)
	if n := len(samples); n > maxSamples {
		thin := make([]time.Duration, maxSamples)
		for i := range thin {
			thin[i] = samples[int((float64(i)+0.5)*float64(n)/maxSamples)]
		}
		samples = thin
	}
	return Demand{Samples: samples, From: from, Doubts: doubts}
}

// A Request is the cost of one request as the flags of `schedlab choose` give it. CPU and Sleep are
// distributions as in a scenario, "" for none. Lock is CPU time under one lock, in addition to CPU.
type Request struct {
	CPU, Sleep string
	Lock       time.Duration
}

// Cost returns the demand of the request. With Lock above 0, its CPU time is the constant mean of
// CPU plus Lock. Errors name the flag.
func (r Request) Cost() (d Demand, err error) {
	for _, part := range []struct {
		flag, text string
		to         *workload.Dist
	}{{"cpu", r.CPU, &d.CPU}, {"sleep", r.Sleep, &d.Sleep}} {
		if part.text == "" {
			continue
		}
		if *part.to, err = workload.ParseDist(part.text); err != nil {
			return d, fmt.Errorf("--%s: %w", part.flag, err)
		}
	}
	if r.Lock > 0 {
		d.CPU, err = workload.ParseDist((d.CPU.Mean() + r.Lock).String())
	}
	if err == nil && d.Held() == 0 {
		err = errors.New("--cpu and --sleep ask no time; give one above 0")
	}
	return d, err
}

// Query returns the URL path, with query, that asks /work for such a request. A mix like 0.9*1ms +
// 0.1*9ms loses its spaces, which a URL cannot hold.
func (r Request) Query() string {
	var query []string
	for _, part := range [][2]string{{"cpu", r.CPU}, {"sleep", r.Sleep}} {
		if part[1] != "" {
			query = append(query, part[0]+"="+strings.ReplaceAll(part[1], " ", ""))
		}
	}
	if r.Lock > 0 {
		query = append(query, "lock="+r.Lock.String())
	}
	return "/work?" + strings.Join(query, "&")
}
