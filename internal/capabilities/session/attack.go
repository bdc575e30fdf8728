package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/capabilities/attack"
	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/workload"
)

// An Attack asks for one load on one server that runs already. It starts no server, compares nothing and writes
// only the files that were asked for.
//
// Run does it in steps: check looks at the request alone, load turns it and a scenario into an
// [attack.Load], and [attack.Run] sends it.
type Attack struct {
	Scenarios []string // at most one; without it Target or Targets give the requests
	// Given are the settings that the user chose, by the names of their flags. A scenario fills in the others, also
	// where a chosen one is 0.
	Given []string

	Target, Targets string
	Engine          string
	Insecure        bool
	CACert          string // file of the certificates to trust
	Arrivals        arrivals.Process
	Rate            PerSecond // 0 is the default of the loop
	Duration        time.Duration
	Warmup          time.Duration
	Seed            *uint64       // nil: drawn
	Clients         scenario.Load // as a scenario has them; its Rate stays zero
	OpenRate        float64
	Rest            string

	// The request without a scenario, the files to write, and what their times count from.
	Method, Body  string
	Headers       []string
	Results, HGRM string // "" for none
	Stamp         load.Stamp
	AllowRemote   bool
}

// given reports whether the user chose a setting.
func (r *Attack) given(name string) bool { return slices.Contains(r.Given, name) }

// Run carries out the attack. Everything that can be refused is refused before the first request:
// settings, targets on other machines, too many connections, files that exist. The summary decides the
// code: NoAnswer if more than one request in a thousand got no reply, or no reply was good. After an error the result
// covers the requests sent until then, or is nil; say gets the lines about the attack's progress.
func (r Attack) Run(ctx context.Context, p Program, say func(line string)) (*record.Comparison, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	l, err := r.load(seedOf(r.Seed))
	if err != nil {
		return nil, err
	}
	l.Version = p.Version
	if err := r.stayLocal(ctx, l.Targets); err != nil {
		return nil, err
	}
	// A limit of descriptors is found before the first connection and not amid the attack.
	if err := load.CheckConnections(l.Connections + l.Idle); err != nil {
		return nil, Usagef("--connections %d and --idle %d: %w", l.Connections, l.Idle, err)
	}
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	if load.EngineFor(l.Clients) != "" {
		// Without it the answer is the same, but for a sentence. It takes a second, for what nobody could guess.
		if cpus, err := runner.CPUs(runner.Options{}); err == nil {
			say("measuring the load itself")
			l.Floor, _ = runner.Floor(ctx, cpus, p.Self, l.Clients)
		}
	}
	files, err := attack.OpenFiles(r.Results, r.HGRM, l.Targets, l.Trace.Which, r.Stamp)
	if err != nil {
		return nil, Usage(err)
	}
	defer files.Close()
	result, times, err := attack.Run(ctx, l, files, say)
	// Nothing was sent: leave no files behind.
	if result == nil {
		return nil, errors.Join(Usage(err), files.Discard())
	}
	// After an interrupt, or when a file could not be written, the requests sent so far are still
	// worth a summary.
	if werr := files.Finish(times); werr != nil {
		return result, errors.Join(err, werr)
	}
	arm := result.Arms[0]
	lost := slices.IndexFunc(result.Doubts, attack.Lost.Code.Is)
	switch {
	case ctx.Err() != nil:
		return result, &Error{Code: Interrupted, Err: errors.New("interrupted; the requests sent so far are summed up")}
	case err != nil:
		return result, err
	case lost >= 0:
		losses, _ := fact.In(attack.Lost, result.Doubts[lost])
		return result, &Error{Code: NoAnswer, Err: fmt.Errorf("%d of %d requests got no reply: %s", losses.Lost, arm.Requests, request.Mostly(request.Lost(arm.Failures)))}
	case arm.Requests > 0 && arm.Errors == arm.Requests:
		return result, &Error{Code: NoAnswer, Err: fmt.Errorf("no reply was good: %s; check the URL and the method", request.Mostly(arm.Failures))}
	}
	return result, nil
}

// longestClosed limits a closed loop: its number of requests is not known in advance, and all of
// them are kept in memory.
const longestClosed = 5 * time.Minute

// ofLoop are the settings that make sense in one loop only. Giving one in the other loop is a mistake,
// not something to ignore.
var ofLoop = map[string][]string{
	"open":   {"arrivals", "idle"},
	"closed": {"warmup", "ramp", "think", "session", "pipeline"},
}

// check refuses settings that are missing, impossible or contradictory. It looks at the request alone;
// fromScenario calls it again when the scenario has filled some.
func (r *Attack) check() error {
	l := r.Clients
	for loop, flags := range ofLoop {
		if i := slices.IndexFunc(flags, r.given); loop != l.Loop && i >= 0 {
			return Usagef("--%s belongs to --loop %s; this loop is %s", flags[i], loop, l.Loop)
		}
	}
	closed, vegeta := l.Loop == "closed", r.Engine == load.EngineVegeta
	longest, unfit := max(r.Duration, r.Warmup, time.Duration(l.Ramp)), scenario.CheckEngine(r.chosen(), l)
	switch {
	case unfit != nil:
		return Usage(unfit)
	case vegeta && r.OpenRate > 0:
		return Usagef("--engine vegeta opens no connections beforehand; leave out --open-rate %g, or --engine", r.OpenRate)
	case r.Insecure && r.CACert != "":
		return Usagef("--insecure takes any certificate, and --cacert only some; drop one")
	case l.Key != "" && l.Cert == "":
		return Usagef("--key %s needs --cert, the certificate that it is for", l.Key)
	case l.Streams < 0:
		return Usagef("--streams %d must not be negative", l.Streams)
	case r.Target == "" && r.Targets == "":
		return Usagef("--target is missing: name the URL to ask, like http://127.0.0.1:8080/plaintext")
	case r.Target != "" && !strings.Contains(r.Target, "://"):
		return Usagef("--target %q has no scheme; add http://, as in --target http://%[1]s", r.Target)
	// Limits that keep a slip of the finger from filling the memory or running for days.
	case r.Duration <= 0 || r.Duration > 24*time.Hour:
		return Usagef("--duration %v is outside 0 to 24h", r.Duration)
	case closed && longest > longestClosed:
		return Usagef("--duration, --warmup and --ramp of a closed loop are at most %v, because it keeps every request", longestClosed)
	case l.Connections < 0:
		return Usagef("--connections %d must not be negative", l.Connections)
	case l.Idle < 0:
		return Usagef("--idle %d must not be negative", l.Idle)
	case l.Idle > 0 && !l.KeepAlive && !r.given("keepalive"):
		return Usagef("--idle %d are connections that are kept, and the scenario keeps none; add --keepalive", l.Idle)
	case l.Idle > 0 && !l.KeepAlive:
		return Usagef("--idle %d are connections that are kept; drop --keepalive=false", l.Idle)
	case l.Timeout <= 0:
		return Usagef("--timeout %v must be above 0", time.Duration(l.Timeout))
	}
	return nil
}

// chosen returns the engine that the user chose, "" if none.
func (r *Attack) chosen() string {
	if r.given("engine") {
		return r.Engine
	}
	return ""
}

// speak settles what the clients speak to targets, and the engine that does. Errors are wrong usage.
func (r *Attack) speak(targets []load.Target) error {
	c := &r.Clients
	secure := slices.ContainsFunc(targets, func(t load.Target) bool {
		scheme, _, _ := strings.Cut(t.URL, "://")
		return strings.EqualFold(scheme, "https")
	})
	switch {
	case c.Streams > 0 && !multiplexed(*c):
		return Usagef("--streams are requests under way on a kept connection of HTTP/2; add --http 2, and keep connections")
	case !secure && (r.Insecure || r.CACert != "" || r.given("cert")):
		return Usagef("--insecure, --cacert, --cert and --key are about https, and the target is not; write https://")
	case !secure:
		c.TLS, c.Cert, c.Key = "", "", "" // a scenario's
	case r.Insecure:
		c.TLS = record.TrustAny
	default:
		c.TLS = cmp.Or(r.CACert, c.TLS, record.TrustKnown)
	}
	if err := scenario.CheckEngine(r.chosen(), *c); err != nil {
		return Usage(err)
	}
	if needs := load.EngineFor(c.Recorded("")); needs != "" {
		r.Engine = needs
		if r.OpenRate > 0 {
			return Usagef("--open-rate %g: the engine %s, which speaks https and HTTP/2, opens no connections beforehand; leave it out", r.OpenRate, needs)
		}
	}
	_, err := load.Transport(c.Recorded(""))
	return Usage(err)
}

// load returns the load to send. There are three sources of requests: a scenario, an access log, or --target
// and --targets. Errors about the flags or files have the exit code of wrong usage.
func (r *Attack) load(seed uint64) (l attack.Load, err error) {
	var from *scenario.Scenario
	isLog := r.Arrivals.Kind == arrivals.KindLog
	switch {
	case len(r.Scenarios) == 1:
		if from, err = r.fromScenario(r.Scenarios[0]); err != nil {
			return l, err
		}
		u, _ := url.Parse(r.Target) // fromScenario has parsed it
		l.Scenario, l.Targets = from.Name, attack.Secured(from.Targets(u.Host), u)
	case isLog && (r.Targets != "" || r.given("method") || r.given("body") || len(r.Headers) > 0):
		return l, Usage(attack.LogAsks(r.Arrivals))
	case !isLog:
		if l.Targets, err = attack.Asked(r.Target, r.Targets, r.Method, r.Body, r.Headers, os.Stdin); err != nil {
			return l, Usage(err)
		}
	}
	// Connections that are not kept need no limit: each request opens its own.
	if !r.Clients.KeepAlive && !r.given("connections") && r.Clients.Loop == "open" {
		r.Clients.Connections = 0
	}
	asked := l.Targets
	if asked == nil { // a log's, which are made with its schedule
		asked = []load.Target{{URL: r.Target}}
	}
	if err := r.speak(asked); err != nil {
		return l, err
	}
	// A record names the engine only if one was chosen, or if the clients need it.
	engine := cmp.Or(r.chosen(), load.EngineFor(r.Clients.Recorded("")))
	l.Name, l.Rest, l.Pause = cmp.Or(r.Targets, r.Target), r.Rest, r.Clients.Think.Pauses()
	l.Clients = r.Clients.Recorded(engine)
	l.Rate, l.Duration, l.Warmup, l.Seed, l.OpenRate = r.Rate.PerSecond, r.Duration, r.Warmup, seed, r.OpenRate
	switch {
	case !l.Closed():
		return l, r.schedule(&l, from, seed)
	case from != nil:
		l.Trace = from.Cycle(seed, workload.Calibrate)
	}
	return l, nil
}

// schedule adds the schedule of an open loop to its load, and the requests where an access log gives them.
func (r *Attack) schedule(l *attack.Load, from *scenario.Scenario, seed uint64) error {
	ask, err := r.ask(from, seed)
	if err != nil {
		return Usage(err)
	}
	schedule, err := ask.Schedule()
	switch log := ask.Process.Log(); {
	case err != nil:
		return Usage(err)
	case schedule.Times == nil && len(schedule.At) == 0:
		return Usagef("%.3g requests per second for %v is not one request; raise --rate or --duration", ask.MeanRate(), ask.Span)
	case log != nil:
		l.LeftOut = log.LeftOut()
		if from == nil {
			if l.Targets, err = attack.Logged(r.Arrivals, log, r.Target); err != nil {
				return Usage(err)
			}
		}
	}
	l.Clients.Arrivals, l.Rate, l.Duration, l.Trace, l.Times = ask.Process.String(), ask.MeanRate(), ask.Span, schedule.Trace, schedule.Times
	return nil
}

// ask returns the schedule to draw for an open loop, from the flags and a scenario, which may be nil. Flags go before the
// scenario, and the scenario before the log's own rate. It opens the file of a trace or log, and calibrates the CPU demand
// if it needs that (some 10 ms). Errors name the flag to change.
func (r *Attack) ask(from *scenario.Scenario, seed uint64) (a arrivals.Ask, err error) {
	a = arrivals.Ask{Process: r.Arrivals, Rate: r.Rate.PerSecond, Span: r.Duration, Seed: seed, Streams: r.Engine == load.EngineSpin}
	var its scenario.Rate // the scenario's
	if from != nil {
		its, a.Demands, a.Which = from.Load.Rate, from.Demands(seed, workload.Calibrate), from.Which(seed)
		if !r.given("arrivals") {
			if a.Process, err = arrivals.Parse(from.Load.Arrivals); err != nil {
				return a, err
			}
		}
	}
	isLog := a.Process.Kind == arrivals.KindLog
	switch {
	case a.Process.Fixed() && a.Rate > 0:
		return a, fmt.Errorf("--rate %s has no use beside --arrivals %s, which has rates of its own; drop one", r.Rate, a.Process)
	case a.Rate > 0 && a.Process.Speed > 0:
		return a, fmt.Errorf("--rate %s and the speed in --arrivals %s both say how fast; drop one", r.Rate, a.Process)
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
		if !r.given("duration") {
			a.Span = a.Process.Span(a.Rate)
		}
	}
	a.Process = a.Process.WithConnections(r.Clients.Connections)
	return a, nil
}

// defaultRate is the rate of an open loop where neither a flag nor a scenario or log tells one, in requests per second.
const defaultRate = 100

// fromScenario returns a scenario whose requests can be sent to --target, and copies its clients into the request.
func (r *Attack) fromScenario(name string) (*scenario.Scenario, error) {
	s, err := Find(name)
	if err != nil {
		return nil, err
	}
	if err := s.Open(); err != nil {
		return nil, Usage(err)
	}
	// The scenario has the path, --target only the server.
	u, err := url.Parse(r.Target)
	aimed := err == nil && u.Host != "" && r.Targets == "" && strings.Trim(u.Path, "/") == ""
	switch {
	case !aimed:
		return nil, Usagef("with scenario %q give the server as --target http://host:port, without a path", s.Name)
	// The scenario's clients and their pauses would mean nothing in an open loop.
	case s.Load.Loop == "closed" && r.Clients.Loop != "closed":
		return nil, Usagef("scenario %q is a closed loop; add --loop closed", s.Name)
	case r.Arrivals.Kind == arrivals.KindLog:
		return nil, Usagef("--arrivals %s says what is asked, and scenario %q does too; drop one", r.Arrivals, s.Name)
	}
	if err := r.take(s.Load); err != nil {
		return nil, Usagef("scenario %q: %w", s.Name, err)
	}
	// A flag and a setting of the scenario may contradict each other.
	return &s, r.check()
}

// take fills settings that were not given from a scenario's load. All but the connections is taken only
// if both have the same loop, and settings of kept connections and of HTTP/2 only where there are such. What the scenario does
// not say keeps its default. ask takes an open loop's rate.
func (r *Attack) take(l scenario.Load) error {
	c := &r.Clients
	if !r.given("keepalive") {
		c.KeepAlive = l.KeepAlive
	}
	if !r.given("connections") && l.Connections != 0 {
		c.Connections = l.Connections
	}
	if !r.given("timeout") && l.Timeout != 0 {
		c.Timeout = l.Timeout
	}
	c.Deadline, c.Retries, c.Backoff = l.Deadline, l.Retries, l.Backoff
	if !r.given("http") && l.HTTP != "" {
		c.HTTP = l.HTTP
	}
	if !r.given("host") && l.Host != "" {
		c.Host = l.Host
	}
	if !r.given("streams") && multiplexed(*c) {
		c.Streams = l.Streams
	}
	c.TLS = l.TLS
	if !r.given("cert") {
		c.Cert, c.Key = l.Cert, l.Key
	}
	if l.Loop != c.Loop {
		return nil
	}
	if !r.given("think") && l.Think != (workload.Dist{}) {
		c.Think = l.Think
	}
	if c.KeepAlive {
		if !r.given("idle") && l.Idle != 0 {
			c.Idle = l.Idle
		}
		if !r.given("session") && l.Session != 0 {
			c.Session = l.Session
		}
		if !r.given("pipeline") && l.Pipeline != 0 {
			c.Pipeline = l.Pipeline
		}
	}
	if l.Loop == "closed" && !r.given("rate") && l.Rate != (scenario.Rate{}) {
		if l.Rate.OfSlowest > 0 {
			return fmt.Errorf("rate: %w", errShare)
		}
		r.Rate.Rate = l.Rate
	}
	return nil
}

// multiplexed reports whether a connection may have several requests under way.
func multiplexed(l scenario.Load) bool { return l.HTTP == "2" && l.KeepAlive }

// stayLocal refuses to send load to other machines by mistake; --allow-remote allows it. All errors
// are wrong usage.
func (r *Attack) stayLocal(ctx context.Context, targets []load.Target) error {
	checked := map[string]bool{} // a log may have many on one server
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil:
			return Usagef("--target %q: %w", t.URL, err)
		case r.AllowRemote || checked[u.Scheme+u.Host]:
			continue
		}
		checked[u.Scheme+u.Host] = true
		if err := OnLoopback(ctx, "--target", t.URL); err != nil {
			return err
		}
	}
	return nil
}

// A PerSecond is the rate of an attack, or of the requests to advise on: a number per second.
// Unlike in a scenario it is no share of the slowest arm's throughput, because there is no such
// arm. The zero value means not given.
type PerSecond struct{ scenario.Rate }

// errShare is the error of a rate that is a share.
var errShare = errors.New("a share of a throughput that is not measured here; give requests per second like 100/s")

// Set implements pflag.Value. A number without a unit is refused with the right spelling, as 100 may
// be meant per second or per minute.
func (r *PerSecond) Set(s string) error {
	number, unitless := strconv.ParseFloat(strings.TrimSpace(s), 64)
	var rate scenario.Rate
	switch err := rate.Set(s); {
	case unitless == nil && number > 0:
		return fmt.Errorf("no unit; say %s/s", strings.TrimSpace(s))
	case err != nil:
		return errors.New("not a rate; give requests per second, above 0 and up to 1000000/s, like 100/s")
	case rate.OfSlowest > 0:
		return errShare
	}
	r.Rate = rate
	return nil
}
