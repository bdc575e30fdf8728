package experiment

import (
	"math"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/queueing"
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

	p50, lagMean, rateOff, generator, foreign float64
	lags                                      map[string]float64 // by the names of quantiles
	arrivals, completions                     int
	outcomes                                  int // of the trial's requests that were sent
	presence                                  presence
	asked, starved                            int     // connections
	backwards                                 int     // requests whose stamps are out of order
	tau                                       float64 // correlation time of the response times, in requests
	clients                                   record.Clients
	foreseen                                  map[string]queueing.Prediction // by model
	twin                                      queueing.Prediction            // of the ideal twin, as it is with the measured CPU time
	noTwin                                    string                         // why there is none, "" if there is
	jain                                      float64
	phases                                    phases
}

// quantiles are the judged ones, by metric name.
var quantiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99}

// reduce computes a window's figures from its requests.
func reduce(t record.TrialRecord, e record.Env, clients record.Clients) window {
	w := window{trial: t.Trial, clients: clients, status: map[uint16]float64{}, failures: map[string]int{}, values: map[string]float64{}, hist: t.Histogram(t.Requests)}
	from := int64(seconds(t.Warmup))
	to := from + int64(seconds(t.Window))
	var response, good, lag []float64
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
		w.completions += count(within(r.Done))
		goodDone += count(within(r.Done) && r.Good())
		w.outcomes += count(r.Sent >= 0)
		sent += count(r.Sent >= 0 && within(r.Sent))
		if !t.InWindow(r) {
			continue
		}
		w.requests++
		w.backwards += count(r.Sent >= 0 && (r.Sent < r.Scheduled || r.Done < r.Sent))
		w.good += count(r.Good())
		w.status[r.Status]++
		took := time.Duration(r.Done - r.Scheduled).Seconds()
		response = append(response, took)
		if r.Good() {
			good = append(good, took)
		} else {
			w.failures[r.End()]++
		}
		lost += count(r.Outcome != record.Answered || r.Status == http.StatusServiceUnavailable)
		if r.Sent >= 0 {
			lag = append(lag, time.Duration(r.Sent-r.Scheduled).Seconds())
		}
	}
	w.arrivals = w.requests
	for code := range w.status {
		w.status[code] /= float64(max(w.requests, 1))
	}
	w.tau = stats.CorrelationTime(response)
	slices.Sort(response)
	slices.Sort(lag)
	w.lags = map[string]float64{}
	for name, q := range quantiles {
		w.lags[name] = stats.Quantile(lag, q)
		w.values[name] = math.NaN()
		if w.requests >= stats.MinRequests(q) {
			w.values[name] = stats.Quantile(response, q)
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
	w.p50, w.lagMean = stats.Quantile(response, .5), mean(lag)
	w.rateOff = math.Abs(float64(sent)/float64(max(w.requests, 1)) - 1)
	w.generator = t.Client.CPU / (t.Window * float64(loadCPUs(e)))
	w.foreign = t.Server.Foreign / (t.Window * float64(serverCPUs(e)))
	w.values["owed"] = 0
	if clients.Closed() {
		w.values["owed"] = w.finishClosed(sent)
	}
	w.fairness()
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

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *window) fairness() {
	c := w.trial.Client
	answers, silent := make([]float64, len(c.ConnAnswers)), 0
	for i, n := range c.ConnAnswers {
		answers[i] = float64(n)
		silent += count(n == 0)
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

// Limits of the window rules (measurement.md §5): past one, a block counts for
// no arm.
const (
	rateLimit      = .01
	lagFloor       = 1e-3
	lagShare       = .05
	generatorLimit = .80
	backlogLimit   = .02
	foreignLimit   = .05
	unjoinedLimit  = .001
)

// A breach is one rule a window broke.
type breach struct {
	rule         string
	value, limit float64
}

// Names of rules; that of lag goes on with the figure.
const (
	ruleBacklog   = "backlog (ratio)"
	ruleRate      = "rate off (ratio)"
	ruleLag       = "lag "
	ruleGenerator = "generator core (ratio)"
)

// breaches checks the window against every rule; serverCPUs is how many CPUs
// the server had, judged the quantiles that the plan judges, stamped whether the
// server was to account for its requests.
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
	switch {
	case !w.clients.Closed():
		w.openBreaches(rule, judged)
	}
	rule("stamps out of order", float64(w.backwards), 0)
	rule("foreign load on the server's CPUs (ratio)", w.foreign, foreignLimit)
	if stamped && w.phases.stamped {
		rule("requests the server did not account for (ratio)", w.phases.unjoined(), unjoinedLimit)
		rule("requests with a part below zero", float64(w.phases.negative), 0)
	}
	for _, l := range w.laws(serverCPUs) {
		rule(l.rule(), l.value, l.limit)
	}
	return broken
}

// openBreaches are the rules of an open loop alone: a closed one has no backlog, and
// no rate to miss.
func (w *window) openBreaches(rule func(name string, value, limit float64), judged map[string]bool) {
	rule(ruleRate, w.rateOff, rateLimit)
	// Lateness is looked at where response times are judged: of twenty requests the
	// p99 is the worst, and one of them late says nothing of their median.
	name := w.highest(judged)
	rule(ruleLag+name+" (s)", w.lags[name], max(lagFloor, lagShare*w.p50))
	rule(ruleLag+"mean (s)", w.lagMean, max(lagFloor, lagShare*w.values["mean"]))
	rule(ruleGenerator, w.generator, generatorLimit)
	// A backlog is growth beyond what Poisson arrivals do to the number in
	// flight, whose difference has about the standard deviation √(start+end), and
	// beyond what it did within the window (decision 2).
	grown := float64(w.arrivals - w.completions)
	chance := max(3*math.Sqrt(float64(w.presence.ends)), 2.5*w.presence.swing())
	rule(ruleBacklog, grown/float64(w.arrivals), max(backlogLimit, chance/float64(w.arrivals)))
}

// highest names the highest quantile that is judged and that the window has
// requests for; p50 if there is none.
func (w *window) highest(judged map[string]bool) string {
	for _, name := range []string{"p99", "p90"} {
		if judged[name] && w.requests >= stats.MinRequests(quantiles[name]) {
			return name
		}
	}
	return "p50"
}
