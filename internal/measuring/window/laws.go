package window

import (
	"fmt"
	"math"
	"time"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// The laws of the audit. They hold in every window, whatever a server does. If a window breaks one, the instrument or
// the record is wrong.
const (
	// LawLittle is L = X T: mean number in flight = throughput × mean time in flight (Little, "A Proof for the Queuing
	// Formula L = λW", Operations Research 9, 1961). LawInteractive is T = N/X - Z for N clients that think for Z seconds
	// between a reply and the next request, LawUtilisation that no server uses more CPU time than it has CPUs, and LawFlow
	// that what went in equals what came out (Denning and Buzen, "The Operational Analysis of Queueing Network Models",
	// Computing Surveys 10, 1978).
	LawLittle      = "Little's law"
	LawInteractive = "interactive law"
	LawUtilisation = "utilisation law"
	LawFlow        = "flow law"
)

// Limits of the laws.
const (
	littleLimit = .02  // ratio by which a window may miss Little's law, in addition to what its ends allow
	loopLimit   = .05  // ratio by which the clients of a closed loop may miss waiting or thinking all the time
	cpuSlack    = 1.02 // utilisation, since clocks are read a little apart
)

// RuleOf returns the name of a law as a rule that a window can break. With its unit, a [LawFlow] is two rules.
func RuleOf(l record.Law) string {
	if l.Name == LawInteractive {
		return fmt.Sprintf("%s T = N/X - Z (%s)", l.Name, l.Unit)
	}
	return fmt.Sprintf("%s (%s)", l.Name, l.Unit)
}

// Laws returns the queueing laws that a window must satisfy on a server with serverCPUs CPUs. Value is how far the
// window is from the law, 0 or more, and the window keeps the law while Value is at most Limit. A law is left out if
// the record lacks a figure that it needs.
//
// A law compares two figures that must agree, with no model of the server in it. So breaking one never means that the
// server is slow; it means that something was counted or timed wrongly.
func (w *Window) Laws(serverCPUs int) (all []record.Law) {
	add := func(name, unit string, value, limit float64) {
		all = append(all, record.Law{Name: name, Unit: unit, Windows: 1, Block: w.Trial.Block, Arm: w.Trial.Arm, Value: value, Limit: limit})
	}
	if off, limit, ok := w.littlesLaw(); ok {
		add(LawLittle, "ratio", off, limit)
	}
	if off, limit, ok := w.interactiveLaw(); ok {
		add(LawInteractive, "ratio", off, limit)
	}
	// The server ran on CPUs that the plan did not choose.
	if own := w.Trial.Server.CPUs; own != "" {
		serverCPUs = cpuset.Count(own, serverCPUs)
	}
	if used := w.Trial.Server.CPU; used >= 0 {
		add(LawUtilisation, "ratio of CPU time", used/(w.Trial.Window.Seconds()*float64(serverCPUs)), cpuSlack)
	}
	// Every request that the engine sent must be in the record, and none besides.
	if p := w.Trial.Client.Proof; p != nil {
		add(LawFlow, "requests", math.Abs(float64(p.Sent-w.outcomes)), 0)
	}
	// Every accepted connection is done, refused, dropped or still open.
	if s := w.Trial.Server; s.Accepted >= 0 {
		add(LawFlow, "connections", math.Abs(s.Accepted-s.Done-s.Rejected-s.Dropped-s.Open), 0)
	}
	return all
}

// A presence sums up the requests in flight in a window, for Little's law. In an open loop it counts the requests
// scheduled in the window, and every request is known. In a closed loop it counts the requests that end in the window,
// from when they were sent; for those in flight at the window's end it uses the sums that the load noted.
type presence struct {
	from, to      int64
	time          float64 // spent in flight within the window, s, summed
	took, longest float64 // of the counted requests: sum of their whole times, and the longest, s
	counted       int
	through       int               // in flight all through the window
	ends          int               // number in flight at the start plus number at the end
	edges         float64           // time that only one of the sums time and took has, s, without requests longer than the window
	outside       float64           // sum of its squares, s²
	steps         [instants + 1]int // requests that came minus requests that went between instant i-1 and instant i
}

// instants is the number of equal parts of a window. swing counts the requests in flight in the middle of each.
const instants = 64

// within reports whether a time, in ns from the trial's start, is in the window.
func (p *presence) within(at int64) bool { return at >= p.from && at < p.to }

// add adds a request that was in flight from began to done. counted says that it is among the
// counted ones. Both are in ns from the trial's start.
func (p *presence) add(began, done int64, counted bool) {
	// Only the part within the window counts for the mean number in flight.
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
	// The law holds exactly for a window without edges. A request over an edge has a part of its time on one side only.
	early, late := began < p.from && done >= p.from, began < p.to && done >= p.to
	p.ends += stats.Count(early) + stats.Count(late)
	edge := int64(0)
	switch {
	case early && late: // longer than the window: not chance
		p.through++
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

// instant returns the index of the first instant that is not before the time; instants if there is none.
func (p *presence) instant(at int64) int {
	step := float64(p.to-p.from) / instants
	return int(math.Ceil(min(max(float64(at-p.from)/step-.5, 0), instants)))
}

// swing returns the standard deviation of the number in flight, the running sum of steps, over the window: how far a
// queue that does not grow goes up and down. For a queue that grows evenly it is 1/√12 of the growth.
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

// pending adds the requests that a closed loop left in flight. Clients that waited through the whole window are starved
// and take no part in the flow, so they are not among the ends. The others have not ended, so took lacks their time.
func (p *presence) pending(q record.Pending) {
	p.ends += q.Requests - q.Early
	p.time += q.Time
	p.outside += q.Squares
}

// leave takes out at most starved requests that were in flight all through an open loop's window, and returns their
// number. Each has a starved connection to itself and so takes no part in the flow.
func (p *presence) leave(starved int) int {
	n := min(p.through, starved)
	p.ends -= 2 * n
	p.time -= float64(n) * time.Duration(p.to-p.from).Seconds()
	return n
}

// littlesLaw returns how far the window is from L = X T (ratio), and how far its ends allow it to be (decisions 12, 13
// and 18). In an open loop the ends allow for all time outside the window, because one stall may delay every request at
// an end. ok is false if the window cannot tell.
func (w *Window) littlesLaw() (off, limit float64, ok bool) {
	p := w.presence
	if p.took <= 0 {
		return 0, 0, false
	}
	ends, outside := float64(p.ends)/float64(p.counted), p.edges/p.took
	if w.Clients.Closed() { // all clients may wait for one stall, as long as the longest that ended in the window
		ends = float64(p.ends) * p.longest / p.took
		outside = 3 * math.Sqrt(p.outside) / p.took
	}
	// L/(X T) is time/took, since both are sums over the same window.
	return math.Abs(p.time/p.took - 1), littleLimit + max(ends, outside), true
}

// interactiveLaw returns how far, as a ratio, the clients of a closed loop are from waiting for a reply or thinking all
// the time: T = N/X - Z. Requests at the window's ends count with their real length (decision 13). Clients without a
// reply in the whole window do not count among the N. Requests of one pipeline may wait for each other, so fewer in
// flight is no fault. The limit allows for the chance in the clients' think times, taken as exponential. ok is false
// for open loops and for paced clients.
func (w *Window) interactiveLaw() (off, limit float64, ok bool) {
	c, pending := w.Clients, w.Trial.Client.Pending
	if !c.Closed() || c.Rate > 0 {
		return 0, 0, false
	}
	// all is the time, in client-seconds, that the clients have.
	all := float64(c.Connections*max(c.Pipeline, 1)-pending.Early) * w.Trial.Window.Seconds()
	if all <= 0 || w.completions == 0 {
		return 0, 0, false
	}
	off = (w.presence.time+float64(w.completions)*c.Think.Seconds())/all - 1
	if c.Pipeline <= 1 {
		off = math.Abs(off)
	}
	return max(0, off), loopLimit + 3*c.Think.Seconds()*math.Sqrt(float64(w.completions+c.Connections))/all, true
}
