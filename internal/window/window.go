// Package window reduces the measured part of a trial to figures, and says whether its data
// are right. It sees one trial and decides nothing.
package window

import (
	"math"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Window is the measured part of one trial, reduced to figures. Times are
// seconds.
type Window struct {
	Trial    record.Trial
	Requests int                // scheduled in the window
	Good     int                // of those, answered well
	Status   map[uint16]float64 // share of each final status; 0 is no answer
	Failures map[string]int     // those that are not good, by their end
	Values   map[string]float64 // by metric; NaN for a quantile of too few requests
	Hist     *record.Histogram

	RateOff, Generator, foreign float64 // ratios
	Arrivals, completions       int
	outcomes                    int // of the trial's requests that were sent
	presence                    presence
	Asked, Starved              int     // connections
	backwards                   int     // requests whose stamps are out of order
	Tau                         float64 // correlation time of the response times, in requests
	Clients                     record.Clients
	Jain                        float64
	Phases                      Phases
}

// Quantiles are the judged ones, by metric name.
var Quantiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99}

// Reduce computes a window's figures from its requests.
func Reduce(t record.TrialRecord, e record.Env, clients record.Clients) Window {
	w := Window{Trial: t.Trial, Clients: clients, Status: map[uint16]float64{}, Failures: map[string]int{}, Values: map[string]float64{}, Hist: t.Histogram(t.Requests)}
	from := int64(record.Duration(t.Warmup))
	to := from + int64(record.Duration(t.Window))
	var response, service, good, lag []float64 // service is from the sending
	var lost int
	var sent, goodDone int
	w.presence = presence{from: from, to: to}
	within := w.presence.within
	for _, r := range t.Requests {
		if clients.Closed() {
			w.presence.add(r.Sent, r.Done, within(r.Done))
		} else {
			w.presence.add(r.Scheduled, r.Done, t.InWindow(r))
		}
		w.completions += stats.Count(within(r.Done))
		goodDone += stats.Count(within(r.Done) && r.Good())
		w.outcomes += stats.Count(r.Sent >= 0)
		sent += stats.Count(r.Sent >= 0 && within(r.Sent))
		if !t.InWindow(r) {
			continue
		}
		w.Requests++
		w.backwards += stats.Count(r.Sent >= 0 && (r.Sent < r.Scheduled || r.Done < r.Sent))
		w.Good += stats.Count(r.Good())
		w.Status[r.Status]++
		took := time.Duration(r.Done - r.Scheduled).Seconds()
		response = append(response, took)
		if r.Good() {
			good = append(good, took)
		} else {
			w.Failures[r.End()]++
		}
		lost += stats.Count(r.Outcome != record.Answered || r.Status == http.StatusServiceUnavailable)
		if r.Sent >= 0 {
			lag = append(lag, time.Duration(r.Sent-r.Scheduled).Seconds())
			service = append(service, time.Duration(r.Done-r.Sent).Seconds())
		}
	}
	w.Arrivals = w.Requests
	for code := range w.Status {
		w.Status[code] /= float64(max(w.Requests, 1))
	}
	w.Tau = stats.CorrelationTime(response)
	slices.Sort(response)
	slices.Sort(lag)
	slices.Sort(service)
	for name, q := range Quantiles {
		w.Values[Lateness+name] = stats.Quantile(lag, q)
		w.Values[name], w.Values[name+FromSent] = math.NaN(), math.NaN()
		if w.Requests >= stats.MinRequests(q) {
			w.Values[name], w.Values[name+FromSent] = stats.Quantile(response, q), stats.Quantile(service, q)
		}
	}
	w.Values["goodput"] = float64(goodDone) / t.Window
	w.Values["throughput"] = float64(w.completions) / t.Window
	w.Values["mean"], w.Values["good_mean"] = mean(response), mean(good)
	w.Values["tail"] = mean(response[len(response)-len(response)/100:])
	w.Values["errors"] = float64(w.Requests-w.Good) / float64(max(w.Requests, 1))
	w.Values["loss"] = float64(lost) / float64(max(w.Requests, 1))
	w.Values["cpu_per_request"] = math.NaN()
	if t.Server.CPU >= 0 && w.completions > 0 {
		w.Values["cpu_per_request"] = t.Server.CPU / float64(w.completions)
	}
	w.Values["memory"] = math.NaN()
	if f := t.Server.Footprint; f != nil {
		w.Values["memory"] = float64(f.Memory)
	}
	w.RateOff = math.Abs(float64(sent)/float64(max(w.Requests, 1)) - 1)
	w.Generator = t.Client.CPU / (t.Window * float64(record.CountCPUs(e.LoadCPUs, e.CPUs)))
	if p := t.Client.Proof; p != nil && p.Rest != "" { // the engine spin uses all of its CPU whatever it does
		w.Generator = p.Busy
	}
	w.foreign = t.Server.Foreign / (t.Window * float64(record.CountCPUs(e.ServerCPUs, e.CPUs)))
	w.Values["unsent"] = 0
	if clients.Closed() {
		w.Values["unsent"] = w.finishClosed(sent)
	}
	w.fairness()
	w.disturb(e)
	w.counted()
	w.Phases = PhasesOf(t, PerIter(e))
	return w
}

// PerIter is the calibrated time of one iteration of CPU demand, in seconds.
func PerIter(e record.Env) float64 {
	if e.ItersPerUsec <= 0 {
		return 0
	}
	return 1e-6 / e.ItersPerUsec
}

func (w *Window) fairness() {
	c := w.Trial.Client
	answers := make([]float64, len(c.ConnAnswers))
	for i, n := range c.ConnAnswers {
		answers[i] = float64(n)
	}
	w.Jain = stats.Jain(answers)
	w.Asked, w.Starved = c.Asked, c.Starved
	for _, name := range []string{"starved", "served", "first_reply", "accepted", "done", "open", "loops"} {
		w.Values[name] = math.NaN()
	}
	if w.Asked > 0 {
		w.Values["starved"], w.Values["served"] = float64(w.Starved), float64(w.Asked-w.Starved)
		w.Values["first_reply"] = c.FirstReply
	}
	w.Values["busy"] = math.NaN()
	if p := w.Trial.Client.Proof; p != nil {
		w.Values["busy"] = p.Busy
	}
	if c := w.Trial.Server.Within; c != nil {
		w.Values["accepted"], w.Values["done"], w.Values["open"] = c.Accepted, c.Done, c.Open
	}
	if busy := w.Trial.Server.LoopBusy; busy != nil && w.Trial.Server.CPU > 0 {
		w.Values["loops"] = min(1, *busy/w.Trial.Server.CPU) // a loop is busy by the clock, also where something interrupts it
	}
}

// mean is NaN for nothing.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Limits of what makes a window's data wrong, or its arm overloaded.
const (
	backlogLimit  = .02
	unjoinedLimit = .001
)

// A Breach is one rule a window broke.
type Breach struct {
	Rule         string
	Value, Limit float64
}

// RuleBacklog is a fact about an arm, not about its data.
const RuleBacklog = "backlog (ratio)"

// Breaches checks the window's data; serverCPUs is how many CPUs the server had, judged
// the quantiles that the plan judges, stamped whether the server was to account for its
// requests. Noise is no breach: see checks.go.
func (w *Window) Breaches(serverCPUs int, judged map[string]bool, stamped bool) (broken []Breach) {
	rule := func(name string, value, limit float64) {
		if value > limit {
			broken = append(broken, Breach{name, value, limit})
		}
	}
	if w.Requests == 0 {
		return []Breach{{"requests in the window", 0, 1}}
	}
	for _, name := range []string{"p50", "p90", "p99"} {
		if need := stats.MinRequests(Quantiles[name]); judged[name] && w.Requests < need {
			broken = append(broken, Breach{"requests for " + name, float64(w.Requests), float64(need)})
		}
	}
	if !w.Clients.Closed() {
		rule(RuleBacklog, w.backlog(), w.backlogLimit())
	}
	rule("stamps out of order", float64(w.backwards), 0)
	if stamped && w.Phases.Stamped {
		rule("requests the server did not account for (ratio)", w.Phases.Unjoined(), unjoinedLimit)
		rule("requests with a part below zero", float64(w.Phases.Negative), 0)
	}
	for _, l := range w.Laws(serverCPUs) {
		rule(l.Rule(), l.Value, l.Limit)
	}
	return broken
}

// backlog is by how much the requests under way grew over the window, as a share of
// those that arrived.
func (w *Window) backlog() float64 { return float64(w.Arrivals-w.completions) / float64(w.Arrivals) }

// backlogLimit is what a backlog may grow by: beyond what Poisson arrivals do to the
// number in flight, whose difference has about the standard deviation √(start+end), and
// beyond what it did within the window (decision 2).
func (w *Window) backlogLimit() float64 {
	chance := max(3*math.Sqrt(float64(w.presence.ends)), 2.5*w.presence.swing())
	return max(backlogLimit, chance/float64(w.Arrivals))
}

// Behind reports whether the load, not the server, may be why a backlog grows: its own
// CPUs are full.
func (w *Window) Behind() bool { return w.Generator > GeneratorLimit }

// GeneratorLimit is the share of the load's CPUs above which they count as full.
const GeneratorLimit = .80

// FromSent marks the value of a quantile that is counted from the sending.
const FromSent = " from sent"

// disturb notes what took CPU time from the server; NaN is not known.
func (w *Window) disturb(e record.Env) {
	share := func(seconds, of float64) float64 {
		if seconds < 0 {
			return math.NaN()
		}
		return seconds / of
	}
	c := w.Trial.Client
	w.Values[Stealing] = share(c.Steal, w.Trial.Window*float64(max(e.CPUs, 1)))
	w.Values[Throttling] = share(c.Throttled, w.Trial.Window)
	w.Values[ForeignLoad] = math.NaN()
	if w.Trial.Server.Foreign >= 0 {
		w.Values[ForeignLoad] = w.foreign
	}
	w.Values[LoadShare] = math.NaN()
	if len(e.SharedCPUs()) > 0 {
		w.Values[LoadShare] = share(c.CPU, w.Trial.Window*float64(record.CountCPUs(e.LoadCPUs, e.CPUs)))
	}
}

// Names of disturbances; that of lateness goes on with the quantile.
const (
	Lateness    = "late "
	ForeignLoad = "foreign load"
	Stealing    = "steal"
	Throttling  = "throttling"
	LoadShare   = "CPU time of the load" // on CPUs that it shares with the server
)

// ShareLimit is the share of a CPU that a load may take from the servers with which it shares
// that CPU. The plan keeps it by the rate.
const ShareLimit = .15

// finishClosed takes the requests that a closed loop had under way at the window's end,
// and returns what share of the requests that its pace has in the window it did not
// send, of which sent are recorded: 0 without a pace.
func (w *Window) finishClosed(sent int) (unsent float64) {
	q := w.Trial.Client.Pending
	w.presence.pending(q)
	planned := w.Clients.Rate * w.Trial.Window
	if planned == 0 {
		return 0
	}
	return max(0, 1-float64(sent+q.Requests-q.Early)/planned)
}

// counted takes what the kernel counted into the figures.
func (w *Window) counted() {
	w.Values["switches"], w.Values["overflows"] = math.NaN(), math.NaN()
	k := w.Trial.Server.Kernel
	if k == nil {
		return
	}
	if k.Voluntary >= 0 && k.Involuntary >= 0 && w.completions > 0 {
		w.Values["switches"] = (k.Voluntary + k.Involuntary) / float64(w.completions)
	}
	if k.ListenOverflows >= 0 {
		w.Values["overflows"] = k.ListenOverflows
	}
}
