package window

import (
	"fmt"
	"math"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// The laws of the audit (measurement.md §4). They hold in every window, whatever a
// server does: where one does not, the instrument or the record is wrong.
const (
	LawLittle      = "Little's law"
	LawInteractive = "interactive law"
	LawUtilisation = "utilisation law"
	LawFlow        = "flow law"
)

// Limits of the laws.
const (
	littleLimit = .02
	// loopLimit is how far the clients of a closed loop may be from waiting or thinking
	// all the time.
	loopLimit = .05
	cpuSlack  = 1.02
)

// A Law is one of them in one window: how far the window is from it.
type Law struct {
	Name, Unit   string
	Value, Limit float64
}

// Rule is the law as a rule that a window can break.
func (l Law) Rule() string {
	if l.Name == LawInteractive {
		return fmt.Sprintf("%s T = N/X - Z (%s)", l.Name, l.Unit)
	}
	return fmt.Sprintf("%s (%s)", l.Name, l.Unit)
}

// Laws returns the queueing laws that a window must satisfy on a server with serverCPUs CPUs.
func (w *Window) Laws(serverCPUs int) (all []Law) {
	add := func(name, unit string, value, limit float64) { all = append(all, Law{name, unit, value, limit}) }
	if off, limit, ok := w.littlesLaw(); ok {
		add(LawLittle, "ratio", off, limit)
	}
	if off, limit, ok := w.interactiveLaw(); ok {
		add(LawInteractive, "ratio", off, limit)
	}
	if own := w.Trial.Server.CPUs; own != "" {
		serverCPUs = record.CountCPUs(own, serverCPUs)
	}
	if used := w.Trial.Server.CPU; used >= 0 {
		add(LawUtilisation, "ratio of CPU time", used/(w.Trial.Window*float64(serverCPUs)), cpuSlack)
	}
	if p := w.Trial.Client.Proof; p != nil {
		add(LawFlow, "requests", math.Abs(float64(p.Sent-w.outcomes)), 0)
	}
	if s := w.Trial.Server; s.Accepted >= 0 {
		add(LawFlow, "connections", math.Abs(s.Accepted-s.Done-s.Rejected-s.Dropped-s.Open), 0)
	}
	return all
}

// A presence sums up who was under way in a window, for Little's law: mean number
// in flight = throughput x mean time. An open loop counts the requests that are due
// in the window, and knows all of them; a closed one those that end in it, from when
// they were sent, and of those under way at its end what the load noted.
type presence struct {
	from, to      int64
	time          float64 // under way in the window, s, summed
	took, longest float64 // of the requests counted: whole times, and the longest
	counted       int
	ends          int     // under way at the start plus at the end
	edges         float64 // what the two sums do not share, s, of requests that are not longer than the window
	outside       float64 // squares of the same, s²

	// steps are how many requests came minus how many went since the instant before,
	// of so many instants over the window.
	steps [instants + 1]int
}

const instants = 64

func (p *presence) within(at int64) bool { return at >= p.from && at < p.to }

// add takes a request that is counted or not.
func (p *presence) add(began, done int64, counted bool) {
	if overlap := min(done, p.to) - max(began, p.from); overlap > 0 {
		p.time += time.Duration(overlap).Seconds()
		p.steps[p.instant(began)]++
		p.steps[p.instant(done)]--
	}
	if took := time.Duration(done - began).Seconds(); counted {
		p.counted++
		p.took += took
		p.longest = max(p.longest, took)
	}
	early, late := began < p.from && done >= p.from, began < p.to && done >= p.to
	p.ends += stats.Count(early) + stats.Count(late)
	edge := int64(0)
	switch {
	case early && late: // longer than the window: not chance
	case early && counted:
		edge = p.from - began
	case early:
		edge = done - p.from
	case late:
		edge = done - p.to
	}
	p.edges += time.Duration(edge).Seconds()
	p.outside += math.Pow(time.Duration(edge).Seconds(), 2)
}

// instant is the first that is not before the time. They are the middles of as many
// equal parts of the window.
func (p *presence) instant(at int64) int {
	step := float64(p.to-p.from) / instants
	return int(math.Ceil(min(max(float64(at-p.from)/step-.5, 0), instants)))
}

// swing is the standard deviation of the number under way over the window: how far a
// queue goes up and down that is not growing. Of one that grows evenly it is 1/√12 of
// what it grows by.
func (p *presence) swing() float64 {
	var sum, squares float64
	under := 0
	for _, step := range p.steps[:instants] {
		under += step
		sum += float64(under)
		squares += float64(under) * float64(under)
	}
	mean := sum / instants
	return math.Sqrt(max(0, squares/instants-mean*mean))
}

// pending takes those that a closed loop left under way. Who waited all through the
// window is starved, and no part of what flows.
func (p *presence) pending(q record.Pending) {
	p.ends += q.Requests - q.Early
	p.time += q.Time
	p.outside += q.Squares
}

// littlesLaw is how far the window is from L = X T (ratio), and what its ends allow
// (decisions 0012, 0013 and 0018). In an open loop that is all that lies outside, for one
// stall may delay every request at an end.
func (w *Window) littlesLaw() (off, limit float64, ok bool) {
	p := w.presence
	if p.took <= 0 {
		return 0, 0, false
	}
	ends, outside := float64(p.ends)/float64(p.counted), p.edges/p.took
	if w.Clients.Closed() { // its clients may all wait for one stall, of a length the window has seen the end of
		ends = float64(p.ends) * p.longest / p.took
		outside = 3 * math.Sqrt(p.outside) / p.took
	}
	return math.Abs(p.time/p.took - 1), littleLimit + max(ends, outside), true
}

// interactiveLaw is how far the clients of a closed loop are from waiting for a reply
// or thinking all the time (ratio): T = N/X - Z, with the requests at the window's
// ends as long as they were (decision 0013). Clients without an answer all through
// the window are not among the N. Requests of one pipeline are sent together, so that
// some may wait for the others and less is under way: no fault. What is allowed for
// is what the clients' pauses, taken for exponential ones, add by chance.
func (w *Window) interactiveLaw() (off, limit float64, ok bool) {
	c, pending := w.Clients, w.Trial.Client.Pending
	if !c.Closed() || c.Rate > 0 {
		return 0, 0, false
	}
	all := float64(c.Connections*max(c.Pipeline, 1)-pending.Early) * w.Trial.Window
	if all <= 0 || w.completions == 0 {
		return 0, 0, false
	}
	off = (w.presence.time+float64(w.completions)*c.Think)/all - 1
	if c.Pipeline <= 1 {
		off = math.Abs(off)
	}
	return max(0, off), loopLimit + 3*c.Think*math.Sqrt(float64(w.completions+c.Connections))/all, true
}
