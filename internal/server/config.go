// Package server joins one scheduling model with the workload and the metrics
// into a running HTTP service: a data listener, an admin listener, a drain.
package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/model"
)

// A Config is everything that can be told to a server. Unset numbers take
// their mode's defaults in [New].
type Config struct {
	Mode       string
	Addr       string // data listener, host:port
	Admin      string // admin listener, host:port; "off" for none
	Pprof      string // "auto" (only when Admin is loopback), "on", "off"
	Workers    int    // 0: twice GOMAXPROCS
	QueueDepth int    // negative: the mode's default
	Overflow   string // "": the mode's default
	Dispatch
	MaxConns     int           // 0: min(10,000, RLIMIT_NOFILE - 64)
	Backlog      int           // 0: net.core.somaxconn
	Listeners    int           // sockets on the address; 0: GOMAXPROCS
	Deal         string        // how connections are dealt out among them: hash or random; "": hash
	Batch        string        // in which order a loop serves those that are ready together: in-order or newest-first; "": in-order
	Processes    int           // of prefork; 0: GOMAXPROCS
	Threads      int           // GOMAXPROCS of each process of prefork; 0: 1
	Wait         time.Duration // longest wait for a turn; negative: the mode's default
	KVLocks      int           // locks that share the keys of /kv; 0: one
	CloseAfter   int           // answers on one connection, which the server then closes; 0: no limit
	Silently     bool          // without Connection: close on the last answer
	DrainTimeout time.Duration
	Limits       model.Limits
	Stamps       string // of every request: "off", "basic", or "full" with the kernel's
	Timeline     int    // requests whose stamps are kept
	// Iters is the calibration of CPU demand in iterations per microsecond; 0
	// measures it at the start.
	Iters float64
	// PlantCPU multiplies the CPU demand of every /work, to test verdicts with a
	// known difference; 0: 1.
	PlantCPU float64
	// Plant is a fault that the server is to have: see [plant]; "": none.
	Plant             string
	Version, Revision string // of the program, for people
	Log               *slog.Logger
	// Spawn makes the command of a prefork server's process: this program with
	// this configuration and the flags given, which come last.
	Spawn func(flags ...string) *exec.Cmd
	// Child says that this process is one of a prefork server's; nil otherwise.
	Child *Child
}

// Default is the configuration of `schedlab serve` without flags.
func Default() Config {
	return Config{
		Addr:         "127.0.0.1:8080",
		Admin:        "127.0.0.1:9090",
		Pprof:        "auto",
		QueueDepth:   -1,
		Wait:         -1,
		DrainTimeout: 10 * time.Second,
		Stamps:       "off",
		Timeline:     1 << 18,
		Limits:       model.DefaultLimits(),
	}
}

// reserved descriptors are kept from clients for the admin listener, logs and
// the runtime.
const reserved = 64

// minHead is what every stack can hold: net/http adds 4 KiB to any limit on heads.
const minHead = 8 << 10

const (
	mostConns   = 10_000
	mostWorkers = 100_000
	mostDepth   = 1 << 20
	leastIters  = 1
	mostIters   = 100_000
	mostPlant   = 2 // the caps of /work hold before it
)

// A ConfigError says which setting cannot be, and what to do about it.
type ConfigError struct{ msg string }

func (e *ConfigError) Error() string { return e.msg }

func badConfig(format string, args ...any) error {
	return &ConfigError{fmt.Sprintf(format, args...)}
}

// Check reports the setting that New would refuse.
func (c Config) Check() error {
	_, _, err := c.resolve()
	return err
}

// resolve fills in the defaults of c's mode and checks every setting.
func (c *Config) resolve() (model.Mode, model.Config, error) {
	mc := model.Config{Limits: c.Limits, CloseAfter: c.CloseAfter, Silently: c.Silently, Log: c.Log}
	mode, err := model.Lookup(c.Mode)
	if err != nil {
		return mode, mc, badConfig("--mode: %v", err)
	}
	if err := c.checkQueue(mode, &mc); err != nil {
		return mode, mc, err
	}
	if err := c.checkDispatch(mode, &mc); err != nil {
		return mode, mc, err
	}
	if err := c.checkTopology(mode, &mc); err != nil {
		return mode, mc, err
	}
	fault, err := parsePlant(c.Plant)
	if err != nil {
		return mode, mc, err
	}
	mc.Held = fault.queue
	if err := c.checkLimits(); err != nil {
		return mode, mc, err
	}
	if err := c.checkStamps(); err != nil {
		return mode, mc, err
	}
	asked := c.MaxConns != 0
	if err := c.checkConns(); err != nil {
		return mode, mc, err
	}
	if err := c.checkThreads(mode, threadsAllowed(), asked); err != nil {
		return mode, mc, err
	}
	return mode, mc, c.checkShares(mode)
}

func (c *Config) checkQueue(mode model.Mode, mc *model.Config) error {
	given := map[string]bool{"workers": c.Workers != 0, "queue-depth": c.QueueDepth >= 0, "overflow": c.Overflow != ""}
	for _, flag := range []string{"workers", "queue-depth", "overflow"} {
		if given[flag] && mode.Has("workers") && !mode.Has(flag) {
			return meansNothing(flag, mode)
		}
		if given[flag] && !mode.Has(flag) {
			return badConfig("--%s means nothing to --mode %s, which has no workers and no queue; use --max-conns, or --mode pool", flag, mode.Name)
		}
	}
	if !mode.Has("workers") {
		return nil
	}
	c.Workers = cmp.Or(c.Workers, 2*runtime.GOMAXPROCS(0))
	if c.Workers < 1 || c.Workers > mostWorkers {
		return badConfig("--workers %d is outside 1 to %d", c.Workers, mostWorkers)
	}
	mc.Workers = c.Workers
	if mode.Depth == nil {
		return nil
	}
	if c.QueueDepth < 0 {
		c.QueueDepth = mode.Depth(c.Workers)
	}
	if c.QueueDepth > mostDepth {
		return badConfig("--queue-depth %d is above %d", c.QueueDepth, mostDepth)
	}
	c.Overflow = cmp.Or(c.Overflow, mode.Overflow)
	mc.QueueDepth = c.QueueDepth
	if err := mc.Overflow.Set(c.Overflow); err != nil {
		return badConfig("--overflow: %v", err)
	}
	return nil
}

func (c *Config) checkLimits() error {
	l := c.Limits
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"header-timeout", l.HeaderTimeout}, {"body-timeout", l.BodyTimeout}, {"write-timeout", l.WriteTimeout},
		{"idle-timeout", l.IdleTimeout}, {"drain-timeout", c.DrainTimeout},
	} {
		if d.value <= 0 {
			return badConfig("--%s %v must be above 0: without it one slow client holds a connection for ever", d.flag, d.value)
		}
	}
	if c.Iters != 0 && !(c.Iters >= leastIters && c.Iters <= mostIters) {
		return badConfig("--iters %g is outside %d to %d per microsecond; leave it out to measure it", c.Iters, leastIters, mostIters)
	}
	if c.PlantCPU != 0 && !(c.PlantCPU >= 1 && c.PlantCPU <= mostPlant) {
		return badConfig("--plant-cpu %g is outside 1 to %d; leave it out: it is there to test verdicts", c.PlantCPU, mostPlant)
	}
	if c.CloseAfter < 0 {
		return badConfig("--close-after %d must not be negative; 0 is never", c.CloseAfter)
	}
	if c.Silently && c.CloseAfter == 0 {
		return badConfig("--close-silently needs --close-after: it says how the connection closes, not when")
	}
	if l.MaxHead < minHead || l.MaxHead > 1<<20 {
		return badConfig("--max-head %d is outside %d to 1048576 bytes", l.MaxHead, minHead)
	}
	if l.MaxBody < 1 || l.MaxBody > 1<<30 {
		return badConfig("--max-body %d is outside 1 to 1073741824 bytes", l.MaxBody)
	}
	return nil
}

func (c *Config) checkConns() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading the descriptor limit: %w", err)
	}
	room := int(min(files.Cur, 1<<30)) - reserved
	if room < 1 {
		return badConfig("the descriptor limit %d leaves no room for connections; raise it with ulimit -n", files.Cur)
	}
	switch {
	case c.MaxConns == 0:
		c.MaxConns = min(mostConns, room)
	case c.MaxConns < 0:
		return badConfig("--max-conns %d must be above 0", c.MaxConns)
	case c.MaxConns > room:
		return badConfig("--max-conns %d needs more than the %d descriptors allowed (%d are kept for the rest); lower it to %d or raise ulimit -n",
			c.MaxConns, files.Cur, reserved, room)
	}
	if c.Backlog < 0 {
		return badConfig("--backlog %d must not be negative", c.Backlog)
	}
	if c.Pprof == "on" && c.Admin == "off" && c.Child == nil { // a process of prefork leaves both to its parent
		return badConfig("--pprof on means nothing to --admin off, where profiles have no address; leave one of them out")
	}
	return c.checkAddresses()
}
