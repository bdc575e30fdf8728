package record

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
	Foreign  float64 `json:"foreign"`  // CPU seconds that others than it used on its CPUs, -1 unknown
	Accepted float64 `json:"accepted"` // connection counters after the window, -1 unknown
	Done     float64 `json:"done"`
	Rejected float64 `json:"rejected"`
	Dropped  float64 `json:"dropped"`
	Open     float64 `json:"open"`
	// Within counts the window alone, nil unless the scenario asks for it:
	// reading it takes a little of the server's time.
	Within *Connections `json:"within,omitempty"`
	// Readings are of its connection counters over the window, oldest first: ten a second, at most
	// 200 (of neighbours the one with most connections open), from the last one before the window on.
	// A server keeps those of the last minute; nil for one that is not ours.
	Readings []Reading `json:"readings,omitempty"`
	// LoopBusy is the CPU time, in seconds, of its event loops in the window, summed over them
	// and estimated from some of their turns; nil where it has none, or the scenario does not ask.
	LoopBusy *float64 `json:"loop_busy,omitempty"`
	// StampsLost counts the requests that the server stamped, in the whole trial, and
	// whose stamps it had no more room for when it was asked.
	StampsLost uint64 `json:"stamps_lost,omitempty"`
	// Footprint is what it held at the window's end; nil when that is not known.
	Footprint *Footprint `json:"footprint,omitempty"`
	// Kernel is what the kernel counted in the window; nil when the trial failed.
	Kernel *Kernel `json:"kernel,omitempty"`
	// CPUs is where it may run, when that is not only where the plan has servers.
	CPUs   string `json:"cpus,omitempty"`
	Doubts []Fact `json:"doubts,omitempty"` // what could not be read of it, or is not as planned
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
// 0 is not known. Connections are of the whole host, or of its own network in a
// container: of other programs too.
type Kernel struct {
	Voluntary       float64 `json:"voluntary"`        // context switches of the server's threads to wait for something
	Involuntary     float64 `json:"involuntary"`      // and those that took them off a CPU
	ListenOverflows float64 `json:"listen_overflows"` // connections that found an accept queue full
}

// Connections are what became of a server's connections in a window.
type Connections struct {
	Accepted float64 `json:"accepted"` // in the window
	Done     float64 `json:"done"`     // ended in the window
	Open     float64 `json:"open"`     // at its end
}

// A Reading is a server's connection counters at one moment, all counted since its start:
// Accepted = Done + Rejected + Dropped + Open.
type Reading struct {
	At       float64 `json:"at"` // seconds from the window's start
	Accepted int64   `json:"accepted"`
	Done     int64   `json:"done"`
	Rejected int64   `json:"rejected"`
	Dropped  int64   `json:"dropped"`
	Open     int64   `json:"open"`
}

// ClientSide is what the generator knows of one window beyond its requests.
type ClientSide struct {
	CPU         float64  `json:"cpu"`                    // CPU seconds of the generator in the window
	Steal       float64  `json:"steal"`                  // stolen seconds over all CPUs in the window
	Throttled   float64  `json:"throttled"`              // cgroup-throttled seconds in the window
	Dialled     uint64   `json:"dialled"`                // connections opened in the whole trial
	ConnAnswers []uint32 `json:"conn_answers,omitempty"` // answers per pre-opened connection, or client of a closed loop
	Asked       int      `json:"asked,omitempty"`        // connections that were given a request
	Starved     int      `json:"starved,omitempty"`      // of those, that waited for an answer in vain
	FirstReply  float64  `json:"first_reply"`            // slowest first reply of a pre-opened connection, seconds
	// Sessions are those of a closed loop that ended in the window; nil without any asked for.
	Sessions *Sessions `json:"sessions,omitempty"`
	IdleLost int       `json:"idle_lost,omitempty"` // idle connections that ended before the window did
	Proof    *Proof    `json:"proof,omitempty"`     // what the generator itself did; nil when the trial failed
	// Pending are the requests that a closed loop had under way at the window's end. An
	// open loop has none: all its requests are recorded.
	Pending Pending `json:"pending,omitzero"`
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
	Planned      int     `json:"planned"`               // requests of the schedule; 0 in a closed loop without a pace
	Sent         int     `json:"sent"`                  // of those
	Busy         float64 `json:"busy"`                  // share of the time, 0..1, in which the engine spin worked; of another, of its threads' time that it used
	GCs          uint64  `json:"gcs"`                   // garbage collections
	LongestPause float64 `json:"longest_pause"`         // of its collector, at most
	LongestLag   float64 `json:"longest_lag"`           // the latest any request was sent after its time
	Rest         string  `json:"rest,omitempty"`        // what the engine spin did between requests: spins, waits, or waits, goes first
	LongestGap   float64 `json:"longest_gap,omitempty"` // between two looks of the engine spin for what is due or has come
	Away         float64 `json:"away,omitempty"`        // for which it had nothing to do and was kept from its CPU

	ReadLate *ReadLate `json:"read_late,omitempty"` // nil: not audited
}

// What the engine spin does while nothing is due, in a Proof.
const (
	RestSpins = "spins"
	RestWaits = "waits"             // asleep in the kernel
	RestFirst = "waits, goes first" // asleep, with real-time priority
)

// ReadLate is how long replies lay in the kernel before the engine spin read them, by the
// kernel's stamps on a few kept connections of an open loop. Times are seconds.
type ReadLate struct {
	Replies int64   `json:"replies"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
}

// Proofs sum up those of an arm's valid windows.
type Proofs struct {
	Busy         float64 `json:"busy"`           // median
	GCs          uint64  `json:"gcs"`            // in all
	LongestPause float64 `json:"longest_pause"`  // seconds
	LongestLag   float64 `json:"longest_lag"`    // seconds
	Missing      int     `json:"missing"`        // requests planned and not sent
	Rest         string  `json:"rest,omitempty"` // what it did between requests: see Proof

	ReadLate *ReadLate `json:"read_late,omitempty"` // medians of the windows' p50 and p99; nil: not audited
}
