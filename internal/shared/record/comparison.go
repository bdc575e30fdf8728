package record

import (
	"encoding/json"
	"slices"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A Comparison is the result of a run that compared arms in blocks, computed from its trials: what 'schedlab compare'
// and 'schedlab gate' find and, of one arm in one window, 'schedlab attack'. Ratios are 0..1 or plain quotients (1.42
// means 42 % more).
type Comparison struct {
	Common
	Cell     []Level   `json:"cell,omitempty"`     // where the run lies on a grid; nil if it is no cell of one
	Class    string    `json:"class,omitempty"`    // of the requests that p50, p90 and p99 are about; "" for all
	Rate     float64   `json:"rate"`               // offered requests per second
	Sendable float64   `json:"sendable,omitempty"` // highest rate that the load's CPUs can offer, if less than the requested share of X_max
	Planned  int       `json:"planned"`            // most blocks planned
	Valid    int       `json:"valid"`              // blocks that the verdicts use: all with correct data
	Ran      int       `json:"ran,omitempty"`      // blocks with a trial; 0 unknown
	Before   *Before   `json:"before,omitempty"`   // as in Plan: blocks with longer windows; Ran does not count them
	Arms     []Arm     `json:"arms"`               // baseline first, then its copy, then challengers in plan order
	Verdicts []Verdict `json:"verdicts"`           // challengers × metrics, in plan order
	AA       []Verdict `json:"aa"`                 // the baseline against its own copy, per metric
	Duels    []Verdict `json:"duels,omitempty"`    // every challenger against every challenger before it, per metric
	// Differences are the surely different mean times of arms. A difference must exceed the
	// difference between the baseline and its own copy.
	Differences []Difference `json:"differences,omitempty"`
	Winner      Winner       `json:"winner"`
	Answer      Conclusion   `json:"answer,omitzero"`
	// Grid has the results of all cells of the grid that the run is a cell of, in their order, for its report. It is
	// nil for any other run.
	Grid    []*Comparison `json:"-"`
	Refused []Refusal     `json:"refused"` // blocks left out, and why
	// Expectations are the scenario's assertions, in its order.
	Expectations []Expectation `json:"expectations"`
	// Gate answers whether the last arm is worse than the first, if `schedlab gate` asked.
	Gate []Gated `json:"gate,omitempty"`
	// Laws are the audit's laws that could be checked.
	Laws []Law `json:"laws,omitempty"`
	// Order names the arms of each block in the order they ran.
	Order [][]string `json:"order,omitempty"`
	// LoadsDiffer names the load settings, as a scenario spells them, in which an arm differs
	// from the baseline. No arm wins then.
	LoadsDiffer []string `json:"loads_differ,omitempty"`
}

// Contestants returns the arms without their figures.
func (r *Comparison) Contestants() []Contestant {
	all := make([]Contestant, len(r.Arms))
	for i, a := range r.Arms {
		all[i] = a.Contestant
	}
	return all
}

// MarshalJSON writes the comparison with its attachments.
func (r Comparison) MarshalJSON() ([]byte, error) {
	type plain Comparison // without this method
	return r.AsJSON(plain(r))
}

// An Arm is one contestant of a comparison with its measurements.
type Arm struct {
	Contestant
	Figures
	Details
}

// Figures are what the arms of a comparison are compared by, and the counts behind it: medians over the valid blocks of
// the per-block values. A quantile is nil if a window had too few requests for it.
type Figures struct {
	XMax    *float64 `json:"x_max"`                 // closed-loop throughput, requests per second; nil if not measured, as for the copy
	Apart   float64  `json:"x_max_apart,omitempty"` // difference between the halves of its probe, as a ratio of XMax; 0 unknown
	P50     *float64 `json:"p50"`
	P90     *float64 `json:"p90"`
	P99     *float64 `json:"p99"`
	Goodput *float64 `json:"goodput"` // good replies per second; nil without a valid block
	// CPUPerRequest is server CPU seconds per answered request; nil if unknown.
	CPUPerRequest *float64 `json:"cpu_per_request"`
	Errors        int      `json:"errors"`                 // requests in valid windows without a good reply
	ErrorBlocks   int      `json:"error_blocks,omitempty"` // blocks in which they were
	Requests      int      `json:"requests"`               // requests scheduled in valid windows
	// TooLate counts the Errors without a reply by their deadline, Retries the attempts after the first, and Recovered is the
	// median of the seconds from a window's start until requests got good replies within their deadline again.
	TooLate   int      `json:"too_late,omitempty"`
	Retries   int      `json:"retries,omitempty"`
	InTime    *float64 `json:"in_time,omitempty"` // ratio of requests with a good reply within their deadline, a median; nil without one
	Recovered *float64 `json:"recovered,omitempty"`
	// Failures counts the Errors by how they ended: "status 500", "timed out".
	Failures           map[string]int `json:"failures,omitempty"`
	StarvedConnections int            `json:"starved_connections"`      // worst window: connections that waited for a reply and got none
	StarvedBlocks      int            `json:"starved_blocks,omitempty"` // valid blocks with such connections
	Jain               *float64       `json:"jain"`                     // worst window: Jain's index of replies per connection, 1 is even; nil if no connections are kept or none got a reply
	Mean               *float64       `json:"mean,omitempty"`           // mean over the blocks of the mean response time, seconds
	GoodMean           *float64       `json:"good_mean,omitempty"`      // the same of good replies, if more than 0.1 % are not good
	NEff               float64        `json:"n_eff,omitempty"`          // independent requests that a window is worth, given their correlation; 0 unknown
	// Behind reports that its backlog grew to the end of the window in every block so far, two or more, and not because the load
	// was at its own limit: it does not keep up with the rate.
	Behind bool `json:"behind,omitempty"`
	// Switches is the context switches of the server's threads per ended request. Overflows is the number of
	// attempts to connect, repeats included, that found an accept queue of the network namespace full, over all valid
	// windows. nil if unknown.
	Switches *float64 `json:"switches_per_request,omitempty"`
	// Throttled is the seconds in each second of a window in which its CPU limit stopped the server, summed over CPUs, and
	// Stops the number of the limit's periods a second in which it was stopped, medians of the valid windows. nil if the
	// server had no control group to itself.
	Throttled *float64 `json:"throttled,omitempty"`
	Stops     *float64 `json:"throttled_periods,omitempty"`
	Overflows *float64 `json:"listen_overflows,omitempty"`
	// Loops is the share of the server's CPU time used by its event loops, 0..1, the median of
	// the valid windows. nil if it has no loops, or if the scenario does not ask for it.
	Loops *float64 `json:"loops,omitempty"`
	// Joined is the share of good requests with the server's stamps, 0..1.
	Joined float64 `json:"joined,omitempty"`
	// Blocks holds the per-block values of figures, one per valid block.
	Blocks stats.Series `json:"blocks"`
}

// Details are what explains an arm's figures.
type Details struct {
	// Sessions is nil if its clients had no sessions.
	Sessions *SessionTimes `json:"sessions,omitempty"`
	// Fairness is nil if connections are not kept.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Disturbed is nil without a valid block.
	Disturbed *Disturbed `json:"disturbed,omitempty"`
	// Generator is what the load generator did; nil without a valid block.
	Generator *Proofs `json:"generator,omitempty"`
	// Twin is the result of an ideal scheduler; nil without a valid block.
	Twin *Twin `json:"twin,omitempty"`
	// Classes are the figures of all requests together, and then of each class; nil if the plan has none.
	Classes []ClassFigures `json:"classes,omitempty"`
	// Curve is the response-time distribution over all valid windows.
	Curve []responses.Point `json:"curve"`
	// Heat is every window that ran, in the order of the blocks, for a heat map. It is large and
	// can be computed again from the trials, so JSON leaves it out.
	Heat []responses.Heat `json:"-"`
	// Footprint is the median over the ends of the windows; nil if unknown.
	Footprint *Footprint `json:"footprint,omitempty"`
	// Counters are its connections over time; nil unless its server reported them in every valid window.
	Counters *Counters `json:"counters,omitempty"`
	// Phases are the parts of its good requests' response time, in the order in which they pass; nil if nothing
	// was stamped. Mean adds up to the mean response time, Tail to the mean of the slowest 1 %.
	Phases []timeline.Phase `json:"phases,omitempty"`
}

// median returns the arm's field for the median of a compared figure; nil if the figure has none.
func (a *Arm) median(f stats.Figure) **float64 {
	switch f {
	case stats.P50:
		return &a.P50
	case stats.P90:
		return &a.P90
	case stats.P99:
		return &a.P99
	case stats.Goodput:
		return &a.Goodput
	case stats.CPUPerRequest:
		return &a.CPUPerRequest
	}
	return nil
}

// Median returns the arm's median of a figure; nil if it is not judged. For a figure that has no field it computes the
// median of Blocks at every call.
func (a *Arm) Median(f stats.Figure) *float64 {
	if at := a.median(f); at != nil {
		return *at
	}
	if v := a.Blocks[f]; len(v) > 0 {
		return new(stats.Median(v))
	}
	return nil
}

// SetMedian sets the arm's median of a compared figure.
func (a *Arm) SetMedian(f stats.Figure, v stats.Opt) { *a.median(f) = v.Pointer() }

// Fairness tells how evenly an arm's replies are spread over its connections. In a closed loop
// each client counts as one connection.
type Fairness struct {
	Asked      int     `json:"asked"`       // connections given a request, in the window with the most starved ones
	Served     int     `json:"served"`      // Asked connections with a reply
	FirstReply float64 `json:"first_reply"` // seconds: the slowest first reply of a connection, in any window
	// Turns is the number of replies of a served connection, on average in that window. Short means
	// that these are too few to tell the connections without a reply from starved ones.
	Turns float64 `json:"turns,omitempty"`
	Short bool    `json:"short,omitempty"`
}

// SessionTimes are an arm's sessions that ended in valid windows. A session is a series of
// requests on one connection.
type SessionTimes struct {
	Complete  int `json:"complete"`
	Broken    int `json:"broken"`     // their connection ended before the last reply
	PerWindow int `json:"per_window"` // complete ones, in the window with the fewest
	// Duration of a complete session in seconds, from the first request to the last reply:
	// medians over the windows, nil if a window has too few sessions.
	P50 *float64 `json:"p50"`
	P90 *float64 `json:"p90"`
}

// Counters are an arm's connections over time, as its server counted them: medians over the valid
// windows of each window's figures.
type Counters struct {
	OpenPeak     float64 `json:"open_peak"`     // most connections open at a time
	Accepted     float64 `json:"accepted"`      // per second
	AcceptedPeak float64 `json:"accepted_peak"` // highest rate between two readings, per second
	Done         float64 `json:"done"`          // served and closed, per second
	DonePeak     float64 `json:"done_peak"`
	// Readings are of one block, the same for all arms: the block with the median number of open connections.
	Block    int       `json:"block"`
	Readings []Reading `json:"readings"`
}

// A Verdict compares one metric of one arm with the baseline.
type Verdict struct {
	Metric   stats.Figure   `json:"metric"` // p50, p90, p99, goodput, cpu_per_request
	Primary  bool           `json:"primary"`
	Baseline string         `json:"baseline"`
	Arm      string         `json:"arm"`
	Verdict  stats.Decision `json:"verdict"`        // in JSON the rank or, without one, open or refused
	Ratio    float64        `json:"ratio,omitzero"` // arm / baseline, median over blocks; absent when refused
	Low      float64        `json:"low,omitzero"`   // confidence interval of Ratio; absent when refused, and while there are too few blocks
	High     float64        `json:"high,omitzero"`
	Blocks   int            `json:"blocks"`         // blocks judged
	Look     int            `json:"look,omitempty"` // of a rank: the number of blocks since which it stands
	Won      int            `json:"won"`            // blocks in which the arm had the better value
	Lost     int            `json:"lost"`           // blocks in which it had the worse value
	Lean     stats.Rank     `json:"lean,omitempty"` // open: FASTER or SLOWER (HIGHER, LOWER) if the blocks so far point there
	Needed   int            `json:"needed"`         // open: blocks that would decide it; else 0
	// Least is the fewest blocks that may decide a verdict that is not final; else 0. Only the run that
	// judges needs it: records leave it out.
	Least  int       `json:"-"`
	Reason fact.Fact `json:"reason,omitzero"` // refused: why
}

// Quotient returns the figure of the verdict's arm divided by the figure of its baseline, both as reports print them; 0 if one
// is not known. Reports print it next to the two figures. It differs from [Verdict.Ratio], the median of the blocks' ratios.
func (r *Comparison) Quotient(v Verdict) float64 {
	m := v.Metric.Row()
	printed := func(name string) float64 {
		if i := slices.IndexFunc(r.Arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
			if figure := r.Arms[i].Median(v.Metric); figure != nil {
				return m.Printed(*figure)
			}
		}
		return 0
	}
	arm, base := printed(v.Arm), printed(v.Baseline)
	if !(base > 0) {
		return 0
	}
	return arm / base
}

// own returns the outcome of a question of the run's own: of a gate, or of the one that Answer.Says answers. It is "" where the
// verdicts and the expectations are the question.
func (r *Comparison) own() outcome.Outcome {
	if r.Answer.Says.None() {
		return r.GateOutcome()
	}
	return r.Answer.Outcome
}

// Outcomes counts the answers by outcome: the one to a question of the run's own, or else those to its expectations.
func (r *Comparison) Outcomes() map[outcome.Outcome]int {
	if own := r.own(); own != "" {
		return map[outcome.Outcome]int{own: 1}
	}
	n := map[outcome.Outcome]int{}
	for _, x := range r.Expectations {
		n[x.Outcome]++
	}
	return n
}

// Judged reports whether the run has any answer. A question of the run's own has one if it is decided. Otherwise the run has one
// if an expectation is kept or not kept. It also has one if a challenger has a verdict on a time, or differs in goodput, unless
// there are expectations and all are refused. Goodput counts because it is the only verdict of an overloaded arm.
func (r *Comparison) Judged() bool {
	if own := r.own(); own != "" {
		return own.Decided()
	}
	impatient := slices.ContainsFunc(r.Arms, func(a Arm) bool { return a.Clients.Impatient() })
	reached := slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
		goodput := v.Metric == stats.Goodput && (v.Verdict.Rank.Differs() || v.Verdict.Outcome.Decided() && impatient)
		return v.Primary && v.Verdict.Outcome != outcome.Refused || goodput
	})
	open := len(r.Expectations) == 0
	for _, e := range r.Expectations {
		if e.Outcome.Decided() {
			return true
		}
		open = open || e.Outcome == outcome.Open
	}
	return reached && open
}

// Better reports whether the arm is better: faster, or with more goodput or less CPU time.
// It is false without a verdict, so Better and Worse can both be false.
func (v Verdict) Better() bool { return v.Metric.Row().Better(v.Verdict.Rank) }

// Worse reports whether the arm is worse.
func (v Verdict) Worse() bool { return v.Metric.Row().Worse(v.Verdict.Rank) }

// Disturbed tells what disturbed an arm's windows and the load in them, as medians over the blocks. It is noise that the
// intervals include, unless a verdict is refused because of it.
type Disturbed struct {
	Late      stats.Figures `json:"late"`      // the quantiles of the lateness of sending, seconds
	Foreign   float64       `json:"foreign"`   // share of the server's CPUs that other programs used; -1 unknown
	Steal     float64       `json:"steal"`     // share of all CPUs that the hypervisor gave to others; -1 unknown
	Throttled float64       `json:"throttled"` // share of the window in which CPU limits stopped processes; -1 unknown
	// Load is the share of the shared CPUs that the load used, if the load shares some of the
	// servers' CPUs; 0 if it has its own.
	Load float64 `json:"load,omitempty"`
}

// A Refusal tells why one block is left out of every verdict: its data are wrong.
type Refusal struct {
	Block int     `json:"block"` // from 1
	Arm   string  `json:"arm"`
	Rule  string  `json:"rule"`  // e.g. "stamps out of order"
	Value float64 `json:"value"` // as measured, in the rule's unit
	Limit float64 `json:"limit"`
}

// Starves reports whether the arm left connections without a reply in more than a tenth of its blocks: in one short window
// that may be chance. If the record does not tell in how many blocks, Starves is true.
func (a Arm) Starves() bool {
	return a.StarvedConnections > 0 && (a.StarvedBlocks == 0 || 10*a.StarvedBlocks > len(a.Blocks[stats.Goodput]))
}

// LeftOutFor lists the rules that the left-out blocks broke, each once.
func (r *Comparison) LeftOutFor() (rules []string) {
	broken := map[int]bool{}
	for _, x := range r.Refused {
		broken[x.Block] = true
		if !slices.Contains(rules, x.Rule) {
			rules = append(rules, x.Rule)
		}
	}
	// A block that is missing has no Refusal.
	if r.Ran-r.Valid > len(broken) {
		rules = append(rules, "trials that are missing, failed or cannot be read")
	}
	return rules
}

// A Law is one law of the audit, with the valid window that is nearest to breaking it. A window
// that breaks a law is refused.
type Law struct {
	Name    string  `json:"law"`
	Unit    string  `json:"unit"`    // of value and limit: ratio, s, requests or connections
	Windows int     `json:"windows"` // valid windows in which it was checked
	Block   int     `json:"block"`   // of the nearest window, from 1
	Arm     string  `json:"arm"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
}

// An Expectation is one assertion of a scenario and its answer.
type Expectation struct {
	Text    string          `json:"text"`            // as the scenario writes it
	Claim   string          `json:"claim,omitempty"` // the sentence that it decides, with the run's figures; "" without one
	Outcome outcome.Outcome `json:"outcome"`
	Answer  string          `json:"answer"` // Outcome in words: kept, not kept, open, refused
	Reason  fact.Fact       `json:"reason"` // the evidence, or why there is none
}

// A Twin is the result of an ideal scheduler of the arm's kind. It serves the same requests as the arm, block by block, and
// switching, kernel and network cost it nothing. Times are seconds of a good reply. The measured time beyond Ideal is split
// into Overhead and Interference.
//
// The parts add up: Measured = Ideal + Overhead + Interference, block by block; their medians add up
// only roughly.
type Twin struct {
	Why  fact.Fact `json:"why,omitzero"`   // why there is no twin; if set, no other field is
	Note string    `json:"note,omitempty"` // its assumptions

	Measured *stats.Spread `json:"measured,omitempty"` // mean response time of good replies
	Ideal    *stats.Spread `json:"ideal,omitempty"`    // the twin's, if a request costs its demand alone
	Mean     *stats.Spread `json:"mean,omitempty"`     // the twin's, if a request costs its measured CPU time
	// Overhead is Mean - Ideal: the time that CPU cost beyond the demand adds, with the longer queue that it
	// causes. Interference is Measured - Mean: kernel, run queue, network, load generator, platform.
	Overhead     *stats.Spread `json:"overhead,omitempty"`
	Interference *stats.Spread `json:"interference,omitempty"`
	Beyond       *stats.Spread `json:"cpu_beyond_demand,omitempty"` // CPU seconds of a good reply beyond its demand

	P99         *stats.Spread `json:"p99,omitempty"` // the twin's, with the measured CPU time; nil where p99 is not judged
	MeasuredP99 *stats.Spread `json:"measured_p99,omitempty"`

	Loss         *stats.Spread `json:"loss,omitempty"` // ratio of requests that the twin refused; nil if neither lost any
	MeasuredLoss *stats.Spread `json:"measured_loss,omitempty"`
}

// A Gated is a gate's answer for one metric, such as p99: is the new build worse than the old one by more than is allowed?
// Ratios are new / old.
type Gated struct {
	Metric  stats.Figure    `json:"metric"`
	Allow   float64         `json:"allow"`           // largest worsening that is allowed, as a ratio: 0.1 is 10 %
	Outcome outcome.Outcome `json:"outcome"`         // Yes: surely not worse by more than Allow; No: surely worse, and its median worse by more than half of Allow
	Answer  string          `json:"answer"`          // Outcome in words: fine, worse, open, refused
	Ratio   float64         `json:"ratio"`           // median over the blocks; 0 when refused
	Low     float64         `json:"low"`             // interval of Ratio from which Outcome was taken; 0 while no look has one
	High    float64         `json:"high"`            //
	Needed  int             `json:"needed"`          // open: blocks that would decide it, an estimate; else 0
	Reason  fact.Fact       `json:"reason,omitzero"` // why it was refused
	Final   bool            `json:"final,omitempty"` // refused, and more blocks would not help
	// Watched metrics make a build worse, but need not be fine for it to pass.
	Watched bool `json:"watched,omitempty"`
}

// Verdict returns the answer as a verdict on the new build against the old one. A metric that is only watched is not primary.
func (g Gated) Verdict(old, new string) Verdict {
	return Verdict{
		Metric: g.Metric, Primary: !g.Watched, Baseline: old, Arm: new, Verdict: stats.Decision{Outcome: g.Outcome},
		Ratio: g.Ratio, Low: g.Low, High: g.High, Needed: g.Needed, Reason: g.Reason,
	}
}

// UnmarshalJSON reads a gated metric. Older records have only the answer, and no outcome.
func (g *Gated) UnmarshalJSON(data []byte) error {
	type plain Gated
	if err := json.Unmarshal(data, (*plain)(g)); err != nil || g.Outcome != "" {
		return err
	}
	return g.Outcome.UnmarshalText([]byte(g.Answer))
}

// GateOutcome returns the outcome of a whole gate: No if one metric is worse, Yes if all are fine, and else Open; watched
// metrics need not be fine. A refused metric leaves the gate open, because it may hide a worsening. Without a gate it is "".
func (r *Comparison) GateOutcome() outcome.Outcome {
	if len(r.Gate) == 0 {
		return ""
	}
	whole := outcome.Yes
	for _, g := range r.Gate {
		switch g.Outcome {
		case outcome.No:
			return outcome.No
		case outcome.Open, outcome.Refused:
			if !g.Watched {
				whole = outcome.Open
			}
		}
	}
	return whole
}
