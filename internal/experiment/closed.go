package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/workload"
)

// cycle is how many demands a closed loop draws; it uses them in turn.
const cycle = 4096

// A loaded trial is what its clients saw.
type loaded struct {
	requests []record.Request
	stamps   []record.Stamps      // the client's own, of each
	place    func(seq uint64) int // where the request of a number stands, -1 for none
	start    time.Time            // the zero of both
	client   record.ClientSide
	ran      bool // out of ports or descriptors otherwise
}

// drive puts an arm's load on a server and reads the clocks meanwhile.
func (r *runner) drive(ctx context.Context, addr string, block, arm int, clocks *watcher) (loaded, error) {
	if r.plan.Arms[arm].Clients.Closed() {
		return r.driveClosed(ctx, addr, block, arm, clocks)
	}
	p, c := r.plan, r.plan.Arms[arm].Clients
	trace, err := p.trace(block, arm, r.iters)
	if err != nil {
		return loaded{}, err
	}
	result, err := load.Attack(ctx, load.Options{
		Targets: p.scenario.targets(addr), Trace: trace, Connections: c.Connections, KeepAlive: c.KeepAlive,
		Idle: c.Idle, Timeout: seconds(c.Timeout), Started: clocks.begin,
	})
	if err != nil {
		return loaded{}, err
	}
	return loaded{result.Requests, result.Stamps, inOrder(len(result.Stamps)), result.Start, record.ClientSide{
		Dialled: result.Dialled, ConnAnswers: result.ConnAnswers, Asked: result.Asked, Starved: result.Starved,
		FirstReply: result.FirstReply.Seconds(), IdleLost: result.Idle.Lost, Proof: proven(result.Proof),
	}, result.Exhausted == 0}, nil
}

// proven is a load's proof as a record keeps it.
func proven(p load.Proof) *record.Proof {
	return &record.Proof{
		Planned: p.Planned, Sent: p.Sent, Busy: p.Busy, GCs: p.GCs,
		LongestPause: p.LongestPause.Seconds(), LongestLag: p.LongestLag.Seconds(),
	}
}

// driveClosed is drive for clients that wait for their replies.
func (r *runner) driveClosed(ctx context.Context, addr string, block, arm int, clocks *watcher) (loaded, error) {
	p, c := r.plan, r.plan.Arms[arm].Clients
	o := load.ClosedOptions{
		Targets: p.scenario.targets(addr), Which: p.scenario.which(), Connections: c.Connections, KeepAlive: c.KeepAlive,
		Warmup: seconds(p.Warmup), Duration: seconds(p.Window), Timeout: seconds(c.Timeout), Record: true,
		Rate: c.Rate, Session: c.Session, Pipeline: c.Pipeline, Spin: c.Spin, Ramp: seconds(c.Ramp), Seed: blockSeed(p.Seed, block), Started: clocks.begin,
	}
	if think := p.loads[arm].Think; think != (workload.Dist{}) {
		o.Think = func(rng *rand.Rand) time.Duration { return think.Sample(workload.NewRand(rng.Uint64())) }
	}
	if p.scenario.asksWork() {
		o.Demands = demands(p.scenario.Workload, cycle, blockSeed(p.Seed, block), r.iters)
	}
	result, err := load.Closed(ctx, o)
	if err != nil {
		return loaded{}, err
	}
	client := record.ClientSide{
		Dialled: result.Dialled, ConnAnswers: result.ConnAnswers, Asked: result.Asked, Starved: result.Starved,
		FirstReply: result.FirstReply.Seconds(), Proof: proven(result.Proof),
	}
	if c.Session > 0 {
		client.Sessions = SumSessions(result.Sessions)
	}
	return loaded{result.Requests, stampsOf(result.Marks), byMark(result.Marks), result.Start, client, result.Exhausted == 0}, nil
}

// loopLimit is how far a closed loop's mean response time may be from what the
// interactive response time law says.
const loopLimit = .05

// closedLaw is how far a window is from T = N/X - Z (ratio), with the limit that
// the requests under way at its ends leave. Clients that starved are not among the
// N. Requests sent together take a cycle together, and each by
// itself may take less.
func (w *window) closedLaw(c record.Clients) (off, limit float64) {
	n := float64((c.Connections - w.starved) * max(c.Pipeline, 1))
	x := float64(w.requests) / w.trial.Window
	if x == 0 || n <= 0 || c.Rate > 0 {
		return 0, loopLimit
	}
	cycle := n / x
	off = (w.values["mean"] + c.Think - cycle) / cycle
	if c.Pipeline <= 1 {
		off = math.Abs(off)
	}
	return off, loopLimit + 2*n/float64(w.requests)
}

// DescribeClients says a load in a few words, for the plan and the reports.
func DescribeClients(c record.Clients) string {
	if c.Closed() {
		parts := []string{fmt.Sprintf("closed loop of %d clients", c.Connections)}
		for _, extra := range []struct {
			on   bool
			text string
		}{
			{c.Rate > 0, fmt.Sprintf("paced at %.0f/s together", c.Rate)},
			{c.Think > 0, fmt.Sprintf("that think %v", seconds(c.Think))},
			{c.Session > 0, fmt.Sprintf("sessions of %d", c.Session)},
			{c.Pipeline > 1, fmt.Sprintf("%d requests under way each", c.Pipeline)},
			{c.Spin, "driven without sleep"},
			{c.Ramp > 0, fmt.Sprintf("started over %v", seconds(c.Ramp))},
			{!c.KeepAlive, "a connection for each request"},
		} {
			if extra.on {
				parts = append(parts, extra.text)
			}
		}
		return strings.Join(parts, ", ")
	}
	text := "open loop, " + c.Arrivals
	if c.Rate > 0 {
		text += fmt.Sprintf(" at %.0f/s", c.Rate)
	}
	if c.KeepAlive {
		text += fmt.Sprintf(" over %d connections", c.Connections)
	} else {
		text += ", a connection for each request"
	}
	if c.Idle > 0 {
		text += fmt.Sprintf(", %d idle ones beside them", c.Idle)
	}
	return text
}
