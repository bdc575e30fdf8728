package host

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/shared/cpuset"
)

// Idled returns the idle time of CPUs since boot, summed over them; ok is false where the kernel does not tell it. It is exact to
// microseconds, where /proc/stat counts in hundredths of a second. The idle time that still lasts is not in it.
func Idled(cpus cpuset.Set) (sum time.Duration, ok bool) {
	for _, cpu := range cpus {
		states, _ := filepath.Glob("/sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) + "/cpuidle/state*/time") // no error: the pattern is valid
		if len(states) == 0 {
			return 0, false
		}
		for _, state := range states {
			usec, err := strconv.ParseInt(strings.TrimSpace(readFile(state)), 10, 64)
			if err != nil {
				return 0, false
			}
			sum += time.Duration(usec) * time.Microsecond
		}
	}
	return sum, len(cpus) > 0
}
