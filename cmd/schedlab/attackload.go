package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
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

// options puts the attack together and notes in sum what was asked for. In a
// closed loop the trace holds demands alone.
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
		secured(o.Targets, u)
		if err := f.take(s.Load); err != nil {
			return o, err
		}
	} else if f.arrivals.Kind == arrivals.KindLog {
		sum.Target = f.target
	} else if o.Targets, err = f.asked(sum); err != nil {
		return o, err
	}
	f.override(&o, s == nil)
	if f.loop == "closed" {
		if s != nil {
			o.Trace.Demand = s.Demands(closedDemands, f.seed, workload.Calibrate())
		}
	} else if o.Trace, err = f.schedule(s, o.Connections, sum); err != nil {
		return o, err
	}
	if s == nil && f.replayed != nil {
		if o.Targets, err = f.logged(); err != nil {
			return o, err
		}
	}
	if sum.Duration = f.duration.Seconds(); o.KeepAlive {
		sum.Connections = o.Connections
	}
	sum.Timeout = o.Timeout.Seconds()
	return o, nil
}

// take has a scenario's load say what no flag does of the loop that both are. What
// belongs to kept connections is not taken where none are kept.
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
	if f.loop == "closed" { // that of an open one may be a share, or the log's: see schedule
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
		o.Timeout = f.timeout
	}
	o.Idle, o.OpenRate = f.idle, f.openRate
	o.Engine, o.SkipVerify = f.engine, f.insecure
}

// secured has targets asked by https where the server was given so.
func secured(targets []load.Target, server *url.URL) {
	for i, t := range targets {
		if rest, plain := strings.CutPrefix(t.URL, "http://"); plain && server.Scheme == "https" {
			targets[i].URL = "https://" + rest
		}
	}
}

// logged is what the log asks of the target.
func (f *attackFlags) logged() (targets []load.Target, err error) {
	u, err := url.Parse(f.target)
	if err != nil || u.Host == "" || f.targets != "" || strings.Trim(u.Path, "/") != "" || f.changed("method") || f.changed("body") || len(f.headers) > 0 {
		return nil, usagef("with --arrivals %s give the server as --target http://host:port, and nothing else of the requests: the log says what is asked", f.arrivals)
	}
	for _, t := range load.LogTargets(f.replayed) {
		targets = append(targets, t.At(u.Host))
	}
	secured(targets, u)
	return targets, nil
}

// schedule draws the arrivals of an open loop, with their demands.
func (f *attackFlags) schedule(s *scenario.Scenario, connections int, sum *record.Attack) (t arrivals.Trace, err error) {
	process, rate := f.arrivals, f.rate.PerSecond
	if s != nil && !f.changed("arrivals") {
		if process, err = arrivals.Parse(s.Load.Arrivals); err != nil {
			return t, usage(err)
		}
	}
	switch {
	case process.Fixed() && f.rate.PerSecond > 0:
		return t, usagef("--rate %s has no use beside --arrivals %s, which has rates of its own; drop one", f.rate, process)
	case process.Fixed():
	case rate == 0 && process.Kind == arrivals.KindLog && (s == nil || s.Load.Rate == (scenario.Rate{})): // its own, below
	case rate == 0 && s != nil:
		if rate = s.Load.Rate.PerSecond; rate == 0 {
			return t, usagef("scenario %q asks for %s of a throughput that attack does not measure; give --rate like 1000/s", s.Name, s.Load.Rate)
		}
	case rate == 0:
		rate = 100
	}
	if process.Kind == arrivals.KindTrace {
		if process, err = process.Open(workload.Calibrate()); err != nil {
			return t, usagef("--arrivals: %w", err)
		}
		if !f.changed("duration") {
			f.duration = process.Span()
		}
	}
	if process.Kind == arrivals.KindLog {
		if process, err = process.Open(0); err != nil {
			return t, usagef("--arrivals: %w", err)
		}
		switch f.replayed = process.Log(); {
		case rate == 0:
			rate = process.OwnRate()
		case process.Speed > 0:
			return t, usagef("--rate %s and the speed in --arrivals %s both say how fast; drop one", f.rate, process)
		}
		if !f.changed("duration") {
			f.duration = process.LogSpan(rate)
		}
	}
	process = process.WithConnections(connections)
	if err := process.Check(rate); err != nil {
		return t, usage(err)
	}
	sum.Offered, sum.Arrivals = process.MeanRate(rate, f.duration), process.String()
	if sum.Offered*f.duration.Seconds() > mostRequests {
		return t, usagef("--arrivals %s for --duration %v is more than %d requests; shorten one", process, f.duration, mostRequests)
	}
	t = process.Draw(rate, f.duration, rand.New(rand.NewPCG(f.seed, 1)))
	if len(t.At) == 0 {
		return t, usagef("%.3g requests per second for %v is not one request; raise --rate or --duration", sum.Offered, f.duration)
	}
	if s != nil && t.Demand == nil {
		t.Demand = s.Demands(len(t.At), f.seed, workload.Calibrate())
	}
	return t, nil
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
	c := load.ClosedOptions{
		Targets: o.Targets, Which: o.Trace.Which, Demands: o.Trace.Demand, Connections: o.Connections, KeepAlive: o.KeepAlive, OpenRate: o.OpenRate,
		Ramp: f.ramp, Duration: f.duration, Warmup: f.warmup, Timeout: o.Timeout, Seed: f.seed,
		Rate: f.rate.PerSecond, Session: f.session, Pipeline: f.pipeline,
	}
	if f.think != (workload.Dist{}) {
		c.Think = func(rng *rand.Rand) time.Duration { return f.think.Sample(workload.NewRand(rng.Uint64())) }
	}
	if err := c.Check(); err != nil {
		return nil, usage(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "driving %s for %v\n", prose.Plural(c.Connections, "client"), f.warmup+f.duration)
	undo, err := f.settle(cmd.Context(), &o)
	if err != nil {
		return nil, err
	}
	c.Shared = o.Shared
	closed, err := load.Closed(cmd.Context(), c)
	undo()
	if closed.Start.IsZero() {
		return nil, usage(err)
	}
	files.Start(closed.Start)
	if err != nil {
		sum.Status = record.Interrupted
	}
	sum.Arrivals = f.closedWords()
	result := attack.SumUpClosed(sum, c, closed)
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

// closedWords say what the closed loop does, for the summary.
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

// asked are the targets without a scenario.
func (f *attackFlags) asked(sum *record.Attack) ([]load.Target, error) {
	header := http.Header{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usagef("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.targets == "" {
		body := []byte(f.body)
		if name, ok := strings.CutPrefix(f.body, "@"); ok {
			var err error
			if body, err = os.ReadFile(name); err != nil {
				return nil, usagef("--body: %w", err)
			}
		}
		sum.Target = f.target
		return []load.Target{{Method: f.method, URL: f.target, Header: header, Body: body}}, nil
	}
	sum.Target = f.targets
	in := io.Reader(os.Stdin)
	if f.targets != "-" {
		file, err := os.Open(f.targets)
		if err != nil {
			return nil, usagef("--targets: %w", err)
		}
		defer file.Close()
		in = file
	}
	targets, err := load.ReadTargets(bufio.NewReader(in))
	if err != nil {
		return nil, usagef("--targets %s: %w", f.targets, err)
	}
	for i := range targets {
		for name, values := range header {
			if targets[i].Header == nil {
				targets[i].Header = http.Header{}
			}
			targets[i].Header[name] = values
		}
	}
	return targets, nil
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
