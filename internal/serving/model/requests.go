package model

import (
	"context"
	"runtime/debug"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// requests takes every request from its HTTP library to the handler and back. It counts the
// request, measures its time, recovers panics, and closes connections in a drain. It allocates
// nothing.
//
// Each model embeds one. Its HTTP library calls an adapter (ServeHTTP or answer), which fills an
// Exchange and calls exactly one of two methods: serve for a request that the handler gets, decline
// for one that has a flaw. serve calls run. In most models run is runHandler; a model with a queue
// of requests sets run to a method that queues x, waits, and calls runHandler on a worker or
// turnAway.
//
// The settings are made before the first request and do not change.
type requests struct {
	cfg    Config                             // of the model
	run    func(*workload.Exchange, openConn) // calls runHandler, at once or through a queue
	queues bool                               // run may make a request wait for a worker
	queue  dispatch.Queue                     // where connections or requests wait; nil: nowhere
	epoch  time.Time
	zero   int64 // epoch on the timeline's clock
	*tally
}

// A tally counts requests. It lies apart from the settings in requests, so that a count does not take
// them out of the caches of other CPUs. Each counter is atomic on its own, so a reading does
// not show all of them at one moment.
type tally struct {
	started, aborted, panics atomic.Uint64
	gaveUp                   atomic.Uint64
	shed                     [NumReasons]atomic.Uint64
	refused                  [len(refusalCodes) + 1]atomic.Uint64 // by refusalCodes; the last element counts any other code
}

// refusalCodes lists the statuses of requests that reach no handler. The set is closed, because
// it is a metric label.
var refusalCodes = [...]int{400, 408, 413, 417, 431, 501, 505}

// RefusalCodes returns the codes in the order of [RequestCounts.Refused]; the last
// is 0, for any other. The caller owns the slice: append has to copy, because the array has no
// spare room.
func RefusalCodes() []int { return append(refusalCodes[:], 0) }

// refuse counts a request that was answered with status and reached no handler.
func (t *tally) refuse(status int) {
	i := slices.Index(refusalCodes[:], status)
	if i < 0 {
		i = len(refusalCodes)
	}
	t.refused[i].Add(1)
}

// newRequests returns a requests that runs handlers at once, on the goroutine that calls serve.
func newRequests(cfg Config) *requests {
	r := &requests{cfg: cfg, epoch: time.Now(), tally: new(tally)}
	r.zero = timeline.At(r.epoch)
	r.run = func(x *workload.Exchange, _ openConn) { r.runHandler(x) }
	if cfg.Observe == nil {
		r.cfg.Observe = func(workload.Route, int, time.Duration) {}
	}
	if cfg.Waited == nil {
		r.cfg.Waited = func(time.Duration) {}
	}
	return r
}

// RequestCounts is one reading of the request counters. A started request is answered (a whole
// answer went to the HTTP library, and was observed), aborted (its connection was cut
// meanwhile, or it was left unanswered) or in flight. A shed request was started but not run: it
// was answered with a refusal, or aborted. A refused request was not started: it was malformed,
// too large or too late.
type RequestCounts struct {
	Started, Aborted, Panics uint64
	GaveUp                   uint64                        // requests run although the client had gone when the wait for a worker ended
	Shed                     [NumReasons]uint64            // by reason
	Refused                  [len(refusalCodes) + 1]uint64 // by status, in the order of [RefusalCodes]
}

// Plus returns the sum of two readings of different models.
func (c RequestCounts) Plus(d RequestCounts) RequestCounts {
	c.Started += d.Started
	c.Aborted += d.Aborted
	c.GaveUp += d.GaveUp
	c.Panics += d.Panics
	for i, n := range d.Shed {
		c.Shed[i] += n
	}
	for i, n := range d.Refused {
		c.Refused[i] += n
	}
	return c
}

// Requests returns the counts, without the answered requests: the observer counts those.
func (r *requests) Requests() RequestCounts {
	c := RequestCounts{Started: r.started.Load(), Aborted: r.aborted.Load(), Panics: r.panics.Load(), GaveUp: r.gaveUp.Load()}
	for i := range r.shed {
		c.Shed[i] = r.shed[i].Load()
	}
	for i := range r.refused {
		c.Refused[i] = r.refused[i].Load()
	}
	return c
}

// Queue returns the queue of the model.
func (r *requests) Queue() dispatch.Queue { return r.queue }

// exchanges saves an allocation and a buffer for each request. An Exchange is reset after Get, not
// before Put.
var exchanges = sync.Pool{New: func() any { return new(workload.Exchange) }}

// clock returns the time since the model was made. It costs half of time.Now, because it reads
// one clock where time.Now reads two.
func (r *requests) clock() time.Duration { return time.Since(r.epoch) }

// serve runs x and leaves its answer in x. The request came on conn and was parsed at began, on
// the model's clock.
func (r *requests) serve(x *workload.Exchange, conn openConn, began time.Duration) {
	r.started.Add(1)
	c := conn.ledgerEntry()
	c.beginRequest() // until markAnswered a drain takes the connection for busy
	if c.stamps != nil {
		x.Stamped, x.Begun = true, r.zero+int64(began)
		c.stamps.begin(x)
	}
	if r.queues {
		c.waiting.Store(r.zero + int64(began))
	}
	// The region marks the request in an execution trace. Without a trace it costs the reading
	// of one flag.
	region := trace.StartRegion(context.Background(), "request")
	r.run(x, conn)
	region.End()
	// After the run, so that an answer that ends during a drain closes its connection, too.
	if c.listener.Draining() {
		x.Close = true
	}
	if most := r.cfg.CloseAfter; most > 0 && !c.streams {
		if c.answers++; c.answers >= most {
			c.hangUp.Store(r.cfg.Silently)
			x.Close = x.Close || !r.cfg.Silently
		}
	}
	// A drain, or another goroutine that found the client gone, may have closed the connection
	// during the run. The answer then goes nowhere.
	if c.closed.Load() || x.Status == noAnswer {
		r.aborted.Add(1)
		return
	}
	if !x.Stamped {
		r.cfg.Observe(x.Route, x.Status, r.clock()-began)
		return
	}
	// The observed time ends at the same stamp as the timeline's, so that the two agree.
	c.stamps.answered(x)
	r.cfg.Observe(x.Route, x.Status, time.Duration(x.Ended-r.zero)-began)
}

// runHandler runs the handler and turns a panic into a 500.
func (r *requests) runHandler(x *workload.Exchange) {
	// The recover is here and not in the HTTP library, so that every model treats a panic alike: a
	// worker survives, and the client gets a 500.
	defer func() {
		if v := recover(); v != nil {
			r.panics.Add(1)
			r.cfg.Log.Error("handler panicked", "route", x.Route, "panic", v, "stack", string(debug.Stack()))
			refuse(x, 500, "internal error\n")
			x.Close = true
			ended(x)
		}
	}()
	r.cfg.Handle(x)
	ended(x)
}

// ended stamps the end of a request's service.
func ended(x *workload.Exchange) {
	if x.Stamped {
		x.Ended = timeline.Now()
	}
}

// enqueued stamps a request that enters a queue, and dequeued one that leaves it. A request
// that leaves the queue runs at once.
func enqueued(x *workload.Exchange) {
	if x.Stamped {
		x.Queued = timeline.Now()
	}
}

func dequeued(x *workload.Exchange) {
	if x.Stamped {
		x.Taken = timeline.Now()
		x.Begun = x.Taken
	}
}

// noAnswer is the status of a request that gets no answer.
const noAnswer = 0

// reasons maps a dispatcher's reasons to the Reasons under which they are counted. The index is the
// dispatcher's reason.
var reasons = [...]Reason{dispatch.Full: QueueFull, dispatch.Dropped: Unanswered, dispatch.Evicted: Evicted, dispatch.Stale: Stale, dispatch.Expired: Expired}

// turnAway turns x into a refusal, and counts it. x is a request on c that a dispatcher did not
// run.
func (r *requests) turnAway(x *workload.Exchange, c openConn, why dispatch.Why) {
	c.ledgerEntry().waiting.Store(0)
	r.shed[reasons[why]].Add(1)
	x.Route = workload.RouteOf(x.Path)
	if why.Unanswered() {
		x.Status, x.Unanswered = noAnswer, uint8(reasons[why])
		return
	}
	refuse(x, 503, "overloaded\n")
	x.RetryAfter = retryAfter
}

// decline turns x into the answer to a request that reaches no handler, and counts it. The
// connection closes after the answer.
func (r *requests) decline(x *workload.Exchange, status int, body string) {
	r.tally.refuse(status)
	refuse(x, status, body)
	x.Close = true
}

// refuse turns x into an error answer.
func refuse(x *workload.Exchange, status int, body string) {
	x.Status = status
	x.ContentType = "text/plain; charset=utf-8"
	x.Out = []byte(body)
}

// target splits a request target into path and query. It removes the scheme and authority of
// the absolute form. It decodes nothing, so two spellings of a path are two paths, on every
// stack.
func target(uri string) (path, query string) {
	if len(uri) > 0 && uri[0] != '/' {
		uri = originForm(uri)
	}
	path, query, _ = strings.Cut(uri, "?")
	return path, query
}

// originForm removes "http://host" from an absolute target. It returns "/" for a URL without a
// path.
func originForm(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return uri // "*" of OPTIONS, or the authority of CONNECT
	}
	slash := strings.IndexAny(rest, "/?")
	switch {
	case slash < 0:
		return "/"
	case rest[slash] == '?':
		return "/" + rest[slash:]
	}
	return rest[slash:]
}
