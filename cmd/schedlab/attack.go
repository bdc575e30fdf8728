package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/arrivals"
	"schedlab/internal/attack"
	"schedlab/internal/experiment"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/session"
	"schedlab/internal/workload"
)

// attackFlags are the flags of attack. An attack is one load on one server that runs already: it
// starts no server, compares nothing and keeps no record but the files it is asked for.
//
// run does it in steps: check looks at the flags alone, load turns them and a scenario into an
// [attack.Load], and [attack.Run] sends it and returns the result, which run prints.
//
// clients has the load's settings, as a scenario has them; take fills in those of a scenario. Its
// Rate stays zero: rate is the flag, and 0 in it means the default of the loop. fl tells whether a
// flag was given, for flags in which 0 is a value that can be given.
type attackFlags struct {
	target, targets string
	engine          string
	insecure        bool
	arrivals        arrivals.Process
	rate            perSecond
	duration        time.Duration
	warmup          time.Duration
	seed            uint64
	clients         scenario.Load
	openRate        float64
	rest            string

	// The request without a scenario, the files to write, and the output.
	method, body  string
	headers       []string
	results, hgrm string
	timestamps    string
	output        string
	verbose       bool
	allowRemote   bool

	fl *pflag.FlagSet
}

// newAttack declares the flags of attack. The defaults are for an attack without a scenario.
func newAttack() *cobra.Command {
	var f attackFlags
	cmd := &cobra.Command{
		Use:   "attack [SCENARIO] --target URL",
		Short: "Send load to any HTTP server and sum up how it answered",
		Long: `Send requests on a schedule that does not wait for answers, and count response
time from the scheduled time: a stall of the server is in every request it delayed.

With a SCENARIO the request, demand, arrivals and clients are its own, but for
what a flag says, and --target names only the server; without one, URL is asked
as it stands, or what the file of --targets says, in rotation.

--arrivals shapes the schedule at the mean --rate:
  poisson, constant
  ramp(500/s,3000/s)    linearly from one rate to the other; ramp(0.5x,1.5x) of --rate
  sine(0.5,2s)          50 % up and down around --rate, every 2 s
  burst(12)             12 at once; burst(12,5ms,396): 12 every 5 ms until 396 are out,
                        then none until --rate allows the next 396
  in-phase              every connection at once; in-phase(64): 64 at once
  trace(FILE)           a line per request: time[,iterations[,sleep]], or named columns
  log(FILE)             as an access log has them (Common Log Format, Envoy, HAProxy, IIS,
                        JSON of Caddy and others, also as .gz); it says what is asked,
                        too; log(FILE,10x) ten times as fast
A ramp or sine is random like poisson, unless it ends with even: sine(0.5,2s,even).
The default, poisson over 64 kept connections, is harder on a server than vegeta's
rhythm; --arrivals constant -c 0 sends as vegeta does.

--loop closed has each connection wait for its answer, then --think, and send the
next: it finds the highest throughput, and its response times leave out what the
waiting clients did not send. With --rate each client keeps a pace of its own.

No file is overwritten; results have .part at the end of their name until the attack
is over. Good replies have a status of 2xx or 3xx; goodput counts those that came
within --duration.`,
		Example: `  schedlab attack --target http://127.0.0.1:8080/plaintext --rate 2000/s --duration 10s
  schedlab attack quick --target http://127.0.0.1:8080 --rate 1000/s --arrivals 'burst(12)'
  schedlab attack --target http://127.0.0.1:8080/ -r 1000/s -c 64 --idle 4000
  schedlab attack --target http://127.0.0.1:8080/plaintext --loop closed -c 256 --pipeline 16
  schedlab attack --target 'http://127.0.0.1:8080/work?sleep=2ms' --loop closed -c 10 --session 100 --think 'exp(5ms)'
  schedlab attack --targets loadtests/targets/kv.txt --rate 500/s
  schedlab attack --target https://127.0.0.1:8443/ --engine vegeta --insecure
  schedlab attack --target http://127.0.0.1:8080 --arrivals 'log(access.log,10x)'
  schedlab attack --target http://127.0.0.1:8080/json --rate 500/s --results out.bin
  go tool vegeta report out.bin`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              f.run,
	}
	fl, l := cmd.Flags(), &f.clients
	fl.StringVar(&f.target, "target", "", "URL to ask, or with a SCENARIO the server's http://host:port")
	fl.StringVar(&f.targets, "targets", "", "file of requests in vegeta's format http or json, or - for standard input")
	oneOf(fl, &l.Loop, "loop", "open", "open: send on a schedule; closed: each connection sends when it is answered", "open", "closed")
	oneOf(fl, &f.engine, "engine", load.DefaultEngine, "what sends an open loop: spin, or vegeta, which speaks https (docs/reference/engines.md)", load.Engines()...)
	fl.BoolVar(&f.insecure, "insecure", false, "of an https target: take any certificate")
	fl.VarP(&f.rate, "rate", "r", "requests per second, like 2000/s (open: default 100/s, or the scenario's; closed: default as many as come)")
	fl.DurationVarP(&f.duration, "duration", "z", 10*time.Second, "how long to send (of a trace or log: default all of it)")
	fl.Var(&f.arrivals, "arrivals", "shape of an open loop: "+arrivals.Help+" (default poisson, or the scenario's)")
	fl.IntVarP(&l.Connections, "connections", "c", 64, "kept connections, opened beforehand; 0 opens as many as an open loop needs")
	fl.IntVar(&l.Idle, "idle", 0, "more connections, asked once and kept open without a request beside an open loop")
	fl.Float64Var(&f.openRate, "open-rate", 0, "connections opened per second beforehand (default as fast as they are accepted)")
	fl.BoolVar(&l.KeepAlive, "keepalive", true, "keep connections; false opens one per request")
	fl.DurationVar((*time.Duration)(&l.Timeout), "timeout", load.DefaultTimeout, "of one request, from its sending")
	// The clients of a closed loop; ofLoop has the same list.
	fl.DurationVar(&f.warmup, "warmup", 0, "of a closed loop: time before the measured --duration")
	fl.DurationVar((*time.Duration)(&l.Ramp), "ramp", 0, "of a closed loop: spread the clients' starts over this time")
	fl.TextVar(&l.Think, "think", workload.Dist{}, "of a closed loop: pause between answer and next request, like 5ms or 'exp(5ms)'")
	fl.IntVar(&l.Session, "session", 0, "of a closed loop: requests per connection, which is then closed and opened anew")
	fl.IntVar(&l.Pipeline, "pipeline", 1, "of a closed loop: requests under way on each connection")
	// How the load itself waits for the next request.
	oneOf(fl, &f.rest, "rest", experiment.RestAuto, "while nothing is due: spin, on a CPU of its own; wait, asleep in the kernel; auto: spin where the server leaves a CPU",
		experiment.RestAuto, experiment.RestSpin, experiment.RestWait)
	// The request, where neither a scenario nor a file has one.
	fl.StringVar(&f.method, "method", http.MethodGet, "method, with --target and no scenario")
	fl.StringVar(&f.body, "body", "", "request body, or @file")
	fl.StringArrayVar(&f.headers, "header", nil, "'Name: value' to send (repeatable)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of arrivals, demand and think times (default random, printed)")
	fl.StringVar(&f.results, "results", "", "write every result to this new file in vegeta's format, for vegeta report")
	oneOf(fl, &f.timestamps, "timestamps", "scheduled", "what those results count from: scheduled or sent", "scheduled", "sent")
	fl.StringVar(&f.hgrm, "hgrm", "", "write the response-time distribution to this new file (HdrHistogram, milliseconds)")
	oneOf(fl, &f.output, "output", "text", "text or json", "text", "json")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print all that is known, the generator and every doubt included")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "attack a target that is not on loopback")
	// Their help texts have the defaults, in better words.
	fl.Lookup("arrivals").DefValue, fl.Lookup("think").DefValue = "", ""
	// Shapes with values end with a bracket, for the user to go on.
	complete(cmd, "arrivals", "poisson", "constant", "ramp(", "sine(", "burst(", "in-phase", "trace(", "log(")
	bindConfig(cmd)
	inSections(cmd,
		helpSection{"What to ask", "target targets method header body insecure timeout"},
		helpSection{theLoad, "rate duration arrivals connections keepalive idle open-rate engine rest seed"},
		helpSection{"A closed loop", "loop think session pipeline ramp warmup"},
		helpSection{theOutput, "output verbose results timestamps hgrm config help"},
		helpSection{theMachine, "allow-remote"},
	)
	return cmd
}

// run carries out the attack. Everything that can be refused is refused before the first request:
// flags, targets on other machines, too many connections, files that exist. The summary decides the
// exit code: 4 if more than one request in a thousand got no reply, or no reply was good.
func (f *attackFlags) run(cmd *cobra.Command, args []string) error {
	f.fl = cmd.Flags()
	if err := f.check(); err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = session.DrawSeed()
	}
	l, err := f.load(args)
	if err != nil {
		return err
	}
	// A result of several targets names its target, which a closed loop does not note.
	if f.results != "" && l.Closed() && len(l.Targets) > 1 {
		return usagef("--results of a closed loop with several targets cannot say which was asked; give one target")
	}
	if err := f.onLoopback(cmd.Context(), l.Targets); err != nil {
		return err
	}
	// A limit of descriptors is found before the first connection and not amid the attack.
	if err := load.CheckConnections(l.Connections + l.Idle); err != nil {
		return usagef("--connections %d and --idle %d: %w", l.Connections, l.Idle, err)
	}
	if err := begin(cmd.Context()); err != nil {
		return err
	}
	stamps := map[string]load.Stamp{"scheduled": load.ScheduledStamp, "sent": load.SentStamp}
	files, err := attack.OpenFiles(f.results, f.hgrm, l.Targets, l.Trace.Which, stamps[f.timestamps])
	if err != nil {
		return usage(err)
	}
	defer files.Close()
	r, times, err := attack.Run(cmd.Context(), l, files, func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) })
	// Nothing was sent: leave no files behind.
	if r == nil {
		return errors.Join(usage(err), files.Discard())
	}
	// After an interrupt, or when a file could not be written, the requests sent so far are still
	// worth a summary.
	w := cmd.OutOrStdout()
	if werr := errors.Join(files.Finish(times), attack.Write(w, f.output, r, f.verbose, textOptions(w))); werr != nil {
		return errors.Join(err, werr)
	}
	arm := r.Arms[0]
	lost := slices.IndexFunc(r.Doubts, attack.Lost.Is)
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{Code: exitInterrupted, Err: errors.New("interrupted; the requests sent so far are summed up")}
	case err != nil:
		return err
	case lost >= 0:
		losses, _ := attack.Lost.In(r.Doubts[lost])
		return &exitError{Code: exitPartial, Err: fmt.Errorf("%d of %d requests got no reply: %s", losses.Lost, arm.Requests, record.Mostly(record.Lost(arm.Failures)))}
	case arm.Requests > 0 && arm.Errors == arm.Requests:
		return &exitError{Code: exitPartial, Err: fmt.Errorf("no reply was good: %s; check the URL and the method", record.Mostly(arm.Failures))}
	}
	return nil
}

// longestClosed limits a closed loop: its number of requests is not known in advance, and all of
// them are kept in memory.
const longestClosed = 5 * time.Minute

// ofLoop are the flags that make sense in one loop only. Giving one in the other loop is a mistake,
// not something to ignore.
var ofLoop = map[string][]string{
	"open":   {"arrivals", "idle"},
	"closed": {"warmup", "ramp", "think", "session", "pipeline"},
}

// check refuses flags that are missing, impossible or contradictory. It looks at the flags alone;
// fromScenario calls it again when the scenario has filled some.
func (f *attackFlags) check() error {
	l := f.clients
	for loop, flags := range ofLoop {
		if wrong := given(f.fl, flags...); loop != l.Loop && len(wrong) > 0 {
			return usagef("--%s belongs to --loop %s; this loop is %s", wrong[0], loop, l.Loop)
		}
	}
	closed, vegeta := l.Loop == "closed", f.engine == load.EngineVegeta
	longest, unfit := max(f.duration, f.warmup, time.Duration(l.Ramp)), scenario.CheckEngine(f.engine, l)
	return mistakes{
		// vegeta's attacker is one for open loops, and spin speaks no TLS.
		{unfit != nil, fmt.Sprint(unfit)},
		{vegeta && f.openRate > 0,
			fmt.Sprintf("--engine vegeta opens no connections beforehand; leave out --open-rate %g, or --engine", f.openRate)},
		{!vegeta && f.insecure, "--insecure is about https, which only --engine vegeta speaks; add that"},
		{f.target == "" && f.targets == "", "--target is missing: name the URL to ask, like http://127.0.0.1:8080/plaintext"},
		{f.target != "" && f.targets != "", "--target and --targets exclude each other"},
		{f.target != "" && !strings.Contains(f.target, "://"),
			fmt.Sprintf("--target %q has no scheme; add http://, as in --target http://%[1]s", f.target)},
		// Limits that keep a slip of the finger from filling the memory or running for days.
		{f.duration <= 0 || f.duration > 24*time.Hour, fmt.Sprintf("--duration %v is outside 0 to 24h", f.duration)},
		{closed && longest > longestClosed,
			fmt.Sprintf("--duration, --warmup and --ramp of a closed loop are at most %v, because it keeps every request", longestClosed)},
		{l.Connections < 0, fmt.Sprintf("--connections %d must not be negative", l.Connections)},
		{l.Idle < 0, fmt.Sprintf("--idle %d must not be negative", l.Idle)},
		{l.Idle > 0 && !l.KeepAlive, fmt.Sprintf("--idle %d are connections that are kept; drop --keepalive=false", l.Idle)},
		{l.Timeout <= 0, fmt.Sprintf("--timeout %v must be above 0", time.Duration(l.Timeout))},
	}.first()
}

// load returns the load to send. There are three sources of requests: a scenario, an access log, or --target
// and --targets. Errors about the flags or files have the exit code of wrong usage.
func (f *attackFlags) load(args []string) (l attack.Load, err error) {
	var from *scenario.Scenario
	isLog := f.arrivals.Kind == arrivals.KindLog
	switch {
	case len(args) == 1:
		if from, err = f.fromScenario(args[0]); err != nil {
			return l, err
		}
		u, _ := url.Parse(f.target) // fromScenario has parsed it
		l.Scenario, l.Targets = from.Name, attack.Secured(from.Targets(u.Host), u)
	case isLog && (f.targets != "" || f.fl.Changed("method") || f.fl.Changed("body") || len(f.headers) > 0):
		return l, usage(attack.LogAsks(f.arrivals))
	case !isLog:
		if l.Targets, err = attack.Asked(f.target, f.targets, f.method, f.body, f.headers, os.Stdin); err != nil {
			return l, usage(err)
		}
	}
	// Connections that are not kept need no limit: each request opens its own.
	if !f.clients.KeepAlive && !f.fl.Changed("connections") && f.clients.Loop == "open" {
		f.clients.Connections = 0
	}
	// A record names the engine only if one was chosen.
	engine := ""
	if f.fl.Changed("engine") {
		engine = f.engine
	}
	l.Version, _ = program()
	l.Name, l.Rest, l.Pause = cmp.Or(f.targets, f.target), f.rest, f.clients.Think.Pauses()
	l.Clients = f.clients.Recorded(engine)
	l.Rate, l.Duration, l.Warmup, l.Seed, l.OpenRate, l.SkipVerify = f.rate.PerSecond, f.duration, f.warmup, f.seed, f.openRate, f.insecure
	switch {
	case !l.Closed():
		return l, f.schedule(&l, from)
	case from != nil:
		l.Trace = from.Cycle(f.seed, workload.Calibrate)
	}
	return l, nil
}

// schedule adds the schedule of an open loop to its load, and the requests where an access log gives them.
func (f *attackFlags) schedule(l *attack.Load, from *scenario.Scenario) error {
	ask, err := f.ask(from)
	if err != nil {
		return usage(err)
	}
	schedule, err := ask.Schedule()
	switch log := ask.Process.Log(); {
	case err != nil:
		return usage(err)
	case schedule.Times == nil && len(schedule.At) == 0:
		return usagef("%.3g requests per second for %v is not one request; raise --rate or --duration", ask.MeanRate(), ask.Span)
	case log != nil:
		l.LeftOut = log.LeftOut()
		if from == nil {
			if l.Targets, err = attack.Logged(f.arrivals, log, f.target); err != nil {
				return usage(err)
			}
		}
	}
	l.Clients.Arrivals, l.Rate, l.Duration, l.Trace, l.Times = ask.Process.String(), ask.MeanRate(), ask.Span, schedule.Trace, schedule.Times
	return nil
}

// ask returns the schedule to draw for an open loop, from the flags and a scenario, which may be nil. Flags go before the
// scenario, and the scenario before the log's own rate. It opens the file of a trace or log, and calibrates the CPU demand
// if it needs that (some 10 ms). Errors name the flag to change.
func (f *attackFlags) ask(from *scenario.Scenario) (a arrivals.Ask, err error) {
	a = arrivals.Ask{Process: f.arrivals, Rate: f.rate.PerSecond, Span: f.duration, Seed: f.seed, Streams: f.engine == load.EngineSpin}
	var its scenario.Rate // the scenario's
	if from != nil {
		its, a.Demands = from.Load.Rate, from.Demands(f.seed, workload.Calibrate)
		if !f.fl.Changed("arrivals") {
			if a.Process, err = arrivals.Parse(from.Load.Arrivals); err != nil {
				return a, err
			}
		}
	}
	isLog := a.Process.Kind == arrivals.KindLog
	switch {
	case a.Process.Fixed() && a.Rate > 0:
		return a, fmt.Errorf("--rate %s has no use beside --arrivals %s, which has rates of its own; drop one", f.rate, a.Process)
	case a.Rate > 0 && a.Process.Speed > 0:
		return a, fmt.Errorf("--rate %s and the speed in --arrivals %s both say how fast; drop one", f.rate, a.Process)
	case a.Rate > 0 || a.Process.Fixed():
	case its.OfSlowest > 0:
		return a, fmt.Errorf("scenario %q asks for %s of a throughput that attack does not measure; give --rate like 1000/s", from.Name, its)
	case !isLog || its.PerSecond > 0:
		a.Rate = cmp.Or(its.PerSecond, defaultRate)
	}
	// The column cpu of a trace becomes iterations of this machine.
	if isLog || a.Process.Kind == arrivals.KindTrace {
		if a.Process, err = a.Process.Open(workload.Calibrate()); err != nil {
			return a, fmt.Errorf("--arrivals: %w", err)
		}
		if isLog && a.Rate == 0 {
			a.Rate = a.Process.OwnRate()
		}
		if !f.fl.Changed("duration") {
			a.Span = a.Process.Span(a.Rate)
		}
	}
	a.Process = a.Process.WithConnections(f.clients.Connections)
	return a, nil
}

// defaultRate is the rate of an open loop where neither a flag nor a scenario or log tells one, in requests per second.
const defaultRate = 100

// fromScenario returns a scenario whose requests can be directed at --target, and takes its clients.
func (f *attackFlags) fromScenario(name string) (*scenario.Scenario, error) {
	s, err := session.Find(name)
	if err != nil {
		return nil, err
	}
	if err := s.Open(); err != nil {
		return nil, usage(err)
	}
	// The scenario has the path, --target only the server.
	u, err := url.Parse(f.target)
	aimed := err == nil && u.Host != "" && f.targets == "" && strings.Trim(u.Path, "/") == ""
	err = mistakes{
		{!aimed, fmt.Sprintf("with scenario %q give the server as --target http://host:port, without a path", s.Name)},
		// The scenario's clients and their pauses would mean nothing in an open loop.
		{s.Load.Loop == "closed" && f.clients.Loop != "closed", fmt.Sprintf("scenario %q is a closed loop; add --loop closed", s.Name)},
		{f.arrivals.Kind == arrivals.KindLog,
			fmt.Sprintf("--arrivals %s says what is asked, and scenario %q does too; drop one", f.arrivals, s.Name)},
	}.first()
	if err != nil {
		return nil, err
	}
	if err := f.take(s.Load); err != nil {
		return nil, usagef("scenario %q: %w", s.Name, err)
	}
	// A flag and a setting of the scenario may contradict each other.
	return &s, f.check()
}

// take fills flags that were not given from a scenario's load. All but the connections is taken only
// if both have the same loop, and settings of kept connections only where connections are kept.
// ask takes an open loop's rate.
func (f *attackFlags) take(l scenario.Load) error {
	if f.fl.Changed("keepalive") {
		l.KeepAlive = f.clients.KeepAlive
	}
	said := map[string]string{
		"keepalive": fmt.Sprint(l.KeepAlive), "connections": fmt.Sprint(l.Connections), "timeout": time.Duration(l.Timeout).String(),
	}
	if l.Loop == f.clients.Loop {
		said["think"] = l.Think.String()
		if l.KeepAlive {
			said["idle"], said["session"], said["pipeline"] = fmt.Sprint(l.Idle), fmt.Sprint(l.Session), fmt.Sprint(l.Pipeline)
		}
		if l.Loop == "closed" {
			said["rate"] = l.Rate.String()
		}
	}
	return fill(f.fl, said)
}

// onLoopback refuses to send load to other machines by mistake, and https with an engine that does
// not speak it. --allow-remote allows other machines, and changes nothing about https. All errors
// are wrong usage.
func (f *attackFlags) onLoopback(ctx context.Context, targets []load.Target) error {
	checked := map[string]bool{} // a log may have many on one server
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil:
			return usagef("--target %q: %w", t.URL, err)
		case u.Scheme == "https" && f.engine != load.EngineVegeta:
			return usagef("--target %q is https, which only --engine vegeta speaks; add that, in an open loop", t.URL)
		case f.allowRemote || checked[u.Scheme+u.Host]:
			continue
		}
		checked[u.Scheme+u.Host] = true
		if err := session.OnLoopback(ctx, "--target", strings.Replace(t.URL, "https://", "http://", 1)); err != nil {
			return err
		}
	}
	return nil
}

// A perSecond is the rate of an attack, or of the requests to advise on: a number per second.
// Unlike in a scenario it is no share of the slowest arm's throughput, because there is no such
// arm. The zero value means not given.
type perSecond struct{ scenario.Rate }

// Set implements pflag.Value. A number without a unit is refused with the right spelling, as 100 may
// be meant per second or per minute.
func (r *perSecond) Set(s string) error {
	number, unitless := strconv.ParseFloat(strings.TrimSpace(s), 64)
	var rate scenario.Rate
	switch err := rate.Set(s); {
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
