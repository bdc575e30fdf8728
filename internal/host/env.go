package host

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// Fingerprint returns a description of the machine and of this program. Fields that the machine does
// not tell stay empty.
//
// It reads files below /proc and /sys and takes a few milliseconds. version is the version of this
// program. Without pinning the CPU sets stay empty, because the kernel moves both sides.
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
		ServerProcs: ProcsOf(os.Getenv(MaxProcs), len(cpus.Server)),
		LoadProcs:   cpus.loadProcs(),
		GOGC:        cmp.Or(os.Getenv("GOGC"), "100"),
		CPUMax:      cpuMax(),
		PortRange:   line("/proc/sys/net/ipv4/ip_local_port_range"),
	}
	if !cpus.Pin {
		e.ServerCPUs, e.LoadCPUs = "", ""
	}
	e.Somaxconn, _ = strconv.Atoi(line("/proc/sys/net/core/somaxconn"))
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		e.NoFile = files.Cur
	}
	if fields := strings.Fields(line("/proc/loadavg")); len(fields) > 0 {
		e.Load1, _ = strconv.ParseFloat(fields[0], 64)
	}
	// "some" is the share of time in which at least one task waited for a CPU (pressure stall information).
	for l := range strings.Lines(readFile("/proc/pressure/cpu")) {
		if strings.HasPrefix(l, "some") {
			e.PSI = strings.TrimSpace(l)
		}
	}
	return e
}

// readFile returns a file's text, "" when it cannot be read. A fact that the machine does not tell is
// so left out of its fingerprint.
func readFile(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
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

// cpuMax returns the tightest CPU limit of this process's control groups as text, "" for none.
func cpuMax() string {
	cpus, file, ok := cgroup.Least(fromRoot)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.2f CPUs (/%s)", cpus, file)
}

// MaxProcs is the environment variable that sets a Go program's number of Ps.
const MaxProcs = "GOMAXPROCS"

// ProcsOf returns the number of Ps that a Go program has if GOMAXPROCS is value and it may run on
// cpus CPUs. Like the runtime, it ignores a value that is not a positive 32-bit number.
func ProcsOf(value string, cpus int) int {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return cpus
}
