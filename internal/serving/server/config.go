// Package server joins one scheduling model with the workload and the metrics
// into a running HTTP service: a data listener, an admin listener, a drain.
//
// The command fills a [Config] from its flags. [New] checks it and makes the model, [Server.Listen]
// opens the sockets, and [Server.Serve] runs until its context ends. The files:
//
//	config.go  settings, defaults, and checks of every flag
//	server.go  one server: model, listener, metrics, drain
//	admin.go   the private address: metrics, health, profiles, counts of connections, stamps of requests
//	fleet.go   the parent of a prefork server, and its processes
package server

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"net"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
)

// A Fault is planted in a server on purpose: `make test-explain` checks that explanations name
// it (docs/evidence/explain-pack.md). The zero value is no fault; only the tests' binary sets others.
//
// The durations are 0, Pin is false and Hog is nil without the fault. Package server only passes
// them on; the room that is slowed down obeys.
type Fault struct {
	Name   string        // name given to --plant
	Accept time.Duration // an acceptor sleeps this long between two connections
	Queue  time.Duration // a worker sleeps this long with each job from a shared queue, under one lock for all workers
	Lock   time.Duration // a request for a key of /kv sleeps this long, under the key's lock
	Pin    bool          // the first of several listeners gets all connections
	// Hog computes in the background until the context is done. wait returns when it has ended.
	Hog func(context.Context) (wait func(), err error)
}

// A Config holds all settings of a server. [New] replaces numbers that are not set by the
// defaults of their mode. Default returns the configuration of the command without flags.
//
// The tags connect a field to its flag (see [Config.Fields]); [mode.Flags] has the help and the
// range of each flag. A Config is not safe for concurrent use. Check and New work on a copy.
type Config struct {
	Mode  string `flag:"mode"`
	Addr  string `flag:"addr"`  // data listener, host:port
	Admin string `flag:"admin"` // admin listener, host:port; "off" for none
	Pprof string `flag:"pprof"` // "auto" (only when Admin is loopback), "on", "off"
	// Workers is 0, and Depth and Wait are negative, for the mode's default; MaxConns is 0 for
	// min(10,000, RLIMIT_NOFILE - 64). Overflow is "" for the mode's default. The fields of the model's
	// Config without a tag are set by New.
	model.Config
	Backlog      int           `flag:"backlog"`   // 0: net.core.somaxconn
	Listeners    int           `flag:"listeners"` // number of sockets on the address; 0: GOMAXPROCS
	Deal         string        `flag:"deal"`      // how the kernel distributes connections among them: hash or random; "": hash
	Processes    int           `flag:"processes"` // number of processes of prefork; 0: GOMAXPROCS
	Threads      int           `flag:"threads"`   // GOMAXPROCS of each process of prefork; 0: 1
	KVLocks      int           `flag:"kv-locks"`  // number of locks among which the keys of /kv are divided; 0: one
	TLSCert      string        `flag:"tls-cert"`  // file of a certificate; "": no TLS
	TLSKey       string        `flag:"tls-key"`   // file of its key
	DrainTimeout time.Duration `flag:"drain-timeout"`
	DrainGrace   time.Duration `flag:"drain-grace"` // from the start of a drain until idle connections are closed
	Stamps       string        `flag:"stamps"`      // stamps on every request: "off", "basic", or "full", which adds the kernel's
	Timeline     int           `flag:"timeline"`    // number of requests for which stamps are kept
	Executor     string        `flag:"executor"`    // old spelling of the Queue "ring"; resolve replaces it
	// Iters is the calibration of CPU demand in iterations per microsecond; 0
	// measures it at the start.
	Iters float64 `flag:"iters"`
	// PlantCPU multiplies the CPU demand of every /work, to test verdicts with a
	// known difference; 0: 1.
	PlantCPU          float64 `flag:"plant-cpu"`
	Plant             Fault
	Version, Revision string // version and commit of the program, for people
	// Spawn makes the command, by exec.CommandContext, that starts a process of a prefork server:
	// this program with this configuration, and the given flags last.
	Spawn func(ctx context.Context, flags ...string) *exec.Cmd
	// Child is set in a process of a prefork server, and nil otherwise.
	Child *Child

	oldName string // the name of a former mode that was given as Mode; "" for a present one
}

// Fields returns a pointer to the field that each flag of serve sets, by the flag's name.
func (c *Config) Fields() map[string]any {
	fields, all := map[string]any{}, reflect.ValueOf(c).Elem()
	// VisibleFields also gives the fields of embedded structs, such as the limits.
	for _, f := range reflect.VisibleFields(all.Type()) {
		if flag := f.Tag.Get("flag"); flag != "" {
			fields[flag] = all.FieldByIndex(f.Index).Addr().Interface()
		}
	}
	return fields
}

// Default returns the configuration of `schedlab serve` without flags.
func Default() Config {
	return Config{
		Addr:         "127.0.0.1:8080",
		Admin:        "127.0.0.1:9090",
		Pprof:        "auto",
		Config:       model.Config{Settings: dispatch.Settings{Depth: -1, Wait: -1}, Limits: model.DefaultLimits()},
		DrainTimeout: 10 * time.Second,
		DrainGrace:   model.DefaultGrace,
		Stamps:       "off",
		Timeline:     1 << 18,
	}
}

// reserved is the number of file descriptors kept for the admin listener, logs and the runtime.
const reserved = 64

// mostConns is the default cap on connections, not a limit: more is allowed where descriptors
// allow it.
const mostConns = 10_000

// A ConfigError names a setting that is wrong, and tells what to do about it. The command exits
// with the code for wrong usage on a ConfigError.
type ConfigError struct{ msg string }

func (e *ConfigError) Error() string { return e.msg }

// badConfig returns a ConfigError. Its message names the flag and the value, and then a remedy.
func badConfig(format string, args ...any) error {
	return &ConfigError{fmt.Sprintf(format, args...)}
}

// Check returns the error, if any, with which New would refuse c.
func (c Config) Check() error {
	_, err := c.resolve()
	return err
}

// resolve checks every setting, and fills in the defaults of c's mode and the model's settings. The mode
// that it returns is the variant that c's flags make.
func (c *Config) resolve() (m model.Mode, err error) {
	if err := c.rename(); err != nil {
		return m, err
	}
	if m, err = model.Lookup(c.Mode); err != nil {
		return m, badConfig("--mode: %v", err)
	}
	m.Mode = m.With(c.given())
	// Remembered before checkConns replaces a 0: only then may checkThreads lower the number.
	maxConns := c.MaxConns
	c.Held = c.Plant.Queue
	// The order matters. checkQueue needs the workers that checkFlags filled in, and checkThreads
	// needs the connections of checkConns.
	return m, firstError(
		func() error { return c.checkFlags(m) },
		func() error { return c.checkQueue(m) },
		c.checkLimits,
		func() error { return c.checkConns(m) },
		func() error { return c.checkThreads(m, threadsAllowed(), maxConns != 0) },
	)
}

// firstError runs checks until one returns an error, and returns that.
func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// given returns the flags that are set, by name, as text.
func (c *Config) given() map[string]string {
	given := map[string]string{}
	for flag, field := range c.Fields() {
		if v := reflect.ValueOf(field).Elem(); !v.IsZero() {
			given[flag] = fmt.Sprint(v)
		}
	}
	return given
}

// rename replaces an old name of a mode, or an old flag, by its present name.
func (c *Config) rename() error {
	given := c.given()
	name, flags, err := mode.Renamed(c.Mode, given)
	if err != nil {
		return badConfig("%v", err)
	}
	if name != c.Mode {
		c.oldName = c.Mode
	}
	fields := c.Fields()
	c.Mode, c.Executor = name, ""
	for flag, value := range flags {
		if value != given[flag] {
			_, _ = fmt.Sscan(value, fields[flag]) // a word, a bool or a number, as in mode.OldNames
		}
	}
	return nil
}

// checkFlags returns an error for a flag that only other modes have, for a word that a flag does not
// know, and for a number outside its range. It replaces numbers that are not given by their defaults.
func (c *Config) checkFlags(m model.Mode) error {
	// A flag counts as given if its field differs from the default. So a flag that is given with
	// its default value is accepted in every mode, where it has no effect.
	none := Default()
	given, initial, modes := c.Fields(), none.Fields(), model.Modes()
	for _, f := range mode.Flags {
		var have []string
		for _, other := range modes {
			if other.Has(f.Name) {
				have = append(have, other.Name)
			}
		}
		switch {
		case len(have) == 0, m.Has(f.Name):
			if err := checkValue(f, given[f.Name], initial[f.Name]); err != nil {
				return err
			}
			if f.Name == "queue" && !m.Takes(f.Name, c.Queue) {
				return badConfig("--queue %s needs --mode %s", c.Queue, orList(takers(f.Name, c.Queue)))
			}
		case reflect.DeepEqual(given[f.Name], initial[f.Name]):
		case slices.Contains(have, m.Name): // a variant of the mode has it
			part, _ := m.PartOf(f.Name)
			return badConfig("--%s means nothing to %s; it needs --%s %s", f.Name, m.Spelling, part.Flag, orList(part.Values))
		case !m.Has("workers") && slices.Contains([]string{"workers", "queue-depth", "overflow"}, f.Name):
			return badConfig("--%s means nothing to --mode %s, which has no workers and no queue; use --max-conns, or --mode pool", f.Name, m.Name)
		default:
			return badConfig("--%s means nothing to --mode %s; it belongs to --mode %s", f.Name, m.Name, strings.Join(have, ", "))
		}
	}
	if c.Wait < 0 && m.Depth == nil { // not given, since 0 is a wait that can be asked for: refuse at once
		c.Wait = m.Wait()
	}
	return nil
}

// takers returns the names of the modes that have a flag with that value.
func takers(flag, value string) (names []string) {
	for _, m := range model.Modes() {
		if m.Takes(flag, value) {
			names = append(names, m.Name)
		}
	}
	return names
}

// orList joins words as in a, b or c.
func orList(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return strings.Join(words, "")
}

// checkValue checks the word or the number in the field of flag f. none points to the value of a
// flag that is not given.
func checkValue(f mode.Flag, field, none any) error {
	v := reflect.Indirect(reflect.ValueOf(field)) // nil for a flag of the command alone
	switch {
	case reflect.DeepEqual(field, none):
		if f.Initial != nil {
			v.SetInt(int64(f.Initial(runtime.GOMAXPROCS(0))))
		}
	case f.Words != nil && v.String() != "" && !slices.Contains(f.Words, v.String()):
		return badConfig("--%s %q is none of %s", f.Name, v, strings.Join(f.Words, ", "))
	case f.Most > 0:
		remedy := f.Remedy
		if f.Bytes {
			remedy = " bytes"
		}
		if n := v.Convert(reflect.TypeFor[float64]()).Float(); !(n >= f.Least && n <= f.Most) { // or not a number
			least, most := reflect.ValueOf(f.Least).Convert(v.Type()), reflect.ValueOf(f.Most).Convert(v.Type())
			return badConfig("--%s %v is outside %v to %v%s", f.Name, v, least, most, remedy)
		}
	}
	return nil
}

// checkLimits checks the limits on clients, and the other settings that every mode has.
func (c *Config) checkLimits() error {
	fields := c.Fields()
	for _, flag := range []string{"header-timeout", "body-timeout", "write-timeout", "idle-timeout", "drain-timeout"} {
		if d := *fields[flag].(*time.Duration); d <= 0 {
			return badConfig("--%s %v must be above 0: without it one slow client holds a connection for ever", flag, d)
		}
	}
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return badConfig("--tls-cert %q and --tls-key %q belong together: the file of a certificate and the file of its key", c.TLSCert, c.TLSKey)
	case c.DrainGrace <= 0:
		return badConfig("--drain-grace %v must be above 0: without it a drain loses requests that come as it closes their connections", c.DrainGrace)
	case c.CloseAfter < 0:
		return badConfig("--close-after %d must not be negative; 0 is never", c.CloseAfter)
	case c.Silently && c.CloseAfter == 0:
		return badConfig("--close-silently needs --close-after: it says how the connection closes, not when")
	case c.Stamps == "full" && runtime.GOOS != "linux":
		return badConfig("--stamps full: only Linux tells when its kernel received a request; use --stamps basic")
	case c.Pprof == "on" && c.Admin == "off" && c.Child == nil: // a process of prefork leaves both to its parent
		return badConfig("--pprof on means nothing to --admin off, where profiles have no address; leave one of them out")
	}
	return nil
}

// checkConns checks the number of connections against the descriptor limit, or fills it in. It
// also checks the backlog and the addresses.
func (c *Config) checkConns(mode model.Mode) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading the descriptor limit: %w", err)
	}
	room := int(min(files.Cur, 1<<30)) - reserved // an unlimited number would overflow an int
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
	switch {
	case mode.Processes && c.MaxConns < c.Processes:
		return badConfig("--max-conns %d is below --processes %d, and each process takes its share; raise it or start fewer processes", c.MaxConns, c.Processes)
	case c.Backlog < 0:
		return badConfig("--backlog %d must not be negative", c.Backlog)
	}
	return c.checkAddresses()
}

// checkAddresses checks the addresses of both listeners, and that they differ.
func (c *Config) checkAddresses() error {
	host, port, err := CheckAddress("addr", c.Addr)
	if err != nil || c.Admin == "off" {
		return err
	}
	adminHost, adminPort, err := CheckAddress("admin", c.Admin)
	if err != nil {
		return err
	}
	// With port 0 the kernel gives each listener another port.
	if port == adminPort && port != 0 && (host == adminHost || host == everyInterface || adminHost == everyInterface) {
		return badConfig("--addr %s and --admin %s are one address; give one of them another port", c.Addr, c.Admin)
	}
	return nil
}

// everyInterface is the host of an address that stands for all interfaces of the machine.
const everyInterface = ""

// CheckAddress splits the address given to a flag into host and port. The port may be a name,
// like http. localhost is replaced by 127.0.0.1; other names are not looked up.
func CheckAddress(flag, addr string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, badConfig("--%s %q is not host:port (like 127.0.0.1:8080, or :8080 for every interface)", flag, addr)
	}
	if port, err = net.LookupPort("tcp", service); err != nil {
		return "", 0, badConfig("--%s %q has no port %q; ports are 0, for any that is free, to 65535", flag, addr, service)
	}
	switch {
	case host == "localhost":
		host = "127.0.0.1"
	case net.ParseIP(host).IsUnspecified(): // 0.0.0.0 or ::
		host = everyInterface
	}
	return host, port, nil
}

const dealRandom = "random"

// A threadLimit is the number of threads that this process may have, and the source of that
// limit.
type threadLimit struct {
	threads int
	source  string
}

// otherThreads is the number of threads kept for the runtime and the admin listener.
const otherThreads = 100

// checkThreads returns an error if a mode that needs a thread for each connection or worker has too
// few. If the user did not ask for the number of connections, it lowers that number instead.
func (c *Config) checkThreads(mode model.Mode, l threadLimit, asked bool) error {
	// Without the check Go would end the whole process when the kernel refuses a thread.
	room, unit := l.threads-otherThreads, mode.Threads
	flag, wanted := "max-conns", &c.MaxConns
	if unit == "worker" {
		flag, wanted, asked = "workers", &c.Workers, true
	}
	switch {
	case unit == "":
	case room < 1:
		return badConfig("%s needs a thread for each %s, and %s allows only %d; raise it", mode.Spelling, unit, l.source, l.threads)
	case *wanted <= room:
	case asked:
		return badConfig("--%s %d needs a thread for each %s, and %s allows %d (%d are kept for the rest); lower it to %d or raise that limit",
			flag, *wanted, unit, l.source, l.threads, otherThreads, room)
	default:
		*wanted = room
	}
	return nil
}

// threadsAllowed returns the lowest of the limits of the kernel, the control group and the
// user.
func threadsAllowed() threadLimit {
	// A file that does not exist on this machine sets no limit, nor does the text "max". The first
	// cgroup file belongs to version 2, the second to version 1.
	lowest := threadLimit{1 << 30, "the kernel"}
	consider := func(n uint64, source string) {
		if n < uint64(lowest.threads) {
			lowest = threadLimit{int(n), source}
		}
	}
	for _, source := range []string{
		"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max",
	} {
		text, _ := os.ReadFile(source)
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63); err == nil {
			consider(n, source)
		}
	}
	var processes unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &processes) == nil && os.Getuid() != 0 { // the limit does not apply to root
		consider(processes.Cur, "ulimit -u")
	}
	return lowest
}

// intervalTargets is the default interval in targets, as in CoDel's own defaults of 5 and 100 ms.
const intervalTargets = 20

// checkQueue checks that the settings of a queue and its workers fit together, and fills in
// their defaults. A mode without a queue has nothing to check: checkFlags has refused the flags.
func (c *Config) checkQueue(mode model.Mode) error {
	if mode.Depth == nil {
		c.Depth = 0 // it may be -1, the default for "not given"
		return nil
	}
	if c.Depth < 0 {
		c.Depth = mode.Depth(c.Workers)
	}
	c.Overflow = cmp.Or(c.Overflow, mode.Overflow)
	switch {
	case mode.Allows(c.Overflow):
	case mode.Adaptive && c.Overflow == dispatch.CoDel:
		return badConfig("--overflow codel means nothing to %s, whose queue ages anyway; leave it out", mode.Spelling)
	default:
		return badConfig("--overflow %s means nothing to %s; use %s", c.Overflow, mode.Spelling, strings.ReplaceAll(mode.Axes.Overflow, "|", " or "))
	}
	if err := c.checkDepth(mode); err != nil {
		return err
	}
	if err := c.checkWait(mode); err != nil {
		return err
	}
	return c.checkCodel(mode)
}

// checkWait checks the longest wait in a queue, and fills in its default. It returns an error if one is set but not used.
func (c *Config) checkWait(mode model.Mode) error {
	expires := c.Overflow == dispatch.Expire
	switch {
	case expires && c.Wait == 0:
		return badConfig("--overflow expire with --wait 0 drops all that waits; give --wait the time after which clients give up, or use --overflow reject")
	case expires && c.Wait < 0:
		c.Wait = mode.Wait()
	case !expires && c.Wait > 0:
		return badConfig("--wait means nothing to --overflow %s; use --overflow expire", c.Overflow)
	}
	c.Wait = max(c.Wait, 0)
	return nil
}

// checkDepth checks that the queue's depth suits the mode, the overflow policy and stealing. It
// never rounds the depth, because that would change the experiment.
func (c *Config) checkDepth(mode model.Mode) error {
	depth := c.Depth
	if mode.PowerOfTwo && bits.OnesCount(uint(depth)) != 1 {
		around := fmt.Sprint(1 << bits.Len(uint(depth)))
		if depth > 0 {
			around = fmt.Sprintf("%d or %s", 1<<bits.Len(uint(depth))/2, around)
		}
		return badConfig("--queue-depth %d of %s is no power of two, and rounding it would change the experiment; use %s", depth, mode.Spelling, around)
	}
	if depth < mode.LeastDepth {
		return badConfig("--queue-depth %d is below %d, the least for %s", depth, mode.LeastDepth, mode.Spelling)
	}
	evicts := c.Overflow == dispatch.DropOldest
	switch {
	case depth == 0 && evicts:
		return badConfig("--overflow drop-oldest with --queue-depth 0 has nothing to evict; give the queue places")
	case depth == 0 && c.Overflow == dispatch.Expire:
		return badConfig("--overflow expire with --queue-depth 0 has nothing that waits; give the queue places")
	case depth == 0 && c.Overflow == dispatch.CoDel:
		return badConfig("--overflow codel with --queue-depth 0 has nothing that ages; give the queue places")
	// Every lane has a place, or there are no lanes: the two cases below do not apply.
	case mode.Station != "per-worker" || depth >= c.Workers:
	case evicts:
		return badConfig("--overflow drop-oldest with --queue-depth %d leaves some of --workers %d no place to evict from; use --queue-depth %d or more", depth, c.Workers, c.Workers)
	case c.Steal:
		return badConfig("--steal with --queue-depth %d leaves some of --workers %d no place to steal from; use --queue-depth %d or more", depth, c.Workers, c.Workers)
	}
	if c.Steal && c.Workers == 1 {
		return badConfig("--steal with --workers 1 has nobody to steal from; use two workers or more")
	}
	return nil
}

// checkCodel checks the settings of CoDel and fills in their defaults. It returns an error if one
// is set but not used.
func (c *Config) checkCodel(mode model.Mode) error {
	// c.Interval's default is computed before the loop sets c.Target. Without a given target it is
	// 100 ms, and that suits the default target, too.
	used := mode.Adaptive || c.Overflow == dispatch.CoDel
	for _, f := range []struct {
		flag    string
		value   *time.Duration
		initial time.Duration
	}{
		{"codel-target", &c.Target, dispatch.DefaultTarget},
		{"codel-interval", &c.Interval, max(dispatch.DefaultInterval, min(intervalTargets*c.Target, time.Minute))},
	} {
		switch {
		case *f.value != 0 && !used:
			return badConfig("--%s means nothing to --overflow %s; use --overflow codel", f.flag, c.Overflow)
		case *f.value == 0:
			*f.value = f.initial
		}
	}
	if c.Interval < c.Target {
		return badConfig("--codel-interval %v is below --codel-target %v, and a wait cannot exceed its target for less time than that; raise it, or leave it out for %d times the target",
			c.Interval, c.Target, intervalTargets)
	}
	return nil
}

// warnings returns warnings about settings that work, but seldom do what their user expects, and about
// planted faults.
func (c *Config) warnings(m model.Mode) (warn []string) {
	add := func(format string, args ...any) { warn = append(warn, fmt.Sprintf(format, args...)) }
	procs, cpus := runtime.GOMAXPROCS(0), runtime.NumCPU()
	if old, is := mode.Old(c.oldName); is {
		add("--mode %s is an old name; it is %v now", old.Name, old)
	}
	if m.Has("listeners") && c.Listeners > procs {
		add("%d listeners share %d CPUs (GOMAXPROCS): connections hashed to a socket whose acceptor does not run wait for it", c.Listeners, procs)
	}
	if n := c.Processes * c.Threads; m.Processes && n > cpus {
		add("%d processes of %d threads are %d threads for %d CPUs: the kernel's scheduler shares them out", c.Processes, c.Threads, n, cpus)
	}
	if c.PlantCPU > 0 {
		add("every /work costs %g times the CPU time that it asks for (--plant-cpu): its figures are for tests of verdicts alone", c.PlantCPU)
	}
	if c.Plant.Name != "" {
		add("the fault %s is planted (--plant): figures are for tests of explanations alone", c.Plant.Name)
	}
	if m.Threads == "worker" && c.Workers > procs {
		add("%d workers have a thread each and GOMAXPROCS is %d: a hand-over wakes a thread, some ten times the cost of waking a goroutine", c.Workers, procs)
	}
	if c.Overflow == dispatch.CoDel && m.Axes.Unit == "connection" {
		add("codel sees a connection's wait for a worker, not the waits of its later requests; pool-request ages every request")
	}
	if c.Overflow == dispatch.Drop {
		add("drop leaves clients without an answer until they give up, or for the idle timeout (%v); reject tells them at once", c.Limits.IdleTimeout)
	}
	return warn
}
