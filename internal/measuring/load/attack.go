// Package load sends requests to HTTP servers: in an open loop, at the times of a trace,
// and in a closed one, each client after its last reply. Its engines are spin, one
// goroutine on raw epoll, and vegeta's attacker. It stamps what happened to every request
// into request.Request and reports what the generator itself did. It judges none of it.
//
// It speaks to one server at a time: no redirects, no cookies, no compression. The engine spin speaks HTTP/1.1 without
// TLS, and vegeta HTTP/1.1 and HTTP/2 with or without TLS (client.go).
//
// A load takes this way through the files. Attack (an open loop) and Closed (a closed one) check their
// Options and render the targets into a script (target.go). The engine spin then drives all connections
// from one goroutine (spin_linux.go, spinconn_linux.go); spinopen_linux.go or spinclosed_linux.go decides
// which request is sent when, and reply.go reads the replies. The engine vegeta (vegeta.go) sends open
// loops only. Both engines return one request.Request per request, and a Proof.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
)

// MaxConnections is the largest number of connections that one load may hold.
// The largest experiment, docs/experiments/crowds.md, needs this number.
const MaxConnections = 16_384

// spareDescriptors is the number of file descriptors kept free for everything else that the
// process opens.
const spareDescriptors = 64

// CheckConnections returns an error, with its remedy, if one load of this process cannot hold
// n connections.
func CheckConnections(n int) error {
	if n > MaxConnections {
		return fmt.Errorf("%d connections; one load holds %d at most", n, MaxConnections)
	}
	if need, limit := uint64(n+spareDescriptors), descriptorLimit(); limit < need {
		return fmt.Errorf("%d connections need %d file descriptors and this process may open %d; raise the limit with `ulimit -n %d`, or use fewer connections", n, need, limit, need)
	}
	return nil
}

// processTime returns the CPU time of this process so far; 0 when the kernel does not report it.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// descriptorLimit returns the number of files that this process may have open. Where the limit is
// unknown it returns the largest number; a dial that fails for want of a descriptor counts in Exhausted.
func descriptorLimit() uint64 {
	limit := unix.Rlimit{Cur: math.MaxUint64}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur
}

// Options say what to send, when, and over which connections, in an open or a closed loop.
type Options struct {
	// Clients has the settings that a record keeps. Only Check reads Loop, Arrivals and Think
	// are for the record alone, and Idle and Engine are for open loops: Engine is one of
	// Engines, "" is DefaultEngine.
	//
	// Connections limits the number of connections of an open loop. With KeepAlive the engine
	// spin opens all of them before the attack starts and uses them in turn; the engine
	// vegeta opens them as needed and takes the one used last. A request that finds none free
	// waits in order of arrival, and that wait is part of its response time. 0 or less: no
	// limit; the one used last is taken first. In a closed loop Connections, 1 to
	// MaxConnections, is the number of clients. Each has one connection, opened beforehand
	// when KeepAlive is set and Ramp is not.
	//
	// KeepAlive keeps connections open between requests. When it is false, each request opens
	// its own connection and sends `Connection: close`.
	//
	// Idle is the number of further connections that are opened after Connections. Each
	// carries one request before the attack starts, with a sequence number past the trace's,
	// and then stays open without a request until the attack ends.
	//
	// Timeout bounds one request. It starts when the request is sent (request.Request's Sent)
	// and includes the wait for a connection and any dialling, but not the generator's own
	// lag. 0: DefaultTimeout.
	//
	// Patience is of an open loop. Its Deadline counts from the scheduled time, and the client gives up then, whatever the
	// Timeout of the attempt. A request that failed is sent again after Backoff, at most Retries times and never after its
	// deadline: one that timed out, whose connection broke or was refused, or that got a status of 500 or more, or 429. It stays
	// one request: Sent tells of its first attempt; stamps, status and outcome of its last.
	//
	// Rate, in a closed loop, is the total rate of all clients, in requests per second: request
	// k of client i of N is Scheduled (i + kN)/Rate seconds after the loop's start. Requests
	// scheduled before a ramp starts their client are left out. A client that still waits for
	// a reply is late, and catches up. 0: each sends as soon as it can.
	//
	// Ramp spreads the clients' starts evenly over its length, from the loop's start. A client
	// opens its connection when it starts. 0: all start at once.
	//
	// Session is the number of requests that a client sends before it closes its connection
	// and opens another. A failure or a close by the server ends a session early. 0: the
	// client keeps its connection. Needs KeepAlive.
	//
	// Speaks is for the engine vegeta, except for its Host: see EngineFor. A target's own Host header goes before Host.
	// Connections of HTTP/2 are used in turn; each has up to Streams requests under way (0: DefaultStreams), and further
	// requests wait.
	//
	// Pipeline is the number of requests that a client has in flight on its connection,
	// answered in order; 0 or 1: one. When the connection breaks, all of them fail and none is
	// repeated. Needs KeepAlive; excludes Pause and Rate.
	record.Clients
	// Targets are used in rotation: request i goes to Targets[i % len(Targets)],
	// unless Trace.Which names another. All targets have the same host and port.
	// A target with path /work gets the request's demand as ?iters=N&sleep=Dns.
	Targets []Target
	// Trace is the schedule. It may be shared between attacks; it is only read. A closed
	// loop has no schedule: it uses Which and Demand, both of any length, over and over.
	Trace arrivals.Trace
	// OpenRate is the rate, per second, at which connections are opened before the
	// attack; 0: as fast as the server accepts, 64 at a time.
	OpenRate float64
	// Shared is set when the load has no CPU to itself: the engine spin then sleeps
	// between requests instead of polling the kernel all the time.
	Shared bool
	// Duration is the length of a closed loop's measured time, which follows the Warmup. In an open
	// loop of the engine spin, requests that are due before Warmup need not be answered: the ones that
	// still wait when all others have ended are cut off (outcome Cut).
	Duration, Warmup time.Duration
	// Pause returns how long a client of a closed loop waits between a reply and its next
	// request; nil: it does not wait. Pause is called for one client at a time, with that
	// client's random generator, which is seeded from Seed. It should not allocate.
	Pause func(rng *rand.Rand) time.Duration
	Seed  uint64
	// Begin is when the load starts; zero: as soon as its connections are open. If that is later than
	// Begin, the first requests are late, which their times show. It is for the engine spin.
	Begin time.Time
	// Started, if not nil, is called once, shortly before the first arrival, with the
	// load's start. The time carries a monotonic reading. No request is sent before
	// Started returns.
	Started func(time.Time)
	// Moments are times from the load's start, ascending. Moment is called at each of
	// them with its index. It runs on the load's own goroutine and must be quick.
	Moments []time.Duration
	Moment  func(i int)
	// Closing, if not nil, is called when every request has its outcome or the load was
	// stopped, before the connections are closed.
	Closing func()
	// Ended, if not nil, is called for each sent request of an open loop once it has its
	// outcome: in the order in which requests end, from one goroutine. seq is the request's
	// index in the trace, and s has the client's stamps. A slow callback delays no request, but
	// costs memory.
	Ended func(seq int, r request.Request, s request.Stamps)
	// Times, if not nil, is the schedule of an open loop instead of Trace.At, in ascending order
	// and with at most arrivals.MostStreamed of them. It is drawn while the load runs, the requests are given to
	// Ended alone, and the Result has none. So memory does not grow with their number. Trace's other
	// lists, of any length, are used over and over. It is for the engine spin, without a Warmup.
	Times iter.Seq[time.Duration]
}

// A Result holds the outcome of every request of one attack.
type Result struct {
	// Requests holds one entry per arrival of the trace, in its order; it is nil if the schedule
	// was Times. A wait for a free connection lies between Sent and Done.
	Requests []request.Request
	// Stamps are the client's stamps of each request.
	Stamps []request.Stamps
	// Start is the zero of every stamp in Requests.
	Start time.Time
	record.Opened
	// Exhausted counts dials that failed for want of a local port or file
	// descriptor. The generator is to blame, not the server.
	Exhausted uint64
	// ConnAnswers holds the number of replies per connection, for every connection that
	// carried a request. In an open loop it is nil unless KeepAlive and Connections are
	// set. A connection that had to be opened again keeps its count.
	ConnAnswers []uint32
	// Asked is the number of connections that carried a request. Starved is the number
	// of these that got no reply and waited for one in vain. A connection with failures
	// alone, such as resets, is not among them.
	Asked, Starved int
	// Waited counts the requests that found no connection free. The engine vegeta leaves out those that waited to open
	// one of their own over HTTP/1.1.
	Waited int
	// FirstReply is the longest time that a connection took from writing its first
	// request to its first reply. Connections without a reply are left out.
	FirstReply time.Duration
	// Idle counts the idle connections. Each carried one request before the load, and none
	// during it.
	Idle IdleConns
	// Proof reports on the generator, from the first arrival to the last end.
	Proof Proof
}

// IdleConns are connections that carry one request and then stay open and idle during an attack.
type IdleConns struct {
	Asked    int
	Answered int
	Lost     int // closed, or sent bytes without a request, before the attack ended
}

// Attack sends the requests of the trace and returns when each has an outcome. It does not wait for
// requests of the Warmup.
//
// Bad options give a nil Result. When ctx ends, sending stops within 100 ms and requests in
// flight are cut off (outcome Cut). Requests not yet sent are Cut too, with Sent -1; their
// Done is the attack's end, or Scheduled if that is later. Attack then returns both the
// Result and an error. Whatever the server does is an outcome, never an error.
func Attack(ctx context.Context, o Options) (*Result, error) {
	a, err := o.prepare(false)
	switch {
	case err != nil:
		return nil, err
	case o.engine() == EngineVegeta:
		return attackVegeta(ctx, o, a)
	}
	return attackSpin(ctx, o, a)
}

// engine returns the name of the engine that sends an open loop.
func (o *Options) engine() string { return cmp.Or(o.Engine, DefaultEngine) }

// Check returns an error if o cannot be carried out. It opens nothing. Attack and Closed make
// the same check.
func (o *Options) Check() error {
	_, err := o.prepare(o.Closed())
	return err
}

// prepare checks o and renders its requests.
// With a closed loop or Times, the trace has no times and lists of any length: Trace.Check is not for
// these traces.
func (o *Options) prepare(closed bool) (a *script, err error) {
	name, check := "attack", o.checkOpen
	if closed {
		name, check = "closed loop", o.checkClosed
	} else if err := o.Trace.Check(); o.Times == nil && err != nil {
		return nil, err
	}
	if err = check(); err == nil {
		a, err = newScript(named(o.Targets, o.Speaks.Host), o.KeepAlive, o.Trace.Demand, o.Trace.Which)
	}
	if err == nil {
		err = o.checkSpoken(a.templates[0].tls, closed)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the %s: %w", name, err)
	}
	return a, nil
}

// checkOpen returns an error for options that an open loop cannot carry out.
func (o *Options) checkOpen() error {
	vegeta := o.engine() == EngineVegeta
	switch {
	case o.Patience != (record.Patience{}) && vegeta:
		return errors.New("a deadline or retries need the engine spin, which speaks HTTP/1.1 without TLS")
	case o.Patience.Deadline.Duration < 0 || o.Patience.Backoff.Duration < 0 || o.Patience.Retries < 0 || o.Patience.Retries > record.MostRetries:
		return fmt.Errorf("a patience of %s; give a deadline and a backoff that are not negative, and 0 to %d retries", o.Patience, record.MostRetries)
	case o.Times != nil && (vegeta || len(o.Trace.At) > 0 || o.Warmup > 0):
		return errors.New("a schedule drawn while the load runs needs the engine spin, no other schedule and no warm-up")
	// The form !(rate >= 0) refuses NaN too.
	case o.Idle < 0 || !(o.OpenRate >= 0):
		return fmt.Errorf("%d idle connections, opened at %v/s; neither is ever negative", o.Idle, o.OpenRate)
	case o.Idle > 0 && !o.KeepAlive:
		return errors.New("idle connections without keep-alive; keep them")
	case o.Idle > 0 && vegeta:
		return errors.New("the engine vegeta holds no idle connections; use spin")
	case o.OpenRate > 0 && vegeta:
		return errors.New("connections opened at a rate, and the engine vegeta opens none beforehand; use spin")
	}
	return CheckConnections(max(0, o.Connections) + o.Idle) // without a limit the number is not known beforehand
}

// The engines that can send an open loop. Both share schedules, targets and
// results; docs/reference/engines.md explains which to choose.
const (
	EngineSpin   = "spin"   // one goroutine on raw epoll; Linux
	EngineVegeta = "vegeta" // vegeta's attacker over net/http's client; speaks https and HTTP/2
)

// Engines returns the names of all engines. On Linux the first is the default.
func Engines() []string { return []string{EngineSpin, EngineVegeta} }

// A ClosedResult holds the requests that ended in the measured time. Opened, Exhausted,
// Asked, FirstReply and Proof include the warm-up; Idle and Waited are 0.
//
// Requests are in the order they were sent. Without a Rate a closed loop has no schedule:
// Scheduled equals Sent, so response times taken from them suffer coordinated omission.
// ConnAnswers leaves out the clients that sent nothing in the measured time.
//
// Starved counts the clients that never got a reply and waited for one in vain. It also counts a client that got no
// reply in the measured time, if the others had ten turns each on average. (With fewer
// turns, the client may just not have had its turn yet.)
type ClosedResult struct {
	Result
	// Seqs are the numbers of Requests, as sent in X-Vegeta-Seq, ascending.
	Seqs []uint64

	Answered int // good replies, status 2xx or 3xx
	Failed   int // any other end
	// Cut describes the requests in flight at the end. They are counted nowhere else.
	Cut     record.Pending
	Elapsed time.Duration // the measured time
	// Sessions holds the sessions that ended in the measured time, in the order they ended.
	Sessions []Session
}

// A Session is a client's use of one connection. Times are nanoseconds from the
// result's Start: Began is the sending of its first request, Ended the end of its last.
type Session struct {
	Client       int // index of the client, from 0
	Began, Ended int64
	Good, Failed int  // numbers of requests
	Broken       bool // the connection ended before the last answer, or never opened
}

// Rate returns good replies per second; 0 when nothing was measured.
// Failed requests do not count.
func (r ClosedResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// Client returns what the result tells of the load's side of a trial with these clients. CPU, Steal and Throttled are
// read elsewhere.
func (r ClosedResult) Client(c record.Clients) record.ClientSide {
	// The proof is copied: a pointer into r would keep all of its requests for as long as the judge keeps the trial.
	side := record.ClientSide{
		Opened: r.Opened, ConnAnswers: r.ConnAnswers, Asked: r.Asked, Starved: r.Starved,
		FirstReply: r.FirstReply.Seconds(), IdleLost: r.Idle.Lost, Proof: new(r.Proof.Proof), Pending: r.Cut, Patience: c.Patience,
	}
	if c.Session > 0 {
		side.Sessions = sumSessions(r.Sessions)
	}
	return side
}

// checkClosed returns an error for options that a closed loop cannot carry out. The form !(rate >= 0)
// refuses NaN too.
func (o *Options) checkClosed() error {
	kept := o.KeepAlive
	switch {
	case o.Patience != (record.Patience{}):
		return errors.New("a deadline and retries belong to an open loop")
	case o.Connections < 1:
		return fmt.Errorf("%d connections; give at least 1", o.Connections)
	case o.Duration <= 0 || o.Warmup < 0 || o.Ramp.Duration < 0:
		return errors.New("give a positive duration, and a warm-up and ramp that are not negative")
	case o.Session < 0 || o.Pipeline < 0 || !(o.Rate >= 0) || !(o.OpenRate >= 0):
		return errors.New("give a session, a pipeline and rates that are not negative")
	case o.Pipeline > maxPipeline:
		return fmt.Errorf("a pipeline of %d requests; give at most %d", o.Pipeline, maxPipeline)
	case !kept && (o.Session > 0 || o.Pipeline > 1):
		return errors.New("session and pipeline need connections that are kept; set keep-alive")
	case o.Pipeline > 1 && (o.Pause != nil || o.Rate > 0):
		return errors.New("a pipeline is always full, so it excludes think times and a rate; drop one of them")
	case o.Pause != nil && o.Rate > 0:
		return errors.New("think times and a rate both say when to send; drop one of them")
	}
	return CheckConnections(o.Connections)
}

// maxPipeline bounds the requests in flight on one connection. With MaxConnections their queues then
// take 64 MiB.
const maxPipeline = 1024

// Closed runs clients that each send their next request when the last is answered, and
// counts the replies. Requests in flight at the end are cut off. When ctx ends early, Closed
// returns the result so far and ctx's error.
//
// The loop itself is in spinclosed_linux.go. It only logs requests; tallied counts them when the
// load is over, so that counting costs the load no time.
func Closed(ctx context.Context, o Options) (ClosedResult, error) {
	a, err := o.prepare(true)
	if err != nil {
		return ClosedResult{}, err
	}
	if o.engine() == EngineVegeta {
		return closedVegeta(ctx, o, a)
	}
	return closedSpin(ctx, o, a)
}

// dialPause is the time that a client of a closed loop waits after a request that got no connection, so that
// clients of a dead server do not dial all the time.
const dialPause = 10 * time.Millisecond

// sumSessions counts the sessions of a closed loop and takes the quantiles of the durations of
// complete ones. The result is never nil; it is all zero without sessions.
func sumSessions(all []Session) *record.Sessions {
	var sum record.Sessions
	h := responses.NewHistogram()
	for _, s := range all {
		sum.Good += s.Good
		sum.Failed += s.Failed
		if s.Broken {
			sum.Broken++ // cut short, it would count as a fast one
			continue
		}
		sum.Complete++
		h.Record(time.Duration(s.Ended - s.Began))
	}
	sum.Duration = h.Quantiles()
	return &sum
}

// A Proof reports on the generator itself during a load, so that its own delays are not
// taken for the server's. Times are seconds.
//
// measureProcess makes one, count adds the lags, and the engine spin adds figures about its turns.
type Proof struct {
	record.Proof
	Elapsed float64 // from the start to the end of the last request
	CPU     float64 // CPU time of this process during Elapsed, in user and kernel mode
	LagAt   float64 // when the request with the LongestLag was due
}

// Work returns the time, in seconds, for which the engine was busy.
func (p *Proof) Work() float64 { return p.Busy * p.Elapsed }

// measureProcess begins to measure this process for a Proof. proof ends that, and returns the Proof
// without the fields that count sets. Its Busy is the share of GOMAXPROCS threads' time that the
// process computed; the engine spin replaces it.
func measureProcess() (proof func() Proof) {
	start, cpu, procs := time.Now(), processTime(), runtime.GOMAXPROCS(0)
	earlier, before := collections()
	return func() (p Proof) {
		p.Elapsed, p.CPU = time.Since(start).Seconds(), (processTime() - cpu).Seconds()
		if p.Elapsed > 0 {
			p.Busy = min(1, p.CPU/p.Elapsed/float64(procs))
		}
		gcs, pauses := collections()
		p.GCs = gcs - earlier
		// The runtime only counts pauses by length. Each pause counts with the upper edge of its bucket, so
		// that the figure is an upper bound. Buckets ascend: the last one that grew has the longest pause.
		for i, n := range pauses.Counts {
			if n -= before.Counts[i]; n == 0 {
				continue
			}
			most := pauses.Buckets[i+1]
			if math.IsInf(most, 1) { // the last bucket has no upper edge
				most = pauses.Buckets[i]
			}
			p.LongestPause = most
		}
		return p
	}
}

// count adds a request to Sent, LongestLag and LagAt. Requests that were not sent do not count.
func (p *Proof) count(r request.Request) {
	if r.Sent < 0 {
		return
	}
	p.Sent++
	// A closed loop without a rate has Scheduled equal to Sent, and so no lag.
	if lag := time.Duration(r.Sent - r.Scheduled).Seconds(); lag > p.LongestLag {
		p.LongestLag, p.LagAt = lag, time.Duration(r.Scheduled).Seconds()
	}
}

// collections reads the garbage collector's count and its pauses so far.
// The histogram's bucket edges are the same in every call.
func collections() (gcs uint64, pauses metrics.Float64Histogram) {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), *samples[1].Value.Float64Histogram()
}
