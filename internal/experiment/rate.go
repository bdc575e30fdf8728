package experiment

import (
	"slices"
	"time"

	"schedlab/internal/expect"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// checkVolume returns an error if the requests of a trial would take too much memory.
func (p *plan) checkVolume() error {
	for _, a := range p.Arms {
		if n := a.Clients.Rate * (p.Warmup + p.Window); n > judge.MostRequests {
			return impossible("the rate %.0f/s makes %.0f requests a trial, above %d; lower --rate or shorten --window", a.Clients.Rate, n, judge.MostRequests)
		}
	}
	return nil
}

// probes reports whether the plan needs an arm's X_max, its closed-loop throughput: for a search, for a
// rate that is relative to it or limited by it, for the ring of a closed loop, or for an expectation.
func (p *plan) probes(a arm) bool {
	bounded := func(a arm) bool { return a.load.MaxRate != scenario.Rate{} }
	return a.Role != record.Copy && (p.measures() || a.Clients.Closed() || slices.ContainsFunc(p.arms, bounded))
}

// measures reports whether the plan needs the figure of X_max of every arm.
func (p *plan) measures() bool {
	return p.slo != nil || p.relative() || expect.UsesAny(p.Expect, "x_max")
}

// relative reports whether an arm's rate is a ratio of the slowest arm's throughput.
func (p *plan) relative() bool {
	return slices.ContainsFunc(p.arms, func(a arm) bool { return a.load.Rate.OfSlowest != 0 })
}

// probeFor returns how long a probe lasts. A probe is short if it only has to show that an arm can take
// a rate.
func (p *plan) probeFor() time.Duration {
	closed := func(a arm) bool { return a.load.Loop == "closed" }
	switch {
	case p.slo != nil:
		return searchProbe
	case p.measures() || slices.ContainsFunc(p.arms, closed):
		return probeWindow
	}
	return shortProbe
}

// probeWith returns the number of clients of a probe. A probe that only has to show that an arm can take
// a rate needs more clients: if a pool has one worker per client, each worker waits for the next
// connection of its client.
func (p *plan) probeWith() int {
	if p.probeFor() == shortProbe {
		return crowdedClients
	}
	return probeClients
}

// lowerRates lowers rates that exceed their upper limit, a ratio of the slowest arm's throughput, and
// raises a doubt for each rate that it lowers.
func (p *plan) lowerRates(slowest float64, name string) {
	told := map[float64]bool{} // rates with a doubt already
	for _, a := range p.arms {
		rate, bound := a.Clients.Rate, scenario.Rounded(a.load.MaxRate.OfSlowest*slowest)
		if bound == 0 || rate <= bound {
			continue
		}
		a.Clients.Rate = bound
		if told[rate] {
			continue
		}
		told[rate] = true
		p.doubt(record.Fact{Code: rateLowered, Values: record.Values{"rate": bound, "asked": rate, "most": slowest}, Names: record.Names{"slowest": name}})
	}
}

// chooseRate sets relative rates from the arms' throughput xmax and from the highest rate that the
// generator can send (see runner.sendable), all in requests per second.
func (p *plan) chooseRate(xmax map[string]float64, sendable float64) error {
	slowest, name := 0.0, ""
	for _, a := range p.arms {
		if x, ok := xmax[a.Name]; ok && (name == "" || x < slowest) {
			slowest, name = x, a.Name
		}
	}
	p.lowerRates(slowest, name)
	for _, a := range p.arms {
		l := a.load
		if l.Rate.OfSlowest == 0 {
			continue
		}
		share := scenario.Rounded(l.Rate.OfSlowest * slowest)
		rate := max(share, l.MinRate.PerSecond)
		if sendable > 0 && rate > sendable && l.MinRate.PerSecond <= sendable {
			rate, p.Sendable = sendable, sendable
		}
		if rate > highestLoad*slowest {
			return impossible("the rate %.0f/s is above %.2f of what arm %q can do (%.0f/s): it would never keep up; drop that arm, lower --rate or give it more workers",
				rate, highestLoad, name, slowest)
		}
		a.Clients.Rate = rate
	}
	p.spareServers()
	if p.Sendable > 0 {
		p.doubt(record.Fact{Code: rateSendable, Values: record.Values{"rate": p.Sendable}, Names: record.Names{"cpus": p.cpus.Load.Words()}})
	}
	p.settleWindow()
	if err := p.settleArrivals(); err != nil {
		return err
	}
	if err := p.checkVolume(); err != nil {
		return err
	}
	p.Doubts = append(p.Doubts, Undecided(*p.Feasible, true)...)
	p.warnShort()
	return nil
}
