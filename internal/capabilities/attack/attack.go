// Package attack sends load to a server that runs already. It starts no server and compares nothing.
//
// An attack takes this way: Asked or Logged make its targets (targets.go), OpenFiles its output files (files.go), and
// Run sends its Load and sums up what came back. All that it does not own is a comparison's: the schedule is an
// [arrivals.Ask], [runner.Alone] sends it as a trial does, a [window.Tally] counts the requests, and
// [judge.Alone] makes of the window a result of one arm.
package attack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A Load describes the requests of an attack. Its Options are complete: Rate is the mean rate, and Duration is set in an
// open loop, too.
type Load struct {
	load.Options
	Name     string        // a URL, or a file of targets
	Scenario string        // that gave the requests; "" for none
	Rest     string        // how the load rests between requests: a constant of package runner
	LeftOut  string        // the lines of an access log that were left out, in words
	Version  string        // of schedlab
	Floor    *record.Floor // what the load itself adds to each time, where it is not the engine spin's; nil if not measured
}

// Run sends a load. It returns the result, one arm in one window, and the distribution of its response times. Requests of an
// open loop are counted and written to files as they end, and not kept; those of a closed loop when the load is over. tell gets
// a line when the load begins, and every ten seconds while it runs.
//
// The result is nil if nothing was sent, because the options are impossible or the clients could not be opened. If the load was cut
// short, the result covers the requests sent so far, and the error is the reason, such as the end of ctx. A file that cannot be
// written cuts the load short, too; that is no error here, since Finish of the files returns it.
func Run(ctx context.Context, l Load, files *Files, tell func(line string)) (*record.Comparison, *responses.Histogram, error) {
	if err := l.Check(); err != nil {
		return nil, nil, err
	}
	ours, cancel := context.WithCancel(ctx)
	defer cancel()
	trial := record.Trial{
		Number: 1, Block: 1, Arm: l.Name, Seed: l.Seed, Warmup: record.Lasting(l.Warmup), Window: record.Lasting(l.Duration), Server: record.UnknownServer(),
	}
	s := sending{Tally: window.NewTally(trial, l.Clients), load: l}
	if o := &s.load.Options; !l.Closed() {
		o.Started = files.start
		o.Ended = func(seq int, r request.Request, stamps request.Stamps) {
			s.add(r, stamps)
			if line := s.soFar(time.Duration(r.Done)); line != "" {
				tell(line)
			}
			if files.Write(seq, r) != nil {
				cancel()
			}
		}
	}
	tell(l.begins())
	got, machine, err := runner.Alone(ours, l.Version, s.load.Options, l.Rest)
	if got.Start.IsZero() {
		return nil, nil, err
	}
	status := record.Complete
	if err != nil {
		status = record.Interrupted
	}
	if l.Closed() {
		files.start(got.Start)
		for i, r := range got.Requests {
			s.add(r, got.Stamps[i])
			_ = files.Write(int(got.Seqs[i]), r) // Finish tells its error
		}
		trial.Window = record.Lasting(got.Elapsed)
	} else if status == record.Interrupted {
		// Until the stop the server had time to reply, also after the last request.
		trial.Window = record.Lasting(min(l.Duration, record.Duration(got.Proof.Elapsed)))
		if ours.Err() != nil && ctx.Err() == nil { // a file's error, which Finish tells
			err = nil
		}
	}
	trial.Window = record.Lasting(max(trial.Window.Duration, time.Nanosecond))
	trial.Client = got.Client(l.Clients)
	trial.Client.Starved = s.starved(trial.Client.Starved, status)
	trial.Client.CPU, trial.Client.Steal, trial.Client.Throttled = got.Proof.CPU, -1, -1
	w := s.Window(trial, machine)
	r := judge.Alone(record.Run{Status: status, Started: got.Start.UTC(), Env: machine, Plan: record.Plan{
		Scenario: l.Scenario, Seed: l.Seed, Rate: l.Rate, Warmup: trial.Warmup, Window: trial.Window, Blocks: 1,
		Arms: []record.PlanArm{{Name: l.Name, Role: record.Baseline, URL: l.Name, KeepAlive: l.KeepAlive, Clients: l.Clients}},
	}}, w)
	r.Doubts = append(s.doubts(&w, &got, status), r.Doubts...)
	for i, d := range r.Doubts {
		if to, is := fact.In(doubt.Redirects, d); is {
			to.To = leadsTo(ctx, l.Targets[0], l.Clients)
			r.Doubts[i] = doubt.Redirects.Of(to).On(d.Arm)
		}
	}
	return r, w.Hist, err
}

// leadsTo asks once for a target that is answered with redirects, and returns the URL of the redirect; "" if there is none, and for a
// method that may change something.
func leadsTo(ctx context.Context, t load.Target, c record.Clients) string {
	if t.Method != http.MethodGet && t.Method != http.MethodHead {
		return ""
	}
	by, err := load.Transport(c)
	if err != nil {
		return ""
	}
	by.DisableKeepAlives = true
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, t.Method, t.URL, bytes.NewReader(t.Body))
	if err != nil {
		return ""
	}
	req.Host = c.Speaks.Host
	for name, values := range t.Header {
		if http.CanonicalHeaderKey(name) == "Host" && len(values) > 0 { // net/http sends its own
			req.Host = values[0]
			continue
		}
		req.Header[name] = values
	}
	reply, err := by.RoundTrip(req)
	if err != nil {
		return ""
	}
	defer reply.Body.Close()
	to, err := reply.Location()
	if err != nil {
		return ""
	}
	return to.String()
}

// begins returns a line about the load: its requests, and for how long it sends them.
func (l *Load) begins() string {
	switch {
	case l.Closed():
		return fmt.Sprintf("driving %s for %s", prose.Plural(l.Connections, "client"), lasting(l.Warmup+l.Duration))
	case l.Times != nil:
		return fmt.Sprintf("sending about %s requests in %s", prose.Digits(l.Rate*l.Duration.Seconds()), lasting(l.Duration))
	}
	return fmt.Sprintf("sending %s in %s", prose.Plural(len(l.Trace.At), "request"), lasting(l.Duration))
}

// due returns how many requests of an open loop are due at a time since its start. It is an estimate where they are drawn
// while they are sent.
func (l *Load) due(at time.Duration) (n int, estimate bool) {
	if l.Times != nil {
		return int(l.Rate * min(at, l.Duration).Seconds()), true
	}
	n, _ = slices.BinarySearch(l.Trace.At, at)
	return n, false
}

// A sending is a load under way: a tally of the requests that have ended, and when the next line about them is due.
type sending struct {
	*window.Tally
	load     Load
	cut      int           // requests that the end of the load cut off, which say nothing about the server
	lastSent time.Duration // from the load's start
	next     time.Duration // when the next line of soFar is due, from the load's start
}

// add counts a request that was sent.
func (s *sending) add(r request.Request, stamps request.Stamps) {
	s.lastSent = max(s.lastSent, time.Duration(r.Sent))
	if r.Outcome == request.Cut {
		s.cut++
		return
	}
	s.Add(r, stamps)
}

// starved returns how many of the silent connections, which got no reply, starved. If the attack was stopped, the stop cut
// off requests that might have had a reply a moment later; their connections do not count.
func (s *sending) starved(silent int, status record.Status) int {
	if status == record.Interrupted {
		silent = max(silent-s.cut, 0)
	}
	return silent
}

// soFarEvery is how often soFar tells how far an attack is.
const soFarEvery = 10 * time.Second

// soFar returns a line about an attack under way if one is due, else "". at is the time since the attack's start. The line
// has the number of requests that have ended and the number due by then. From a second after the last request was sent, it
// has the number of replies still awaited.
func (s *sending) soFar(at time.Duration) string {
	over := s.load.Duration
	if s.next == 0 {
		s.next = lineAfter(0, over)
	}
	if at < s.next {
		return ""
	}
	s.next = lineAfter(at, over)
	ended, good, noReply := s.Requests()
	asked, estimate := s.load.due(at)
	asked = max(asked, ended+s.cut)
	count := func(n int) string { return prose.Digits(float64(n)) }
	where := fmt.Sprintf("after %s of %s", lasting(min(at.Round(time.Second), over)), lasting(over))
	if at >= over {
		waiting := prose.Plural(asked-ended-s.cut, "request")
		if estimate {
			waiting = "about " + waiting
		}
		where = fmt.Sprintf("the %s are over, waiting for replies to %s", lasting(over), waiting)
	}
	return fmt.Sprintf("%s: %s of %s requests ended, %s without a reply, %s not good; of those that ended p50 %s, p99 %s", where, count(ended+s.cut), count(asked),
		count(noReply), count(ended-noReply-good), prose.Seconds(s.Quantile(.5).Seconds()), prose.Seconds(s.Quantile(.99).Seconds()))
}

// lasting formats a time that was asked for.
func lasting(d time.Duration) string { return prose.RoundTime(d.Seconds()) }

// lineAfter returns when soFar's next line is due after a line at at. over is how long the attack sends.
func lineAfter(at, over time.Duration) time.Duration {
	next := at.Truncate(soFarEvery) + soFarEvery
	if at < over && next >= over {
		return over + time.Second
	}
	return next
}

// Beyond these limits doubts raises a doubt.
const (
	lagDoubt   = time.Millisecond // p99 of the generator's lag
	unanswered = .001             // ratio of requests without a reply, or with an error reply

	// Waiting for a free connection is doubted only when both limits are passed. Below either,
	// more connections would change nothing.
	waitShare   = .1  // ratio of the requests' time that passed in that wait
	waitedShare = .01 // ratio of requests that waited

	missedRate = .01 // ratio of the wanted rate that was not sent
	stoodStill = .01 // lag of a single request, seconds
	awayMost   = .05 // ratio of the time in which others kept a spinning engine from its CPU
	fullFrom   = .95 // ratio of the time in which the engine was busy: above it, the engine is at its limit
)

// doubts returns the doubts about an attack: first about how its requests ended, then about the generator. Doubts about the
// generator tell how far the times can be trusted, and nothing about the server. Each doubt has a limit, so that a few
// odd requests among thousands raise none.
func (s *sending) doubts(w *window.Window, got *load.ClosedResult, status record.Status) []fact.Fact {
	lost := 0
	for _, n := range request.Lost(w.Failures) {
		lost += n
	}
	l, closed, p, idle := &s.load, s.load.Closed(), got.Proof, got.Idle
	sent, bad := w.Requests+s.cut, w.Requests-w.Good-lost
	wanted, rate := float64(p.Planned)/l.Duration.Seconds(), float64(p.Sent)/max(w.Trial.Window.Duration, s.lastSent).Seconds()
	if closed {
		wanted, rate = l.Rate, float64(got.Answered+got.Failed)/w.Trial.Window.Seconds()
	}
	p99 := record.Duration(w.Late[stats.P99].Or(0))
	needed := stats.MinRequests(.99) // with fewer requests p99 rests on a handful of them
	mean := w.Phases.Mean
	waiting := mean[timeline.Connect] / (mean[timeline.Connect] + mean[timeline.Ingress] + mean[timeline.Receive])
	away := p.Away / max(p.Elapsed, 1e-9)
	all := []fact.Fact{}
	raise := func(raised bool, f fact.Fact) {
		if raised {
			all = append(all, f)
		}
	}
	by := sender{Engine: l.Engine, Opened: int(got.Dialled), Handshakes: int(got.Handshakes), TLS: l.Speaks.TLS != "", HTTP2: l.Speaks.HTTP2}
	// A load that was late in the measurement of itself shows a disturbance.
	if f := l.Floor; f != nil && f.LagP99 < lagDoubt.Seconds() {
		by.P50, by.P99, by.Rate = record.Duration(f.P50), record.Duration(f.P99), f.Rate
	}
	raise(load.EngineFor(l.Clients) != "", attackSender.Of(by))
	raise(l.LeftOut != "", doubt.LogLinesLeftOut.Of(doubt.Lines{Said: l.LeftOut}))
	raise(w.Starved > 0, attackStarved.Of(starvation{Starved: w.Starved, Asked: w.Asked, Served: w.Asked - w.Starved}))
	raise(float64(lost) > unanswered*float64(w.Requests), Lost.Of(losses{lost, w.Requests}))
	raise(float64(bad) > unanswered*float64(w.Requests), attackFailed.Of(failures{bad}))
	raise(p99 > lagDoubt && (!closed || l.Rate > 0), attackLate.Of(lateness{p99}))
	raise(got.Exhausted > 0, attackExhausted.Of(exhaustion{int(got.Exhausted)}))
	raise(sent < needed, attackShort.Of(shortage{sent, needed}))
	raise(s.cut > 0, CutOff.Of(Cut{s.cut}))
	raise(float64(got.Waited) > waitedShare*float64(sent) && waiting > waitShare, attackCrowded.Of(crowd{int(got.Waited), sent, waiting}))
	// Without a rate a slow server is sent less (coordinated omission), so the times flatter it.
	raise(closed && l.Rate == 0, attackClosedLoop)
	// An interrupted attack has naturally sent less.
	raise(rate < wanted*(1-missedRate) && status == record.Complete, attackRateMissed.Of(miss{wanted, rate, l.Loop}))
	// In a closed loop with a rate, lag is also the wait of a client for its last reply.
	raise(p.LongestLag > stoodStill && !closed, attackStoodStill.Of(pause{
		At: record.Duration(p.LagAt).Round(time.Millisecond), Late: record.Duration(p.LongestLag).Round(time.Millisecond),
	}))
	raise(away > awayMost, attackKeptAway.Of(share{away}))
	// Only the engine spin has a Rest. The Busy of vegeta is CPU time, and means something else.
	raise(p.Rest != "" && p.Busy > fullFrom, attackAtLimit.Of(share{p.Busy}))
	raise(idle.Lost > 0 || idle.Answered < idle.Asked, attackIdleLost.Of(idleness{Asked: idle.Asked, Answered: idle.Answered, Lost: idle.Lost}))
	return all
}
