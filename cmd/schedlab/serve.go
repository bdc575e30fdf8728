package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/process"
	"schedlab/internal/serving/server"
	"schedlab/internal/shared/mode"
)

// serveFlags are the flags of serve; compare reads its arms' flags with them. The flags are the
// rows of mode.Flags, and each sets the field of server.Config with its name as a tag: bind joins
// the two, so a new flag needs no line here.
type serveFlags struct {
	server.Config
	logFormat, logLevel string
	child               int // index among the processes of a prefork server, -1 for none
}

// newServe makes the command that runs every server with a mode in a comparison, and that serves by
// itself. In a process of a prefork server it runs once more as a child. A setting that the server
// refuses is wrong usage; a port that is taken is a failure. It serves until the program's context
// ends, at the first signal, and then drains.
func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --mode MODE",
		Short: "Run one scheduling model as an HTTP server, with Prometheus metrics",
		Long: `Run an HTTP server that hands requests to goroutines in one way, its scheduling
model; the handlers are the same for all. GET / on the data address lists the endpoints; the admin address has /metrics, /healthz, /readyz, on
loopback /debug/pprof, and with --stamps /debug/timeline, where the time of the
newest requests went. With --stamps a request that has the field X-Server-Timing
gets that of its own back, in the answer's Server-Timing.

A full queue makes clients wait (--overflow block) or tells them (reject).
--overflow drop does neither: a client gets no answer and no close until it gives
up itself, or for the idle timeout.

The first SIGINT, SIGTERM or SIGHUP drains: what waits is accepted, what runs is
answered with Connection: close, and the last log line has the final counts.
A second signal exits at once.`,
		Example: `  schedlab serve --mode nethttp
  schedlab serve --mode pool --workers 8 --queue-depth 64 --overflow reject
  schedlab serve --mode fasthttp --addr :8080 --admin 127.0.0.1:9090
  curl -s 127.0.0.1:9090/metrics | grep schedlab_connections`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Mode == "" {
				return session.Usagef("--mode is missing; 'schedlab modes' lists them")
			}
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			f.Log = newLog(cmd.ErrOrStderr(), f.logFormat, f.logLevel)
			f.Version, f.Revision = program()
			own := invocation(cmd, configFlag) // with the flags of the file
			f.Spawn = func(ctx context.Context, more ...string) *exec.Cmd {
				return respawn(ctx, cmd.ErrOrStderr(), slices.Concat(own[1:], more))
			}
			if f.child >= 0 { // a process of a prefork server
				var err error
				f.Log = f.Log.With("process", f.child)
				if f.Child, err = server.NewChild(f.child, server.ChildFD); err != nil {
					return session.Usage(err)
				}
			}
			s, err := server.New(f.Config)
			if err == nil {
				err = s.Listen(cmd.Context())
			}
			if err == nil {
				err = s.Serve(cmd.Context())
			}
			if _, bad := errors.AsType[*server.ConfigError](err); bad {
				return session.Usage(err)
			}
			return err
		},
	}
	f.bind(cmd.Flags())
	complete(cmd, "mode", modeNames()...)
	bindConfig(cmd)
	inSections(cmd,
		helpSection{"What to serve", "mode addr admin workers queue-depth overflow tls-cert tls-key"},
		helpSection{"How the mode works", "queue steal spin executor job locked listeners deal batch processes threads wait codel-target codel-interval"},
		helpSection{"Clients", "max-conns backlog header-timeout body-timeout write-timeout idle-timeout close-after close-silently max-head max-body drain-timeout drain-grace"},
		helpSection{"Look inside", "stamps timeline pprof log-format log-level"},
		helpSection{"Other", "kv-locks iters config help"},
	)
	return cmd
}

// bind declares the flags with their defaults. It sets f to these defaults. A type of field that it
// does not know would leave a flag undeclared, and the look-up below would fail at once. It is
// called for three reasons: to serve, to check an arm (checkArm), and to print a mode's flags
// (modes.go).
func (f *serveFlags) bind(fl *pflag.FlagSet) {
	f.Config, f.child, f.logFormat, f.logLevel = server.Default(), -1, "text", "info"
	// Four flags set fields that have no tag.
	fields := f.Fields()
	fields["child"], fields["log-format"], fields["log-level"], fields["plant"] = &f.child, &f.logFormat, &f.logLevel, &f.Plant.Name
	for _, d := range mode.Flags {
		switch v := fields[d.Name].(type) {
		case *string:
			if d.Words == nil {
				fl.StringVar(v, d.Name, *v, d.Help)
			} else {
				oneOf(fl, v, d.Name, *v, d.Help, d.Words...)
			}
		case *int:
			if d.Bytes {
				fl.Var((*byteSize)(v), d.Name, d.Help)
			} else {
				fl.IntVar(v, d.Name, *v, d.Help)
			}
		case *bool:
			fl.BoolVar(v, d.Name, *v, d.Help)
		case *float64:
			fl.Float64Var(v, d.Name, *v, d.Help)
		case *time.Duration:
			fl.DurationVar(v, d.Name, *v, d.Help)
		}
		flag := fl.Lookup(d.Name)
		flag.Hidden, flag.DefValue = d.Hidden, cmp.Or(d.Default, flag.DefValue)
	}
}

// respawn returns the command of this program with other arguments, a later flag winning over an earlier one.
// Err makes the start fail if this program has no path.
func respawn(ctx context.Context, log io.Writer, args []string) *exec.Cmd {
	exe, err := os.Executable()
	again := exec.CommandContext(ctx, exe, args...)
	again.Args[0] = os.Args[0] // the name it was started by
	again.Env, again.Stderr, again.Err = process.ServerEnv(), log, err
	return again
}

// plant makes the fault that --plant names. Only the tests' binary has it: a program that people
// use must not be able to slow itself down.
var plant func(name string) (server.Fault, error)

// check refuses values that mean "the default" when they were given. What a mode allows is checked
// by server.Config.Check. Errors are wrong usage.
func (f *serveFlags) check(fl *pflag.FlagSet) error {
	// 0 in these means the default, so it cannot be asked for.
	aboveZero := []string{"workers", "max-conns", "listeners", "processes", "threads", "kv-locks", "codel-target", "codel-interval", "plant-cpu"}
	if err := checkValues(fl, aboveZero...); err != nil {
		return err
	}
	switch {
	case fl.Changed("iters") && f.Iters == 0: // 0 measures how fast this machine computes
		return session.Usagef("--iters 0 must be above 0; leave it out to measure")
	case fl.Changed("timeline") && f.Stamps == "off":
		return session.Usagef("--timeline %d means nothing to --stamps off, which keeps no stamps; use --stamps basic or full, or leave it out", f.Timeline)
	case fl.Changed("queue-depth") && f.Depth < 0:
		return session.Usagef("--queue-depth %d must not be negative", f.Depth)
	case fl.Changed("wait") && f.Wait < 0:
		return session.Usagef("--wait %v must not be negative", f.Wait)
	case f.Plant.Name == "":
		return nil
	case plant == nil:
		return session.Usagef("--plant %s: this program has no faults to plant; only that of its tests has (make test-explain)", f.Plant.Name)
	}
	var err error
	f.Plant, err = plant(f.Plant.Name)
	return session.Usage(err)
}

// checkArm reports what serve would refuse of an arm's flags, before anything runs. It parses and
// checks them exactly as serve does. Flags are set in the order of their names, so that the same
// one of two mistakes is always told. nil means that serve would accept them. It is the Check of a
// mode's facts (modeFacts).
func checkArm(name string, flags map[string]string) error {
	var f serveFlags
	fl := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.bind(fl)
	f.Mode, f.Stamps = name, "basic" // the planner gives both to a server, so no arm may
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		if err := fl.Set(flag, flags[flag]); err != nil {
			return plainly(err)
		}
	}
	if err := f.check(fl); err != nil {
		return err
	}
	return f.Config.Check()
}

// newLog returns the program's log on w: text or JSON lines, from the level on. A level that slog
// does not know is a bug here, and panics.
func newLog(w io.Writer, format, level string) *slog.Logger {
	var l slog.Level
	must(l.UnmarshalText([]byte(level))) // --log-level offers levels that slog knows
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
	}
	// JSON for programs that collect logs. It would have durations as nanoseconds without their unit;
	// text has them as people write them already.
	spell := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: spell}))
}

// A byteSize is a flag for a number of bytes, like 16KiB; a number alone is bytes too. It is
// limited to 1 GiB, so that no product overflows. It implements pflag.Value.
type byteSize int

// units are the suffixes of a byteSize, the largest first: Set takes the first that fits, and
// String the first that divides the number.
var units = []struct {
	suffix string
	bytes  int
}{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

// Set parses a size. The largest size keeps products with it from overflowing.
func (b *byteSize) Set(s string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if n, err := strconv.Atoi(digits); ok && err == nil && n >= 0 && n <= 1<<30/u.bytes {
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
