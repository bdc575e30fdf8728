package model

import (
	"fmt"
	"strings"
)

// Axes are the coordinates of a scheduling model. Every mode is one point.
type Axes struct {
	Stack    string `json:"stack"`    // nethttp | fasthttp
	Accept   string `json:"accept"`   // how connections leave the kernel
	Unit     string `json:"unit"`     // what is dispatched: connection | request
	Executor string `json:"executor"` // what it runs on
	Queue    string `json:"queue"`    // where it waits
	Overflow string `json:"overflow"` // what happens when it cannot
	Thread   string `json:"thread"`   // free | locked
}

// String is the full tuple on one line.
func (a Axes) String() string {
	return fmt.Sprintf("stack=%s accept=%s unit=%s executor=%s queue=%s overflow=%s thread=%s",
		a.Stack, a.Accept, a.Unit, a.Executor, a.Queue, a.Overflow, a.Thread)
}

// A Mode is a named point on the axes. Flags are the serve flags that mean
// something to it besides those every mode has.
type Mode struct {
	Name     string
	Summary  string
	Axes     Axes
	Imitates string
	Wins     string
	Starves  string
	Flags    []string
	Sticky   bool // a worker keeps its connection, so surplus keep-alive clients starve
	// Overflow is the policy when none is given; "" without a queue.
	Overflow string
	// Depth is the queue's depth for a number of workers when none is given;
	// nil without a queue.
	Depth func(workers int) int
	New   func(Config) Model
}

var poolFlags = []string{"workers", "queue-depth", "overflow"}

// Modes returns every mode, in the order they are shown.
func Modes() []Mode {
	return []Mode{
		{
			Name:     "nethttp",
			Summary:  "net/http as it comes: a goroutine per connection",
			Axes:     Axes{"nethttp", "single", "connection", "goroutine per unit", "none", "none", "free"},
			Imitates: "the standard library",
			Wins:     "most workloads that wait more than they compute; nothing to size",
			Starves:  "nobody: past capacity everybody slows down together, without bound",
			New:      newNethttp,
		},
		{
			Name:     "goroutine",
			Summary:  "a goroutine per connection on fasthttp's parser",
			Axes:     Axes{"fasthttp", "single", "connection", "goroutine per unit", "none", "none", "free"},
			Imitates: "net/http's scheduling without net/http's parser: the control between the two stacks",
			Wins:     "where fasthttp does; shows what fasthttp's own pool adds",
			Starves:  "nobody, as nethttp",
			New:      newGoroutine,
		},
		{
			Name:     "fasthttp",
			Summary:  "fasthttp's own elastic pool, the last worker to become free first",
			Axes:     Axes{"fasthttp", "single", "connection", "elastic LIFO", "none", "none", "free"},
			Imitates: "fasthttp.Server.Serve",
			Wins:     "many short requests on kept connections: less CPU and memory for each",
			Starves:  "nobody below --max-conns",
			New:      newFasthttp,
		},
		{
			Name:     "pool",
			Summary:  "fixed workers behind one shared queue; a worker keeps its connection until it closes",
			Axes:     Axes{"fasthttp", "single", "connection", "fixed", "shared", "block|reject", "free"},
			Imitates: "the classic dispatcher with a jobs channel, a thread pool",
			Wins:     "short CPU-bound requests past capacity, one per connection: first come first served bounds the worst wait",
			Starves:  "keep-alive clients beyond the number of workers, until the idle timeout; everybody when requests wait and workers < rate x time held",
			Flags:    poolFlags,
			Sticky:   true,
			Overflow: "block",
			Depth:    func(int) int { return 1024 },
			New:      newPool,
		},
		{
			Name:     "pool-request",
			Summary:  "a goroutine per connection parses; handlers run on fixed workers behind a bounded queue; full is 503",
			Axes:     Axes{"fasthttp", "single", "request", "fixed", "shared", "reject|block", "free"},
			Imitates: "a worker pool inside handlers, with load shedding",
			Wins:     "overload: what it accepts stays fast, the rest is told at once",
			Starves:  "requests beyond workers + queue: refused with 503 and Retry-After",
			Flags:    poolFlags,
			Overflow: "reject",
			Depth:    func(workers int) int { return 2 * workers },
			New:      newPoolRequest,
		},
	}
}

// Lookup finds a mode by name.
func Lookup(name string) (Mode, error) {
	modes := Modes()
	names := make([]string, len(modes))
	for i, m := range modes {
		if m.Name == name {
			return m, nil
		}
		names[i] = m.Name
	}
	return Mode{}, fmt.Errorf("unknown mode %q (want one of %s)", name, strings.Join(names, ", "))
}
