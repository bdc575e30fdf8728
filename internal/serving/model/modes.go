package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/prose"
)

// A Mode is a mode together with the constructor of its model. For a mode of several processes
// New makes the model of one process.
//
// A mode, with the flags of a variant, differs from its neighbours in one axis where possible, so that a comparison of two modes
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
const anyOverflow = "block|reject|drop|drop-oldest|expire|codel"

// poolFlags are the flags of every mode with workers behind a queue.
var poolFlags = []string{"workers", "queue-depth", "overflow"}

// withPool returns the flags of a mode with a pool that supports every overflow policy, with
// more in between.
func withPool(more ...string) []string {
	return slices.Concat(poolFlags, more, []string{"wait", "codel-target", "codel-interval"})
}

// secure returns the flags of a mode that can speak TLS, after its own.
func secure(own ...string) []string { return append(own, "tls-cert", "tls-key") }

// forget removes traits from the ones for which another mode can stand. The rows share their maps.
func forget(m *mode.Mode, traits ...string) {
	m.Without = maps.Clone(m.Without)
	for _, trait := range traits {
		delete(m.Without, trait)
	}
}

// The parts that the modes' flags exchange, see [mode.Part].
var (
	ring = mode.Part{Flag: "queue", Values: []string{"ring"}, Flags: []string{"spin"}, Change: func(m *mode.Mode, _ string) {
		m.Axes.Queue, m.LeastDepth, m.PowerOfTwo = "ring", 1, true
		forget(m, mode.SharedQueue, mode.OneAcceptor)
	}}
	perWorker = mode.Part{Flag: "queue", Values: []string{dispatch.RoundRobin, dispatch.Least, dispatch.TwoChoices}, Flags: []string{"steal"}, Change: func(m *mode.Mode, pick string) {
		m.Axes.Queue, m.Station = "per worker "+pick, "per-worker"
		forget(m, mode.SharedQueue, mode.OneAcceptor)
	}}
	stealing = mode.Part{Flag: "steal", Values: []string{"true"}, Change: func(m *mode.Mode, _ string) { m.Axes.Queue += " steal" }}
	adaptive = mode.Part{Flag: "queue", Values: []string{"adaptive"}, Change: func(m *mode.Mode, _ string) {
		m.Axes.Queue, m.Axes.Overflow = "adaptive LIFO", "block|reject|drop|drop-oldest"
		m.Adaptive, m.Depth, m.LeastDepth = true, longQueue, 1
		forget(m, mode.HandOff)
	}}
	lockedWorkers = mode.Part{Flag: "locked", Values: []string{"true"}, Change: func(m *mode.Mode, _ string) {
		m.Axes.Thread, m.Threads = "locked", "worker"
	}}
	lockedConns = mode.Part{Flag: "locked", Values: []string{"true"}, Change: func(m *mode.Mode, _ string) {
		m.Axes.Thread, m.Threads = "locked", "connection"
		forget(m, mode.NewestFirst)
	}}
	oneListener = mode.Part{Flag: "listeners", Values: []string{"1"}, Change: func(m *mode.Mode, _ string) {
		m.Axes.Accept, m.Without = "single", map[string]string{mode.Inline: "goroutine"}
	}}
)

// longQueue returns the default depth of a queue of connections: enough for a burst of them. The
// modes with 2 x workers places queue requests: the last one of a full queue waits about two
// service times.
func longQueue(int) int { return 1024 }

// Modes returns every mode, in the order in which they are shown. It makes a new slice in each
// call, so the caller may change it. Flags make variants of a mode (Parts). A new mode is one more element here: help, metrics and plans
// take its name, axes and flags from the list.
func Modes() []Mode {
	all := []Mode{
		{mode.Mode{
			Name:     "nethttp",
			Summary:  "net/http as it comes: a goroutine per connection",
			Axes:     axes("nethttp", "single", "connection", "goroutine per unit", "none", "none", "free"),
			HTTP2:    true,
			Imitates: "the standard library",
			Wins:     "most workloads that wait more than they compute; nothing to size",
			Starves:  "nobody: past capacity everybody slows down together, without bound",
			Do:       "a semaphore around handlers that compute for long, taken after the body is read, and on one CPU two Ps; a deadline for each call, since http.TimeoutHandler saves no work; before Shutdown announce the close in answers",
			Flags:    secure(),
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newNethttp},
		{mode.Mode{
			Name:     "nethttp-gate",
			Summary:  "net/http with at most --workers connections in service; the others wait at a gate",
			Axes:     axes("nethttp", "single", "connection", "goroutine per unit, limited", "shared", "block", "free"),
			HTTP2:    true,
			Imitates: "golang.org/x/net/netutil.LimitListener, with the wait where it can be seen",
			Wins:     "where nethttp does, when what connections hold (memory, a database) must be bounded",
			Starves:  "keep-alive clients beyond the places, while those served stay busy, as pool",
			Flags:    secure("workers"),
			Station:  "pool", Sticky: true,
		}, newGate},
		{mode.Mode{
			Name:     "goroutine",
			Summary:  "a goroutine per connection on fasthttp's parser",
			Axes:     axes("fasthttp", "single", "connection", "goroutine per unit", "none", "none", "free|locked"),
			Imitates: "net/http's scheduling without net/http's parser: the control between the two stacks; with --locked a thread per connection, as before there were goroutines",
			Wins:     "where fasthttp does; shows what fasthttp's own pool adds, and with --locked what goroutines save",
			Starves:  "nobody, as nethttp",
			Flags:    secure("locked"),
			Parts:    []mode.Part{lockedConns},
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newGoroutine},
		{mode.Mode{
			Name:     "fasthttp",
			Summary:  "fasthttp's own elastic pool, the last worker to become free first",
			Axes:     axes("fasthttp", "single", "connection", "elastic LIFO", "none", "none", "free"),
			Imitates: "fasthttp.Server.Serve",
			Wins:     "many short requests on kept connections: less CPU and memory for each; answers that are built in the server's buffer must be small, since each idle connection keeps its largest",
			Starves:  "nobody below --max-conns",
			Do:       "ReduceMemoryUsage where answers are large and clients many, since an idle connection keeps the largest; a deadline for each call, since RequestCtx ends with the server and not with the client",
			Flags:    secure(),
			Station:  "goroutines",
			Without:  map[string]string{mode.OneAcceptor: "reuseport", mode.NewestFirst: "loop"},
		}, newFasthttp},
		{mode.Mode{
			Name:     "pool",
			Summary:  "fixed workers behind one shared queue; a worker keeps its connection until it closes",
			Axes:     axes("fasthttp", "single", "connection", "fixed", "shared|ring|per worker", anyOverflow, "free|locked"),
			Imitates: "the classic dispatcher with a jobs channel; with --queue rr nginx dealing connections out to workers, with --queue ring a bounded MPMC queue as of the LMAX disruptor's kin, with --locked a thread pool",
			Wins:     "short CPU-bound requests past capacity, one per connection: first come first served bounds the worst wait; --queue ring where workers may --spin on cores of their own, --queue rr where many workers share short work of equal length",
			Starves:  "keep-alive clients beyond the number of workers, while those served stay busy; everybody when requests wait and workers < rate x time held; with --queue rr, least or p2c who waits behind a long connection while another worker idles (--steal cures it)",
			Do:       "as many workers as the rate times the time that a request holds one, and a few times the root of that: schedlab size",
			Flags:    withPool("queue", "steal", "spin", "locked", "job"),
			Parts:    []mode.Part{ring, perWorker, stealing, lockedWorkers},
			Station:  "pool", Sticky: true, Overflow: "block", Depth: longQueue,
			Without: map[string]string{mode.SharedQueue: "pool", mode.OneAcceptor: "reuseport"},
		}, newPool},
		{mode.Mode{
			Name:     "pool-requeue",
			Summary:  "a worker serves what a connection has sent, then gives it back to wait for more",
			Axes:     axes("fasthttp", "single", "burst", "fixed", "shared", anyOverflow, "free|locked"),
			Imitates: "a thread pool behind a selector: Tomcat's NIO connector, Jetty",
			Wins:     "many more keep-alive clients than workers: the pool's bound without its starvation",
			Starves:  "everybody while slow bodies or slow readers hold all workers, until the body or write timeout",
			Flags:    withPool("locked"),
			Parts:    []mode.Part{lockedWorkers},
			Station:  "pool", Overflow: "block", Depth: longQueue,
		}, newPoolRequeue},
		{mode.Mode{
			Name:     "pool-request",
			Summary:  "a goroutine per connection parses; handlers run on fixed workers behind a bounded queue; full is 503",
			Axes:     axes("fasthttp", "single", "request", "fixed", "shared|ring|adaptive LIFO", anyOverflow, "free|locked"),
			Imitates: "a worker pool inside handlers, with load shedding; with --queue adaptive adaptive LIFO with CoDel, as in Facebook's and HBase's servers",
			Wins:     "overload: what it accepts stays fast, the rest is told at once; with --overflow expire or --queue adaptive no work for clients that gave up, with the latter no queue length to choose",
			Starves:  "requests beyond workers + queue: refused with 503 and Retry-After, or under --overflow drop left hanging; with --queue adaptive the oldest, after twice --codel-target",
			Do:       "one or two workers a CPU, for handlers that compute: on one CPU two answer the most in time at 1.5 times what it carries, and eight hardly any",
			Flags:    withPool("queue", "locked", "job"),
			Parts:    []mode.Part{ring, adaptive, lockedWorkers},
			Station:  "pool", Overflow: "reject", Depth: func(workers int) int { return 2 * workers },
			Without: map[string]string{mode.HandOff: "semaphore"},
		}, newPoolRequest},
		{mode.Mode{
			Name:     "semaphore",
			Summary:  "a goroutine per connection; handlers run on it, --workers at a time, after at most --wait",
			Axes:     axes("fasthttp", "single", "request", "inline, limited", "semaphore", "reject", "free"),
			Imitates: "a buffered channel as semaphore around the handler: what Go programs use instead of a pool",
			Wins:     "CPU-bound requests near capacity: the bound of pool-request without its hand-off",
			Starves:  "requests that get no turn within --wait: refused with 503 and Retry-After",
			Do:       "one or two places a CPU, for handlers that compute: eight on one CPU answer hardly any in time; a --wait below the clients' patience; let clients ask again, since retries find the places that others leave",
			Flags:    secure("workers", "wait"),
			Station:  "pool",
		}, newSemaphore},
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
			Axes:     axes("fasthttp", "reuseport|single", "inline", "loop", "none", "none", "free"),
			Imitates: "a single-threaded runtime per core: nginx, Node.js in cluster mode, tokio's current_thread; with --listeners 1 CPU work on the accepting loop of an asynchronous server",
			Wins:     "many short requests on many kept connections: least CPU for each request and least memory for an idle connection",
			Starves:  "every connection of a loop while a handler of it computes or sleeps; connections hashed to a busy loop, while others idle",
			Flags:    []string{"listeners", "deal", "batch"},
			Parts:    []mode.Part{oneListener},
			Station:  "loops", Loops: true,
			Without: map[string]string{mode.Inline: "reuseport"},
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
	for i := range all {
		if !all[i].Processes { // each process of prefork has its own number of threads
			all[i].Do = strings.TrimPrefix(all[i].Do+"; "+inContainer, "; ")
		}
	}
	return all
}

// inContainer is what the experiments with CPU limits say about every mode.
const inContainer = "in a container with a CPU limit leave GOMAXPROCS to Go: with 1, requests wait that two Ps would serve at the same time, as long as the limit is not used up"

// Lookup returns the mode of that name. For an old name it is the variant of a mode for which the name
// stood, under its old name. The error lists the names.
func Lookup(name string) (Mode, error) {
	old, renamed := mode.Old(name)
	var names []string
	for _, m := range Modes() {
		switch {
		case renamed && m.Name == old.Mode:
			return m.named(old), nil
		case m.Name == name:
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mode{}, fmt.Errorf("unknown mode %q %s", name, prose.Choice(name, names))
}

// named returns the variant of the mode for which an old name stands. Its New gives the flag to the model,
// where the model's Config has it.
func (m Mode) named(old mode.OldName) Mode {
	plain, value := m.New, old.Values[0]
	m.Mode = m.With(map[string]string{old.Flag: value})
	m.Name = old.Name
	m.New = func(cfg Config) Model {
		switch old.Flag {
		case "queue":
			cfg.Queue = cmp.Or(cfg.Queue, value)
		case "locked":
			cfg.Locked = true
		}
		return plain(cfg)
	}
	return m
}

// Variants returns every mode without flags, and the variants that have an old name, under that. The
// tests of what all models have in common run for each.
func Variants() []Mode {
	all := Modes()
	for i := range all {
		all[i].Mode = all[i].With(nil)
	}
	for _, old := range mode.OldNames {
		m, _ := Lookup(old.Name) // a test finds every name
		all = append(all, m)
	}
	return all
}
