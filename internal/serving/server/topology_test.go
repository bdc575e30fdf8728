package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// modeNames lists the modes that are like that.
func modeNames(like func(model.Mode) bool) string {
	var names []string
	for _, m := range model.Modes() {
		if like(m) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

func having(flag string) string {
	return modeNames(func(m model.Mode) bool { return m.Has(flag) })
}

// A flag that means nothing to the mode is refused, with the modes it belongs to.
func TestTopologyErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, mode string
		change     func(*Config)
		want       string
	}{
		{"listeners of one socket", "nethttp", func(c *Config) { c.Listeners = 2 },
			"--listeners means nothing to --mode nethttp; it belongs to --mode " + having("listeners")},
		{"processes of one", "reuseport", func(c *Config) { c.Processes = 2 },
			"--processes means nothing to --mode reuseport; it belongs to --mode prefork"},
		{"threads of one process", "goroutine", func(c *Config) { c.Threads = 2 },
			"--threads means nothing to --mode goroutine; it belongs to --mode prefork"},
		{"a wait without turns", "goroutine", func(c *Config) { c.Wait = 0 },
			"--wait means nothing to --mode goroutine; it belongs to --mode " + having("wait")},
		{"a queue at the gate", "nethttp-gate", func(c *Config) { c.Depth = 4 },
			"--queue-depth means nothing to --mode nethttp-gate; it belongs to --mode " + having("queue-depth")},
		{"a policy at the semaphore", "semaphore", func(c *Config) { c.Overflow = "block" },
			"--overflow means nothing to --mode semaphore; it belongs to --mode " + having("overflow")},
		{"negative listeners", "reuseport", func(c *Config) { c.Listeners = -1 },
			"--listeners -1 is outside 1 to 1024"},
		{"too many listeners", "reuseport", func(c *Config) { c.Listeners = 1025 },
			"--listeners 1025 is outside 1 to 1024"},
		{"too many processes", "prefork", func(c *Config) { c.Processes = 257 },
			"--processes 257 is outside 1 to 256"},
		{"too many threads", "prefork", func(c *Config) { c.Threads = 257 },
			"--threads 257 is outside 1 to 256"},
		{"too long a wait", "semaphore", func(c *Config) { c.Wait = time.Hour },
			"--wait 1h0m0s is outside 0s to 1m0s"},
		{"too many places", "nethttp-gate", func(c *Config) { c.Workers = 100_001 },
			"--workers 100001 is outside 1 to 100000"},
		{"too many locks", "nethttp", func(c *Config) { c.KVLocks = 257 },
			"--kv-locks 257 is outside 1 to 256"},
		{"a connection less than processes", "prefork", func(c *Config) { c.Processes, c.MaxConns = 4, 3 },
			"--max-conns 3 is below --processes 4, and each process takes its share; raise it or start fewer processes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(tc.mode)
			tc.change(&cfg)
			if err := cfg.Check(); err == nil || err.Error() != tc.want {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestTopologyDefaults(t *testing.T) {
	t.Parallel()
	ps := runtime.GOMAXPROCS(0)
	for _, tc := range []struct {
		mode                                   string
		listeners, processes, threads, workers int
		wait                                   time.Duration
	}{
		{"nethttp", 0, 0, 0, 0, 0},
		{"nethttp-gate", 0, 0, 0, 2 * ps, 0},
		{"semaphore", 0, 0, 0, 2 * ps, 100 * time.Millisecond},
		{"reuseport", ps, 0, 0, 0, 0},
		{"prefork", 0, ps, 1, 0, 0},
	} {
		cfg := testConfig(tc.mode)
		_, err := cfg.resolve()
		if err != nil {
			t.Errorf("%s: %v", tc.mode, err)
		}
		if cfg.Listeners != tc.listeners || cfg.Processes != tc.processes || cfg.Threads != tc.threads || cfg.Workers != tc.workers || cfg.Wait != tc.wait {
			t.Errorf("%s: got %d listeners, %d processes of %d threads, %d workers, a wait of %v, want %+v", tc.mode,
				cfg.Listeners, cfg.Processes, cfg.Threads, cfg.Workers, cfg.Wait, tc)
		}
	}
	cfg := testConfig("semaphore")
	cfg.Wait, cfg.KVLocks = 0, workload.MaxKVLocks
	if _, err := cfg.resolve(); err != nil || cfg.Wait != 0 {
		t.Errorf("no wait: got %v %v, want none", cfg.Wait, err)
	}
}

// A thread for each connection, or each worker, needs as many threads.
func TestThreadLimit(t *testing.T) {
	t.Parallel()
	limit := threadLimit{600, "ulimit -u"}
	for _, tc := range []struct {
		mode     string
		limit    threadLimit
		maxConns int
		asked    bool
		want     int
		err      string
	}{
		{"threads", limit, 500, true, 500, ""},
		{"threads", limit, 501, false, 500, ""},
		{"goroutine", limit, 9000, true, 9000, ""},
		{"threads", limit, 501, true, 0, "--max-conns 501 needs a thread for each connection, and ulimit -u allows 600 (100 are kept for the rest); lower it to 500 or raise that limit"},
		{"threads", threadLimit{100, "ulimit -u"}, 1, false, 0, "--mode goroutine --locked needs a thread for each connection, and ulimit -u allows only 100; raise it"},
	} {
		c := Config{Mode: tc.mode, Config: model.Config{MaxConns: tc.maxConns}}
		err := c.checkThreads(modeOf(t, tc.mode), tc.limit, tc.asked)
		if got := fmt.Sprint(err); tc.err != "" && got != tc.err || tc.err == "" && (err != nil || c.MaxConns != tc.want) {
			t.Errorf("%d connections: got %d and %v, want %d and %q", tc.maxConns, c.MaxConns, err, tc.want, tc.err)
		}
	}
	for _, tc := range []struct {
		mode    string
		locked  bool
		limit   threadLimit
		workers int
		err     string
	}{
		{"pool", true, limit, 500, ""},
		{"pool", true, limit, 501, "--workers 501 needs a thread for each worker, and ulimit -u allows 600 (100 are kept for the rest); lower it to 500 or raise that limit"},
		{"pool-request", true, limit, 501, "--workers 501 needs a thread for each worker, and ulimit -u allows 600 (100 are kept for the rest); lower it to 500 or raise that limit"},
		{"pool", false, limit, 501, ""},
		{"pool", true, threadLimit{50, "ulimit -u"}, 1, "--mode pool --locked needs a thread for each worker, and ulimit -u allows only 50; raise it"},
	} {
		c := Config{Mode: tc.mode, Config: model.Config{MaxConns: 9000, Settings: dispatch.Settings{Workers: tc.workers, Locked: tc.locked}}}
		m := modeOf(t, tc.mode)
		m.Mode = m.With(c.given())
		err := c.checkThreads(m, tc.limit, true)
		if tc.err == "" && err != nil || tc.err != "" && fmt.Sprint(err) != tc.err {
			t.Errorf("%s with %d workers: got %v, want %q", tc.mode, tc.workers, err, tc.err)
		}
	}
	if got := threadsAllowed(); got.threads < 1 {
		t.Errorf("got %+v, want some threads", got)
	}
}

func modeOf(t *testing.T, name string) model.Mode {
	t.Helper()
	mode, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return mode
}

func TestTopologyWarnings(t *testing.T) {
	t.Parallel()
	ps, cpus := runtime.GOMAXPROCS(0), runtime.NumCPU()
	for _, tc := range []struct {
		mode   string
		change func(*Config)
		want   string
	}{
		{"reuseport", func(c *Config) { c.Listeners = ps }, ""},
		{"reuseport", func(c *Config) { c.Listeners = ps + 1 },
			fmt.Sprintf("%d listeners share %d CPUs (GOMAXPROCS): connections hashed to a socket whose acceptor does not run wait for it", ps+1, ps)},
		{"prefork", func(c *Config) { c.Processes, c.Threads = 1, cpus }, ""},
		{"prefork", func(c *Config) { c.Processes, c.Threads = 2, cpus },
			fmt.Sprintf("2 processes of %d threads are %d threads for %d CPUs: the kernel's scheduler shares them out", cpus, 2*cpus, cpus)},
		{"nethttp", func(c *Config) { c.PlantCPU = 1.1 },
			"every /work costs 1.1 times the CPU time that it asks for (--plant-cpu): its figures are for tests of verdicts alone"},
		{"pool", func(c *Config) { c.Plant.Name = "queue=1ms" },
			"the fault queue=1ms is planted (--plant): figures are for tests of explanations alone"},
	} {
		cfg := testConfig(tc.mode)
		tc.change(&cfg)
		mode, err := cfg.resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cfg.warnings(mode), "\n"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.mode, got, tc.want)
		}
	}
}
