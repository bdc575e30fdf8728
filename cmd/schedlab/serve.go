package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/server"
)

func newServe() *cobra.Command {
	cfg := server.Default()
	var logFormat, logLevel string
	cmd := &cobra.Command{
		Use:   "serve --mode MODE",
		Short: "Serve HTTP under one scheduling model, with Prometheus metrics",
		Long: `Serve the same handlers under one scheduling model. GET / on the data address
lists the endpoints; the admin address has /metrics, /healthz, /readyz and, on
loopback, /debug/pprof. 'schedlab modes' explains the models.

The first SIGINT or SIGTERM drains: what waits is accepted, what runs is
answered with Connection: close, and the last log line has the final counts.
A second signal exits at once.`,
		Example: `  schedlab serve --mode nethttp
  schedlab serve --mode pool --workers 8 --queue-depth 64 --overflow reject
  schedlab serve --mode fasthttp --addr :8080 --admin 127.0.0.1:9090
  curl -s 127.0.0.1:9090/metrics | grep schedlab_connections`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Mode == "" {
				return usagef("--mode is missing; 'schedlab modes' lists them")
			}
			log, err := newLog(cmd, logFormat, logLevel)
			if err != nil {
				return err
			}
			for _, flag := range []string{"workers", "max-conns"} {
				if cmd.Flags().Changed(flag) && cmd.Flags().Lookup(flag).Value.String() == "0" {
					return usagef("--%s 0 must be above 0; leave it out for the default", flag)
				}
			}
			if cmd.Flags().Changed("queue-depth") && cfg.QueueDepth < 0 {
				return usagef("--queue-depth %d must not be negative", cfg.QueueDepth)
			}
			cfg.Log, cfg.Version = log, programVersion()
			s, err := server.New(cfg)
			if err == nil {
				err = s.Listen(cmd.Context())
			}
			var bad *server.ConfigError
			if errors.As(err, &bad) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			return s.Serve(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Mode, "mode", "", "scheduling model; see 'schedlab modes'")
	f.StringVar(&cfg.Addr, "addr", cfg.Addr, "address to serve on")
	f.StringVar(&cfg.Admin, "admin", cfg.Admin, "address of metrics, health and profiles, or off")
	f.StringVar(&cfg.Pprof, "pprof", cfg.Pprof, "profiles on the admin address: auto (on loopback only), on, off")
	f.IntVar(&cfg.Workers, "workers", 0, "fixed workers (default 2 x GOMAXPROCS)")
	f.IntVar(&cfg.QueueDepth, "queue-depth", -1, "places in the queue (default 1024 for pool, 2 x workers for pool-request)")
	f.StringVar(&cfg.Overflow, "overflow", "", "what a full queue does: block or reject (default block for pool, reject for pool-request)")
	f.IntVar(&cfg.MaxConns, "max-conns", 0, "connections open at a time; at the cap accepting waits (default 10000, or the descriptor limit less 64)")
	f.IntVar(&cfg.Backlog, "backlog", 0, "length of the kernel's accept queue (default net.core.somaxconn)")
	f.DurationVar(&cfg.DrainTimeout, "drain-timeout", cfg.DrainTimeout, "how long a drain waits before it cuts connections")
	f.DurationVar(&cfg.Limits.HeaderTimeout, "header-timeout", cfg.Limits.HeaderTimeout, "time for a whole request head")
	f.DurationVar(&cfg.Limits.BodyTimeout, "body-timeout", cfg.Limits.BodyTimeout, "time for a whole request body")
	f.DurationVar(&cfg.Limits.WriteTimeout, "write-timeout", cfg.Limits.WriteTimeout, "time for a whole answer")
	f.DurationVar(&cfg.Limits.IdleTimeout, "idle-timeout", cfg.Limits.IdleTimeout, "time between two requests of a connection")
	f.Var((*byteSize)(&cfg.Limits.MaxHead), "max-head", "largest request head, like 16KiB")
	f.Var((*byteSize)(&cfg.Limits.MaxBody), "max-body", "largest request body, like 1MiB")
	f.Float64Var(&cfg.Iters, "iters", 0, "CPU demand calibration, iterations per microsecond (default measured at the start)")
	f.StringVar(&logFormat, "log-format", "text", "text or json")
	f.StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	completeModes(cmd)
	complete(cmd, "overflow", "block", "reject")
	complete(cmd, "pprof", "auto", "on", "off")
	complete(cmd, "log-format", "text", "json")
	return cmd
}

// newLog makes the program's log on stderr.
func newLog(cmd *cobra.Command, format, level string) (*slog.Logger, error) {
	var opts slog.HandlerOptions
	var lv slog.Level
	if err := lv.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q is none of debug, info, warn, error", level)
	}
	opts.Level = lv
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &opts)), nil
	}
	return nil, usagef("--log-format %q is none of text, json", format)
}

// complete offers fixed values for a flag in the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a bug here
	}
}

// A byteSize is a flag for a number of bytes.
type byteSize int

var units = []struct {
	suffix string
	bytes  int
}{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

func (b *byteSize) Set(s string) error {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 || n > 1<<30/u.bytes {
				break
			}
			*b = byteSize(n * u.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size like 16KiB or 1MiB", s)
}

func (b *byteSize) String() string {
	for _, u := range units {
		if n := int(*b); n != 0 && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.suffix
		}
	}
	return strconv.Itoa(int(*b))
}

func (b *byteSize) Type() string { return "size" }
