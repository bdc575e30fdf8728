package server

import (
	"cmp"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/model"
)

// Dispatch are the settings of how a mode's jobs reach its workers.
type Dispatch struct {
	Queue         string        // of pool-perworker: rr, least or p2c; "": rr
	Steal         bool          // of pool-perworker: idle workers take from the others' queues
	Spin          int           // of pool-ring: looks at an empty ring before a worker sleeps
	Job           string        // closure or func; "": func
	Executor      string        // own, ants, pond or ring; "": own
	Locked        bool          // each worker has an operating-system thread of its own
	CodelTarget   time.Duration // wait that CoDel stays near; 0: 5 ms
	CodelInterval time.Duration // for which it must be exceeded; 0: 20 targets, 100 ms at least
}

const (
	mostSpin  = 1 << 20
	mostCodel = time.Minute
	// intervalTargets is how many targets an interval lasts, as in CoDel's own
	// defaults of 5 and 100 ms.
	intervalTargets = 20
)

// checkDispatch checks them, and how they go with the queue's depth and overflow
// policy, which checkQueue has settled.
func (c *Config) checkDispatch(mode model.Mode, mc *model.Config) error {
	d := &c.Dispatch
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"queue", d.Queue != ""}, {"steal", d.Steal}, {"spin", d.Spin != 0}, {"job", d.Job != ""}, {"executor", d.Executor != ""},
		{"locked", d.Locked}, {"codel-target", d.CodelTarget != 0}, {"codel-interval", d.CodelInterval != 0},
	} {
		if f.given && !mode.Has(f.flag) {
			return meansNothing(f.flag, mode)
		}
	}
	if mode.Depth == nil {
		return nil
	}
	for _, check := range []func(model.Mode) error{c.checkOverflow, c.checkDepth, c.checkExecutor, c.checkCodel} {
		if err := check(mode); err != nil {
			return err
		}
	}
	if d.Queue != "" {
		if err := mc.Pick.Set(d.Queue); err != nil {
			return badConfig("--queue: %v", err)
		}
	}
	if d.Spin < 0 || d.Spin > mostSpin {
		return badConfig("--spin %d is outside 0 to %d", d.Spin, mostSpin)
	}
	mc.Steal, mc.Spin, mc.Locked, mc.Closure = d.Steal, d.Spin, d.Locked, d.Job == "closure"
	mc.Target, mc.Interval = d.CodelTarget, d.CodelInterval
	mc.Executor = map[string]dispatch.Kind{"ants": dispatch.Ants, "pond": dispatch.Pond, "ring": dispatch.Ring}[d.Executor]
	return nil
}

func (c *Config) checkOverflow(mode model.Mode) error {
	if mode.Allows(c.Overflow) {
		return nil
	}
	if c.Overflow == dispatch.CoDel.String() && mode.Adaptive {
		return badConfig("--overflow codel means nothing to --mode %s, whose queue ages anyway; leave it out", mode.Name)
	}
	return badConfig("--overflow %s means nothing to --mode %s; use %s", c.Overflow, mode.Name, list(strings.Split(mode.Axes.Overflow, "|")))
}

func (c *Config) checkDepth(mode model.Mode) error {
	depth := c.QueueDepth
	if mode.PowerOfTwo && bits.OnesCount(uint(depth)) != 1 {
		return badConfig("--queue-depth %d of --mode %s is no power of two, and rounding it would change the experiment; use %s",
			depth, mode.Name, list(powersAround(depth)))
	}
	if depth < mode.LeastDepth {
		return badConfig("--queue-depth %d is below %d, the least for --mode %s", depth, mode.LeastDepth, mode.Name)
	}
	evicts := c.Overflow == dispatch.DropOldest.String()
	switch {
	case depth == 0 && evicts:
		return badConfig("--overflow drop-oldest with --queue-depth 0 has nothing to evict; give the queue places")
	case depth == 0 && c.Overflow == dispatch.CoDel.String():
		return badConfig("--overflow codel with --queue-depth 0 has nothing that ages; give the queue places")
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

// powersAround are the powers of two next to n, from below and from above.
func powersAround(n int) (around []string) {
	above := 1 << bits.Len(uint(n))
	if n > 0 {
		around = append(around, fmt.Sprint(above/2))
	}
	return append(around, fmt.Sprint(above))
}

func (c *Config) checkExecutor(model.Mode) error {
	switch c.Executor {
	case "", "own":
		return nil
	case "ring":
		if bits.OnesCount(uint(c.QueueDepth)) != 1 {
			return badConfig("--queue-depth %d of --executor ring is no power of two, and rounding it would change the experiment; use %s", c.QueueDepth, list(powersAround(c.QueueDepth)))
		}
		return nil
	}
	switch {
	case c.Locked:
		return badConfig("--locked means nothing to --executor %s, whose goroutines are its own; use --executor own", c.Executor)
	case c.Overflow != dispatch.Block.String() && c.Overflow != dispatch.Reject.String():
		return badConfig("--overflow %s means nothing to --executor %s, which can only block or reject; use one of these, or --executor own", c.Overflow, c.Executor)
	case c.Executor == "pond" && c.Job == "func":
		return badConfig("--job func means nothing to --executor pond, which takes closures only; leave it out")
	case c.Executor == "pond" && c.QueueDepth == 0:
		return badConfig("--queue-depth 0 of --executor pond is no queue that it has; give it places")
	}
	return nil
}

func (c *Config) checkCodel(mode model.Mode) error {
	used := mode.Adaptive || c.Overflow == dispatch.CoDel.String()
	for _, f := range []struct {
		flag    string
		value   *time.Duration
		initial time.Duration
	}{
		{"codel-target", &c.CodelTarget, dispatch.DefaultTarget},
		{"codel-interval", &c.CodelInterval, max(dispatch.DefaultInterval, min(intervalTargets*c.CodelTarget, mostCodel))},
	} {
		switch {
		case *f.value != 0 && !used:
			return badConfig("--%s means nothing to --overflow %s; use --overflow codel", f.flag, c.Overflow)
		case *f.value == 0:
			*f.value = f.initial
		case *f.value < 0 || *f.value > mostCodel:
			return badConfig("--%s %v is outside 0 to %v", f.flag, *f.value, mostCodel)
		}
	}
	if c.CodelInterval < c.CodelTarget {
		return badConfig("--codel-interval %v is below --codel-target %v, and a wait cannot exceed its target for less time than that; raise it, or leave it out for %d times the target",
			c.CodelInterval, c.CodelTarget, intervalTargets)
	}
	return nil
}

// axes are the mode's, moved by the settings.
func (c *Config) axes(mode model.Mode) model.Axes {
	a := mode.Axes
	if mode.Depth == nil {
		return a
	}
	a.Overflow = c.Overflow
	if mode.Has("queue") {
		a.Queue += " " + cmp.Or(c.Queue, dispatch.RoundRobin.String())
		if c.Steal {
			a.Queue += " steal"
		}
	}
	if c.Executor == "ants" || c.Executor == "pond" {
		a.Executor = c.Executor
	}
	if c.Executor == "ring" {
		a.Queue = c.Executor
	}
	if c.Locked {
		a.Thread = "locked"
	}
	return a
}

// dispatchWarnings are what to beware of in the settings chosen.
func (c *Config) dispatchWarnings(mode model.Mode) (warn []string) {
	p := runtime.GOMAXPROCS(0)
	if c.threaded(mode) == "worker" && c.Workers > p {
		warn = append(warn, fmt.Sprintf("%d workers have a thread each and GOMAXPROCS is %d: a hand-over wakes a thread, some ten times the cost of waking a goroutine", c.Workers, p))
	}
	if c.Overflow == dispatch.CoDel.String() && mode.Axes.Unit == "connection" {
		warn = append(warn, "codel sees a connection's wait for a worker, not the waits of its later requests; pool-request ages every request")
	}
	if c.Overflow == dispatch.Drop.String() {
		warn = append(warn, fmt.Sprintf("drop leaves clients without an answer until they give up, or for the idle timeout (%v); reject tells them at once", c.Limits.IdleTimeout))
	}
	return warn
}

// list is items as one says them.
func list(items []string) string {
	if n := len(items) - 1; n > 0 {
		return strings.Join(items[:n], ", ") + " or " + items[n]
	}
	return items[0]
}
