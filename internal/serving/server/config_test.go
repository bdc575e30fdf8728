package server

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
)

// Every refusal names the flag and what to do instead.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	modes := modeNames(func(model.Mode) bool { return true })
	for _, tc := range []struct {
		name   string
		mode   string
		change func(*Config)
		want   string
	}{
		{"unknown mode", "poool", func(*Config) {},
			`--mode: unknown mode "poool" (did you mean pool?)`},
		{"no mode", "", func(*Config) {},
			`--mode: unknown mode "" (want one of ` + modes + `)`},
		{"workers without a pool", "nethttp", func(c *Config) { c.Workers = 4 },
			"--workers means nothing to --mode nethttp, which has no workers and no queue; use --max-conns, or --mode pool"},
		{"depth without a queue", "goroutine", func(c *Config) { c.Depth = 0 },
			"--queue-depth means nothing to --mode goroutine, which has no workers and no queue; use --max-conns, or --mode pool"},
		{"overflow without a queue", "fasthttp", func(c *Config) { c.Overflow = "block" },
			"--overflow means nothing to --mode fasthttp, which has no workers and no queue; use --max-conns, or --mode pool"},
		{"negative workers", "pool", func(c *Config) { c.Workers = -1 },
			"--workers -1 is outside 1 to 100000"},
		{"too many workers", "pool-request", func(c *Config) { c.Workers = 100_001 },
			"--workers 100001 is outside 1 to 100000"},
		{"too deep a queue", "pool", func(c *Config) { c.Depth = 1<<20 + 1 },
			"--queue-depth 1048577 is outside 0 to 1048576"},
		{"unknown overflow", "pool", func(c *Config) { c.Overflow = "hope" },
			`--overflow "hope" is none of block, reject, drop, drop-oldest, expire, codel`},
		{"wait without expire", "pool", func(c *Config) { c.Wait = time.Second },
			"--wait means nothing to --overflow block; use --overflow expire"},
		{"expire at once", "pool", func(c *Config) { c.Overflow, c.Wait = "expire", 0 },
			"--overflow expire with --wait 0 drops all that waits; give --wait the time after which clients give up, or use --overflow reject"},
		{"expire without a queue", "pool", func(c *Config) { c.Overflow, c.Depth = "expire", 0 },
			"--overflow expire with --queue-depth 0 has nothing that waits; give the queue places"},
		{"no header timeout", "nethttp", func(c *Config) { c.Limits.HeaderTimeout = 0 },
			"--header-timeout 0s must be above 0: without it one slow client holds a connection for ever"},
		{"negative body timeout", "nethttp", func(c *Config) { c.Limits.BodyTimeout = -1 },
			"--body-timeout -1ns must be above 0: without it one slow client holds a connection for ever"},
		{"no write timeout", "nethttp", func(c *Config) { c.Limits.WriteTimeout = 0 },
			"--write-timeout 0s must be above 0: without it one slow client holds a connection for ever"},
		{"no idle timeout", "nethttp", func(c *Config) { c.Limits.IdleTimeout = 0 },
			"--idle-timeout 0s must be above 0: without it one slow client holds a connection for ever"},
		{"no drain timeout", "nethttp", func(c *Config) { c.DrainTimeout = 0 },
			"--drain-timeout 0s must be above 0: without it one slow client holds a connection for ever"},
		{"tiny head", "nethttp", func(c *Config) { c.Limits.MaxHead = 8192 - 1 },
			"--max-head 8191 is outside 8192 to 1048576 bytes"},
		{"huge head", "nethttp", func(c *Config) { c.Limits.MaxHead = 1<<20 + 1 },
			"--max-head 1048577 is outside 8192 to 1048576 bytes"},
		{"no body", "nethttp", func(c *Config) { c.Limits.MaxBody = 0 },
			"--max-body 0 is outside 1 to 1073741824 bytes"},
		{"huge body", "nethttp", func(c *Config) { c.Limits.MaxBody = 1<<30 + 1 },
			"--max-body 1073741825 is outside 1 to 1073741824 bytes"},
		{"a plant that saves work", "nethttp", func(c *Config) { c.PlantCPU = 0.9 },
			"--plant-cpu 0.9 is outside 1 to 2; leave it out: it is there to test verdicts"},
		{"a plant beyond the caps of /work", "nethttp", func(c *Config) { c.PlantCPU = 2.1 },
			"--plant-cpu 2.1 is outside 1 to 2; leave it out: it is there to test verdicts"},
		{"a plant that is no number", "nethttp", func(c *Config) { c.PlantCPU = math.NaN() },
			"--plant-cpu NaN is outside 1 to 2; leave it out: it is there to test verdicts"},
		{"one socket dealt to", "nethttp", func(c *Config) { c.Deal = "random" },
			"--deal means nothing to --mode nethttp; it belongs to --mode reuseport, loop, loop-offload"},
		{"an order without a loop", "nethttp", func(c *Config) { c.Batch = "newest-first" },
			"--batch means nothing to --mode nethttp; it belongs to --mode loop, loop-offload"},
		{"negative cap", "nethttp", func(c *Config) { c.MaxConns = -1 },
			"--max-conns -1 must be above 0"},
		{"more connections than descriptors", "nethttp", func(c *Config) { c.MaxConns = 1<<30 + 1 },
			fmt.Sprintf("--max-conns 1073741825 needs more than the %d descriptors allowed (64 are kept for the rest); lower it to %d or raise ulimit -n",
				files.Cur, files.Cur-64)},
		{"negative backlog", "nethttp", func(c *Config) { c.Backlog = -1 },
			"--backlog -1 must not be negative"},
		{"profiles without an address", "nethttp", func(c *Config) { c.Pprof, c.Admin = "on", "off" },
			"--pprof on means nothing to --admin off, where profiles have no address; leave one of them out"},
		{"one address", "nethttp", func(c *Config) { c.Addr, c.Admin = "localhost:8080", "127.0.0.1:8080" },
			"--addr localhost:8080 and --admin 127.0.0.1:8080 are one address; give one of them another port"},
		{"one address of all", "nethttp", func(c *Config) { c.Addr, c.Admin = ":8080", "127.0.0.1:8080" },
			"--addr :8080 and --admin 127.0.0.1:8080 are one address; give one of them another port"},
		{"a port too high", "nethttp", func(c *Config) { c.Addr = "127.0.0.1:99999" },
			`--addr "127.0.0.1:99999" has no port "99999"; ports are 0, for any that is free, to 65535`},
		{"an admin port below", "nethttp", func(c *Config) { c.Admin = "127.0.0.1:-1" },
			`--admin "127.0.0.1:-1" has no port "-1"; ports are 0, for any that is free, to 65535`},
		{"address without port", "nethttp", func(c *Config) { c.Addr = "localhost" },
			`--addr "localhost" is not host:port (like 127.0.0.1:8080, or :8080 for every interface)`},
		{"admin without port", "nethttp", func(c *Config) { c.Admin = "9090" },
			`--admin "9090" is not host:port (like 127.0.0.1:8080, or :8080 for every interface)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(tc.mode)
			tc.change(&cfg)
			_, err := New(cfg)
			var bad *ConfigError
			if !errors.As(err, &bad) || err.Error() != tc.want {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

// Addresses that differ in host or port are two.
func TestTwoAddresses(t *testing.T) {
	t.Parallel()
	for _, two := range [][2]string{
		{"127.0.0.1:8080", "127.0.0.2:8080"}, {":8080", ":8081"}, {"127.0.0.1:0", "127.0.0.1:0"}, {":8080", "off"}, {"127.0.0.1:http", "127.0.0.1:81"},
	} {
		cfg := testConfig("nethttp")
		if cfg.Addr, cfg.Admin = two[0], two[1]; cfg.Check() != nil {
			t.Errorf("%v: got %v, want them allowed", two, cfg.Check())
		}
	}
}

// What is not said is the mode's own.
func TestDefaults(t *testing.T) {
	t.Parallel()
	procs := runtime.GOMAXPROCS(0)
	for _, tc := range []struct {
		mode           string
		workers, depth int
		overflow       string
	}{
		{"nethttp", 0, 0, ""},
		{"pool", 2 * procs, 1024, "block"},
		{"pool-request", 2 * procs, 4 * procs, "reject"},
	} {
		cfg := testConfig(tc.mode)
		_, err := cfg.resolve()
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Workers != tc.workers || cfg.Depth != tc.depth || cfg.Overflow != tc.overflow {
			t.Errorf("%s: got %d workers, depth %d, %v, want %d, %d, %s",
				tc.mode, cfg.Workers, cfg.Depth, cfg.Overflow, tc.workers, tc.depth, tc.overflow)
		}
		if cfg.Limits != model.DefaultLimits() || cfg.MaxConns < 1 || cfg.MaxConns > mostConns {
			t.Errorf("%s: got limits %+v and %d connections, want the defaults", tc.mode, cfg.Limits, cfg.MaxConns)
		}
	}
	for _, mode := range model.Variants() {
		if _, err := New(testConfig(mode.Name)); err != nil {
			t.Errorf("%s without flags: %v", mode.Name, err)
		}
	}
}
