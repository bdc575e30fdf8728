package experiment

import (
	"math"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A window is the measured part of one trial, reduced to figures. Times are
// seconds.
type window struct {
	trial    record.Trial
	requests int                // scheduled in the window
	good     int                // of those, answered well
	status   map[uint16]float64 // share of each final status; 0 is no answer
	failures map[string]int     // those that are not good, by their end
	values   map[string]float64 // by metric; NaN for a quantile of too few requests
	hist     *record.Histogram

	rateOff, generator, foreign float64 // ratios
	arrivals, completions       int
	outcomes                    int // of the trial's requests that were sent
	presence                    presence
	asked, starved              int     // connections
	backwards                   int     // requests whose stamps are out of order
	tau                         float64 // correlation time of the response times, in requests
	clients                     record.Clients
	jain                        float64
	phases                      phases
}

// quantiles are the judged ones, by metric name.
var quantiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99}

// reduce computes a window's figures from its requests.
func reduce(t record.TrialRecord, e record.Env, clients record.Clients) window {
	w := window{trial: t.Trial, clients: clients, status: map[uint16]float64{}, failures: map[string]int{}, values: map[string]float64{}, hist: t.Histogram(t.Requests)}
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
		w.requests++
		w.backwards += stats.Count(r.Sent >= 0 && (r.Sent < r.Scheduled || r.Done < r.Sent))
		w.good += stats.Count(r.Good())
		w.status[r.Status]++
		took := time.Duration(r.Done - r.Scheduled).Seconds()
		response = append(response, took)
		if r.Good() {
			good = append(good, took)
		} else {
			w.failures[r.End()]++
		}
		lost += stats.Count(r.Outcome != record.Answered || r.Status == http.StatusServiceUnavailable)
		if r.Sent >= 0 {
			lag = append(lag, time.Duration(r.Sent-r.Scheduled).Seconds())
			service = append(service, time.Duration(r.Done-r.Sent).Seconds())
		}
	}
	w.arrivals = w.requests
	for code := range w.status {
		w.status[code] /= float64(max(w.requests, 1))
	}
	w.tau = stats.CorrelationTime(response)
	slices.Sort(response)
	slices.Sort(lag)
	slices.Sort(service)
	for name, q := range quantiles {
		w.values[lateness+name] = stats.Quantile(lag, q)
		w.values[name], w.values[name+fromSent] = math.NaN(), math.NaN()
		if w.requests >= stats.MinRequests(q) {
			w.values[name], w.values[name+fromSent] = stats.Quantile(response, q), stats.Quantile(service, q)
		}
	}
	w.values["goodput"] = float64(goodDone) / t.Window
	w.values["throughput"] = float64(w.completions) / t.Window
	w.values["mean"], w.values["good_mean"] = mean(response), mean(good)
	w.values["tail"] = mean(response[len(response)-len(response)/100:])
	w.values["errors"] = float64(w.requests-w.good) / float64(max(w.requests, 1))
	w.values["loss"] = float64(lost) / float64(max(w.requests, 1))
	w.values["cpu_per_request"] = math.NaN()
	if t.Server.CPU >= 0 && w.completions > 0 {
		w.values["cpu_per_request"] = t.Server.CPU / float64(w.completions)
	}
	w.rateOff = math.Abs(float64(sent)/float64(max(w.requests, 1)) - 1)
	w.generator = t.Client.CPU / (t.Window * float64(record.CountCPUs(e.LoadCPUs, e.CPUs)))
	if p := t.Client.Proof; p != nil && p.Rest != "" { // the engine spin uses all of its CPU whatever it does
		w.generator = p.Busy
	}
	w.foreign = t.Server.Foreign / (t.Window * float64(record.CountCPUs(e.ServerCPUs, e.CPUs)))
	w.values["owed"] = 0
	if clients.Closed() {
		w.values["owed"] = w.finishClosed(sent)
	}
	w.fairness()
	w.disturb(e.CPUs)
	w.counted()
	w.phases = phasesOf(t, perIter(e))
	return w
}

// perIter is the calibrated time of one iteration of CPU demand, in seconds.
func perIter(e record.Env) float64 {
	if e.ItersPerUsec <= 0 {
		return 0
	}
	return 1e-6 / e.ItersPerUsec
}

func (w *window) fairness() {
	c := w.trial.Client
	answers, silent := make([]float64, len(c.ConnAnswers)), 0
	for i, n := range c.ConnAnswers {
		answers[i] = float64(n)
		silent += stats.Count(n == 0)
	}
	w.jain = stats.Jain(answers)
	if w.asked, w.starved = c.Asked, c.Starved; c.Asked == 0 { // a record of old
		w.asked, w.starved = len(answers), silent
	}
	for _, name := range []string{"starved", "served", "first_reply", "accepted", "done", "open"} {
		w.values[name] = math.NaN()
	}
	if w.asked > 0 {
		w.values["starved"], w.values["served"] = float64(w.starved), float64(w.asked-w.starved)
		w.values["first_reply"] = c.FirstReply
	}
	w.values["busy"] = math.NaN()
	if p := w.trial.Client.Proof; p != nil {
		w.values["busy"] = p.Busy
	}
	if c := w.trial.Server.Within; c != nil {
		w.values["accepted"], w.values["done"], w.values["open"] = c.Accepted, c.Done, c.Open
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

// A breach is one rule a window broke.
type breach struct {
	rule         string
	value, limit float64
}

// ruleBacklog is a fact about an arm, not about its data.
const ruleBacklog = "backlog (ratio)"

// breaches checks the window's data; serverCPUs is how many CPUs the server had, judged
// the quantiles that the plan judges, stamped whether the server was to account for its
// requests. Noise is no breach: see checks.go.
func (w *window) breaches(serverCPUs int, judged map[string]bool, stamped bool) (broken []breach) {
	rule := func(name string, value, limit float64) {
		if value > limit {
			broken = append(broken, breach{name, value, limit})
		}
	}
	if w.requests == 0 {
		return []breach{{"requests in the window", 0, 1}}
	}
	for _, name := range []string{"p50", "p90", "p99"} {
		if need := stats.MinRequests(quantiles[name]); judged[name] && w.requests < need {
			broken = append(broken, breach{"requests for " + name, float64(w.requests), float64(need)})
		}
	}
	if !w.clients.Closed() {
		rule(ruleBacklog, w.backlog(), w.backlogLimit())
	}
	rule("stamps out of order", float64(w.backwards), 0)
	if stamped && w.phases.stamped {
		rule("requests the server did not account for (ratio)", w.phases.unjoined(), unjoinedLimit)
		rule("requests with a part below zero", float64(w.phases.negative), 0)
	}
	for _, l := range w.laws(serverCPUs) {
		rule(l.rule(), l.value, l.limit)
	}
	return broken
}

// backlog is by how much the requests under way grew over the window, as a share of
// those that arrived.
func (w *window) backlog() float64 { return float64(w.arrivals-w.completions) / float64(w.arrivals) }

// backlogLimit is what a backlog may grow by: beyond what Poisson arrivals do to the
// number in flight, whose difference has about the standard deviation √(start+end), and
// beyond what it did within the window (decision 2).
func (w *window) backlogLimit() float64 {
	chance := max(3*math.Sqrt(float64(w.presence.ends)), 2.5*w.presence.swing())
	return max(backlogLimit, chance/float64(w.arrivals))
}

// behind reports whether the load, not the server, may be why a backlog grows: its own
// CPUs are full.
func (w *window) behind() bool { return w.generator > generatorLimit }

// generatorLimit is the share of the load's CPUs above which they count as full.
const generatorLimit = .80

// fromSent marks the value of a quantile that is counted from the sending.
const fromSent = " from sent"

// disturb notes what took CPU time from the server; NaN is not known.
func (w *window) disturb(cpus int) {
	share := func(seconds, of float64) float64 {
		if seconds < 0 {
			return math.NaN()
		}
		return seconds / of
	}
	c := w.trial.Client
	w.values[stealing] = share(c.Steal, w.trial.Window*float64(max(cpus, 1)))
	w.values[throttling] = share(c.Throttled, w.trial.Window)
	w.values[foreignLoad] = math.NaN()
	if w.trial.Server.Foreign >= 0 {
		w.values[foreignLoad] = w.foreign
	}
}

// Names of disturbances; that of lateness goes on with the quantile.
const (
	lateness    = "late "
	foreignLoad = "foreign load"
	stealing    = "steal"
	throttling  = "throttling"
)

// finishClosed takes the requests that a closed loop had under way at the window's end,
// and returns what share of the requests that its pace has in the window it did not
// send, of which sent are recorded: 0 without a pace, NaN when that is not known.
func (w *window) finishClosed(sent int) (owed float64) {
	q := w.trial.Client.Pending
	if q != nil {
		w.presence.pending(*q)
	}
	switch planned := w.clients.Rate * w.trial.Window; {
	case planned == 0:
		return 0
	case q == nil:
		return math.NaN()
	default:
		return max(0, 1-float64(sent+q.Requests-q.Early)/planned)
	}
}

// counted takes what the kernel counted into the figures.
func (w *window) counted() {
	w.values["switches"], w.values["overflows"] = math.NaN(), math.NaN()
	k := w.trial.Server.Kernel
	if k == nil {
		return
	}
	if k.Voluntary >= 0 && k.Involuntary >= 0 && w.completions > 0 {
		w.values["switches"] = (k.Voluntary + k.Involuntary) / float64(w.completions)
	}
	if k.ListenOverflows >= 0 {
		w.values["overflows"] = k.ListenOverflows
	}
}
