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
	Run      string    `json:"run"`                 // the run's name, YYYYMMDD-HHMMSS-scenario-xxxx
	Dir      string    `json:"dir"`                 // where its record lies
	Scenario string    `json:"scenario"`            // scenario name
	Question string    `json:"question"`            // what the scenario asks, one sentence
	Status   Status    `json:"status"`              // complete, interrupted or partial
	Seed     uint64    `json:"seed"`                // seed of every trace and order
	Rate     float64   `json:"rate"`                // offered requests per second
	Asked    string    `json:"asked,omitempty"`     // what the requests are when a file says so, in words
	Window   float64   `json:"window"`              // measured seconds of one trial
	Planned  int       `json:"planned"`             // blocks planned
	Valid    int       `json:"valid"`               // blocks that entered the verdicts
	Ran      int       `json:"ran,omitempty"`       // blocks with a trial, spares included; 0 unknown
	MinValid int       `json:"min_valid,omitempty"` // fewer valid blocks refuse every verdict; 0 unknown
	Started  time.Time `json:"started"`
	Env      Env       `json:"env"`
	Arms     []Arm     `json:"arms"`     // baseline first, then its copy, then challengers in plan order
	Verdicts []Verdict `json:"verdicts"` // challengers × metrics, in plan order
	AA       []Verdict `json:"aa"`       // the baseline against its own copy, per metric
	Winner   string    `json:"winner"`   // an arm's name, "trade" or "undecided"
	Headline string    `json:"headline"` // the answer in one sentence
	Doubts   []Doubt   `json:"doubts"`   // every reservation, in order of weight
	Refused  []Refusal `json:"refused"`  // blocks left out, and why
	// Expectations are the scenario's assertions, in its order.
	Expectations []Expectation `json:"expectations"`
	// NotChecked names the validity rules that nothing was known for.
	NotChecked []string `json:"not_checked"`
	// Laws are those of the audit that could be checked; none in records of old.
	Laws []Law `json:"laws,omitempty"`
	// Scales are how goodput goes with the clients of a closed loop, one for each
	// family of arms that differ in them, when the scenario asks for it.
	Scales []Scale `json:"scales,omitempty"`
	// Order names the arms of each block in the order they ran.
	Order [][]string `json:"order,omitempty"`
	Note  string     `json:"note,omitempty"` // the user's own, from --note
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
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`    // "" for a foreign command
	Command string   `json:"command"` // the command line a person can rerun
	Role    Role     `json:"role"`
	Load    string   `json:"load,omitempty"`  // what its clients did, in words
	Procs   int      `json:"procs,omitempty"` // GOMAXPROCS of its server, 0 for the environment's
	XMax    float64  `json:"x_max"`           // closed-loop throughput, requests per second; 0 for the copy
	P50     *float64 `json:"p50"`
	P90     *float64 `json:"p90"`
	P99     *float64 `json:"p99"`
	Goodput float64  `json:"goodput"` // good replies per second
	// CPUPerRequest is server CPU seconds per answered request.
	CPUPerRequest      float64  `json:"cpu_per_request"`
	Errors             int      `json:"errors"`              // requests in valid windows without a good reply
	Requests           int      `json:"requests"`            // requests scheduled in valid windows
	StarvedConnections int      `json:"starved_connections"` // worst window: connections that waited for an answer in vain
	Jain               float64  `json:"jain"`                // worst window: Jain's index of answers per connection; 1 is even; 0 when not applicable
	Mean               *float64 `json:"mean,omitempty"`      // response time, seconds
	GoodMean           *float64 `json:"good_mean,omitempty"` // that of good replies, where others are more than 0.1 %
	NEff               float64  `json:"n_eff,omitempty"`     // requests a window is worth, for their correlation; 0 unknown
	Levels             []Level  `json:"levels,omitempty"`    // of the varied factors
	Family             string   `json:"family,omitempty"`    // name without the levels
	// Switches are context switches of the server's threads per request that ended,
	// and Overflows connections that found an accept queue of the host full in all
	// valid windows; nil when not known.
	Switches  *float64 `json:"switches_per_request,omitempty"`
	Overflows *float64 `json:"listen_overflows,omitempty"`
	// Sessions is nil unless its clients had any.
	Sessions *SessionTimes `json:"sessions,omitempty"`
	// Fairness is nil where connections are not kept, and in records of old.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Generator is what the load side did; nil in records of old.
	Generator *Proofs `json:"generator,omitempty"`
	// Predictions are what theory gives, one for each model of the scenario.
	Predictions []Prediction `json:"predictions,omitempty"`
	// Twin is the ideal beside it; nil in records of old.
	Twin *Twin `json:"twin,omitempty"`
	// Curve is the response-time distribution over all valid windows.
	Curve []Point `json:"curve"`
	// Footprint is the median of those at the windows' ends; nil when unknown.
	Footprint *Footprint `json:"footprint,omitempty"`
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
	Verdict  string  `json:"verdict"` // FASTER, SLOWER, SAME, INCONCLUSIVE, REFUSED
	Ratio    float64 `json:"ratio"`   // arm / baseline, median over blocks; 0 when refused
	Low      float64 `json:"low"`     // interval of the ratio
	High     float64 `json:"high"`
	Blocks   int     `json:"blocks"` // blocks judged
	Won      int     `json:"won"`    // blocks in which the arm had the better value
	Lost     int     `json:"lost"`   // blocks in which it had the worse one
	Needed   int     `json:"needed"` // INCONCLUSIVE: blocks that would decide it; else 0
	Reason   string  `json:"reason"` // REFUSED: the rule, its value and its limit
}

// A Doubt is a reservation about a result, printed beside it.
type Doubt struct {
	Arm  string `json:"arm,omitempty"`
	Text string `json:"text"`
}

// String is the doubt in a line, the arm it is about in front.
func (d Doubt) String() string {
	if d.Arm == "" {
		return d.Text
	}
	return d.Arm + ": " + d.Text
}

// A Refusal is one block that a validity rule left out of every verdict.
type Refusal struct {
	Block int     `json:"block"` // from 1
	Arm   string  `json:"arm"`
	Rule  string  `json:"rule"`  // e.g. "lag p99", "rate", "generator core"
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

// Env is the machine and the programs, as far as they can shape a figure.
type Env struct {
	CPU          string  `json:"cpu"`
	CPUs         int     `json:"cpus"`
	Virtualised  bool    `json:"virtualised"`
	Kernel       string  `json:"kernel"`
	Clocksource  string  `json:"clocksource"`
	Governor     string  `json:"governor"`
	Go           string  `json:"go"`
	Version      string  `json:"version"` // of schedlab
	ServerCPUs   string  `json:"server_cpus"`
	LoadCPUs     string  `json:"load_cpus"`
	ServerProcs  int     `json:"server_procs"` // GOMAXPROCS of the server
	LoadProcs    int     `json:"load_procs"`
	GOGC         string  `json:"gogc"`
	CPUMax       string  `json:"cpu_max"` // cgroup limit, "" when none
	Somaxconn    int     `json:"somaxconn"`
	PortRange    string  `json:"port_range"`
	NoFile       uint64  `json:"nofile"`
	Load1        float64 `json:"load1"`          // load average at the start
	PSI          string  `json:"psi"`            // "some" line of /proc/pressure/cpu at the start
	StealRatio   float64 `json:"steal_ratio"`    // over the whole run
	ItersPerUsec float64 `json:"iters_per_usec"` // calibration of CPU demand
	// Pause is how long the platform takes a busy thread off its CPU, seconds; 0
	// when it was not measured, negative when it cannot be.
	Pause float64 `json:"pause,omitempty"`
}

// A Plan is a run before it starts; run.json keeps it, so a record explains
// itself.
type Plan struct {
	Scenario    string    `json:"scenario"` // name
	Question    string    `json:"question"`
	Source      string    `json:"source"` // the scenario's YAML, verbatim
	Seed        uint64    `json:"seed"`
	Note        string    `json:"note,omitempty"`
	Protocol    string    `json:"protocol"` // "quick", "full" or "capacity"
	Blocks      int       `json:"blocks"`
	Spare       int       `json:"spare"`       // extra blocks allowed for refused ones
	MinValid    int       `json:"min_valid"`   // fewer valid blocks refuse every verdict
	Warmup      float64   `json:"warmup"`      // seconds
	Window      float64   `json:"window"`      // seconds
	Rate        float64   `json:"rate"`        // 0 until the probes have chosen it
	Connections int       `json:"connections"` // of arms with keep-alive
	Timeout     float64   `json:"timeout"`     // seconds
	Estimate    float64   `json:"estimate"`    // planned seconds in all
	Stamps      string    `json:"stamps"`      // how servers stamp requests: off, basic or full
	Arms        []PlanArm `json:"arms"`
	Order       [][]int   `json:"order"`             // per block, indexes into Arms in the order they run
	Doubts      []Doubt   `json:"doubts"`            // raised while planning
	Expect      []string  `json:"expect,omitempty"`  // the scenario's assertions
	Predict     []string  `json:"predict,omitempty"` // queueing models to draw over the measurement
	Asked       string    `json:"asked,omitempty"`   // what its requests are when a file says so, in words
	SLO         string    `json:"slo,omitempty"`     // of a search for capacity, which has no blocks
	Budget      float64   `json:"budget,omitempty"`  // of that search, seconds for each arm
	Windows     int       `json:"windows,omitempty"` // and the most windows of each
}

// A PlanArm is one contestant before it ran.
type PlanArm struct {
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`
	Role    Role     `json:"role"`
	Command []string `json:"command"` // argv with {addr} and other marks left in, VARIABLE=VALUE words before it
	// KeepAlive says whether its clients keep their connections.
	KeepAlive bool     `json:"keepalive"`
	Clients   Clients  `json:"clients"`           // its load
	Stamps    string   `json:"stamps,omitempty"`  // how its own flags have it stamp; "" as the plan says
	Station   *Station `json:"station,omitempty"` // for predictions; nil for a foreign command
	Levels    []Level  `json:"levels,omitempty"`  // of the varied factors
	Family    string   `json:"family,omitempty"`  // its name without them
	// URL is the address of a server that runs already, "" for one that is started.
	URL     string `json:"url,omitempty"`
	Metrics string `json:"metrics,omitempty"` // where it shows its own, with marks
	Procs   int    `json:"procs,omitempty"`   // GOMAXPROCS that its own variables set; 0: as the environment says
}

// Clients are the load of one arm. Times are seconds.
type Clients struct {
	Loop        string  `json:"loop,omitempty"` // open, or closed; "" in records of old is open
	Arrivals    string  `json:"arrivals,omitempty"`
	Rate        float64 `json:"rate,omitempty"`        // offered per second; in a closed loop its pace, 0 for none
	Connections int     `json:"connections,omitempty"` // kept; in a closed loop the clients
	KeepAlive   bool    `json:"keepalive,omitempty"`
	Idle        int     `json:"idle,omitempty"`     // connections held beside the load
	Think       float64 `json:"think,omitempty"`    // between a reply and the next request
	Session     int     `json:"session,omitempty"`  // requests on a connection before a new one
	Pipeline    int     `json:"pipeline,omitempty"` // requests under way on a connection
	Spin        bool    `json:"spin,omitempty"`     // the driver never sleeps
	Ramp        float64 `json:"ramp,omitempty"`     // its clients start over this time
	Timeout     float64 `json:"timeout,omitempty"`
}

// Closed reports whether requests wait for replies.
func (c Clients) Closed() bool { return c.Loop == "closed" }

// A Run is run.json: the plan, and once the run has ended its result.
type Run struct {
	Schema  int                `json:"schema"`
	Name    string             `json:"name"`
	Status  Status             `json:"status"`
	Started time.Time          `json:"started"`
	Ended   time.Time          `json:"ended,omitzero"`
	Env     Env                `json:"env"`
	Plan    Plan               `json:"plan"`
	XMax    map[string]float64 `json:"x_max"`             // by arm name
	Trials  int                `json:"trials"`            // recorded by the end, -1 while it runs
	Failure string             `json:"failure,omitempty"` // why the run ended early
	Result  *Result            `json:"result,omitempty"`
	// Ends are those of arms whose search for capacity ended early, by name.
	Ends map[string]SearchEnd `json:"ends,omitempty"`
}

// A Trial is one arm's one window: trials/NNN-arm/trial.json. Everything that
// can be recomputed from the requests is left to the reader.
type Trial struct {
	Schema  int        `json:"schema"`
	Number  int        `json:"number"` // from 1, in the order they ran
	Block   int        `json:"block"`  // from 1
	Arm     string     `json:"arm"`
	Seed    uint64     `json:"seed"`   // of the block's trace
	Warmup  float64    `json:"warmup"` // seconds; requests scheduled before it are not measured
	Window  float64    `json:"window"` // seconds
	Server  ServerSide `json:"server"`
	Client  ClientSide `json:"client"`
	Failure string     `json:"failure,omitempty"` // the server died or never answered: why
	Rate    float64    `json:"rate,omitempty"`    // offered per second, in a search for capacity
	Purpose string     `json:"purpose,omitempty"` // and what for
	Omitted string     `json:"omitted,omitempty"` // set by Dir.WriteTrial when the record is full: what it left out
}

// ServerSide is what was read of the server process over one window.
type ServerSide struct {
	PID      int     `json:"pid"`
	CPU      float64 `json:"cpu"`      // CPU seconds in the window, -1 unknown
	RunWait  float64 `json:"run_wait"` // seconds its threads waited for a CPU, for one another included; -1 unknown
	Foreign  float64 `json:"foreign"`  // CPU seconds that others than it used on its CPUs, -1 unknown
	Accepted float64 `json:"accepted"` // connection counters after the window, -1 unknown
	Done     float64 `json:"done"`
	Rejected float64 `json:"rejected"`
	Dropped  float64 `json:"dropped"`
	Open     float64 `json:"open"`
	// Within counts the window alone, nil unless the scenario asks for it:
	// reading it takes a little of the server's time.
	Within *Connections `json:"within,omitempty"`
	// StampsLost counts the requests that the server stamped, in the whole trial, and
	// whose stamps it had no more room for when it was asked.
	StampsLost uint64 `json:"stamps_lost,omitempty"`
	// Footprint is what it held at the window's end; nil when that is not known.
	Footprint *Footprint `json:"footprint,omitempty"`
	// Kernel is what the kernel counted in the window; nil in records of old.
	Kernel *Kernel `json:"kernel,omitempty"`
	// CPUs is where it may run, when that is not only where the plan has servers.
	CPUs   string   `json:"cpus,omitempty"`
	Doubts []string `json:"doubts,omitempty"` // what could not be read of it, or is not as planned
}

// A Footprint is what a server, with all its processes, holds beside CPU time.
type Footprint struct {
	Memory int64 `json:"memory"` // bytes; a page that processes share counts once in all
	// Resident says that Memory is resident pages, shared ones counted once for
	// each process: the kernel told no more.
	Resident  bool  `json:"resident,omitempty"`
	Peak      int64 `json:"peak"` // bytes: the most that was ever resident, summed over the processes
	Threads   int   `json:"threads"`
	Processes int   `json:"processes"`
}

// Kernel is what the kernel counted in a window, read from outside the server; below
// 0 is not known. Connections and pressure are of the whole host, or of its own
// network in a container: of other programs too.
type Kernel struct {
	Voluntary       float64 `json:"voluntary"`        // context switches of the server's threads to wait for something
	Involuntary     float64 `json:"involuntary"`      // and those that took them off a CPU
	ListenOverflows float64 `json:"listen_overflows"` // connections that found an accept queue full
	ListenDrops     float64 `json:"listen_drops"`     // dropped before they were accepted, those included
	Pressure        float64 `json:"pressure"`         // seconds for which something could run and had no CPU
}

// Connections are what became of a server's connections in a window.
type Connections struct {
	Accepted float64 `json:"accepted"` // in the window
	Done     float64 `json:"done"`     // ended in the window
	Open     float64 `json:"open"`     // at its end
}

// ClientSide is what the generator knows of one window beyond its requests.
type ClientSide struct {
	CPU         float64  `json:"cpu"`                    // CPU seconds of the generator in the window
	Steal       float64  `json:"steal"`                  // stolen seconds over all CPUs in the window
	Throttled   float64  `json:"throttled"`              // cgroup-throttled seconds in the window
	Dialled     uint64   `json:"dialled"`                // connections opened in the whole trial
	ConnAnswers []uint32 `json:"conn_answers,omitempty"` // answers per pre-opened connection, or client of a closed loop
	Asked       int      `json:"asked,omitempty"`        // connections that were given a request; 0 in records of old, where each has its answers
	Starved     int      `json:"starved,omitempty"`      // of those, that waited for an answer in vain
	FirstReply  float64  `json:"first_reply"`            // slowest first reply of a pre-opened connection, seconds
	// Sessions are those of a closed loop that ended in the window; nil without any asked for.
	Sessions *Sessions `json:"sessions,omitempty"`
	IdleLost int       `json:"idle_lost,omitempty"` // idle connections that ended before the window did
	Proof    *Proof    `json:"proof,omitempty"`     // what the generator itself did; nil in records of old
	// Pending are the requests that a closed loop had under way at the window's end;
	// nil in records of old, and in an open loop, whose requests are all recorded.
	Pending *Pending `json:"pending,omitempty"`
}

// Pending are requests under way at the end of a closed loop's window, which are
// not among its requests.
type Pending struct {
	Requests int     `json:"requests"`
	Early    int     `json:"early,omitempty"` // of those, sent before the window began
	Time     float64 `json:"time"`            // seconds from the others' sending to the window's end, summed
	Squares  float64 `json:"squares"`         // of the same, in s²
}

// Add counts the requests of q too.
func (p *Pending) Add(q Pending) {
	p.Requests, p.Early = p.Requests+q.Requests, p.Early+q.Early
	p.Time, p.Squares = p.Time+q.Time, p.Squares+q.Squares
}

// A Proof is what the generator itself did in one trial, warm-up included, so
// that a delay of its own is not taken for the server's. Times are seconds.
type Proof struct {
	Planned      int     `json:"planned"`       // requests of the schedule; 0 in a closed loop without a pace
	Sent         int     `json:"sent"`          // of those
	Busy         float64 `json:"busy"`          // share of its threads' time that it used, 0..1; 1 for one that never sleeps
	GCs          uint64  `json:"gcs"`           // garbage collections
	LongestPause float64 `json:"longest_pause"` // of its collector, at most
	LongestLag   float64 `json:"longest_lag"`   // the latest any request was sent after its time
}

// Proofs sum up those of an arm's valid windows.
type Proofs struct {
	Busy         float64 `json:"busy"`          // median
	GCs          uint64  `json:"gcs"`           // in all
	LongestPause float64 `json:"longest_pause"` // seconds
	LongestLag   float64 `json:"longest_lag"`   // seconds
	Missing      int     `json:"missing"`       // requests planned and not sent
}
