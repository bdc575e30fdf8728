package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A family is the process ids of a server, of which prefork has more than one.
type family []int

// cpu is the CPU time they have used.
func (f family) cpu(b *testing.B) (used time.Duration) {
	for _, pid := range f {
		// The clock id is the kernel's encoding of a pid: ~pid<<3 | CPUCLOCK_SCHED
		// (clock_getcpuclockid(3)).
		const cpuclockSched = 2
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(ts.Nano())
	}
	return used
}

// resident is the memory they have in core, in bytes.
func (f family) resident(b *testing.B) (bytes int) {
	for _, pid := range f {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			b.Fatal(err)
		}
		var size, pages int
		if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
			b.Fatalf("parsing %q: %v", text, err)
		}
		bytes += pages * os.Getpagesize()
	}
	return bytes
}

func (c *child) family(b *testing.B) family {
	return append(family{c.cmd.Process.Pid}, c.processes(b)...)
}
