// Package size gives the advice of `schedlab size`: how many workers a pool needs. It reads a
// service's demand (a workload as in a scenario, two quantiles, or a Prometheus histogram), draws the
// trace by which internal/shared/queueing sizes the pool, and writes the page, with the comparison that tests
// the advice. It measures nothing.
package size

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/workload"
)

// A Demand is the time that one request needs of its worker: CPU time, then a time blocked. Its
// zero value needs none. It is safe for concurrent use once made.
//
// The file has the sources of a demand that need no file format: ParseWorkload and ParseHeld.
// ReadHistogram is the other. Load turns a demand into the requests that theory replays.
//
// CPU is the time on a core and Sleep the time blocked after it, each a distribution of durations.
type Demand struct {
	CPU, Sleep workload.Dist

	// Samples, if there are any, replace Sleep. They are times that a worker is held, ascending and
	// equally likely. CPU is then a constant, and part of each sample.
	Samples []time.Duration

	From   string      // source of the demand, a phrase for messages
	Doubts []fact.Fact // limits of the source
}

// ParseWorkload reads a demand like "cpu=200us,sleep=exp(10ms)", as scenario.ParseWork does.
func ParseWorkload(text string) (Demand, error) {
	w, err := scenario.ParseWork(text)
	return Demand{From: "the workload " + text, CPU: w.CPU, Sleep: w.Sleep}, err
}

// ParseHeld reads the time that a request holds its worker: a mean, like 20ms, with the time blocked
// exponential, or two quantiles, like p50=4ms,p99=40ms, with it lognormal. cpu of that time is on a core.
func ParseHeld(text string, cpu time.Duration) (Demand, error) {
	d := Demand{From: "a time held of " + text, CPU: workload.Constant(cpu)}
	if cpu < 0 {
		return Demand{}, fmt.Errorf("%v of CPU time; give 0 up to the time held", cpu)
	}
	sleep, shape, err := "", "", error(nil)
	if strings.Contains(text, "=") {
		sleep, err = lognormal(text, cpu)
		shape = "lognormal"
	} else {
		sleep, err = exponential(text, cpu)
		shape = "exponential (--held p50=TIME,p99=TIME: another spread)"
	}
	if err != nil {
		return Demand{}, err
	}
	if cpu > 0 {
		shape = fmt.Sprintf("%v of it on a core and the rest %s", cpu, shape)
	}
	d.From += ", " + shape
	return d, d.Sleep.UnmarshalText([]byte(sleep))
}

// exponential returns the time blocked of a mean time held, as a scenario writes it.
func exponential(text string, cpu time.Duration) (string, error) {
	held, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is neither a time like 20ms nor two quantiles like p50=4ms,p99=40ms", text)
	case held <= 0:
		return "", fmt.Errorf("a time held of %v; give one above 0", held)
	case cpu > held:
		return "", fmt.Errorf("%v of CPU time within %v held; give 0 up to the time held", cpu, held)
	}
	return "exp(" + (held - cpu).String() + ")", nil
}

// lognormal returns the lognormal time blocked that has two quantiles of the time held, as a scenario
// writes it: lognormal(MEAN,C²). The logarithm of a lognormal time is normal, so its q-quantile is
// exp(mu + sigma z) with z = Φ⁻¹(q); two quantiles give mu and sigma.
func lognormal(text string, cpu time.Duration) (string, error) {
	var z, at [2]float64
	parts := strings.Split(text, ",")
	if len(parts) != 2 {
		return "", fmt.Errorf("%q has not two quantiles; give them like p50=4ms,p99=40ms", text)
	}
	for i, part := range parts {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		percent, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err != nil || !strings.HasPrefix(name, "p") || !(percent > 0 && percent < 100) {
			return "", fmt.Errorf("%q is no quantile; give two like p50=4ms,p99=40ms", part)
		}
		held, err := time.ParseDuration(value)
		if err != nil || held <= cpu {
			return "", fmt.Errorf("%q is no time above the %v on a core; give two quantiles like p50=4ms,p99=40ms", part, cpu)
		}
		z[i], at[i] = math.Sqrt2*math.Erfinv(percent/50-1), math.Log((held - cpu).Seconds())
	}
	if !(z[1] > z[0] && at[1] >= at[0]) {
		return "", fmt.Errorf("%q does not ascend; give the lower quantile first, with the shorter time", text)
	}
	sigma := (at[1] - at[0]) / (z[1] - z[0])
	mean := time.Duration(math.Round(math.Exp(at[0]-sigma*z[0]+sigma*sigma/2) * 1e9))
	if sigma == 0 {
		return mean.String(), nil
	}
	// Four digits of C² are more than two quantiles tell.
	return fmt.Sprintf("lognormal(%v,%.4g)", mean.Round(time.Microsecond), math.Expm1(sigma*sigma)), nil
}

// SetCPU sets the constant time on a core that is part of each sample. cpu is at most the mean time
// held.
func (d *Demand) SetCPU(cpu time.Duration) error {
	if cpu < 0 || cpu > d.held() {
		return fmt.Errorf("%v of CPU time within %v held on average; give 0 up to the time held", cpu, d.held())
	}
	d.CPU = workload.Constant(cpu)
	return nil
}

// held returns the mean time that a worker is held, without waits for a core.
func (d Demand) held() time.Duration {
	cpu, block, _ := d.moments()
	return time.Duration(math.Round((cpu + block) * 1e9))
}

// exponential reports whether the time held is exponential, so that Erlang's formulas hold. It
// allows for a CPU time of at most a hundredth of the time blocked. Samples are never taken as
// exponential.
func (d Demand) exponential() bool {
	return len(d.Samples) == 0 && (d.Sleep.Exponential() && d.CPU.Mean() <= d.Sleep.Mean()/100 || d.CPU.Exponential() && d.Sleep.Mean() == 0)
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
	l := queueing.Load{Rate: rate, Long: queueing.Long(jobs), Trace: jobs}
	l.Service, l.Block, l.SCV = d.moments()
	return l
}

// moments returns the mean seconds on a core and blocked, and the squared coefficient of variation
// of the time held, which is NaN for a demand without any.
func (d Demand) moments() (cpu, block, scv float64) {
	if len(d.Samples) == 0 {
		cpu, block = d.CPU.Mean().Seconds(), d.Sleep.Mean().Seconds()
		held := cpu + block
		// The variances of independent parts add up: Var(CPU) + Var(Sleep) over held squared.
		return cpu, block, (d.CPU.SquaredCV()*cpu*cpu + d.Sleep.SquaredCV()*block*block) / (held * held)
	}
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

// workload returns the demand as --workload takes it.
func (d Demand) workload() string {
	var parts []string
	for _, part := range []struct {
		key string
		of  workload.Dist
	}{{"cpu", d.CPU}, {"sleep", d.Sleep}} {
		if part.of.Mean() > 0 {
			parts = append(parts, part.key+"="+strings.ReplaceAll(part.of.String(), " ", ""))
		}
	}
	return strings.Join(parts, ",")
}

// quantiles returns the median and the 99th percentile of the samples as --held takes them.
func (d Demand) quantiles() string {
	at := func(q float64) time.Duration {
		return d.Samples[int(q*float64(len(d.Samples)))].Round(time.Microsecond)
	}
	return fmt.Sprintf("--held p50=%v,p99=%v", at(.5), at(.99))
}

// sampled returns a demand of samples, which it sorts. If there are more than
// maxSamples, it keeps the middle sample of each of maxSamples equal groups, so quantiles hardly move.
func sampled(samples []time.Duration, from string) Demand {
	slices.Sort(samples)
	if n := len(samples); n > maxSamples {
		thin := make([]time.Duration, maxSamples)
		for i := range thin {
			thin[i] = samples[int((float64(i)+0.5)*float64(n)/maxSamples)]
		}
		samples = thin
	}
	return Demand{Samples: samples, From: from}
}
