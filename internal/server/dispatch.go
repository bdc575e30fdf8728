package server

import (
	"cmp"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/mode"
	"schedlab/internal/model"
)

// mostCodel limits target and interval.
const (
	mostCodel = time.Minute
	// intervalTargets is the default interval in targets, as in CoDel's own defaults of
	// 5 and 100 ms.
	intervalTargets = 20
)

// checkQueue checks that the settings of a queue and its workers fit together, and fills in
// their defaults. A mode without a queue has nothing to check: checkModeFlags has refused the
// flags.
func (c *Config) checkQueue(mode model.Mode) error {
	if mode.Depth == nil {
		return nil
	}
	if c.Depth < 0 {
		c.Depth = mode.Depth(c.Workers)
	}
	if c.Depth > mostDepth {
		return badConfig("--queue-depth %d is above %d", c.Depth, mostDepth)
	}
	c.Overflow = cmp.Or(c.Overflow, mode.Overflow)
	if err := new(dispatch.Overflow).Set(c.Overflow); err != nil {
		return badConfig("--overflow: %v", err)
	}
	for _, check := range []func(model.Mode) error{c.checkOverflow, c.checkDepth, c.checkExecutor, c.checkCodel} {
		if err := check(mode); err != nil {
			return err
		}
	}
	if c.Queue != "" {
		if err := new(dispatch.Pick).Set(c.Queue); err != nil {
			return badConfig("--queue: %v", err)
		}
	}
	return nil
}

// setQueue sets the fields of a model's configuration that are words in c. checkQueue must have
// accepted them.
func (c *Config) setQueue(mode model.Mode, mc *model.Config) {
	if mode.Depth == nil {
		// It may be -1, the default for "not given".
		mc.Depth = 0
		return
	}
	// The errors cannot occur any more.
	_ = mc.Overflow.Set(c.Overflow)
	_ = mc.Pick.Set(cmp.Or(c.Queue, dispatch.RoundRobin.String()))
	mc.Closure = c.Job == "closure"
	if c.Executor == "ring" {
		mc.Executor = dispatch.Ring
	}
}

// checkOverflow checks that the mode supports the overflow policy.
func (c *Config) checkOverflow(mode model.Mode) error {
	if mode.Allows(c.Overflow) {
		return nil
	}
	if c.Overflow == dispatch.CoDel.String() && mode.Adaptive {
		return badConfig("--overflow codel means nothing to --mode %s, whose queue ages anyway; leave it out", mode.Name)
	}
	return badConfig("--overflow %s means nothing to --mode %s; use %s", c.Overflow, mode.Name, list(strings.Split(mode.Axes.Overflow, "|")))
}

// checkDepth checks that the queue's depth suits the mode, the overflow policy and stealing. It
// never rounds the depth, because that would change the experiment.
func (c *Config) checkDepth(mode model.Mode) error {
	depth := c.Depth
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

// powersAround returns the powers of two next to n, below and above it.
func powersAround(n int) (around []string) {
	above := 1 << bits.Len(uint(n))
	if n > 0 {
		around = append(around, fmt.Sprint(above/2))
	}
	return append(around, fmt.Sprint(above))
}

// checkExecutor checks that a ring's depth is a power of two.
func (c *Config) checkExecutor(model.Mode) error {
	if c.Executor == "ring" && bits.OnesCount(uint(c.Depth)) != 1 {
		return badConfig("--queue-depth %d of --executor ring is no power of two, and rounding it would change the experiment; use %s", c.Depth, list(powersAround(c.Depth)))
	}
	return nil
}

// checkCodel checks the settings of CoDel and fills in their defaults. It returns an error if one
// is set but not used.
func (c *Config) checkCodel(mode model.Mode) error {
	// c.Interval's default is computed before the loop sets c.Target. Without a given target it is
	// 100 ms, and that suits the default target, too.
	used := mode.Adaptive || c.Overflow == dispatch.CoDel.String()
	for _, f := range []struct {
		flag    string
		value   *time.Duration
		initial time.Duration
	}{
		{"codel-target", &c.Target, dispatch.DefaultTarget},
		{"codel-interval", &c.Interval, max(dispatch.DefaultInterval, min(intervalTargets*c.Target, mostCodel))},
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
	if c.Interval < c.Target {
		return badConfig("--codel-interval %v is below --codel-target %v, and a wait cannot exceed its target for less time than that; raise it, or leave it out for %d times the target",
			c.Interval, c.Target, intervalTargets)
	}
	return nil
}

// axes returns the mode's axes as the settings change them. A mode lists the alternatives of an
// axis, such as block|reject; the settings choose one.
func (c *Config) axes(mode model.Mode) mode.Axes {
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
	if c.Executor == "ring" {
		a.Queue = c.Executor
	}
	if c.Locked {
		a.Thread = "locked"
	}
	return a
}

// dispatchWarnings returns warnings about the chosen settings of queue and workers. Each is a
// setting that works, but seldom does what its user expects.
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

// list joins items with commas, and "or" before the last. There must be at least one item.
func list(items []string) string {
	if n := len(items) - 1; n > 0 {
		return strings.Join(items[:n], ", ") + " or " + items[n]
	}
	return items[0]
}
