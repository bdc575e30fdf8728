// Package host describes and controls the machine of a run. It binds server and load to CPUs, reads
// their clocks around a window, finds the other programs that use the CPUs, and takes the machine's
// fingerprint. On systems other than Linux most values are unknown, and marked so.
//
// A run uses it like this. Sides tells which CPUs server and load have, and BindLoad puts this
// process on its own. Around each window a Watcher reads the clocks of both sides (watcher.go).
// Between windows a Watchdog looks at all processes and adds up what others took (trouble.go).
// Fingerprint describes the machine once.
package host

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/cgroup"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// Sides tells on which CPUs server and load run.
// Server and Load hold the CPUs of each side, ascending.
type Sides struct {
	Server, Load cpuset.Set
	Pin          bool // both are bound to their CPUs
	Shared       bool // server and load have a CPU in common
	Vegeta       bool // the load is the engine vegeta: many goroutines, and a pacer that sleeps in the kernel
	Inherited         // settings that a server inherits from the process that starts it
}

// Inherited has the settings that fix the number of Ps of a Go server unless the server fixes it itself.
type Inherited struct {
	MaxProcs string  // value of GOMAXPROCS; "" for none
	Limit    float64 // CPU limit of its control group in CPUs; 0 for none
}

// Inherit returns what a server inherits from this process.
func Inherit() Inherited { return Inherited{os.Getenv(MaxProcs), cgroup.Own(fromRoot)} }

// ErrNoAffinity is the error on a system that cannot bind threads to CPUs.
var ErrNoAffinity = errors.New("this system cannot pin threads to CPUs")

// loadProcs returns the generator's GOMAXPROCS. If the load has a CPU to itself, the engine spins;
// a second P would make the runtime move it from thread to thread. If the engine sleeps in the
// kernel, it must not hold the only P, so there are at least two.
func (c Sides) loadProcs() int {
	if c.Shared || c.Vegeta {
		return max(2, len(c.Load))
	}
	return 1
}

// BindLoad binds every thread of this process to the load's CPUs, and sets GOMAXPROCS. undo restores
// both. New threads inherit the affinity of the thread that creates them.
func (c Sides) BindLoad() (undo func(), err error) {
	// Go would otherwise lower GOMAXPROCS with the affinity mask.
	procs := runtime.GOMAXPROCS(c.loadProcs())
	undo = func() { runtime.GOMAXPROCS(procs) }
	if !c.Pin {
		return undo, nil
	}
	// All threads are taken to have the calling thread's affinity.
	before, err := Affinity()
	if err != nil {
		return undo, err
	}
	if err := bindThreads(c.Load); err != nil {
		return undo, fmt.Errorf("pinning the load to CPUs %s: %w; use --cpus none", c.Load, err)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		// Binding to the earlier CPUs can only fail for threads that end in the meantime.
		_ = bindThreads(before)
	}, nil
}

// SharedCPUs returns the server CPUs that the load also uses, if the servers have further CPUs. It
// returns nil otherwise, and if server and load are not bound to CPUs.
func (c Sides) SharedCPUs() cpuset.Set {
	if !c.Pin {
		return nil
	}
	return cpuset.Shared(c.Server, c.Load)
}

// foreign returns the CPU time, in seconds, that other programs took of the server's CPUs in a window
// of window seconds: the time that was neither idle, nor stolen, nor used by the server (or by the
// load, if it shares CPUs). It is -1 when one of these is unknown. All must be of the same span.
func (c Sides) foreign(used Reading, window float64) float64 {
	own := used.Server
	if c.Shared && own >= 0 {
		own += max(0, used.Load)
	}
	if used.Idle < 0 || used.stolen < 0 || own < 0 {
		return -1
	}
	return max(0, float64(len(c.Server))*window-used.Idle-used.stolen-own)
}

const (
	pauseRounds = 3
	pauseRound  = 200 * time.Millisecond
)

// Pause returns how long the platform takes a busy thread off its CPU. It keeps the first CPU of each
// side busy in several rounds, and returns the median of the rounds' longest pauses, so that a
// single event does not count. It returns a negative value where threads cannot be bound to CPUs.
// It takes as long as all rounds together, 0.6 s.
func Pause(cpus Sides) time.Duration {
	var rounds [pauseRounds]time.Duration
	for i := range rounds {
		if rounds[i] = longestPause(cpus, pauseRound); rounds[i] < 0 {
			return -1
		}
	}
	slices.Sort(rounds[:])
	return rounds[pauseRounds/2]
}

// longestPause reads the clock in a loop for span, on one CPU of each side, and returns the longest
// time between two readings.
func longestPause(cpus Sides, span time.Duration) time.Duration {
	results := make(chan time.Duration, 2)
	watch := func(set cpuset.Set) {
		runtime.LockOSThread() // never unlocked: the thread, with its changed affinity, ends with the goroutine
		if len(set) == 0 || BindThread(set[:1]) != nil {
			results <- -1
			return
		}
		// Reading the clock takes tens of nanoseconds. A much longer step is a pause.
		longest, last := time.Duration(0), time.Now()
		for end := last.Add(span); last.Before(end); {
			now := time.Now()
			longest = max(longest, now.Sub(last))
			last = now
		}
		results <- longest
	}
	go watch(cpus.Server)
	go watch(cpus.Load)
	a, b := <-results, <-results
	if min(a, b) < 0 {
		return -1
	}
	return max(a, b)
}

// Fingerprint returns a description of the machine and of this program. Fields that the machine does
// not tell stay empty.
//
// It takes a few milliseconds. Without pinning the CPU sets stay empty, because the kernel moves both
// sides.
func Fingerprint(version string, cpus Sides) record.Env {
	e := record.Env{
		CPU:         cpuinfo("model name"),
		CPUs:        runtime.NumCPU(),
		Virtualised: strings.Contains(" "+cpuinfo("flags")+" ", " hypervisor "),
		Kernel:      line("/proc/sys/kernel/osrelease"),
		Clocksource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Governor:    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Go:          runtime.Version(),
		Version:     version,
		ServerCPUs:  cpus.Server.String(),
		LoadCPUs:    cpus.Load.String(),
		ServerProcs: cpus.Procs(cpus.MaxProcs),
		LoadProcs:   cpus.loadProcs(),
		GOGC:        cmp.Or(os.Getenv("GOGC"), "100"),
		PortRange:   line("/proc/sys/net/ipv4/ip_local_port_range"),
		// The line "some" comes first: the share of time in which at least one task waited for a CPU.
		PSI: line("/proc/pressure/cpu"),
	}
	if !cpus.Pin {
		e.ServerCPUs, e.LoadCPUs = "", ""
	}
	if cpus, file, ok := cgroup.Least(fromRoot); ok {
		e.CPUMax = fmt.Sprintf("%.2f CPUs (/%s)", cpus, file)
	}
	e.Somaxconn, _ = strconv.Atoi(line("/proc/sys/net/core/somaxconn"))
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	e.NoFile = files.Cur
	_, _ = fmt.Sscan(line("/proc/loadavg"), &e.Load1)
	return e
}

// readFile returns a file's text, "" when it cannot be read.
func readFile(name string) string {
	data, _ := os.ReadFile(name)
	return string(data)
}

// line returns the first line of a file, with single spaces; "" when the file cannot be read.
func line(name string) string {
	l, _, _ := strings.Cut(readFile(name), "\n")
	return strings.Join(strings.Fields(l), " ")
}

// cpuinfo returns the first value of a key in /proc/cpuinfo, "" for none.
// All CPUs are taken for alike: the first one answers.
func cpuinfo(key string) string {
	for l := range strings.Lines(readFile("/proc/cpuinfo")) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// MaxProcs is the environment variable that sets a Go program's number of Ps.
const MaxProcs = "GOMAXPROCS"

// Procs returns the number of Ps of a Go server if its GOMAXPROCS is value. Like the runtime, it ignores
// a value that is not a positive 32-bit number. It takes the number of the server's CPUs then, or the
// CPU limit of its control group if that is lower, rounded up and at least 2.
func (c Sides) Procs(value string) int {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
		return int(n)
	}
	if cpus := len(c.Server); c.Limit <= 0 || float64(cpus) < c.Limit {
		return cpus
	}
	return min(len(c.Server), max(2, int(math.Ceil(c.Limit))))
}
