package record

import (
	"encoding/json"
	"math"
	"time"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/stats"
)

// Env is the machine and the programs that a run's figures depend on.
// A field is "" or 0 where the machine does not tell it. GOGC is the environment's, "100" by default.
//
// CPU is the processor's model, CPUs the number in the machine. ServerCPUs and LoadCPUs are lists such as
// 0-1, or "" where nothing was bound to CPUs. Kernel, Clocksource and Governor (the CPU frequency policy)
// are the kernel's own words. Somaxconn limits accept queues, PortRange the local ports of the load, and
// NoFile the descriptors of this process.
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
	// Pause is the time, in seconds, for which the platform takes a busy thread off its CPU; 0 if
	// not measured, negative if it cannot be measured.
	Pause float64 `json:"pause,omitempty"`
	// Floor is the response time that the load itself adds; nil if not measured.
	Floor *Floor `json:"floor,omitempty"`
	// Site tells where servers and load ran; nil for this machine alone.
	Site *Site `json:"cluster,omitempty"`
}

// A Site is where servers and load ran, if not on the machine that kept the record. Times are seconds.
type Site struct {
	Senders        int      `json:"shards"` // processes that sent the load
	ServerCPUs     int      `json:"server_cpus"`
	ServerMachines []string `json:"server_nodes"`
	LoadMachines   []string `json:"load_nodes"`
	// ClockError is the most by which the clock of a sender may have been taken wrongly: half of the
	// quickest round trip to it.
	ClockError float64 `json:"clock_error"`
	Late       float64 `json:"late"` // the latest start of a sender, after the time agreed
	// Words are not in the record: they are of the kind of site, which gives them to each run that it reads.
	Words SiteWords `json:"-"`
}

// SiteWords are what messages call a kind of site, and the flags with which a user changes it. A message without its
// flag says only what to change.
type SiteWords struct {
	Name    string // like "a cluster"
	Senders string // what sends the load, like "the shards of a cluster"
	CPUs    string // flag of the CPUs of each server
	Apart   string // the flags that put servers and load on different machines, like "--a and --b"
}

// SharedCPUs returns the servers' CPUs that the load used too. It returns nil if either side was
// not bound to CPUs, or if the servers had no CPU for themselves.
func (e Env) SharedCPUs() cpuset.Set {
	server, _ := cpuset.Parse(e.ServerCPUs) // none if it was not bound
	load, _ := cpuset.Parse(e.LoadCPUs)
	return cpuset.Shared(server, load)
}

// A Plan is a run before it starts. run.json keeps it, so a record can be read without other files.
type Plan struct {
	Scenario string `json:"scenario"` // name
	Question string `json:"question"`
	Source   string `json:"source"` // the scenario's YAML, verbatim
	Seed     uint64 `json:"seed"`
	Note     string `json:"note,omitempty"`
	Command  string `json:"-"` // the line of a shell that asks the same again; "" if there is none. The result keeps it
	// Pack is the identity that the runs of one pack or grid share; "" for a run alone.
	Pack string `json:"pack,omitempty"`
	// Cell is where the run lies on a grid; nil if it is no cell of one.
	Cell   []Level `json:"cell,omitempty"`
	Blocks int     `json:"blocks"`          // most blocks
	Looks  []int   `json:"looks,omitempty"` // numbers of blocks after which verdicts may be decided; the run ends at the first where all are
	// Feasible tells what rate, window and budget can decide; nil in a search.
	Feasible *Feasibility `json:"feasible,omitempty"`
	Warmup   Span         `json:"warmup"`
	Window   Span         `json:"window"`
	// Heating is for how long, before the warm-up, 64 clients that ask again at once keep each server busy; 0 for not at all.
	Heating Span    `json:"heating,omitzero"`
	Rate    float64 `json:"rate"` // 0 until the probes have chosen it
	// Sendable is the highest rate that the load's CPUs can offer, if the requested share of the
	// arms' throughput is more; else 0.
	Sendable    float64     `json:"sendable,omitempty"`
	Connections int         `json:"connections"` // for arms with keep-alive
	Timeout     Span        `json:"timeout"`
	Estimate    Span        `json:"estimate"` // of the whole run
	Stamps      string      `json:"stamps"`   // how servers stamp requests: off, basic or full
	Arms        []PlanArm   `json:"arms"`
	Order       [][]int     `json:"order"`            // per block, indexes into Arms in the order they run
	Doubts      []fact.Fact `json:"doubts"`           // raised while planning
	Expect      []string    `json:"expect,omitempty"` // the scenario's assertions
	// Claims holds the sentences that assertions in Expect decide, by the assertion's text.
	Claims map[string]string `json:"claims,omitempty"`
	// Gate notes what `schedlab gate` asks, and Ask, by its name, any other question than which arm is best.
	Gate Note            `json:"gate,omitempty"`
	Ask  map[string]Note `json:"ask,omitempty"`
	// Before counts the first blocks, after which the windows were shortened: these blocks are not judged. It is nil if the
	// windows were not shortened.
	Before  *Before `json:"before,omitempty"`
	Asked   string  `json:"asked,omitempty"`   // what a request does, in words
	Classes []Class `json:"classes,omitempty"` // of requests, if the scenario has some
	SLO     string  `json:"slo,omitempty"`     // the objective of a search, which has no blocks
	Budget  Span    `json:"budget,omitzero"`   // of a search, for each arm; of a race, for all
	Windows int     `json:"windows,omitempty"` // of a search, most windows for each arm
}

// A Note holds the settings of a question as JSON. Package judge writes and reads it: see judge.Aim.
type Note map[string]any

// Before is the number of blocks with longer windows at the start of a run, and the length of these windows.
type Before struct {
	Blocks int  `json:"blocks"`
	Window Span `json:"window"`
}

// LongestName bounds the name that a user gives an arm, in characters.
const LongestName = 120

// A PlanArm is one contestant in a plan.
// Name, Mode and Role are as in Arm, which has its figures after the run.
type PlanArm struct {
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`
	Role    Role     `json:"role"`
	CopyOf  string   `json:"-"`       // of a copy: the name of the baseline that it repeats
	Command []string `json:"command"` // argv with {addr} and other marks left in, VARIABLE=VALUE words before it
	// KeepAlive says whether its clients keep their connections.
	KeepAlive bool              `json:"keepalive"`
	Clients   Clients           `json:"clients"`           // its load
	Stamps    string            `json:"stamps,omitempty"`  // from its own flags; "": as the plan says
	Station   *queueing.Station `json:"station,omitempty"` // as its ideal twin schedules; nil for a foreign command
	Levels    []Level           `json:"levels,omitempty"`  // of the varied factors
	Family    string            `json:"family,omitempty"`  // its name without the levels
	// URL is the address of a server that runs already; "" if schedlab starts it.
	URL     string `json:"url,omitempty"`
	Metrics string `json:"metrics,omitempty"` // where its metrics are, with marks
	Procs   int    `json:"procs,omitempty"`   // GOMAXPROCS from its own variables or CPU limit; 0: from the environment
	// Busy is the mean number of workers that the planned requests hold, by Little's law; 0 for a mode
	// without workers.
	Busy float64 `json:"busy,omitempty"`
}

// Clients are the load on one arm. Arrivals is written as in scenarios; KeepAlive tells
// whether connections carry several requests. A setting that does not belong to the kind of loop is zero.
type Clients struct {
	Loop        string   `json:"loop,omitempty"`   // open or closed
	Engine      string   `json:"engine,omitempty"` // the engine that sends it, where one was chosen
	Arrivals    string   `json:"arrivals,omitempty"`
	Rate        float64  `json:"rate,omitempty"`        // offered per second; in a closed loop its pace, 0 for none
	Connections int      `json:"connections,omitempty"` // kept connections; in a closed loop the clients
	KeepAlive   bool     `json:"keepalive,omitempty"`
	Idle        int      `json:"idle,omitempty"`     // extra connections held open without requests
	Think       Span     `json:"think,omitzero"`     // between a reply and the next request
	Session     int      `json:"session,omitempty"`  // requests on a connection before a new one
	Pipeline    int      `json:"pipeline,omitempty"` // requests under way on a connection
	Ramp        Span     `json:"ramp,omitzero"`      // time over which its clients start
	Timeout     Span     `json:"timeout,omitzero"`
	Patience    Patience `json:"-"` // a record has it in its trials: see ClientSide
	Speaks      Speaks   `json:"speaks,omitzero"`
}

// Closed reports whether the load is a closed loop: each client waits for a reply before its next request.
func (c Clients) Closed() bool { return c.Loop == "closed" }

// A Run is run.json: the plan and, once the run has ended, its result.
//
// It is written at the start with the status Running, and again when the run ends. A run that was killed
// keeps the first version; its trials can still be judged.
type Run struct {
	Schema  int                `json:"schema"`
	Name    string             `json:"name"`
	Status  Status             `json:"status"`
	Started time.Time          `json:"started"`
	Ended   time.Time          `json:"ended,omitzero"`
	Env     Env                `json:"env"`
	Plan    Plan               `json:"plan"`
	XMax    map[string]float64 `json:"x_max"` // by arm name
	// Apart is the difference between the halves of each arm's probe, as a ratio of its XMax.
	Apart   map[string]float64 `json:"x_max_apart,omitempty"`
	Trials  int                `json:"trials"`            // trials recorded; -1 while it runs
	Failure string             `json:"failure,omitempty"` // why the run ended early
	Result  Result             `json:"result,omitempty"`  // nil while there is none
	// Others tells which other programs used the CPUs over the whole run; nil if unknown.
	Others *Others `json:"others,omitempty"`
	// Ends tells, by arm, why its windows ended early while the other arms went on.
	Ends map[string]ArmEnd `json:"ends,omitempty"`
}

// InBlocks reports whether a plan is a comparison, in blocks of all arms. If not, it is a search in windows of single arms.
func (p Plan) InBlocks() bool { return p.SLO == "" }

// An ArmEnd tells why the windows of one arm ended early.
type ArmEnd struct {
	Died bool    `json:"died,omitempty"` // the server died
	Rate float64 `json:"rate,omitempty"` // offered at that time, requests per second; 0: none, or the closed loop of X_max
	Why  string  `json:"why"`
}

// UnmarshalJSON reads a run with a result of any kind that is declared.
func (r *Run) UnmarshalJSON(data []byte) (err error) {
	type plain Run
	var head struct{ Result *json.RawMessage }
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if of := head.Result; of != nil {
		if r.Result, err = emptyResult(*of); err != nil {
			return err
		}
	}
	err = json.Unmarshal(data, (*plain)(r)) // into the result that is there
	if r.Result != nil {
		r.Result.Head().Schema = Schema // whatever it was: it has today's form now
		r.Plan.Command = r.Result.Head().Command
	}
	r.nameCopies()
	return err
}

// nameCopies sets CopyOf of each copy. Plans, and results of schema 1, have only the roles.
func (r *Run) nameCopies() {
	baseline, compared := "", r.Comparison()
	for i, a := range r.Plan.Arms {
		switch a.Role {
		case Baseline:
			baseline = a.Name
		case Copy:
			r.Plan.Arms[i].CopyOf = baseline
			if compared != nil && i < len(compared.Arms) {
				compared.Arms[i].CopyOf = baseline
			}
		}
	}
}

// Comparison returns the run's result if it is a comparison, else nil.
func (r Run) Comparison() *Comparison {
	c, _ := r.Result.(*Comparison)
	return c
}

// A Floor is the response time of a server that does next to nothing. Load generator and kernel
// add it to every response time. Times are seconds.
// P50 and P99 are quantiles of the response time, LagP50 and LagP99 of the lag.
type Floor struct {
	Rate   float64 `json:"rate"` // requests per second
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	LagP50 float64 `json:"lag_p50"` // how late the load sent
	LagP99 float64 `json:"lag_p99"`
	Rest   string  `json:"rest"`            // what the load did between requests: see Proof
	Speaks Speaks  `json:"speaks,omitzero"` // what load and server spoke: a certificate was not checked
}

// Levels of stamping in a [Plan]. The third level is basic.
const (
	StampsOff  = "off"
	StampsFull = "full"
)

// A Span is a length of time that somebody chose, as a window's or a budget's. JSON has it in seconds.
type Span struct{ time.Duration }

// Lasting returns a duration as a Span.
func Lasting(d time.Duration) Span { return Span{Duration: d} }

// MarshalJSON writes the seconds.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }

// UnmarshalJSON reads seconds, to the nearest nanosecond.
func (s *Span) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	*s = Lasting(time.Duration(math.Round(seconds * float64(time.Second))))
	return nil
}

// Duration converts seconds, the unit of times in records, to a time.Duration.
// It cuts off fractions of a nanosecond.
func Duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// A Feasibility tells what a plan can decide with its rate, window and budget. It is known before
// the blocks start.
type Feasibility struct {
	// First is the number of blocks at the first look that can decide anything.
	First int `json:"first"`
	// Planned is the window before it was lengthened for the quantiles asked for; 0 if it was not
	// lengthened.
	Planned Span `json:"planned_window,omitzero"`
	// NeedsRate is the rate, in requests per second, that the probes must find for this window to
	// decide everything asked for; 0 if the rate is known or high enough. It is for those who wait, and no record has it.
	NeedsRate float64       `json:"-"`
	Cannot    []Undecidable `json:"cannot,omitempty"`
	// Would are flags that make everything asked for decidable; nil if it is decidable already,
	// or if no flags would do.
	Would *WouldDo `json:"would,omitempty"`
}

// Undecidable is one metric that the plan cannot decide.
type Undecidable struct {
	Metric stats.Figure `json:"metric"` // p50, p90 or p99
	Code   string       `json:"code"`   // the resource that it has too little of, as ShortRequests
	Value  float64      `json:"value"`  // the amount there is, in the unit of the code
	Limit  float64      `json:"limit"`  // the amount needed
	Asked  bool         `json:"asked"`  // an expectation, an SLO or --metric asks for it; or none does for any metric, and this one is primary
}

// The resources that can be too small for a metric.
const (
	ShortRequests = "requests" // in a window
	ShortBudget   = "budget"   // seconds, to the first look
	ShortBlocks   = "blocks"   // allowed by --blocks, to the first look
)

// WouldDo are values for flags; 0 leaves a flag unchanged.
type WouldDo struct {
	Window Span `json:"window,omitzero"`
	Budget Span `json:"budget,omitzero"`
	Blocks int  `json:"blocks,omitempty"`
}
