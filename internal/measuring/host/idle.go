package host

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/shared/cpuset"
)

// An IdleClock tells the idle time of some CPUs, exact to microseconds, where /proc/stat counts in hundredths of a second. It holds the
// files to read, so that a reading takes some 15 µs for each; nil if the kernel has none.
type IdleClock []string

// NewIdleClock returns the clock of these CPUs; nil if the kernel does not tell the time of each.
func NewIdleClock(cpus cpuset.Set) (c IdleClock) {
	for _, cpu := range cpus {
		states, _ := filepath.Glob("/sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) + "/cpuidle/state*/time") // no error: the pattern is valid
		if len(states) == 0 {
			return nil
		}
		c = append(c, states...)
	}
	return c
}

// Read returns the idle time since boot, summed over the CPUs; ok is false if it cannot be read. A CPU that is idle now adds its time
// when it wakes up.
func (c IdleClock) Read() (sum time.Duration, ok bool) {
	for _, state := range c {
		usec, err := strconv.ParseInt(strings.TrimSpace(readFile(state)), 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(usec) * time.Microsecond
	}
	return sum, len(c) > 0
}
