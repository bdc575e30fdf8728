package mode

// A Flag is a flag of serve. The field of the server's configuration that it sets has a tag with its
// name.
//
// Package server checks words, ranges and defaults, and the command parses the values. A field's
// zero value means that the flag has no such property: with Most 0 there is no range.
type Flag struct {
	Name, Help string
	Words      []string // the values that it takes; nil for any of the field's type
	Default    string   // the default that help shows, where it is not the field's value
	// Least and Most are the limits of a number, in nanoseconds for a duration. Remedy ends the
	// message about a number outside them. Initial returns a whole number that is not given, for a
	// number of CPUs (GOMAXPROCS); nil: it stays as it is.
	Least, Most float64
	Remedy      string
	Initial     func(procs int) int
	Bytes       bool // a number of bytes, with a unit
	Planned     bool // the planner of an experiment gives it, so an arm may not
	Hidden      bool // help leaves it out
}

const minute = 60e9 // nanoseconds

// perProc is the default of one for each CPU that Go may use.
func perProc(procs int) int { return procs }

// Flags are all flags of serve. Mode.Flags lists the ones that only some modes have.
var Flags = []Flag{
	{Name: "workers", Least: 1, Most: 100_000, Initial: func(procs int) int { return 2 * procs },
		Help: "fixed workers, or places at the gate or the semaphore (default 2 x GOMAXPROCS)"},
	{Name: "queue-depth", Default: "0", Most: 1 << 20, Help: "places in the queue (default 1024, or 2 x workers for pool-request and loop-offload)"},
	{Name: "overflow", Words: []string{"block", "reject", "drop", "drop-oldest", "expire", "codel"}, Help: "what a full queue does: block, reject, drop, which leaves the client without an answer until it gives up or for the idle timeout, drop-oldest, expire, which rejects and also drops what waited longer than --wait before it takes a worker, or codel, which also refuses what waited too long (default block for connections, reject for requests)"},
	{Name: "queue", Words: []string{"shared", "ring", "rr", "least", "p2c", "adaptive"}, Help: "queue before the workers: shared, ring, lock-free; in pool a queue for each worker, chosen in turn (rr), the least loaded (least) or the less loaded of two (p2c); in pool-request adaptive, under overload the newest first (default shared)"},
	{Name: "steal", Help: "idle workers take from the others' queues, with --queue rr, least or p2c"},
	{Name: "spin", Most: 1 << 20, Help: "how often a worker looks at the empty queue of --queue ring before it sleeps (default 0)"},
	{Name: "job", Words: []string{"func", "closure"}, Help: "how a job travels to its worker: func, as a value that one function takes, or closure, as a function made for it (default func)"},
	{Name: "executor", Hidden: true, Words: []string{"own", "ring"}, Help: "old spelling of --queue ring"},
	{Name: "locked", Help: "give each worker, or connection of goroutine, an operating-system thread of its own"},
	{Name: "codel-target", Most: minute, Help: "wait that CoDel and --queue adaptive stay near (default 5ms)"},
	{Name: "codel-interval", Most: minute, Help: "how long waits must stay above --codel-target before some are refused (default 20 x --codel-target, 100ms at least)"},
	{Name: "listeners", Least: 1, Most: 1024, Initial: perProc, Help: "listening sockets, and loops, that share the address (default GOMAXPROCS)"},
	{Name: "deal", Words: []string{"hash", "random"}, Help: "how the kernel deals connections out among the listeners: hash, of the client's address and port, or random, on Linux (default hash)"},
	{Name: "batch", Words: []string{"in-order", "newest-first"}, Help: "in which order a loop serves the connections that one poll found ready: in-order, or newest-first, as goroutines on Go's poller are served (default in-order)"},
	{Name: "processes", Least: 1, Most: 256, Initial: perProc, Help: "processes of prefork (default GOMAXPROCS)"},
	{Name: "threads", Least: 1, Most: 256, Initial: func(int) int { return 1 }, Help: "GOMAXPROCS of each process of prefork (default 1)"},
	{Name: "wait", Default: "0s", Most: minute, Help: "longest wait for a turn at the semaphore, where 0 refuses at once, and in the queue of --overflow expire (default 100ms)"},
	{Name: "kv-locks", Least: 1, Most: 256, Help: "locks that share the keys of /kv (default 1)"},
	{Name: "plant-cpu", Hidden: true, Least: 1, Most: 2, // tools/honesty gives it to a challenger
		Remedy: "; leave it out: it is there to test verdicts",
		Help:   "factor on the CPU demand of every /work, to test verdicts with a known difference (docs/evidence/honesty.md)"},
	{Name: "plant", Hidden: true, Help: "a fault to have: accept=TIME, queue=TIME, lock=TIME, pin or hog=CPU, to test explanations (docs/evidence/explain-pack.md)"},
	{Name: "max-conns", Help: "connections open at a time; at the cap accepting waits (default 10000 or the descriptor limit less 64, whichever is less)"},
	{Name: "backlog", Help: "length of the kernel's accept queue (default net.core.somaxconn)"},
	{Name: "header-timeout", Help: "time for a whole request head"},
	{Name: "body-timeout", Help: "time for a whole request body"},
	{Name: "write-timeout", Help: "time for a whole answer"},
	{Name: "idle-timeout", Help: "time between two requests of a connection"},
	{Name: "close-after", Help: "answers on one connection, the last of which says Connection: close; 0 keeps a connection for as long as its client does"},
	{Name: "close-silently", Help: "with --close-after, the last answer does not say that the connection closes"},
	{Name: "tls-cert", Help: "file of the certificate (PEM) with which to speak TLS: HTTP/1.1, and HTTP/2 in nethttp and nethttp-gate"},
	{Name: "tls-key", Help: "file of its key (PEM)"},
	{Name: "max-head", Bytes: true, Least: 8 << 10, Most: 1 << 20, // net/http adds 4 KiB to any limit
		Help: "largest request head, like 16KiB"},
	{Name: "max-body", Bytes: true, Least: 1, Most: 1 << 30, Help: "largest request body, like 1MiB"},
	{Name: "drain-timeout", Help: "longest a drain takes; the last quarter of it, 1s at most, is left for handlers whose connections were cut"},
	{Name: "drain-grace", Help: "how long a drain answers on kept connections, with Connection: close, before it closes the idle ones"},
	{Name: "stamps", Words: []string{"off", "basic", "full"}, Help: "stamp where each request's time goes: off, basic, or full, with when the kernel received it"},
	{Name: "timeline", Least: 1, Most: 1 << 24, Remedy: " requests", Help: "requests whose stamps are kept for /debug/timeline"},
	{Name: "pprof", Words: []string{"auto", "on", "off"}, Help: "profiles on the admin address: auto (on loopback only), on, off"},
	{Name: "mode", Planned: true, Help: "scheduling model; see 'schedlab modes'"},
	{Name: "addr", Planned: true, Help: "address to serve on"},
	{Name: "admin", Planned: true, Help: "address of metrics, health and profiles, or off"},
	{Name: "iters", Planned: true, Least: 1, Most: 100_000, Remedy: " per microsecond; leave it out to measure it", // some 700 today
		Help: "CPU demand calibration, iterations per microsecond (default measured at the start)"},
	{Name: "log-format", Planned: true, Words: []string{"text", "json"}, Help: "text or json"},
	{Name: "log-level", Planned: true, Words: []string{"debug", "info", "warn", "error"}, Help: "debug, info, warn or error"},
	{Name: "child", Planned: true, Hidden: true}, // a prefork server gives it to its processes
}

// Words returns the values that a flag of serve takes. It returns nil for a flag that takes anything, such as a number.
func Words(flag string) []string {
	for _, f := range Flags {
		if f.Name == flag {
			return f.Words
		}
	}
	return nil
}

// ArmFlags returns the names of the flags that an arm of an experiment may set.
func ArmFlags() (names []string) {
	for _, f := range Flags {
		if !f.Planned {
			names = append(names, f.Name)
		}
	}
	return names
}
