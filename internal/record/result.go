// Package record is the run directory: what a comparison planned, what every
// trial measured, and the result computed from it. It holds types, codecs and
// files; it measures nothing and decides nothing.
package record

import "time"

// Schema is the version of every JSON document this package writes. A reader
// refuses a larger one.
const Schema = 1

// A Result is what `compare --output json` prints: the whole answer of a run,
// computed from its trials. Times are seconds, ratios are 0..1 or plain
// quotients (1.42 is "42 % more").
type Result struct {
	Schema   int       `json:"schema"`
	Run      string    `json:"run"`                // the run's name, YYYYMMDD-HHMMSS-scenario-xxxx
	Dir      string    `json:"dir"`                // where its record lies
	Scenario string    `json:"scenario"`           // scenario name
	Question string    `json:"question"`           // what the scenario asks, one sentence
	Status   Status    `json:"status"`             // complete, interrupted or partial
	Seed     uint64    `json:"seed"`               // seed of every trace and order
	Rate     float64   `json:"rate"`               // offered requests per second
	Sendable float64   `json:"sendable,omitempty"` // what the load's CPUs can offer, where that is less than the share of X_max asked for
	Asked    string    `json:"asked,omitempty"`    // what a request does, in words
	Window   float64   `json:"window"`             // measured seconds of one trial
	Planned  int       `json:"planned"`            // blocks planned, at most
	Valid    int       `json:"valid"`              // blocks that entered the verdicts: all whose data are right
	Ran      int       `json:"ran,omitempty"`      // blocks with a trial; 0 unknown
	Started  time.Time `json:"started"`
	Env      Env       `json:"env"`
	Arms     []Arm     `json:"arms"`            // baseline first, then its copy, then challengers in plan order
	Verdicts []Verdict `json:"verdicts"`        // challengers × metrics, in plan order
	AA       []Verdict `json:"aa"`              // the baseline against its own copy, per metric
	Duels    []Verdict `json:"duels,omitempty"` // every challenger against every challenger before it, per metric
	// Differences are where the mean times of arms surely differ, by more than the baseline's from
	// its own copy's.
	Differences []Difference `json:"differences,omitempty"`
	Winner      string       `json:"winner"` // an arm's name, "trade" or "undecided"
	Answer      Conclusion   `json:"answer,omitzero"`
	// Headline is the answer in one sentence. Records have none: report adds it to the JSON
	// it prints.
	Headline string    `json:"headline,omitempty"`
	Doubts   []Fact    `json:"doubts"`  // every reservation, in order of weight
	Refused  []Refusal `json:"refused"` // blocks left out, and why
	// Expectations are the scenario's assertions, in its order.
	Expectations []Expectation `json:"expectations"`
	// NotChecked names the validity rules that nothing was known for.
	NotChecked []string `json:"not_checked"`
	// Laws are those of the audit that could be checked.
	Laws []Law `json:"laws,omitempty"`
	// Order names the arms of each block in the order they ran.
	Order [][]string `json:"order,omitempty"`
	Note  string     `json:"note,omitempty"` // the user's own, from --note
	// LoadsDiffer names the settings in which some arm was asked otherwise than the
	// baseline, as a scenario calls them: none of the arms wins then.
	LoadsDiffer []string `json:"loads_differ,omitempty"`
	// Others are who else used the CPUs, over the whole run; nil where that is not told.
	Others *Others `json:"others,omitempty"`
	// Explained is why two of its arms differ, where `schedlab explain` was asked.
	Explained *Explanation `json:"explained,omitempty"`
	// Capacity is the answer of `schedlab capacity`, whose runs compare nothing.
	Capacity *Capacity `json:"capacity,omitempty"`
}

// Status says how much of its plan a run holds.
type Status string

// The states of a run. Running is what a killed run still says.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Interrupted Status = "interrupted"
	Partial     Status = "partial"
)

// An Arm is one contestant's figures: medians over the valid blocks of the
// per-block values. A quantile is nil when its window had too few requests.
type Arm struct {
	Name    string  `json:"name"`
	Mode    string  `json:"mode"`    // "" for a foreign command
	Command string  `json:"command"` // the command line a person can rerun
	Role    Role    `json:"role"`
	Clients Clients `json:"clients,omitzero"` // what its clients did
	Procs   int     `json:"procs,omitempty"`  // GOMAXPROCS of its server, 0 for the environment's
	// Attached says that it ran already: nothing of its server was set here. CPUs is
	// where it may run, when that is not only where the plan has servers.
	Attached bool     `json:"attached,omitempty"`
	CPUs     string   `json:"cpus,omitempty"`
	XMax     *float64 `json:"x_max"`                 // closed-loop throughput, requests per second; nil when not measured, as of the copy
	Apart    float64  `json:"x_max_apart,omitempty"` // how far apart the halves of its probe were, as a share of it; 0 unknown
	P50      *float64 `json:"p50"`
	P90      *float64 `json:"p90"`
	P99      *float64 `json:"p99"`
	Goodput  *float64 `json:"goodput"` // good replies per second; nil without a valid block
	// CPUPerRequest is server CPU seconds per answered request; nil when not known.
	CPUPerRequest *float64 `json:"cpu_per_request"`
	Errors        int      `json:"errors"`   // requests in valid windows without a good reply
	Requests      int      `json:"requests"` // requests scheduled in valid windows
	// Failures counts those Errors by how they ended: "status 500", "timed out".
	Failures           map[string]int `json:"failures,omitempty"`
	StarvedConnections int            `json:"starved_connections"` // worst window: connections that waited for an answer in vain
	Jain               *float64       `json:"jain"`                // worst window: Jain's index of answers per connection; 1 is even; nil where none is kept or answered
	Mean               *float64       `json:"mean,omitempty"`      // response time, seconds
	GoodMean           *float64       `json:"good_mean,omitempty"` // that of good replies, where others are more than 0.1 %
	NEff               float64        `json:"n_eff,omitempty"`     // requests a window is worth, for their correlation; 0 unknown
	Levels             []Level        `json:"levels,omitempty"`    // of the varied factors
	Family             string         `json:"family,omitempty"`    // name without the levels
	// Switches are context switches of the server's threads per request that ended,
	// and Overflows connections that found an accept queue of the host full in all
	// valid windows; nil when not known.
	Switches  *float64 `json:"switches_per_request,omitempty"`
	Overflows *float64 `json:"listen_overflows,omitempty"`
	// Loops is the share of the server's CPU time that its event loops used themselves, the
	// median of its valid windows; nil where it has none, or the scenario does not ask.
	Loops *float64 `json:"loops,omitempty"`
	// Sessions is nil unless its clients had any.
	Sessions *SessionTimes `json:"sessions,omitempty"`
	// Fairness is nil where connections are not kept.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Disturbed is nil without a valid block.
	Disturbed *Disturbed `json:"disturbed,omitempty"`
	// Generator is what the load side did; nil without a valid block.
	Generator *Proofs `json:"generator,omitempty"`
	// Predictions are what theory gives, one for each model of the scenario.
	Predictions []Prediction `json:"predictions,omitempty"`
	// Twin is the ideal beside it; nil without a valid block.
	Twin *Twin `json:"twin,omitempty"`
	// Curve is the response-time distribution over all valid windows.
	Curve []Point `json:"curve"`
	// Footprint is the median of those at the windows' ends; nil when unknown.
	Footprint *Footprint `json:"footprint,omitempty"`
	// Counters are its connections over time; nil when its server did not tell them in every valid window.
	Counters *Counters `json:"counters,omitempty"`
	// Phases are where the time of its good requests went, in the order in which
	// it passes; nil when nothing was stamped. They add up to the mean response
	// time, and to that of the slowest 1 %.
	Phases []Phase `json:"phases,omitempty"`
	// Joined is the share of good requests that the server accounted for.
	Joined float64 `json:"joined,omitempty"`
	// Blocks holds the per-block values by metric name, one per valid block.
	Blocks map[string][]float64 `json:"blocks"`
}

// Fairness is how an arm's answers fell to its connections. In a closed loop each
// client counts as one.
type Fairness struct {
	Asked      int     `json:"asked"`       // connections given a request, in the window that starved most of them
	Served     int     `json:"served"`      // of those, that got answers
	FirstReply float64 `json:"first_reply"` // seconds: the slowest first reply of a connection, in any window
}

// SessionTimes are an arm's sessions, runs of requests on one connection each, that
// ended in its valid windows.
type SessionTimes struct {
	Complete  int `json:"complete"`
	Broken    int `json:"broken"`     // their connection ended before the last answer
	PerWindow int `json:"per_window"` // complete ones, in the window that had the fewest
	// From the first request to the last answer of a complete one, seconds: medians
	// over the windows, nil where one has too few for it.
	P50 *float64 `json:"p50"`
	P90 *float64 `json:"p90"`
}

// Counters are an arm's connections over time, as its server counted them: medians over the
// valid windows of each window's figures, from its readings.
type Counters struct {
	OpenPeak     float64 `json:"open_peak"`     // connections open at a time, at most
	Accepted     float64 `json:"accepted"`      // per second
	AcceptedPeak float64 `json:"accepted_peak"` // per second between two readings, at most
	Done         float64 `json:"done"`          // served and closed, per second
	DonePeak     float64 `json:"done_peak"`
	// Readings are those of one block, the same for all arms: the middle one by the connections open.
	Block    int       `json:"block"`
	Readings []Reading `json:"readings"`
}

// Role is an arm's part in the comparison.
type Role string

// Every comparison has one baseline, one copy of it (the A/A control) and at
// least one challenger.
const (
	Baseline   Role = "baseline"
	Copy       Role = "copy"
	Challenger Role = "challenger"
)

// A Point of a percentile curve: Quantile in 0..1, Seconds of response time.
type Point struct {
	Quantile float64 `json:"q"`
	Seconds  float64 `json:"s"`
}

// A Verdict is one metric of one arm against the baseline.
type Verdict struct {
	Metric   string  `json:"metric"` // p50, p90, p99, goodput, cpu_per_request
	Primary  bool    `json:"primary"`
	Baseline string  `json:"baseline"`
	Arm      string  `json:"arm"`
	Verdict  string  `json:"verdict"`        // FASTER, SLOWER (of goodput and CPU time HIGHER, LOWER), SAME, INCONCLUSIVE, REFUSED
	Ratio    float64 `json:"ratio,omitzero"` // arm / baseline, median over blocks; absent when refused
	Low      float64 `json:"low,omitzero"`   // interval of the ratio; absent when refused, and while blocks are too few for one
	High     float64 `json:"high,omitzero"`
	// Plain is the ratio with the luck of the arrivals left in; nil where none is taken out.
	Plain  *Spread `json:"plain,omitempty"`
	Blocks int     `json:"blocks"`          // blocks judged
	Look   int     `json:"look,omitempty"`  // FASTER, SLOWER, SAME: the blocks since which it is decided so
	Won    int     `json:"won"`             // blocks in which the arm had the better value
	Lost   int     `json:"lost"`            // blocks in which it had the worse one
	Lean   string  `json:"lean,omitempty"`  // INCONCLUSIVE: FASTER or SLOWER (HIGHER, LOWER) when the blocks so far point there
	Needed int     `json:"needed"`          // INCONCLUSIVE: blocks that would decide it; else 0
	Reason Fact    `json:"reason,omitzero"` // REFUSED: why
}

// Disturbed is what disturbed an arm's windows, or the load that asked it: medians over
// the blocks, and the worst of them. They are noise that the intervals hold, unless a
// verdict is refused for them.
type Disturbed struct {
	Late      map[string]float64 `json:"late"`      // by the names of quantiles: how long after its time a request was sent, seconds
	Foreign   float64            `json:"foreign"`   // share of the server's CPUs that others than it used; -1 unknown
	Steal     float64            `json:"steal"`     // share of all CPUs that the hypervisor gave to others; -1 unknown
	Throttled float64            `json:"throttled"` // share of the window for which CPU limits held processes back; -1 unknown
	// Load is the share of its CPUs that the load used where it has them in common with the
	// servers, which have others beside; 0 where it has its own.
	Load float64 `json:"load,omitempty"`
}

// A Refusal is why one block is left out of every verdict: its data are wrong.
type Refusal struct {
	Block int     `json:"block"` // from 1
	Arm   string  `json:"arm"`
	Rule  string  `json:"rule"`  // e.g. "stamps out of order"
	Value float64 `json:"value"` // as measured, in the rule's unit
	Limit float64 `json:"limit"`
}

// A Law is one law of the audit, with the valid window that came nearest to breaking
// it. A window that breaks one is refused.
type Law struct {
	Name    string  `json:"law"`
	Unit    string  `json:"unit"`    // of value and limit: ratio, s, requests or connections
	Windows int     `json:"windows"` // valid windows that it was checked in
	Block   int     `json:"block"`   // of the nearest, from 1
	Arm     string  `json:"arm"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
}

// A Conclusion is what the verdicts of a comparison come to.
type Conclusion struct {
	Outcome   AnswerKind `json:"outcome"`
	Faster    []string   `json:"faster,omitempty"`   // arms that beat what they are compared with
	Standings []Standing `json:"standings"`          // of each challenger, in plan order
	Duels     []Duel     `json:"duels,omitempty"`    // challengers that beat the baseline, against one another
	Starving  []string   `json:"starving,omitempty"` // arms that left connections without an answer, where no standing tells
	Reason    Fact       `json:"reason,omitzero"`    // NoVerdict: why
}

// An AnswerKind says what a comparison comes to.
type AnswerKind string

// The kinds.
const (
	NoVerdict   AnswerKind = "no-verdict"   // every verdict is refused
	OtherLoads  AnswerKind = "other-loads"  // the arms' loads differ, so that none wins
	OneWins     AnswerKind = "one-wins"     // a winner
	SeveralWin  AnswerKind = "several-win"  // several beat the baseline, and which of them is best is open
	ATrade      AnswerKind = "trade"        // better at one metric, worse at another
	ATie        AnswerKind = "tie"          // all are the same
	TieForBest  AnswerKind = "tie-for-best" // some are the same, the others slower
	OpenOutcome AnswerKind = "undecided"
)

// A Standing is what the verdicts on one challenger come to.
type Standing struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"` // that it is compared with
	Rank     Rank   `json:"rank"`
	// Differs names the settings of a closed loop for which response times follow the
	// load and say nothing of the servers: only work done and its cost are compared then.
	Differs []string `json:"differs,omitempty"`
}

// A Duel is how one challenger stands beside another, by their own blocks.
type Duel struct {
	Standing
	Verdicts []Verdict `json:"verdicts"`
}

// A Rank is where a challenger stands beside what it is compared with.
type Rank string

// The ranks.
const (
	RankFaster     Rank = "faster"
	RankSlower     Rank = "slower"
	RankTrade      Rank = "trade"
	RankSame       Rank = "same"
	RankPartlySame Rank = "partly-same" // the same at some metrics, undecided otherwise
	RankOpen       Rank = "undecided"
	KeepsUp        Rank = "keeps-up"     // where the other's backlog grows: more goodput
	FallsBehind    Rank = "falls-behind" // its own backlog grows: less goodput
	OtherLoad      Rank = "other-load"   // see Differs
	StarvesClients Rank = "starves"      // so many that the times of the others say nothing
	NoTimesBeside  Rank = "no-times"     // the other does
)
