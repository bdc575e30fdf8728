package record

import (
	"math"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"slices"
	"time"
)

// A Trial is one window of one arm: trials/NNN-arm/trial.json. Everything that can be computed
// from the requests is left to the reader.
//
// The requests of an open loop include the warm-up's: InWindow tells which are measured.
type Trial struct {
	Schema  int        `json:"schema"`
	Number  int        `json:"number"` // from 1, in the order they ran
	Block   int        `json:"block"`  // from 1
	Arm     string     `json:"arm"`
	Seed    uint64     `json:"seed"`   // of the block's trace
	Warmup  Span       `json:"warmup"` // requests scheduled before it are not measured
	Window  Span       `json:"window"`
	Server  ServerSide `json:"server"`
	Client  ClientSide `json:"client"`
	Failure string     `json:"failure,omitempty"` // why the server died or never answered
	Rate    float64    `json:"rate,omitempty"`    // offered per second, in a search
	Purpose string     `json:"purpose,omitempty"` // in a search: what its window is for
	Omitted string     `json:"omitted,omitempty"` // the files that Dir.WriteTrial left out because the record is full
}

// ServerSide is what schedlab read of the server process over one window.
//
// Accepted, Done, Rejected, Dropped and Open are the server's connection counters since its start: Done
// were served, Rejected were answered with a refusal, Dropped were closed without an answer, and Open are
// not closed yet. They are -1 for a server that shows no metrics.
type ServerSide struct {
	PID      int     `json:"pid"`
	CPU      float64 `json:"cpu"`      // CPU seconds in the window, -1 unknown
	Foreign  float64 `json:"foreign"`  // CPU seconds that other programs used on its CPUs, -1 unknown
	Accepted float64 `json:"accepted"` // connection counters after the window, -1 unknown
	Done     float64 `json:"done"`
	Rejected float64 `json:"rejected"`
	Dropped  float64 `json:"dropped"`
	Open     float64 `json:"open"`
	// Throttled is for how many seconds of the window its CPU limit stopped it, summed over CPUs, and ThrottledPeriods in
	// how many of the limit's periods that happened, nil if unknown. On another
	// site only Throttled is known, for servers of our own.
	Throttled        float64  `json:"throttled,omitempty"`
	ThrottledPeriods *float64 `json:"throttled_periods,omitempty"`
	// Within counts the window alone. nil unless the scenario asks for it, since reading it costs
	// the server a little time.
	Within *Connections `json:"within,omitempty"`
	// Readings are of its connection counters over the window, oldest first: ten a second, at
	// most 200 (of neighbours the one with the most open connections), starting with the last one
	// before the window. A server keeps the last minute of readings; nil for other programs.
	Readings []Reading `json:"readings,omitempty"`
	// LoopBusy is the CPU seconds of its event loops in the window, summed over the loops and estimated from
	// some of their turns. nil if it has no loops, or if the scenario does not ask for it.
	LoopBusy *float64 `json:"loop_busy,omitempty"`
	// StampsLost counts requests of the whole trial that the server stamped, but dropped the
	// stamps for lack of room before they were read.
	StampsLost uint64 `json:"stamps_lost,omitempty"`
	// Footprint is its memory and threads at the window's end; nil if unknown.
	Footprint *Footprint `json:"footprint,omitempty"`
	// Saturated is what the server did after the window, when a closed loop saturated it; nil without such a turn.
	Saturated *Saturation `json:"saturated,omitempty"`
	// Kernel is what the kernel counted in the window; nil when the trial failed.
	Kernel *Kernel `json:"kernel,omitempty"`
	// Procs is the GOMAXPROCS that the server publishes, 0 if it publishes none. If it has several processes, Procs is the
	// first one's.
	Procs int `json:"procs,omitempty"`
	// CPUs is the set of CPUs it may run on, if that is more than the plan's server CPUs.
	CPUs   string      `json:"cpus,omitempty"`
	Doubts []fact.Fact `json:"doubts,omitempty"` // what could not be read, or is not as planned
}

// UnknownServer returns the server's side of a window in which nothing of the server was read.
func UnknownServer() ServerSide {
	return ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}
}

// A Saturation is what a server did while each client sent its next request as soon as it had a reply. Times are in seconds.
type Saturation struct {
	Answered int     `json:"answered"`        // good replies
	Later    int     `json:"later,omitempty"` // of these, in the second half of the time
	Failed   int     `json:"failed,omitempty"`
	Elapsed  float64 `json:"elapsed"`
	// CPUs is the number of CPUs on which only the server is meant to run; 0 if their times are not known. CPU is the server's
	// CPU time, and Idle the time in which these CPUs were idle, summed over them.
	CPUs int     `json:"cpus,omitempty"`
	CPU  float64 `json:"cpu,omitempty"`
	Idle float64 `json:"idle,omitempty"`
	// LoadLimited reports that the load was at its limit before the server.
	LoadLimited bool `json:"load_limited,omitempty"`
}

// leastUsed is the share of its CPUs' time that a server must use for its capacity to be worked out from it.
const leastUsed = .5

// Capacity returns the good replies a second; NaN if there were none. Where the times of the CPUs are known, the time that other
// programs took of them does not count. Where the load was at its limit before the server, Capacity returns what all of the
// server's CPU time would serve, at the CPU time that a reply took; NaN if the server used less than half of it.
func (s Saturation) Capacity() float64 {
	switch {
	case s.Answered == 0 || s.Elapsed <= 0 || s.LoadLimited && !(s.Used() >= leastUsed):
		return math.NaN()
	case s.LoadLimited:
		return float64(s.CPUs) / s.PerReply()
	}
	own := s.Elapsed
	if s.CPUs > 0 {
		own = min(own, (s.CPU+s.Idle)/float64(s.CPUs))
	}
	return float64(s.Answered) / own
}

// Used returns the share of its CPUs' time that the server used, in 0..1, without what other programs took; NaN if it is not known.
func (s Saturation) Used() float64 {
	if s.CPUs == 0 {
		return math.NaN()
	}
	return s.CPU / (s.CPU + s.Idle)
}

// TurnClients is how many clients saturate a server.
const TurnClients = 64

// The two halves of a turn are compared only if the server was busy for fullShare of its CPUs' time and gave leastReplies. Clients of a
// server that waits come back together, so one half may have a round of replies more than the other.
const (
	fullShare    = .9
	leastReplies = 20 * TurnClients
)

// Growth returns the ratio of the good replies in the second half of the time to those in the first. It is NaN where they do not
// compare: with few replies, or of a server that was not busy.
func (s Saturation) Growth() float64 {
	if s.Answered < leastReplies || !(s.Used() >= fullShare) || s.Later == 0 || s.Later == s.Answered {
		return math.NaN()
	}
	return float64(s.Later) / float64(s.Answered-s.Later)
}

// PerReply returns the server's CPU time for each good reply, in seconds; NaN if it is not known.
func (s Saturation) PerReply() float64 {
	if s.CPUs == 0 || s.Answered == 0 {
		return math.NaN()
	}
	return s.CPU / float64(s.Answered)
}

// A Footprint is the memory, threads and processes of a server, over all its processes.
// Threads are threads of the operating system.
type Footprint struct {
	Memory int64 `json:"memory"` // bytes; a page shared by processes counts once
	// Resident says that Memory is resident pages, with shared pages counted once for each
	// process, because the kernel reports no more.
	Resident  bool  `json:"resident,omitempty"`
	Peak      int64 `json:"peak"` // bytes: the largest resident memory so far, summed over the processes
	Threads   int   `json:"threads"`
	Processes int   `json:"processes"`
}

// Kernel is what the kernel counted in a window, read from outside the server; below 0 is unknown.
// ListenOverflows counts the whole host, or a container's network, so other programs' too. It counts attempts: a client repeats one about once a second.
type Kernel struct {
	Voluntary       float64 `json:"voluntary"`        // context switches of the server's threads that waited for something
	Involuntary     float64 `json:"involuntary"`      // context switches that took them off a CPU
	ListenOverflows float64 `json:"listen_overflows"` // attempts to connect that found an accept queue full
}

// Connections are the counts of a server's connections in a window.
type Connections struct {
	Accepted float64 `json:"accepted"` // accepted in the window
	Done     float64 `json:"done"`     // ended in the window
	Open     float64 `json:"open"`     // open at its end
}

// A Reading is a server's connection counters at one moment. All but Open count since its start:
// Accepted = Done + Rejected + Dropped + Open.
type Reading struct {
	At       float64 `json:"at"` // seconds from the window's start
	Accepted int64   `json:"accepted"`
	Done     int64   `json:"done"`
	Rejected int64   `json:"rejected"`
	Dropped  int64   `json:"dropped"`
	Open     int64   `json:"open"`
}

// ClientSide is what the generator knows about one window apart from its requests.
type ClientSide struct {
	CPU         float64  `json:"cpu"`       // CPU seconds of the generator in the window
	Steal       float64  `json:"steal"`     // stolen seconds over all CPUs in the window
	Throttled   float64  `json:"throttled"` // cgroup-throttled seconds in the window
	Opened               // in the whole trial
	ConnAnswers []uint32 `json:"conn_answers,omitempty"` // replies per pre-opened connection, or per client of a closed loop
	Asked       int      `json:"asked,omitempty"`        // connections that were given a request
	Starved     int      `json:"starved,omitempty"`      // Asked connections that waited for a reply and got none
	FirstReply  float64  `json:"first_reply"`            // slowest first reply of a pre-opened connection, seconds
	// Sessions are the sessions of a closed loop that ended in the window; nil if none were asked for.
	Sessions *Sessions `json:"sessions,omitempty"`
	IdleLost int       `json:"idle_lost,omitempty"` // idle connections that ended before the window did
	Proof    *Proof    `json:"proof,omitempty"`     // what the generator itself did; nil when the trial failed
	// Patience is when the clients of an open loop give up or ask again.
	Patience Patience `json:"patience,omitzero"`
	// Pending are the requests that a closed loop had under way at the window's end. It is zero
	// in an open loop, which records all its requests.
	Pending Pending `json:"pending,omitzero"`
}

// Opened counts the connections that a load opened, including those opened before its first request.
type Opened struct {
	Dialled    uint64 `json:"dialled"`
	Handshakes uint64 `json:"handshakes,omitempty"` // TLS handshakes that succeeded
}

// Add adds the counts of p. It is for sums over the parts of a load.
func (o *Opened) Add(p Opened) {
	o.Dialled, o.Handshakes = o.Dialled+p.Dialled, o.Handshakes+p.Handshakes
}

// Pending are requests under way at the end of a closed loop's window. They are not among its
// recorded requests.
type Pending struct {
	Requests int     `json:"requests"`
	Early    int     `json:"early,omitempty"` // Requests sent before the window began
	Time     float64 `json:"time"`            // seconds from the sending of the other requests to the window's end, summed
	Squares  float64 `json:"squares"`         // sum of the squares of the same times, in s²
}

// Add adds the counts and sums of q. It is for sums over windows.
func (p *Pending) Add(q Pending) {
	p.Requests, p.Early = p.Requests+q.Requests, p.Early+q.Early
	p.Time, p.Squares = p.Time+q.Time, p.Squares+q.Squares
}

// A Proof is what the load generator itself did in one trial, warm-up included, so that its own
// delays are not blamed on the server. Times are seconds. LongestGap and Away are 0 with another
// engine than spin, and leave out its sleep.
//
// A large figure here means that the generator, and not the server, may be the cause of a long time.
type Proof struct {
	Planned int `json:"planned"` // requests of the schedule; 0 in a closed loop without a pace
	Sent    int `json:"sent"`    // requests of the schedule that were sent
	// Busy is a ratio: of the time, in which the engine spin sent or handled something; with another engine, of
	// the time that GOMAXPROCS threads could have used, its CPU time. Near 1 the generator is at its limit.
	Busy         float64 `json:"busy"`
	GCs          uint64  `json:"gcs"`           // garbage collections that ended
	LongestPause float64 `json:"longest_pause"` // longest single stop by its garbage collector, an upper bound
	// LongestLag is the longest time from a request's schedule to its sending. A stop of the
	// generator (a busy CPU, SIGSTOP) shows here.
	LongestLag float64 `json:"longest_lag"`
	Rest       string  `json:"rest,omitempty"`        // RestSpins, RestWaits or RestFirst; "" with another engine than spin
	LongestGap float64 `json:"longest_gap,omitempty"` // between two checks for requests due and replies
	Away       float64 `json:"away,omitempty"`        // time in which it had nothing to do, but something else had its CPU

	ReadLate *ReadLate `json:"read_late,omitempty"` // nil: not audited
}

// Values of Rest in a Proof: what the engine spin does while nothing is due and no reply comes.
const (
	RestSpins = "spins"             // it has a CPU to itself and polls for events all the time
	RestWaits = "waits"             // it sleeps in the kernel, because it shares its CPU with the server
	RestFirst = "waits, goes first" // as RestWaits, but under SCHED_RR, so that it runs as soon as it wakes
)

// ReadLate is how long replies lay in the kernel before the engine spin read them, by the
// kernel's stamps on a few kept connections of an open loop. Times are seconds.
// P50 and P99 are over Replies, the number of replies that were audited.
type ReadLate struct {
	Replies int64   `json:"replies"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
}

// Proofs sum up the Proofs of an arm's valid windows.
type Proofs struct {
	Busy         float64 `json:"busy"`           // median
	GCs          uint64  `json:"gcs"`            // total of all windows
	LongestPause float64 `json:"longest_pause"`  // seconds
	LongestLag   float64 `json:"longest_lag"`    // seconds
	Missing      int     `json:"missing"`        // requests planned and not sent
	Rest         string  `json:"rest,omitempty"` // what the load did between requests: see Proof

	ReadLate *ReadLate `json:"read_late,omitempty"` // medians of the windows' p50 and p99; nil: not audited
}

// Others tells who used the CPUs of a run apart from its servers and its load. It covers the
// whole run: probes, warm-ups and blocks.
type Others struct {
	Seconds float64 `json:"seconds"` // from the first reading of the machine's counters to the last
	// Steal is the share of the time of all the machine's CPUs that its hypervisor gave to other
	// machines, 0..1.
	Steal    float64   `json:"steal"`
	Troubles []Trouble `json:"troubles"` // the largest share first, at most eight names of programs; shares below 0.1 % are left out
}

// A Trouble is one cause that took CPU time from server or load.
type Trouble struct {
	Cause Cause `json:"cause"`
	CPU   int   `json:"cpu"` // -1: all CPUs in use; for a program, the CPU where it was seen most
	// Side tells who runs on that CPU: server, load, or both if they share it.
	Side Side `json:"side"`
	// Share is a ratio 0..1 of the CPU's time. For a program it is a ratio of one CPU, for
	// Passing of all CPUs in use.
	Share float64 `json:"share"`
	// Server and Load are the ratios, 0..1, of the time of all the servers' and of all the load's CPUs.
	Server  float64 `json:"server,omitzero"`
	Load    float64 `json:"load,omitzero"`
	Program string  `json:"program,omitempty"` // the name, if Cause is Program; all processes of that name count together
	// PID is the process that took most. If processes that have ended took most of the time, PID is the process that started
	// them, and Parent is its name.
	PID       int    `json:"pid,omitempty"`
	Parent    string `json:"parent,omitempty"`
	Processes int    `json:"processes,omitempty"` // that were seen, if more than one
}

// On returns the ratio, 0..1, of the time of a side's CPUs that the cause took. For BothSides it is the larger one.
func (t Trouble) On(side Side) float64 {
	switch side {
	case ServerSideCPU:
		return t.Server
	case LoadSideCPU:
		return t.Load
	}
	return max(t.Server, t.Load)
}

// Disturbs reports whether the cause disturbs a side, because others took the time. Time of schedlab's own threads disturbs
// nothing. Time of programs that cannot be seen disturbs from leastUnseen on: less may be the difference of two clocks.
func (t Trouble) Disturbs(side Side) bool {
	return t.Cause != Own && (t.Cause != Passing || t.On(side) >= leastUnseen)
}

// On returns the ratio of the time of a side's CPUs that others took; 0 if it is not known.
func (o *Others) On(side Side) (ratio float64) {
	if o == nil {
		return 0
	}
	for _, t := range o.Troubles {
		if t.Disturbs(side) {
			ratio += t.On(side)
		}
	}
	return min(1, ratio)
}

// Quiet reports whether others took no more than a tenth of the servers' and of the load's CPUs.
func (o *Others) Quiet() bool { return max(o.On(ServerSideCPU), o.On(LoadSideCPU)) <= mostDisturbed }

const (
	mostDisturbed = .10 // a larger ratio of the servers' or the load's CPU time may prevent an answer
	leastUnseen   = .05
)

// Cause tells what took the CPU time.
type Cause string

// The causes.
const (
	Stolen    Cause = "steal"   // the hypervisor gave the CPU to another machine
	Interrupt Cause = "irq"     // devices interrupted it
	SoftIRQ   Cause = "softirq" // network traffic and kernel work that loopback traffic did not cause
	Program   Cause = "program" // a program that is not part of the run
	Passing   Cause = "passing" // unnamed programs: the smallest, short-lived ones, and ones not visible from here
	Own       Cause = "own"     // schedlab's own threads, on the server's CPUs
)

// Side tells who runs on a CPU.
type Side string

// The sides.
const (
	ServerSideCPU Side = "server"
	LoadSideCPU   Side = "load"
	BothSides     Side = "both"
)

// InWindow reports whether r was scheduled after the warm-up and before the end of the window. The window is
// decided by the schedule and not by the sending, so a late generator or server cannot push slow requests out
// of it.
func (t *Trial) InWindow(r request.Request) bool {
	at := float64(r.Scheduled) / 1e9
	return at >= t.Warmup.Seconds() && at < t.Warmup.Seconds()+t.Window.Seconds()
}

// Histogram counts the response times, from the scheduled time, of all requests in t's window. A failed request
// counts with the time until it failed, so a timeout weighs at least the time for which its client waited.
func (t Trial) Histogram(requests []request.Request) *responses.Histogram {
	h := responses.NewHistogram()
	for _, r := range requests {
		if t.InWindow(r) {
			h.Record(time.Duration(r.Done - r.Scheduled))
		}
	}
	return h
}

// Responses returns the response times, in seconds and ascending, of all requests in the trial's
// window. They count as in Histogram.
func (t TrialRecord) Responses() (seconds []float64) {
	return t.times(func(r request.Request) int64 { return r.Scheduled })
}

// FromSending returns the same times, but from when the requests were sent. It leaves out requests that were never sent.
func (t TrialRecord) FromSending() (seconds []float64) {
	return t.times(func(r request.Request) int64 { return r.Sent })
}

// times returns the times of the requests in the trial's window from a moment of each to its end, in seconds and ascending.
func (t TrialRecord) times(from func(request.Request) int64) (seconds []float64) {
	for _, r := range t.Requests {
		if t.InWindow(r) && from(r) >= 0 {
			seconds = append(seconds, time.Duration(r.Done-from(r)).Seconds())
		}
	}
	slices.Sort(seconds)
	return seconds
}

// Heat counts all requests in t's window, each once. Response times count from the scheduled time.
func (t Trial) Heat(requests []request.Request) *responses.HeatCounts {
	c := new(responses.HeatCounts)
	for _, r := range requests {
		if !t.InWindow(r) {
			continue
		}
		row := responses.NoReply
		if r.Outcome == request.Answered {
			row = responses.HeatRow(float64(r.Done-r.Scheduled) / 1e9)
		}
		at := (float64(r.Scheduled)/1e9 - t.Warmup.Seconds()) / t.Window.Seconds()
		c[min(max(int(at*responses.HeatSlices), 0), responses.HeatSlices-1)][row]++
	}
	return c
}

// Sessions are series of requests, each on one connection.
type Sessions struct {
	Complete int                 `json:"complete"`
	Broken   int                 `json:"broken"` // their connection ended before the last reply
	Good     int                 `json:"good"`   // requests of complete and broken sessions, by whether the reply was good
	Failed   int                 `json:"failed"`
	Duration responses.Quantiles `json:"duration"` // of the complete ones
}
