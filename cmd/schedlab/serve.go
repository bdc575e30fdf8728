package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/server"
)

// serveFlags are the flags of serve; compare reads its arms' flags with them.
type serveFlags struct {
	server.Config
	logFormat, logLevel string
	child               int // of a prefork server, -1 for none
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --mode MODE",
		Short: "Serve HTTP under one scheduling model, with Prometheus metrics",
		Long: `Serve the same handlers under one scheduling model. GET / on the data address
lists the endpoints; the admin address has /metrics, /healthz, /readyz, on
loopback /debug/pprof, and with --stamps /debug/timeline, where the time of the
newest requests went. With --stamps a request that has the field X-Server-Timing
gets that of its own back, in the answer's Server-Timing. 'schedlab modes'
explains the models, and 'schedlab modes MODE' the flags that matter to one.

A full queue makes clients wait (--overflow block) or tells them (reject).
--overflow drop does neither: a client gets no answer and no close until it gives
up itself, or for the idle timeout.

The first SIGINT or SIGTERM drains: what waits is accepted, what runs is
answered with Connection: close, and the last log line has the final counts.
A second signal exits at once.`,
		Example: `  schedlab serve --mode nethttp
  schedlab serve --mode pool --workers 8 --queue-depth 64 --overflow reject
  schedlab serve --mode fasthttp --addr :8080 --admin 127.0.0.1:9090
  curl -s 127.0.0.1:9090/metrics | grep schedlab_connections`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Mode == "" {
				return usagef("--mode is missing; 'schedlab modes' lists them")
			}
			log := newLog(cmd.ErrOrStderr(), f.logFormat, f.logLevel)
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			f.Log, f.Version, f.Revision = log, programVersion(), programRevision()
			f.Spawn = func(more ...string) *exec.Cmd { return respawn(cmd, more) }
			if f.child >= 0 {
				var err error
				f.Log = log.With("process", f.child)
				if f.Child, err = server.NewChild(f.child, server.ChildFD); err != nil {
					return usage(err)
				}
			}
			s, err := server.New(f.Config)
			if err == nil {
				err = s.Listen(cmd.Context())
			}
			if _, bad := errors.AsType[*server.ConfigError](err); bad {
				return usage(err)
			}
			if err != nil {
				return err
			}
			return s.Serve(cmd.Context())
		},
	}
	f.bind(cmd.Flags())
	complete(cmd, "mode", modeNames()...)
	complete(cmd, "overflow", "block", "reject", "drop", "drop-oldest", "codel")
	complete(cmd, "queue", "rr", "least", "p2c")
	return cmd
}

func (f *serveFlags) bind(fl *pflag.FlagSet) {
	f.Config = server.Default()
	fl.StringVar(&f.Mode, "mode", "", "scheduling model; see 'schedlab modes'")
	fl.StringVar(&f.Addr, "addr", f.Addr, "address to serve on")
	fl.StringVar(&f.Admin, "admin", f.Admin, "address of metrics, health and profiles, or off")
	oneOf(fl, &f.Pprof, "pprof", f.Pprof, "profiles on the admin address: auto (on loopback only), on, off", "auto", "on", "off")
	fl.IntVar(&f.Workers, "workers", 0, "fixed workers, or places at the gate or the semaphore (default 2 x GOMAXPROCS)")
	fl.IntVar(&f.QueueDepth, "queue-depth", f.QueueDepth, "places in the queue (default 1024, or 2 x workers for pool-request and loop-offload)")
	fl.Lookup("queue-depth").DefValue = "0" // the mode's, as its help says
	fl.StringVar(&f.Overflow, "overflow", "", "what a full queue does: block, reject, drop, which leaves the client without an answer until it gives up or for the idle timeout, drop-oldest, or codel, which also refuses what waited too long (default block for connections, reject for requests)")
	fl.StringVar(&f.Queue, "queue", "", "which worker's queue of pool-perworker: rr, least or p2c (default rr)")
	fl.BoolVar(&f.Steal, "steal", false, "idle workers of pool-perworker take from the others' queues")
	fl.IntVar(&f.Spin, "spin", 0, "how often a pool-ring worker looks at an empty ring before it sleeps (default 0)")
	oneOf(fl, &f.Job, "job", "", "how a job travels to its worker: func, as a value that one function takes, or closure, as a function made for it (default func)", "func", "closure")
	oneOf(fl, &f.Executor, "executor", "", "queue before the workers of pool-request: own, or a lock-free ring (default own)", "own", "ring")
	fl.BoolVar(&f.Locked, "locked", false, "give each worker an operating-system thread of its own")
	fl.DurationVar(&f.CodelTarget, "codel-target", 0, "wait that CoDel and pool-adaptive stay near (default 5ms)")
	fl.DurationVar(&f.CodelInterval, "codel-interval", 0, "how long waits must stay above --codel-target before some are refused (default 20 x --codel-target, 100ms at least)")
	fl.IntVar(&f.MaxConns, "max-conns", 0, "connections open at a time; at the cap accepting waits (default 10000 or the descriptor limit less 64, whichever is less)")
	fl.IntVar(&f.Backlog, "backlog", 0, "length of the kernel's accept queue (default net.core.somaxconn)")
	fl.IntVar(&f.Listeners, "listeners", 0, "listening sockets, and loops, that share the address (default GOMAXPROCS)")
	oneOf(fl, &f.Deal, "deal", "", "how the kernel deals connections out among the listeners: hash, of the client's address and port, or random, on Linux (default hash)", "hash", "random")
	oneOf(fl, &f.Batch, "batch", "", "in which order a loop serves the connections that one poll found ready: in-order, or newest-first, as goroutines on Go's poller are served (default in-order)", "in-order", "newest-first")
	fl.IntVar(&f.Processes, "processes", 0, "processes of prefork (default GOMAXPROCS)")
	fl.IntVar(&f.Threads, "threads", 0, "GOMAXPROCS of each process of prefork (default 1)")
	fl.DurationVar(&f.Wait, "wait", f.Wait, "longest wait for a turn at the semaphore; 0 refuses at once (default 100ms)")
	fl.Lookup("wait").DefValue = "0s" // not given, as its help says
	fl.IntVar(&f.KVLocks, "kv-locks", 0, "locks that share the keys of /kv (default 1)")
	fl.IntVar(&f.child, "child", -1, "")
	fl.Lookup("child").Hidden = true // a prefork server gives it to its processes
	fl.DurationVar(&f.DrainTimeout, "drain-timeout", f.DrainTimeout, "longest a drain takes; the last quarter of it, 1s at most, is left for handlers whose connections were cut")
	fl.DurationVar(&f.Limits.HeaderTimeout, "header-timeout", f.Limits.HeaderTimeout, "time for a whole request head")
	fl.DurationVar(&f.Limits.BodyTimeout, "body-timeout", f.Limits.BodyTimeout, "time for a whole request body")
	fl.DurationVar(&f.Limits.WriteTimeout, "write-timeout", f.Limits.WriteTimeout, "time for a whole answer")
	fl.DurationVar(&f.Limits.IdleTimeout, "idle-timeout", f.Limits.IdleTimeout, "time between two requests of a connection")
	fl.IntVar(&f.CloseAfter, "close-after", 0, "answers on one connection, the last of which says Connection: close; 0 keeps a connection for as long as its client does")
	fl.BoolVar(&f.Silently, "close-silently", false, "with --close-after, the last answer does not say that the connection closes")
	fl.Var((*byteSize)(&f.Limits.MaxHead), "max-head", "largest request head, like 16KiB")
	fl.Var((*byteSize)(&f.Limits.MaxBody), "max-body", "largest request body, like 1MiB")
	oneOf(fl, &f.Stamps, "stamps", f.Stamps, "stamp where each request's time goes: off, basic, or full, with when the kernel received it", stampKinds...)
	fl.IntVar(&f.Timeline, "timeline", f.Timeline, "requests whose stamps are kept for /debug/timeline")
	fl.Float64Var(&f.Iters, "iters", 0, "CPU demand calibration, iterations per microsecond (default measured at the start)")
	fl.Float64Var(&f.PlantCPU, "plant-cpu", 0, "factor on the CPU demand of every /work, to test verdicts with a known difference (docs/honesty.md)")
	fl.Lookup("plant-cpu").Hidden = true // tools/honesty gives it to a challenger
	fl.StringVar(&f.Plant.Name, "plant", "", "a fault to have: accept=TIME, queue=TIME, lock=TIME, pin or hog=CPU, to test explanations (docs/explain-pack.md)")
	fl.Lookup("plant").Hidden = true
	oneOf(fl, &f.logFormat, "log-format", "text", "text or json", "text", "json")
	oneOf(fl, &f.logLevel, "log-level", "info", "debug, info, warn or error", "debug", "info", "warn", "error")
}

// respawn is the command of this program with cmd's flags, wherever they came
// from, and then more.
func respawn(cmd *cobra.Command, more []string) *exec.Cmd {
	args := []string{os.Args[0], cmd.Name()} // under the name it was started by
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != configFlag { // its flags are here
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	exe, err := os.Executable()
	return &exec.Cmd{Path: exe, Args: append(args, more...), Env: bare(), Stderr: cmd.ErrOrStderr(), Err: err}
}

// plant makes the fault that --plant names. Only the tests' binary has it.
var plant func(name string) (server.Fault, error)

// check refuses values that mean "the default" when they were given.
func (f *serveFlags) check(fl *pflag.FlagSet) error {
	if err := checkAboveZero(fl, "workers", "max-conns", "listeners", "processes", "threads", "kv-locks", "codel-target", "codel-interval", "plant-cpu"); err != nil {
		return err
	}
	if fl.Changed("iters") && f.Iters == 0 {
		return usagef("--iters 0 must be above 0; leave it out to measure")
	}
	if fl.Changed("timeline") && f.Stamps == "off" {
		return usagef("--timeline %d means nothing to --stamps off, which keeps no stamps; use --stamps basic or full, or leave it out", f.Timeline)
	}
	if fl.Changed("queue-depth") && f.QueueDepth < 0 {
		return usagef("--queue-depth %d must not be negative", f.QueueDepth)
	}
	if fl.Changed("wait") && f.Wait < 0 {
		return usagef("--wait %v must not be negative", f.Wait)
	}
	if f.Plant.Name == "" {
		return nil
	}
	if plant == nil {
		return usagef("--plant %s: this program has no faults to plant; only that of its tests has (make test-explain)", f.Plant.Name)
	}
	var err error
	f.Plant, err = plant(f.Plant.Name)
	return usage(err)
}

// checkArm reports what serve would refuse of an arm's flags, before anything
// runs.
func checkArm(mode string, flags map[string]string) error {
	var f serveFlags
	fl := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.bind(fl)
	f.Mode, f.Stamps = mode, "basic" // the planner's
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if err := fl.Set(name, flags[name]); err != nil {
			return plainly(err)
		}
	}
	if err := f.check(fl); err != nil {
		return err
	}
	return f.Config.Check()
}

// newLog returns the program's log on w.
func newLog(w io.Writer, format, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		panic(err) // --log-level offers a level that slog does not know: a bug here
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: spellDuration}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}

// spellDuration has JSON say 10s as text does, where it would say nanoseconds
// without their unit.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// A byteSize is a flag for a number of bytes.
type byteSize int

var units = []struct {
	suffix string
	bytes  int
}{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

func (b *byteSize) Set(s string) error {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 || n > 1<<30/u.bytes {
				break
			}
			*b = byteSize(n * u.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size like 16KiB or 1MiB", s)
}

func (b *byteSize) String() string {
	for _, u := range units {
		if n := int(*b); n != 0 && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.suffix
		}
	}
	return strconv.Itoa(int(*b))
}

func (b *byteSize) Type() string { return "size" }
