package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/arrivals"
	"schedlab/internal/attack"
	"schedlab/internal/experiment"
	"schedlab/internal/load"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// options returns what to send, and notes in sum what was asked for. In a closed loop the trace holds
// only demands.
func (f *attackFlags) options(args []string, sum *record.Attack) (o load.Options, err error) {
	var s *scenario.Scenario
	if len(args) == 1 {
		found, _, err := findScenario(args[0])
		if err != nil {
			return o, err
		}
		s = &found
		if err := found.Open(); err != nil {
			return o, usage(err)
		}
		u, err := url.Parse(f.target)
		if err != nil || u.Host == "" || f.targets != "" || strings.Trim(u.Path, "/") != "" {
			return o, usagef("with scenario %q give the server as --target http://host:port, without a path", s.Name)
		}
		if s.Load.Loop == "closed" && f.loop != "closed" {
			return o, usagef("scenario %q is a closed loop; add --loop closed", s.Name)
		}
		if f.arrivals.Kind == arrivals.KindLog {
			return o, usagef("--arrivals %s says what is asked, and scenario %q does too; drop one", f.arrivals, s.Name)
		}
		sum.Target, sum.Scenario = f.target, s.Name
		o = s.Attack(u.Host)
		attack.Secured(o.Targets, u)
		if err := f.take(s.Load); err != nil {
			return o, err
		}
	} else if f.arrivals.Kind == arrivals.KindLog {
		sum.Target = f.target
	} else {
		sum.Target = cmp.Or(f.targets, f.target)
		if o.Targets, err = attack.Asked(f.target, f.targets, f.method, f.body, f.headers, os.Stdin); err != nil {
			return o, usage(err)
		}
	}
	f.override(&o, s == nil)
	if f.loop == "closed" {
		if s != nil {
			o.Trace.Demand = s.Demands(closedDemands, f.seed, workload.Calibrate())
		}
	} else {
		t := attack.Timetable{
			Scenario: s, Arrivals: f.arrivals, Given: f.changed("arrivals"), Rate: f.rate.PerSecond, Duration: f.duration, Whole: !f.changed("duration"), Seed: f.seed,
		}
		if o.Trace, err = t.Draw(o.Connections, sum); err != nil {
			return o, usage(err)
		}
		f.duration, f.replayed = t.Duration, t.Log
	}
	if s == nil && f.replayed != nil {
		if f.targets != "" || f.changed("method") || f.changed("body") || len(f.headers) > 0 {
			return o, usage(attack.LogAsks(f.arrivals))
		}
		if o.Targets, err = attack.Logged(f.arrivals, f.replayed, f.target); err != nil {
			return o, usage(err)
		}
	}
	if sum.Duration = f.duration.Seconds(); o.KeepAlive {
		sum.Connections = o.Connections
	}
	sum.Timeout = o.Timeout
	return o, nil
}

// take fills flags that were not given from a scenario's load, if both have the same loop. Settings of
// kept connections are taken only where connections are kept.
func (f *attackFlags) take(l scenario.Load) error {
	if l.Loop != f.loop {
		return nil
	}
	unless := func(flag string, take func()) {
		if !f.changed(flag) {
			take()
		}
	}
	kept := l.KeepAlive
	if f.changed("keepalive") {
		kept = f.keepAlive
	}
	if kept {
		unless("idle", func() { f.idle = l.Idle })
		unless("session", func() { f.session = l.Session })
		unless("pipeline", func() { f.pipeline = max(1, l.Pipeline) })
	}
	unless("think", func() { f.think = l.Think })
	if f.loop == "closed" { // an open loop's rate is decided in attack.Timetable
		unless("rate", func() { f.rate.PerSecond = l.Rate.PerSecond })
	}
	return f.check()
}

// override lets flags win over a scenario's settings; bare is without one.
func (f *attackFlags) override(o *load.Options, bare bool) {
	if bare || f.changed("keepalive") {
		o.KeepAlive = f.keepAlive
	}
	if bare || f.changed("connections") || o.Connections == 0 && (o.KeepAlive || f.loop == "closed") {
		o.Connections = f.connections
	}
	if !o.KeepAlive && !f.changed("connections") && f.loop == "open" {
		o.Connections = 0
	}
	if bare || f.changed("timeout") || o.Timeout == 0 {
		o.Timeout = f.timeout.Seconds()
	}
	o.Loop, o.Engine, o.Idle, o.Rate = f.loop, f.engine, f.idle, f.rate.PerSecond
	o.Session, o.Pipeline, o.Ramp = f.session, f.pipeline, f.ramp.Seconds()
	o.OpenRate, o.SkipVerify = f.openRate, f.insecure
}

// closedDemands are drawn for a closed loop, which goes through them in turn.
const closedDemands = 10_000

// open drives the open loop. The result is nil when nothing was sent.
func (f *attackFlags) open(cmd *cobra.Command, o load.Options, sum *record.Attack, files *attack.Files) (*load.Result, error) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	o.Started = files.Start
	o.Ended = func(seq int, r record.Request) {
		if err := files.Write(seq, r); err != nil {
			cancel(err)
		}
	}
	if err := o.Check(); err != nil {
		return nil, usage(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "sending %s in %v\n", prose.Plural(len(o.Trace.At), "request"), f.duration)
	undo, err := f.settle(ctx, &o)
	if err != nil {
		return nil, err
	}
	result, err := load.Attack(ctx, o)
	undo()
	if result == nil {
		return nil, usage(err)
	}
	if err != nil {
		sum.Status = record.Interrupted
	}
	leftOut := ""
	if f.replayed != nil {
		leftOut = f.replayed.LeftOut()
	}
	attack.SumUpOpen(sum, o, f.duration, result, leftOut)
	if cause := context.Cause(ctx); cause != nil && cmd.Context().Err() == nil {
		err = cause
	}
	return result, err
}

// closed drives the closed loop.
func (f *attackFlags) closed(cmd *cobra.Command, o load.Options, sum *record.Attack, files *attack.Files) (*load.Result, error) {
	o.Duration, o.Warmup, o.Seed = f.duration, f.warmup, f.seed
	if f.think != (workload.Dist{}) {
		o.Pause = func(rng *rand.Rand) time.Duration { return f.think.Sample(workload.NewRand(rng.Uint64())) }
	}
	if err := o.Check(); err != nil {
		return nil, usage(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "driving %s for %v\n", prose.Plural(o.Connections, "client"), f.warmup+f.duration)
	undo, err := f.settle(cmd.Context(), &o)
	if err != nil {
		return nil, err
	}
	closed, err := load.Closed(cmd.Context(), o)
	undo()
	if closed.Start.IsZero() {
		return nil, usage(err)
	}
	files.Start(closed.Start)
	if err != nil {
		sum.Status = record.Interrupted
	}
	sum.Arrivals = f.closedWords()
	result := &closed.Result
	attack.SumUpClosed(sum, o, &closed)
	for seq, r := range closed.Requests {
		if werr := files.Write(seq, r); werr != nil {
			return result, werr
		}
	}
	return result, err
}

// settle gives the load its CPUs, and decides whether it spins there.
func (f *attackFlags) settle(ctx context.Context, o *load.Options) (undo func(), err error) {
	addr := ""
	if u, err := url.Parse(o.Targets[0].URL); err == nil {
		addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
	}
	o.Shared, undo, err = experiment.SettleGenerator(ctx, addr, o.Engine, f.rest)
	return undo, err
}

// closedWords describes the closed loop for the summary.
func (f *attackFlags) closedWords() string {
	words := "closed"
	add := func(is bool, format string, args ...any) {
		if is {
			words += ", " + fmt.Sprintf(format, args...)
		}
	}
	add(f.pipeline > 1, "%d pipelined", f.pipeline)
	add(f.session > 0, "sessions of %d", f.session)
	add(f.think != (workload.Dist{}), "thinking %s", f.think)
	return words
}

// onLoopback refuses to send load to other machines by mistake, and https with an
// engine that does not speak it.
func (f *attackFlags) onLoopback(ctx context.Context, targets []load.Target) error {
	checked := map[string]bool{} // of a log there may be many on one server
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil:
			return usagef("--target %q: %w", t.URL, err)
		case checked[u.Scheme+u.Host]:
			continue
		case u.Scheme == "https" && f.engine != load.EngineVegeta:
			return usagef("--target %q is https, which only --engine vegeta speaks; add that, in an open loop", t.URL)
		case u.Scheme == "https":
			u.Scheme = "http" // for all that is checked below
		}
		if f.allowRemote {
			continue
		}
		if err := onLoopback(ctx, "--target", u.String()); err != nil {
			return err
		}
		checked[u.Scheme+u.Host] = true
	}
	return nil
}

// A perSecond is the rate of an attack, which has no slowest arm to share.
type perSecond struct{ scenario.Rate }

// Set implements pflag.Value.
func (r *perSecond) Set(s string) error {
	var rate scenario.Rate
	err := rate.Set(s)
	number, unitless := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case unitless == nil && number > 0:
		return fmt.Errorf("no unit; say %s/s", strings.TrimSpace(s))
	case err != nil:
		return errors.New("not a rate; give requests per second, above 0 and up to 1000000/s, like 100/s")
	case rate.OfSlowest > 0:
		return errors.New("a share of a throughput that is not measured here; give requests per second like 100/s")
	}
	r.Rate = rate
	return nil
}

// held tells whether this process can hold the connections, in the flags' words.
func held(o load.Options) error {
	if o.Idle > 0 && !o.KeepAlive {
		return usagef("--idle %d are connections that are kept; drop --keepalive=false", o.Idle)
	}
	flags := fmt.Sprintf("--connections %d", o.Connections)
	if o.Idle > 0 {
		flags += fmt.Sprintf(" with --idle %d", o.Idle)
	}
	if err := load.CheckConnections(o.Connections + o.Idle); err != nil {
		return usagef("%s: %w", flags, err)
	}
	return nil
}
