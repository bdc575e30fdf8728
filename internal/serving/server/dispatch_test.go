package server

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
)

// What a mode's queue and workers cannot be is refused, with the fix.
func TestDispatchErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		mode   string
		change func(*Config)
		want   string
	}{
		{"queue without queues", "nethttp", func(c *Config) { c.Queue = "ring" },
			"--queue means nothing to --mode nethttp; it belongs to --mode pool, pool-request"},
		{"queue of another mode", "pool", func(c *Config) { c.Queue = "adaptive" },
			"--queue adaptive needs --mode pool-request"},
		{"queue of another mode", "pool-request", func(c *Config) { c.Queue = "rr" },
			"--queue rr needs --mode pool"},
		{"unknown queue", "pool", func(c *Config) { c.Queue = "p3c" },
			`--queue "p3c" is none of shared, ring, rr, least, p2c, adaptive`},
		{"queue that contradicts an old name", "pool-ring", func(c *Config) { c.Queue = "rr" },
			"--queue rr contradicts --mode pool-ring, the old name of --mode pool --queue ring; give --mode pool"},
		{"listeners that contradict an old name", "loop-single", func(c *Config) { c.Listeners = 2 },
			"--listeners 2 contradicts --mode loop-single, the old name of --mode loop --listeners 1; give --mode loop"},
		{"stealing without queues", "pool", func(c *Config) { c.Steal = true },
			"--steal means nothing to --mode pool; it needs --queue rr, least or p2c"},
		{"stealing from a ring", "pool", func(c *Config) { c.Queue, c.Steal = "ring", true },
			"--steal means nothing to --mode pool --queue ring; it needs --queue rr, least or p2c"},
		{"stealing from nobody", "pool-perworker", func(c *Config) { c.Steal, c.Workers = true, 1 },
			"--steal with --workers 1 has nobody to steal from; use two workers or more"},
		{"stealing from no place", "pool-perworker", func(c *Config) { c.Steal, c.Workers, c.Depth = true, 4, 3 },
			"--steal with --queue-depth 3 leaves some of --workers 4 no place to steal from; use --queue-depth 4 or more"},
		{"spinning at a channel", "pool", func(c *Config) { c.Spin = 10 },
			"--spin means nothing to --mode pool; it needs --queue ring"},
		{"negative spin", "pool-ring", func(c *Config) { c.Spin = -1 },
			"--spin -1 is outside 0 to 1048576"},
		{"ring of any size", "pool-ring", func(c *Config) { c.Depth = 1000 },
			"--queue-depth 1000 of --mode pool --queue ring is no power of two, and rounding it would change the experiment; use 512 or 1024"},
		{"ring of no size", "pool-ring", func(c *Config) { c.Depth = 0 },
			"--queue-depth 0 of --mode pool --queue ring is no power of two, and rounding it would change the experiment; use 1"},
		{"adaptive without places", "pool-adaptive", func(c *Config) { c.Depth = 0 },
			"--queue-depth 0 is below 1, the least for --mode pool-request --queue adaptive"},
		{"codel twice", "pool-adaptive", func(c *Config) { c.Overflow = "codel" },
			"--overflow codel means nothing to --mode pool-request --queue adaptive, whose queue ages anyway; leave it out"},
		{"dropping on a loop", "loop-offload", func(c *Config) { c.Overflow = "drop" },
			"--overflow drop means nothing to --mode loop-offload; use reject or block"},
		{"evicting from nothing", "pool", func(c *Config) { c.Overflow, c.Depth = "drop-oldest", 0 },
			"--overflow drop-oldest with --queue-depth 0 has nothing to evict; give the queue places"},
		{"evicting from no place", "pool-perworker", func(c *Config) { c.Overflow, c.Workers, c.Depth = "drop-oldest", 4, 2 },
			"--overflow drop-oldest with --queue-depth 2 leaves some of --workers 4 no place to evict from; use --queue-depth 4 or more"},
		{"ageing of nothing", "pool-request", func(c *Config) { c.Overflow, c.Depth = "codel", 0 },
			"--overflow codel with --queue-depth 0 has nothing that ages; give the queue places"},
		{"codel's target without codel", "pool", func(c *Config) { c.Target = time.Second },
			"--codel-target means nothing to --overflow block; use --overflow codel"},
		{"codel's interval without codel", "pool-request", func(c *Config) { c.Interval = time.Second },
			"--codel-interval means nothing to --overflow reject; use --overflow codel"},
		{"codel's target without a queue", "nethttp", func(c *Config) { c.Target = time.Second },
			"--codel-target means nothing to --mode nethttp; it belongs to --mode pool, pool-requeue, pool-request"},
		{"negative target", "pool-adaptive", func(c *Config) { c.Target = -1 },
			"--codel-target -1ns is outside 0s to 1m0s"},
		{"interval below target", "pool-adaptive", func(c *Config) { c.Target, c.Interval = time.Second, time.Millisecond },
			"--codel-interval 1ms is below --codel-target 1s, and a wait cannot exceed its target for less time than that; raise it, or leave it out for 20 times the target"},
		{"locked without goroutines", "loop", func(c *Config) { c.Locked = true },
			"--locked means nothing to --mode loop; it belongs to --mode goroutine, pool, pool-requeue, pool-request"},
		{"job where it has no choice", "pool-requeue", func(c *Config) { c.Job = "closure" },
			"--job means nothing to --mode pool-requeue; it belongs to --mode pool, pool-request"},
		{"ring of a depth that it cannot have", "pool-request", func(c *Config) { c.Queue, c.Depth = "ring", 100 },
			"--queue-depth 100 of --mode pool-request --queue ring is no power of two, and rounding it would change the experiment; use 64 or 128"},
		{"executor without a queue", "nethttp", func(c *Config) { c.Executor = "ring" },
			"--queue means nothing to --mode nethttp; it belongs to --mode pool, pool-request"},
		{"executor that contradicts the queue", "pool-request", func(c *Config) { c.Executor, c.Queue = "ring", "adaptive" },
			"--executor ring is the old spelling of --queue ring, and --queue adaptive is given too; drop one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(tc.mode)
			tc.change(&cfg)
			_, err := New(cfg)
			var bad *ConfigError
			if !errors.As(err, &bad) || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// An interval that is not given is as many targets as CoDel's own.
func TestIntervalFollowsTheTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ target, interval, want time.Duration }{
		{0, 0, 100 * time.Millisecond},
		{time.Millisecond, 0, 100 * time.Millisecond},
		{2 * time.Second, 0, 40 * time.Second},
		{30 * time.Second, 0, time.Minute},
		{2 * time.Second, 3 * time.Second, 3 * time.Second},
	} {
		cfg := testConfig("pool-adaptive")
		cfg.Target, cfg.Interval = tc.target, tc.interval
		_, err := cfg.resolve()
		if err != nil || cfg.Interval != tc.want {
			t.Errorf("target %v, interval %v: got %v %v, want %v", tc.target, tc.interval, cfg.Interval, err, tc.want)
		}
	}
}

// The coordinates shown are those of the settings, not only of the mode.
func TestAxesFollowTheSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mode   string
		change func(*Config)
		want   string
	}{
		{"pool", func(*Config) {},
			"stack=fasthttp accept=single unit=connection executor=fixed queue=shared overflow=block thread=free"},
		{"pool-perworker", func(c *Config) { c.Queue, c.Steal, c.Overflow, c.Locked = "p2c", true, "drop-oldest", true },
			"stack=fasthttp accept=single unit=connection executor=fixed queue=per worker p2c steal overflow=drop-oldest thread=locked"},
		{"pool-request", func(c *Config) { c.Executor, c.Depth = "ring", 8 },
			"stack=fasthttp accept=single unit=request executor=fixed queue=ring overflow=reject thread=free"},
		{"pool-request", func(c *Config) { c.Queue = "adaptive" },
			"stack=fasthttp accept=single unit=request executor=fixed queue=adaptive LIFO overflow=reject thread=free"},
		{"goroutine", func(*Config) {},
			"stack=fasthttp accept=single unit=connection executor=goroutine per unit queue=none overflow=none thread=free"},
		{"goroutine", func(c *Config) { c.Locked = true },
			"stack=fasthttp accept=single unit=connection executor=goroutine per unit queue=none overflow=none thread=locked"},
		{"loop", func(c *Config) { c.Listeners = 1 },
			"stack=fasthttp accept=single unit=inline executor=loop queue=none overflow=none thread=free"},
		{"loop", func(c *Config) { c.Listeners = 2 },
			"stack=fasthttp accept=reuseport unit=inline executor=loop queue=none overflow=none thread=free"},
	} {
		cfg := testConfig(tc.mode)
		tc.change(&cfg)
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.mode.Axes.String(); got != tc.want {
			t.Errorf("%s: got  %s\nwant %s", tc.mode, got, tc.want)
		}
	}
}

// An old name serves as the mode with the flag for which it stood, and the metrics have the present name.
func TestOldNamesServe(t *testing.T) {
	t.Parallel()
	for _, old := range mode.OldNames {
		given, now := testConfig(old.Name), testConfig(old.Mode)
		if _, err := fmt.Sscan(old.Values[0], now.Fields()[old.Flag]); err != nil {
			t.Fatal(err)
		}
		s, err := New(given)
		want, wrong := New(now)
		if err != nil || wrong != nil {
			t.Errorf("--mode %s: got %v and %v", old.Name, err, wrong)
			continue
		}
		if s.mode.Name != old.Mode || s.mode.Axes != want.mode.Axes || s.mode.Spelling != want.mode.Spelling || s.mode.Spelling != old.String() {
			t.Errorf("--mode %s: got %s, %s, %v\nwant %s, %v", old.Name, s.mode.Name, s.mode.Spelling, s.mode.Axes, want.mode.Spelling, want.mode.Axes)
		}
	}
}

// Every setting of a mode's workers and queue that is allowed makes a server.
func TestEveryPolicyOfEveryModeIsServed(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		if mode.Depth == nil {
			continue
		}
		for overflow := range strings.SplitSeq(mode.Axes.Overflow, "|") {
			cfg := testConfig(mode.Name)
			cfg.Overflow = overflow
			if _, err := New(cfg); err != nil {
				t.Errorf("--mode %s --overflow %s: %v", mode.Name, overflow, err)
			}
		}
	}
}

// What is allowed and treacherous is said at the start.
func TestDispatchWarnings(t *testing.T) {
	t.Parallel()
	many := 4 * runtime.GOMAXPROCS(0)
	for _, tc := range []struct {
		name   string
		mode   string
		change func(*Config)
		want   string // a part of it; "" for none
	}{
		{"old name", "pool-ring", func(*Config) {}, "--mode pool-ring is an old name; it is --mode pool --queue ring now"},
		{"locked", "pool-request", func(c *Config) { c.Locked, c.Workers = true, many }, "workers have a thread each"},
		{"thread pool", "pool", func(c *Config) { c.Locked, c.Workers = true, many }, "workers have a thread each"},
		{"one thread", "pool", func(c *Config) { c.Locked, c.Workers = true, 1 }, ""},
		{"codel on connections", "pool", func(c *Config) { c.Overflow = "codel" }, "codel sees a connection's wait for a worker"},
		{"codel on requests", "pool-request", func(c *Config) { c.Overflow = "codel" }, ""},
		{"drop", "pool", func(c *Config) { c.Overflow = "drop" }, "drop leaves clients without an answer"},
	} {
		cfg := testConfig(tc.mode)
		tc.change(&cfg)
		mode, err := cfg.resolve()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(cfg.warnings(mode), "\n")
		if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q in it", tc.name, got, tc.want)
		}
	}
}
