package model

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/dispatch"
	"schedlab/internal/mode"
)

// A Mode is a mode together with the constructor of its model. For a mode of several processes
// New makes the model of one process.
//
// A mode differs from its neighbours in one axis where possible, so that a comparison of two modes
// has one cause. The names in Without say which neighbour lacks which trait.
type Mode struct {
	mode.Mode
	New func(Config) Model `json:"-"`
}

// axes returns the coordinates in the order of [mode.Axes]. As arguments they fit on one line for
// each mode.
func axes(stack, accept, unit, executor, queue, overflow, thread string) mode.Axes {
	return mode.Axes{Stack: stack, Accept: accept, Unit: unit, Executor: executor, Queue: queue, Overflow: overflow, Thread: thread}
}

// anyOverflow lists all overflow policies, for a queue that supports every one.
const anyOverflow = "block|reject|drop|drop-oldest|codel"

// poolFlags are the flags of every mode with workers behind a queue.
var poolFlags = []string{"workers", "queue-depth", "overflow"}

// withPool returns the flags of a mode with a pool that supports every overflow policy, with
// more in between.
func withPool(more ...string) []string {
	return slices.Concat(poolFlags, more, []string{"codel-target", "codel-interval"})
}

// longQueue returns the default depth of a queue of connections: enough for a burst of them. The
// modes with 2 x workers places queue requests: the last one of a full queue waits about two
// service times.
func longQueue(int) int { return 1024 }

// Modes returns every mode, in the order in which they are shown. It makes a new slice in each
// call, so the caller may change it. A new mode is one more element here: help, metrics and plans
// take its name, axes and flags from the list.
func Modes() []Mode {
	return []Mode{
		{mode.Mode{
			Name:     "nethttp",
			Summary:  "net/http as it comes: a goroutine per connection",
			Axes:     axes("nethttp", "single", "connection", "goroutine per unit", "none", "none", "free"),
			Imitates: "the standard library",
			Wins:     "most workloads that wait more than they compute; nothing to size",
			Starves:  "nobody: past capacity everybody slows down together, without bound",
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newNethttp},
		{mode.Mode{
			Name:     "nethttp-gate",
			Summary:  "net/http with at most --workers connections in service; the others wait at a gate",
			Axes:     axes("nethttp", "single", "connection", "goroutine per unit, limited", "shared", "block", "free"),
			Imitates: "golang.org/x/net/netutil.LimitListener, with the wait where it can be seen",
			Wins:     "where nethttp does, when what connections hold (memory, a database) must be bounded",
			Starves:  "keep-alive clients beyond the places, while those served stay busy, as pool",
			Flags:    []string{"workers"},
			Station:  "pool", Sticky: true,
		}, newGate},
		{mode.Mode{
			Name:     "goroutine",
			Summary:  "a goroutine per connection on fasthttp's parser",
			Axes:     axes("fasthttp", "single", "connection", "goroutine per unit", "none", "none", "free"),
			Imitates: "net/http's scheduling without net/http's parser: the control between the two stacks",
			Wins:     "where fasthttp does; shows what fasthttp's own pool adds",
			Starves:  "nobody, as nethttp",
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newGoroutine},
		{mode.Mode{
			Name:     "fasthttp",
			Summary:  "fasthttp's own elastic pool, the last worker to become free first",
			Axes:     axes("fasthttp", "single", "connection", "elastic LIFO", "none", "none", "free"),
			Imitates: "fasthttp.Server.Serve",
			Wins:     "many short requests on kept connections: less CPU and memory for each",
			Starves:  "nobody below --max-conns",
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newFasthttp},
		{mode.Mode{
			Name:     "pool",
			Summary:  "fixed workers behind one shared queue; a worker keeps its connection until it closes",
			Axes:     axes("fasthttp", "single", "connection", "fixed", "shared", anyOverflow, "free"),
			Imitates: "the classic dispatcher with a jobs channel, a thread pool",
			Wins:     "short CPU-bound requests past capacity, one per connection: first come first served bounds the worst wait",
			Starves:  "keep-alive clients beyond the number of workers, while those served stay busy; everybody when requests wait and workers < rate x time held",
			Flags:    withPool("locked", "job"),
			Station:  "pool", Sticky: true, Sized: true, Overflow: "block", Depth: longQueue,
			Without: map[string]string{mode.SharedQueue: "pool-perworker", mode.OneAcceptor: "reuseport"},
		}, poolOver(dispatch.Shared)},
		{mode.Mode{
			Name:     "pool-perworker",
			Summary:  "the pool with a queue for each worker, chosen in turn or by load; idle workers may steal",
			Axes:     axes("fasthttp", "single", "connection", "fixed", "per worker", anyOverflow, "free"),
			Imitates: "threads with a channel each; nginx dealing connections out to workers",
			Wins:     "many workers and short work of equal length: no queue that all must lock",
			Starves:  "whoever waits behind a long connection while another worker idles (--steal cures it); otherwise as pool",
			Flags:    withPool("locked", "queue", "steal"),
			Station:  "per-worker", Sticky: true, Overflow: "block", Depth: longQueue,
		}, poolOver(dispatch.PerWorker)},
		{mode.Mode{
			Name:     "pool-ring",
			Summary:  "the pool with a lock-free ring between acceptor and workers, which may spin before they sleep",
			Axes:     axes("fasthttp", "single", "connection", "fixed", "ring", anyOverflow, "free"),
			Imitates: "a bounded MPMC queue, as of the LMAX disruptor's kin",
			Wins:     "spinning workers on cores of their own; without --spin a channel does as well",
			Starves:  "as pool; and with --spin whatever needs the processors the workers spin on",
			Flags:    withPool("locked", "spin"),
			Station:  "pool", Sticky: true, Overflow: "block", Depth: longQueue, LeastDepth: 1, PowerOfTwo: true,
		}, poolOver(dispatch.Ring)},
		{mode.Mode{
			Name:     "pool-requeue",
			Summary:  "a worker serves what a connection has sent, then gives it back to wait for more",
			Axes:     axes("fasthttp", "single", "burst", "fixed", "shared", anyOverflow, "free"),
			Imitates: "a thread pool behind a selector: Tomcat's NIO connector, Jetty",
			Wins:     "many more keep-alive clients than workers: the pool's bound without its starvation",
			Starves:  "everybody while slow bodies or slow readers hold all workers, until the body or write timeout",
			Flags:    withPool("locked"),
			Station:  "pool", Overflow: "block", Depth: longQueue,
		}, newPoolRequeue},
		{mode.Mode{
			Name:     "pool-request",
			Summary:  "a goroutine per connection parses; handlers run on fixed workers behind a bounded queue; full is 503",
			Axes:     axes("fasthttp", "single", "request", "fixed", "shared", anyOverflow, "free"),
			Imitates: "a worker pool inside handlers, with load shedding",
			Wins:     "overload: what it accepts stays fast, the rest is told at once",
			Starves:  "requests beyond workers + queue: refused with 503 and Retry-After, or under --overflow drop left hanging",
			Flags:    withPool("locked", "job", "executor"),
			Station:  "pool", Sized: true, Overflow: "reject", Depth: func(workers int) int { return 2 * workers },
			Without: map[string]string{mode.HandOff: "semaphore"},
		}, requestsOver(dispatch.Shared)},
		{mode.Mode{
			Name:     "pool-adaptive",
			Summary:  "pool-request that under overload serves the newest first and refuses what waited too long",
			Axes:     axes("fasthttp", "single", "request", "fixed", "adaptive LIFO", "block|reject|drop|drop-oldest", "free"),
			Imitates: "adaptive LIFO with CoDel, as in Facebook's and HBase's servers",
			Wins:     "overload with clients that give up: no work for those who have gone, short waits for the rest, no queue length to choose",
			Starves:  "the oldest requests under overload: refused with 503 after twice --codel-target",
			Flags:    withPool("locked"),
			Station:  "pool", Adaptive: true, Overflow: "reject", Depth: longQueue, LeastDepth: 1,
		}, requestsOver(dispatch.Adaptive)},
		{mode.Mode{
			Name:     "threadpool",
			Summary:  "the pool with an operating-system thread for each worker",
			Axes:     axes("fasthttp", "single", "connection", "fixed", "shared", anyOverflow, "locked"),
			Imitates: "the thread pools of servers without goroutines",
			Wins:     "nothing here: it shows what waking a thread costs beside waking a goroutine",
			Starves:  "as pool",
			Flags:    withPool("job"),
			Station:  "pool", Threads: "worker", Sticky: true, Sized: true, Overflow: "block", Depth: longQueue,
			Without: map[string]string{mode.Locked: "pool"},
		}, lockedPool},
		{mode.Mode{
			Name:     "semaphore",
			Summary:  "a goroutine per connection; handlers run on it, --workers at a time, after at most --wait",
			Axes:     axes("fasthttp", "single", "request", "inline, limited", "semaphore", "reject", "free"),
			Imitates: "a buffered channel as semaphore around the handler: what Go programs use instead of a pool",
			Wins:     "CPU-bound requests near capacity: the bound of pool-request without its hand-off",
			Starves:  "requests that get no turn within --wait: refused with 503 and Retry-After",
			Flags:    []string{"workers", "wait"},
			Station:  "pool", Sized: true,
		}, newSemaphore},
		{mode.Mode{
			Name:     "threads",
			Summary:  "an operating-system thread for each connection, made for it and ended with it",
			Axes:     axes("fasthttp", "single", "connection", "goroutine per unit", "none", "none", "locked"),
			Imitates: "thread per connection, as servers were written before there were goroutines",
			Wins:     "nothing here: it shows what goroutines save",
			Starves:  "nobody below --max-conns, which must stay below the number of threads allowed",
			Station:  "goroutines", Threads: "connection",
			Without: map[string]string{mode.Locked: "goroutine", mode.OneAcceptor: "reuseport"},
		}, newThreads},
		{mode.Mode{
			Name:     "reuseport",
			Summary:  "--listeners sockets share the address by SO_REUSEPORT; a goroutine per connection",
			Axes:     axes("fasthttp", "reuseport", "connection", "goroutine per unit", "none", "none", "free"),
			Imitates: "sharded listeners, an acceptor for each core",
			Wins:     "many short connections a second, when one acceptor or one accept queue is the limit",
			Starves:  "connections hashed to a socket whose acceptor is behind, while others idle",
			Flags:    []string{"listeners", "deal"},
			Station:  "goroutines",
			Without:  map[string]string{mode.OwnSockets: "goroutine"},
		}, newGoroutine},
		{mode.Mode{
			Name:     "loop",
			Summary:  "--listeners event loops, each with a socket of its own by SO_REUSEPORT; handlers inline",
			Axes:     axes("fasthttp", "reuseport", "inline", "loop", "none", "none", "free"),
			Imitates: "a single-threaded runtime per core: nginx, Node.js in cluster mode, tokio's current_thread",
			Wins:     "many short requests on many kept connections: least CPU for each request and least memory for an idle connection",
			Starves:  "every connection of a loop while a handler of it computes or sleeps; connections hashed to a busy loop, while others idle",
			Flags:    []string{"listeners", "deal", "batch"},
			Station:  "loops", Loops: true,
			Without: map[string]string{mode.Inline: "reuseport"},
		}, newLoop},
		{mode.Mode{
			Name:     "loop-single",
			Summary:  "one event loop accepts, parses and computes",
			Axes:     axes("fasthttp", "single", "inline", "loop", "none", "none", "free"),
			Imitates: "CPU work on the accepting loop of an asynchronous server",
			Wins:     "one core and short requests; nothing runs ahead: it accepts no more than it serves",
			Starves:  "everybody while one request computes; new connections wait in the kernel",
			Flags:    []string{"batch"},
			Station:  "loops", Loops: true,
			Without: map[string]string{mode.Inline: "goroutine"},
		}, newLoop},
		{mode.Mode{
			Name:     "loop-offload",
			Summary:  "event loops read, parse and write; handlers run on fixed workers behind a bounded queue; full is 503",
			Axes:     axes("fasthttp", "reuseport", "request", "fixed", "shared", "reject|block", "locked"),
			Imitates: "selectors with a worker pool; spawn_blocking with a reply channel",
			Wins:     "handlers that wait or compute for long, on very many connections",
			Starves:  "requests beyond workers + queue: refused with 503 and Retry-After",
			Flags:    append([]string{"listeners", "deal", "batch"}, poolFlags...),
			Station:  "pool", Loops: true, Overflow: "reject", Depth: func(workers int) int { return 2 * workers },
		}, newLoopOffload},
		{mode.Mode{
			Name:     "prefork",
			Summary:  "--processes processes of --threads threads each on one address; a goroutine per connection in each",
			Axes:     axes("fasthttp", "prefork", "connection", "goroutine per unit", "none", "none", "free"),
			Imitates: "a runtime per core, with work stealing inside each (--threads above 1) or without",
			Wins:     "cores that must not disturb each other: own scheduler, own heap, own garbage collection",
			Starves:  "connections hashed to a busy process, while the others idle",
			Flags:    []string{"processes", "threads"},
			Station:  "goroutines", Processes: true,
		}, newGoroutine},
	}
}

// Lookup returns the mode of that name. Its error lists the names.
func Lookup(name string) (Mode, error) {
	var names []string
	for _, m := range Modes() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mode{}, fmt.Errorf("unknown mode %q (want one of %s)", name, strings.Join(names, ", "))
}
