package runner

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/timeline"
)

// highestLoad is the highest ratio of the slowest arm's throughput for a relative rate. At a
// higher rate the queue would grow without end. The wait grows as 1/(1-load), and the probe of
// X_max may be off by expect.ProbeDoubt.
const highestLoad = 0.85

// A probed plan is a plan after its probes. All its rates are known.
//
// This file sets the rates and draws the arrivals. A rate may be relative, such as 0.7 of X_max of
// the slowest arm, so that every arm can serve it and all get the same load. Arrivals are drawn
// from the seed and the block, so that all arms of a block get the same ones.
type probed struct {
	plan
	ring int // number of requests for which the servers keep stamps; see ringOf
}

// offered returns the plan with the rates that follow from the findings. With an error, it returns the plan as
// far as it came. p itself stays as it is: the arms are copied first, because chooseRates changes them.
func (p plan) offered(found findings) (probed, error) {
	p.Arms, p.Doubts = slices.Clone(p.Arms), slices.Clip(p.Doubts)
	err := p.chooseRates(found)
	return probed{p, p.ringOf(found.xmax)}, err
}

// chooseRates sets the rates that depend on the arms' throughput, and lowers those that are too high for
// the arms or the load. Then it settles what depends on the rates.
func (p *plan) chooseRates(found findings) error {
	slowest, name := 0.0, ""
	for _, a := range p.Arms {
		if x, ok := found.xmax[a.Name]; ok && (name == "" || x < slowest) {
			slowest, name = x, a.Name
		}
	}
	p.Doubts = append(p.Doubts, found.doubts...)
	for i := range p.Arms {
		a := &p.Arms[i]
		least := a.load.MinRate.PerSecond
		if a.load.Rate.OfSlowest == 0 {
			// A fixed rate may have a limit that is relative (max_rate).
			p.lower(a, scenario.Rounded(a.load.MaxRate.OfSlowest*slowest), func(rate, asked float64) fact.Fact {
				return doubt.RateLowered.Of(doubt.Lowered{Rate: rate, Asked: asked, Most: slowest, Slowest: name})
			})
		} else {
			rate := max(scenario.Rounded(a.load.Rate.OfSlowest*slowest), least)
			// Offer what the generator can send, unless that is below the scenario's min_rate.
			if found.sendable > 0 && rate > found.sendable && least <= found.sendable {
				rate, p.Sendable = found.sendable, found.sendable
			}
			// This happens if the ratio asked for, or min_rate, is too high for the slowest arm.
			if rate > highestLoad*slowest {
				return impossibleBy("rate", "the rate %.0f/s is above %.2f of what arm %q can do (%.0f/s): it would never keep up; drop that arm, lower --rate or give it more workers",
					rate, highestLoad, name, slowest)
			}
			a.Clients.Rate = rate
		}
		// A load that shares CPUs with the servers must leave them most of the time. The user's own rate stays.
		if !a.Clients.Closed() && !p.offeredAsTold(*a) {
			p.lower(a, found.sharedMost, func(rate, asked float64) fact.Fact {
				return rateShared.Of(shared{Rate: rate, Asked: asked, Share: window.ShareLimit, CPUs: p.cpus.SharedCPUs().Words()})
			})
		}
	}
	p.warnFewWorkers(found, name)
	if p.Sendable > 0 {
		p.doubt(rateSendable.Of(sendable{Rate: p.Sendable, CPUs: p.cpus.Load.Words()}))
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.Doubts = append(p.Doubts, Undecided(*p.Feasible, p.needs().Every)...)
	p.warnShort()
	return nil
}

// warnFewWorkers raises a doubt where the slowest arm, name, has so few workers that all arms get a much lower rate than the
// next slowest would be offered.
func (p *plan) warnFewWorkers(found findings, name string) {
	const much = 2 // times as much
	i := slices.IndexFunc(p.Arms, func(a arm) bool { return a.Name == name })
	if i < 0 || !p.scenario.AsksWork() || p.Arms[i].Clients.Closed() || !p.setup(p.Arms[i].asked).mode.Has("workers") {
		return
	}
	next, other := 0.0, ""
	for _, a := range p.originals() {
		if x, ok := found.xmax[a.Name]; ok && a.Name != name && (other == "" || x < next) {
			next, other = x, a.Name
		}
	}
	a, set := p.Arms[i], p.setup(p.Arms[i].asked)
	share := cmp.Or(a.load.Rate.OfSlowest, a.load.MaxRate.OfSlowest)
	without := scenario.Rounded(share * next)
	if a.load.Rate.PerSecond > 0 {
		without = min(without, a.load.Rate.PerSecond)
	}
	held := (p.scenario.Workload.MeanCPU() + p.scenario.Workload.MeanSleep()).Seconds()
	need := queueing.Workers(without, held)
	if other == "" || share == 0 || without < much*a.Clients.Rate || set.workers >= need {
		return
	}
	// One doubt about the rate is enough, and this one tells why.
	p.Doubts = slices.DeleteFunc(p.Doubts, func(d fact.Fact) bool {
		of, is := fact.In(doubt.RateLowered, d)
		return is && of.Slowest == name
	})
	p.doubt(doubt.RateFewWorkers.Of(doubt.FewWorkers{Workers: set.workers, Rate: a.Clients.Rate, Without: without, Needed: need, Other: other}).On(name))
}

// lower lowers an arm's rate to most, in requests per second, but not below its min_rate. A limit of 0 is none. The
// doubt about the two rates is raised once for a rate that several arms had.
func (p *plan) lower(a *arm, most float64, doubt func(rate, asked float64) fact.Fact) {
	asked := a.Clients.Rate
	if most == 0 || asked <= most {
		return
	}
	a.Clients.Rate = max(most, a.load.MinRate.PerSecond)
	f := doubt(a.Clients.Rate, asked)
	if !slices.ContainsFunc(p.Doubts, func(d fact.Fact) bool { return d.Code == f.Code && askedFor(d) == asked }) {
		p.doubt(f)
	}
}

// askedFor returns the rate that was asked for where a doubt tells that it was lowered; 0 for other doubts.
func askedFor(d fact.Fact) float64 {
	of, _ := fact.In(doubt.RateLowered, d)
	by, _ := fact.In(rateShared, d)
	return max(of.Asked, by.Asked)
}

// shared tells to what a rate is lowered for a load that shares CPUs with the servers.
type shared struct {
	Rate, Asked float64
	Share       float64 // of the CPUs, at most
	CPUs        string
}

// relative reports whether an arm's rate is a ratio of the slowest arm's throughput. Such a rate
// is known only after the probes.
func (p plan) relative() bool {
	return slices.ContainsFunc(p.Arms, func(a arm) bool { return a.load.Rate.OfSlowest != 0 })
}

// offeredAsTold reports whether the user gave an arm's rate for this run. Such a rate is never lowered.
func (p plan) offeredAsTold(a arm) bool {
	return p.opts.Rate.PerSecond > 0 && a.load.Rate == p.opts.Rate
}

// settleArrivals returns an error if arrivals cannot be drawn at the chosen rate. For arrivals with a
// fixed rate, it replaces the arm's rate by their mean rate.
func (p *plan) settleArrivals() error {
	span := p.span()
	for i := range p.Arms {
		a := &p.Arms[i]
		rate := a.Clients.Rate
		if a.Clients.Closed() || rate == 0 {
			continue
		}
		if log := p.scenario.Log; log != nil {
			// At a higher rate the log is replayed faster, and ends sooner.
			if lasts := log.Span(rate); lasts < span {
				return impossibleBy("window", "%s lasts %v at %.0f/s, and a trial takes %v; lower the speed or --rate, shorten --window, or take more of the log",
					log.File, lasts.Round(time.Millisecond), rate, span)
			}
			continue
		}
		process := a.process()
		if err := process.Check(rate); err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		if ends := process.Span(0) - 1; process.Kind == arrivals.KindTrace && ends < span {
			return impossibleBy("window", "%s ends after %v, and a trial takes %v; shorten --window, or take more of it", process.File, ends, span)
		}
		// Such arrivals come at their own times, whatever the rate.
		if process.Fixed() {
			a.Clients.Rate = process.MeanRate(rate, span)
		}
	}
	p.Rate = p.Arms[0].Clients.Rate
	return nil
}

// process returns the arrivals of an arm's open loop. Some arrivals depend on the number of connections.
func (a arm) process() arrivals.Process { return a.arrivals.WithConnections(a.Clients.Connections) }

// trace returns the arrivals of an arm's requests in a block. They are the same for every arm with the
// same load.
func (p plan) trace(a arm, block int, span time.Duration) (arrivals.Trace, error) {
	rate, seed := a.Clients.Rate, blockSeed(p.Seed, block)
	process := a.process()
	// Each block replays another part of the log, so that a run sees as much of it as it has blocks. All arms of
	// a block get the same part.
	if log := p.scenario.Log; log != nil {
		process = log.Part(block, span, rate)
	}
	s, err := arrivals.Ask{Process: process, Rate: rate, Span: span, Seed: seed, Demands: p.scenario.Demands(seed, p.iters), Which: p.scenario.Which(seed)}.Schedule()
	return s.Trace, err
}

// blockSeed returns the seed of a block. The factor is 2^64 divided by the golden ratio, as in splitmix64. Its
// multiples are spread evenly over all numbers, so neighbouring blocks get seeds that are far apart.
func blockSeed(seed uint64, block int) uint64 { return seed + uint64(block)*0x9e3779b97f4a7c15 }

const (
	// serverRing is the number of requests for which a server keeps stamps by default. A server with room for
	// fewer requests than it serves loses the oldest stamps, and the trial with them a part of its breakdown.
	serverRing = 1 << 18
	// ringMargin is the ratio of the ring to the expected requests. pipelineMargin is the ratio of the
	// expected throughput with a pipeline to the throughput of the probe, which has none.
	ringMargin     = 2
	pipelineMargin = 4
)

// ringOf returns the number of requests for which the servers must keep stamps. Without a rate, it
// follows from the arms' throughput xmax, in requests per second. The number is the same for all
// arms: a ring is on the heap, and a larger heap delays the garbage collector. xmax may be nil.
func (p plan) ringOf(xmax map[string]float64) int {
	most := 0.0
	for _, a := range p.Arms { // the copy was not probed; its baseline stands for it
		rate := a.Clients.Rate
		if a.Clients.Closed() && rate == 0 {
			if rate = xmax[a.Name]; a.Clients.Pipeline > 1 {
				rate *= pipelineMargin
			}
		}
		if p.accounts(a) {
			most = max(most, rate*(p.Warmup.Seconds()+p.Window.Seconds()))
		}
	}
	return int(min(ringMargin*most, timeline.MaxRing))
}

// command returns the command line of an arm's server. It is the arm's own, with a larger ring
// where the default would not do. A ring that the user gave stays.
func (p probed) command(a arm) []string {
	if _, own := a.asked.Flags["timeline"]; own || !p.accounts(a) || p.ring <= serverRing {
		return a.Command
	}
	return append(slices.Clip(a.Command), "--timeline", strconv.Itoa(p.ring))
}

// accounts reports whether the response times of an arm are broken down into parts.
func (p plan) accounts(a arm) bool { return judge.Accounts(p.recorded(), a.Name) }
