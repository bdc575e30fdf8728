package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// model returns a measured window with the figures of its twin. It does the expensive part of judging:
// two replays of each window.
func model(measured window.Window, t record.TrialRecord, arm record.PlanArm, run record.Run) *modelled {
	w := &modelled{Window: measured}
	st, _, why := twinOf(arm)
	if why.None() {
		why = replay(w, t, st, arm, run.Env)
	}
	w.noTwin = why
	return w
}

// An arm's ideal twin is a simulated scheduler of the same kind that has no overhead. It gets the
// requests of each window at their scheduled times. It is replayed twice: with the demands alone,
// and with the CPU time that the server really used, spread evenly over the replies. Nothing is
// fitted to response times.

// A twin holds the figures of a window's twin that are not among the window's Values. The values are stats.TwinMean, the mean of
// the replay with the measured CPU time, and stats.Overhead, which is TwinMean minus ideal. Times are seconds per request.
type twin struct {
	ideal  float64 // mean of the replay with the demands alone
	p99    float64 // p99 of the replay with the measured CPU time
	loss   float64 // ratio of requests turned away in that replay
	beyond float64 // CPU seconds per good reply beyond its demand
}

const (
	// The first lap of a closed loop begins with all clients at once, and the last one ends with
	// fewer and fewer, so the middle one is typical.
	mostTwin = 100_000 // most requests of a trial that are replayed, in some 60 ms
	laps     = 3       // times that a closed loop's demands are replayed; the middle lap is measured
)

// twinOf returns the station that an arm's twin simulates. note says how the twin assigns
// connections to event loops, if it has more than one. why is the reason if the arm can have no
// twin. A twin is missing wherever the simulation would be another server than the arm.
func twinOf(a record.PlanArm) (st queueing.Station, note string, why fact.Fact) {
	c, s := a.Clients, a.Station
	switch {
	case a.Mode == "":
		return st, "", twinOfProgram
	case s == nil:
		return st, "", twinNotRecorded
	case s.Unknown != "":
		return st, "", twinUnknown.Of(unknown{s.Unknown})
	// The simulated clients send the next request as soon as they have a reply.
	case c.Closed() && (c.Think.Duration > 0 || c.Rate > 0 || c.Session > 0 || c.Pipeline > 1):
		return st, "", twinOfClients
	case (s.Overflow == "drop" || s.Overflow == "expire") && c.KeepAlive:
		return st, "", twinOfDrops
	}
	st = *s
	st.Cores, st.Turn = max(st.Cores, 1), queueing.GoTurn // it schedules as Go does
	// A worker that keeps its connection is like a goroutine for each connection, if there are
	// enough.
	if s.Sticky && c.KeepAlive {
		switch n := c.Connections + c.Idle; {
		case n > s.Workers:
			return st, "", twinSticky.Of(sticky{Waiting: n - s.Workers, Connections: n})
		case st.Pick == queueing.TwoChoices && !st.Steal:
			return st, "", twinOfChance
		}
		st = queueing.Station{Kind: queueing.Goroutines, Cores: st.Cores, Turn: st.Turn} // a worker for each connection
	}
	// shared: one queue for all workers. Each kept connection has one request at a time, so their
	// number limits the queue.
	shared := st.Kind != queueing.PerWorker && st.Kind != queueing.Loops
	if n := c.Connections; (st.Target > 0 || st.Adaptive) && c.KeepAlive && n > 0 && (st.Places == 0 || n <= st.Places) {
		return st, "", twinOfAging
	} else if shared && c.KeepAlive && !c.Closed() && n > 0 && (st.Places == 0 || n <= st.Places) {
		st.Places, st.Overflow = n, queueing.Blocks // a request waits for a free connection
	}
	if st.Kind == queueing.Loops && st.Workers > 1 {
		note = "connections spread evenly over its loops, as the kernel's hash does not"
		if !c.KeepAlive {
			note = "each connection on a loop taken by chance"
		}
	}
	return st, note, why
}

// replay adds the figures of the twin to a window. It returns the reason if there are none, and
// changes w only if it succeeds.
func replay(w *modelled, t record.TrialRecord, st queueing.Station, arm record.PlanArm, env record.Env) (why fact.Fact) {
	c, iter := arm.Clients, window.PerIter(env)
	switch {
	case len(t.Requests) > mostTwin:
		return twinTooLong.Of(tooLong{Requests: len(t.Requests), Most: mostTwin})
	case !slices.ContainsFunc(t.Requests, func(r request.Request) bool { return r.Iters > 0 || r.Sleep > 0 }):
		return twinCostUnknown
	case t.Server.CPU < 0 || iter <= 0:
		return twinCPUUnknown
	}
	beyond, ok := beyondDemand(t, iter)
	if !ok {
		return twinNoReply
	}
	// The difference of the two replays is what the server's overhead costs, with the waiting that
	// it causes.
	alone, measured := play(st, c, t, iter, 0), play(st, c, t, iter, beyond)
	loses := func(p queueing.Prediction) bool { return p.Loss != nil && *p.Loss > 0 }
	switch {
	// A client that is turned away sends again at once, so the replay would not be of the same
	// requests.
	case c.Closed() && (loses(alone) || loses(measured)):
		return twinAsksAgain
	case alone.Mean == nil || measured.Mean == nil:
		return twinServedNone
	}
	w.Values[stats.TwinMean], w.Values[stats.Overhead] = stats.Known(*measured.Mean), stats.Known(*measured.Mean-*alone.Mean)
	w.twin = twin{ideal: *alone.Mean, p99: *measured.P99, loss: *measured.Loss, beyond: beyond}
	return why
}

// beyondDemand returns the server's CPU time in the window minus the demands of the good replies that ended in the window, in
// seconds per good reply. So it includes the cost of refusals. It is negative if demands ran faster than when they were
// calibrated. ok is false if there is no good reply.
func beyondDemand(t record.TrialRecord, perIter float64) (cpu float64, ok bool) {
	from := int64(t.Warmup.Duration)
	to := from + int64(t.Window.Duration)
	n, asked := 0, 0.0
	for _, r := range t.Requests {
		if r.Good() && r.Done >= from && r.Done < to {
			n++
			asked += float64(r.Iters) * perIter
		}
	}
	return (t.Server.CPU - asked) / float64(max(n, 1)), n > 0
}

// play replays a trial and returns the figures of the requests in its window. Each request takes
// beyond seconds of CPU time more than its demand. In an open loop the requests of the warm-up run
// first. A closed loop replays its own demands several times instead. It returns the zero
// Prediction if no request is in the window, or if the station cannot be simulated.
func play(st queueing.Station, c record.Clients, t record.TrialRecord, perIter, beyond float64) queueing.Prediction {
	// chance chooses the loop of each fresh connection. The seed is the trial's, so a replay is
	// the same each time.
	chance := rand.New(rand.NewPCG(t.Seed, 3))
	all := make([]queueing.Job, len(t.Requests))
	first, last := len(all), len(all)
	for i, r := range t.Requests {
		cpu := max(0, float64(r.Iters)*perIter+beyond)
		all[i] = queueing.Job{At: time.Duration(r.Scheduled), CPU: time.Duration(math.Round(cpu * 1e9)), Block: time.Duration(r.Sleep), Conn: i % max(c.Connections, 1)}
		if !c.KeepAlive {
			all[i].Conn = int(chance.Uint32())
		}
		if t.InWindow(r) {
			first = min(first, i)
			last = i + 1
		}
	}
	if first >= last {
		return queueing.Prediction{}
	}
	// The times at which requests were sent depend on the replies, so a closed loop has no
	// schedule to replay: only the order of its demands is used.
	if c.Closed() {
		n := len(all)
		sent, completions, err := queueing.ReplayClosed(st, c.Connections, slices.Repeat(all, laps))
		if err != nil {
			return queueing.Prediction{}
		}
		return queueing.Figures(sent[n:2*n], completions[n:2*n])
	}
	// The requests of the warm-up fill the queue as it was when the window began.
	completions, err := queueing.Replay(st, all)
	if err != nil {
		return queueing.Prediction{}
	}
	return queueing.Figures(all[first:last], completions[first:last])
}

// twin sums up the twin's figures for an arm over the valid blocks: medians with intervals, times in seconds. It returns nil if
// no block is valid, or if the record has no station for the arm's mode.
func (b blocks) twin(pa record.PlanArm, a record.Arm) *record.Twin {
	if pa.Mode != "" && pa.Station == nil || len(b.valid) == 0 {
		return nil
	}
	st, note, _ := twinOf(pa)
	if why := b.withoutTwin(pa.Name, st); !why.None() {
		return &record.Twin{Why: why}
	}
	// Interference is the rest that neither the demand nor the server's CPU time explains.
	rest := figures(b.of(pa.Name), func(w *modelled) float64 { return w.Values[stats.GoodMean].Float() - w.Values[stats.TwinMean].Float() })
	spread := func(f stats.Figure) *stats.Spread { return stats.SpreadOf(b.series(pa.Name, f)) }
	twins := func(of func(*modelled) float64) *stats.Spread { return stats.SpreadOf(figures(b.of(pa.Name), of)) }
	tw := &record.Twin{
		Note: note, Measured: spread(stats.GoodMean), Mean: spread(stats.TwinMean), Interference: stats.SpreadOf(rest),
		Overhead: spread(stats.Overhead),
		Ideal:    twins(func(w *modelled) float64 { return w.ideal }), Beyond: twins(func(w *modelled) float64 { return w.beyond }),
	}
	// The twin serves all requests, so its p99 is none of a class.
	if _, ofClass := b.run.Plan.JudgedClass(); !ofClass && b.refuseFigure(stats.P99, a).None() {
		tw.P99, tw.MeasuredP99 = twins(func(w *modelled) float64 { return w.p99 }), spread(stats.P99)
	}
	// Losses are shown only if there are any, in theory or in fact.
	if loss, lost := twins(func(w *modelled) float64 { return w.loss }), spread(stats.Loss); loss.High > 0 || lost.High > 0 {
		tw.Loss, tw.MeasuredLoss = loss, lost
	}
	return tw
}

// withoutTwin returns the reason if an arm has no twin over the valid blocks; no fact if it has
// one. The reason of the first block without a twin counts.
func (b blocks) withoutTwin(arm string, st queueing.Station) (why fact.Fact) {
	// In overload a queue without limit grows for ever, and its times only tell how long the
	// window was.
	if endless := st.Places == 0 || st.Overflow == queueing.Blocks; b.over[arm] && endless {
		return twinOverload
	}
	if why = b.noAnswerYet(arm); !why.None() {
		return why
	}
	for _, w := range b.of(arm) {
		if !w.noTwin.None() {
			return w.noTwin
		}
		if _, known := w.Values[stats.GoodMean].Get(); !known {
			return twinNoGoodReply
		}
	}
	return why
}
