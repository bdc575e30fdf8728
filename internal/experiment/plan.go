package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/command"
	"schedlab/internal/expect"
	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/timeline"
)

// Options are the user's settings for a run of a scenario. The zero value changes nothing. A function
// may be nil; Run calls the functions on its own goroutine.
type Options struct {
	Self       string // path of this program, which runs the servers with a mode
	Seed       uint64
	Note       string
	Protocol   string        // "", quick or full
	Blocks     int           // 0: the protocol's
	Window     time.Duration // 0: the protocol's
	Warmup     time.Duration // 0: the protocol's
	Budget     time.Duration // 0: the scenario's or the protocol's
	Rate       scenario.Rate // zero: the scenario's
	Engine     string        // engine for open loops, one of load.Engines; "" is load.DefaultEngine
	ServerCPUs string        // list like 0-3,5; "" lets Plan choose
	LoadCPUs   string        // likewise
	Pin        string        // "auto" or "none"
	Iters      float64       // calibration of CPU demand, iterations per microsecond
	Version    string
	Stamps     string               // stamps of our own servers: off, basic, full; "" is full on Linux, else basic
	Modes      map[string]mode.Mode // the modes Self serves, by name
	// Asks are the quantiles that must be decidable. nil means the quantiles that the scenario's
	// expectations name or, without expectations, all primary quantiles.
	Asks []string
	// OnCannot is called before the blocks start if a metric that was asked for cannot be decided.
	OnCannot func(record.Feasibility)
	// OnDoubt is called before the blocks start with each kind of doubt that makes or breaks the
	// answer.
	OnDoubt func(record.Fact)
	// OnTrouble is called between windows, once for each cause that takes CPU time from server or load.
	OnTrouble func(record.Trouble)
	// OnLook is called with the result so far after each look that does not end the run.
	OnLook func(*record.Result)
	// Sign makes Run sign the record as this user when it ends.
	Sign    bool
	Machine record.Fact // why the machine is not fit, which becomes a doubt of the plan; none if it is fit
}

// Estimates of time, and settings of probes.
const (
	// Time that a run takes in addition to its windows: to start and end servers, and to join the
	// stamps and write the record, which costs time per request.
	trialCost   = 100 * time.Millisecond
	requestCost = 15 * time.Microsecond
	probeCost   = 950 * time.Millisecond // including a rehearsal
	fixedCost   = 3 * time.Second

	probeClients = 64
	probeWindow  = 600 * time.Millisecond
	probeWarmup  = 50 * time.Millisecond
	// shortProbe is long enough to see that an arm can take a rate that does not depend on the probe.
	shortProbe = 300 * time.Millisecond
	// crowdedClients keep all workers of a large pool busy, even while some clients reconnect.
	crowdedClients = 256

	// highestLoad is the highest ratio of the slowest arm's throughput for a relative rate. At a higher
	// rate the queue would grow without end.
	highestLoad = 0.85
)

// A plan is a planned comparison or search. Nothing of it has run yet.
type plan struct {
	record.Plan
	scenario scenario.Scenario
	arms     []arm // including the baseline's copy
	cpus     host.Sides
	modes    map[string]mode.Mode
	budget   time.Duration
	self     string        // path of this program, "" when the caller named none
	slo      stats.SLO     // objective of a search for capacity, which has no copy of the baseline; else nil
	aim      judge.Aim     // purpose of the run
	told     scenario.Rate // the user's rate for this run; zero: the scenario's
	// bearable is the highest rate at which the load does not take too much of the CPUs that it shares
	// with the servers; 0: no limit is known. See runner.boundShare.
	bearable float64
	// iters turns the CPU time in a trace file into iterations. opened holds arrivals with their files
	// read, by their text in the scenario.
	iters  float64
	opened map[string]arrivals.Process
	asks   []string // quantiles that must be decidable
	fixed  bool     // the user gave the window
	most   int      // the user's limit on blocks; 0: the protocol's
}

// An arm is one server of a plan, with its clients.
type arm struct {
	*record.PlanArm               // the recorded form: an element of Plan.Arms
	asked           scenario.Arm  // the arm in the scenario
	load            scenario.Load // load of its clients; the rate may be relative
}

// newPlan plans a comparison. Only the rate may still be open.
func newPlan(s scenario.Scenario, o Options) (*plan, error) {
	if o.Rate != (scenario.Rate{}) {
		if was := s.Load.Rate; was.PerSecond > 0 && was != o.Rate { // the question may mention the scenario's rate
			s.Question += fmt.Sprintf(" (asked of %s, run at %s)", was, o.Rate)
		}
		s.Load.Rate, s.Load.MaxRate = o.Rate, scenario.Rate{} // offer the user's rate without an upper limit
	}
	return layOut(s, o, nil, func(p *plan) error {
		p.Timeout = time.Duration(s.Load.Timeout).Seconds()
		p.takeExpectations()
		if err := p.takeProtocol(o); err != nil {
			return err
		}
		p.takeOrder()
		p.chooseQuantiles(o)
		p.settleWindow()
		if err := p.checkRamps(); err != nil {
			return err
		}
		if err := p.settleArrivals(); err != nil {
			return err
		}
		return p.checkVolume()
	})
}

// layOut plans a comparison or, with an objective, a search for capacity. It sets the arms. Then it
// calls schedule to set windows and budget, which differ between the two.
func layOut(s scenario.Scenario, o Options, slo stats.SLO, schedule func(p *plan) error) (*plan, error) {
	cpus, err := chooseCPUs(o, s.Needs)
	if err != nil {
		return nil, err
	}
	p := &plan{scenario: s, self: runnable(o.Self), cpus: cpus, modes: o.Modes, slo: slo, told: o.Rate, iters: cmp.Or(o.Iters, 1), opened: map[string]arrivals.Process{}}
	p.Plan = record.Plan{
		Scenario: s.Name, Question: s.Question, Source: s.Source, Seed: o.Seed, Note: o.Note, Predict: s.Predict,
		Connections: s.Load.Connections,
	}
	p.takeStamps(o)
	if err := p.openFiles(); err != nil {
		return nil, err
	}
	if err := p.takeArms(o); err != nil {
		return nil, err
	}
	if err := schedule(p); err != nil {
		return nil, err
	}
	// This check is last, so that faults in a scenario are found on every machine.
	if n := len(cpus.Server); s.Needs.ServerCPUs > n {
		return nil, &Impossible{Machine: true, msg: fmt.Sprintf("scenario %q needs %s for the server, and has %d here: the models would not differ in what it asks",
			s.Name, prose.Plural(s.Needs.ServerCPUs, "CPU"), n)}
	}
	if !o.Machine.None() {
		p.doubt(record.Fact{Code: machineUnfit, Because: []record.Fact{o.Machine}})
	}
	p.warn()
	p.identify()
	return p, nil
}

// takeExpectations takes the scenario's assertions, without those about arms that are not compared:
// --arms and --vary may leave out arms of the scenario. It raises a doubt about assertions left out.
func (p *plan) takeExpectations() {
	var arms []string
	for _, a := range p.arms {
		arms = append(arms, a.Name)
	}
	absent := 0
	for _, text := range p.scenario.Expect {
		if _, err := expect.Parse(text, arms); err != nil {
			absent++
			continue
		}
		p.Expect = append(p.Expect, text)
	}
	if absent > 0 {
		p.doubt(record.Fact{Code: expectationsLeftOut, Values: record.Values{"expectations": float64(absent)}})
	}
}

// takeStamps sets the level of stamping: the user's, else full on Linux and basic elsewhere.
func (p *plan) takeStamps(o Options) {
	p.Stamps = cmp.Or(o.Stamps, "basic")
	if o.Stamps == "" && runtime.GOOS == "linux" {
		p.Stamps = record.StampsFull
	}
}

// takeArms sets the arms of the plan: first the baseline, then its copy, then the challengers. A search
// has no copy.
func (p *plan) takeArms(o Options) error {
	s := p.scenario
	arms := s.Contestants()
	if len(arms) > scenario.MaxArms {
		return impossible("%d arms are more than %d; drop some", len(arms), scenario.MaxArms)
	}
	if p.slo != nil && len(arms) == 0 {
		return impossible("a search needs an arm; name one with --arm or --arms")
	}
	for _, a := range arms {
		if _, ok := o.Modes[a.Mode]; a.Mode != "" && !ok {
			return impossible("arm %q: unknown mode %q (want one of %s)", a.Name, a.Mode, strings.Join(slices.Sorted(maps.Keys(o.Modes)), ", "))
		}
	}
	if p.slo == nil {
		if len(arms) < 2 {
			return impossible("a comparison needs two arms or more, a baseline and a challenger; name another with --arm or --arms")
		}
		twin := arms[0]
		twin.Name += "'"
		arms = slices.Insert(arms, 1, twin)
	}
	names := map[string]bool{}
	p.Arms, p.arms = make([]record.PlanArm, len(arms)), make([]arm, len(arms))
	for i, a := range arms {
		if names[a.Name] {
			return impossible("two arms are called %q; name one of them otherwise", a.Name)
		}
		names[a.Name] = true
		role := record.Challenger
		switch {
		case i == 0:
			role = record.Baseline
		case i == 1 && p.slo == nil:
			role = record.Copy
		}
		if mode, ok := o.Modes[a.Mode]; ok && mode.Check != nil {
			if err := mode.Check(a.Flags); err != nil {
				return impossible("arm %q: %v", a.Name, err)
			}
		}
		if len(a.Command) > 0 {
			if _, err := exec.LookPath(a.Command[0]); err != nil {
				return impossible("arm %q: %v; give a program's path, or a name in PATH", a.Name, err)
			}
			if role == record.Challenger || i == 0 {
				p.doubt(record.Fact{Code: otherProgram, Arm: a.Name, Names: record.Names{"path": strings.TrimPrefix(s.Targets(command.AddrMark)[0].URL, "http://"+command.AddrMark)}})
			}
		}
		if a.URL != "" && role != record.Copy {
			p.doubt(record.Fact{Code: runsAlready, Arm: a.Name})
		}
		l, err := s.Clients(a)
		if err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		if bad := l.Check(); bad != nil {
			return impossible("arm %q: %s %s", a.Name, bad.Path, bad.Msg)
		}
		if err := scenario.CheckEngine(o.Engine, l); err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		if s.Log != nil && l.Rate == (scenario.Rate{}) {
			l.Rate.PerSecond = scenario.Rounded(s.Log.OwnRate())
		}
		stamps := p.Stamps
		if l.Pipeline > timeline.MaxPending {
			stamps = record.StampsOff
			if role != record.Copy {
				p.doubt(record.Fact{Code: pipelineTooDeep, Arm: a.Name, Values: record.Values{"most": timeline.MaxPending, "pipeline": float64(l.Pipeline)}})
			}
		}
		p.Arms[i] = record.PlanArm{
			Name: a.Name, Mode: a.Mode, Role: role, Command: a.Argv(o.Self, o.Iters, stamps), KeepAlive: l.KeepAlive,
			Clients: l.Recorded(o.Engine), Stamps: a.Flags["stamps"], Levels: a.Levels, Family: a.Family,
			URL: a.URL, Metrics: a.Metrics, Procs: p.ownProcs(a),
		}
		if o.Modes[a.Mode].Station != "" {
			p.Arms[i].Station = new(p.stationOf(a))
		}
		if role == record.Copy {
			p.Arms[i].Levels, p.Arms[i].Family = nil, "" // the copy serves only as the A/A control
		}
		p.arms[i] = arm{&p.Arms[i], a, l}
	}
	return nil
}

// takeProtocol sets windows, blocks, looks and budget. Flags override the scenario, and the scenario
// overrides the protocol. The scenario's values are ignored if a flag chooses another protocol.
func (p *plan) takeProtocol(o Options) error {
	s := p.scenario
	p.Protocol = cmp.Or(o.Protocol, s.Protocol.Kind)
	kind := scenario.Protocols[p.Protocol]
	most := scenario.MaxBlocks
	if o.Protocol == "" || o.Protocol == s.Protocol.Kind {
		kind.Warmup = cmp.Or(time.Duration(s.Protocol.Warmup), kind.Warmup)
		kind.Window = cmp.Or(time.Duration(s.Protocol.Window), kind.Window)
		kind.Budget = cmp.Or(time.Duration(s.Protocol.Budget), kind.Budget)
		most = cmp.Or(s.Protocol.Blocks, most)
	}
	most = cmp.Or(o.Blocks, most)
	kind.Warmup, kind.Window = cmp.Or(o.Warmup, kind.Warmup), cmp.Or(o.Window, kind.Window)
	p.budget = cmp.Or(o.Budget, kind.Budget)
	switch {
	case most < scenario.MinBlocks:
		return impossible("--blocks %d is below %d, too few for any verdict", most, scenario.MinBlocks)
	case most > scenario.MaxBlocks:
		return impossible("--blocks %d is above %d, the last look; lengthen the windows instead", most, scenario.MaxBlocks)
	case kind.Window < 100*time.Millisecond || kind.Window > scenario.Longest:
		return impossible("--window %v is outside 100ms to %v", kind.Window, scenario.Longest)
	case kind.Warmup < 0 || kind.Warmup > scenario.Longest:
		return impossible("--warmup %v is outside 0 to %v", kind.Warmup, scenario.Longest)
	}
	p.Warmup, p.Window = kind.Warmup.Seconds(), kind.Window.Seconds()
	if p.cost(scenario.MinBlocks) > p.budget {
		return impossible("%d blocks of %d arms (%s is the baseline again, for the A/A control) take %v, more than the budget of %v; raise --budget, drop arms or shorten --window",
			scenario.MinBlocks, len(p.arms), p.arms[1].Name, p.cost(scenario.MinBlocks).Round(time.Second), p.budget)
	}
	p.Blocks = most
	for _, n := range stats.Looks() {
		if n <= most {
			p.Looks = append(p.Looks, n)
		}
	}
	p.Estimate = min(p.cost(most), p.budget).Seconds()
	return nil
}

// cost returns about how long a run of blocks blocks takes.
func (p *plan) cost(blocks int) time.Duration { return p.costOf(record.Duration(p.Window), blocks) }

// costOf returns about how long a run of blocks blocks with windows of length window takes.
func (p *plan) costOf(window time.Duration, blocks int) time.Duration {
	cost := time.Duration(blocks)*p.blockCost(window) + time.Duration(blocks*len(p.arms))*judging + fixedCost
	if _, ok := p.sharer(); ok {
		cost += shareCost
	}
	for i, a := range p.arms {
		if p.probes(a) && p.sameAs(i) < 0 {
			cost += probeCost - probeWindow + p.probeFor()
		}
	}
	return cost
}

// blockCost returns about how long a block with windows of length window takes.
func (p *plan) blockCost(window time.Duration) (cost time.Duration) {
	span := record.Duration(p.Warmup) + window
	for _, a := range p.Arms { // the rate is 0 if it is not known yet: in a closed loop, or if it is relative
		cost += span + trialCost + time.Duration(min(a.Clients.Rate*span.Seconds(), judge.MostRequests))*requestCost
	}
	return cost
}

// span returns how long a trial's load lasts, warm-up included.
func (p *plan) span() time.Duration { return record.Duration(p.Warmup + p.Window) }

// takeOrder draws the order of the arms for each block independently. Only then is the sign of a
// block's log-ratio a fair coin between two identical arms, whatever drifts on the machine.
func (p *plan) takeOrder() {
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	for range p.Blocks {
		p.Order = append(p.Order, rng.Perm(len(p.arms)))
	}
}

// doubt adds a doubt to the plan.
func (p *plan) doubt(f record.Fact) { p.Doubts = append(p.Doubts, f) }

// checkRamps returns an error if the clients of a load have not all started when the window begins.
// Until then, their number N is not the arm's.
func (p *plan) checkRamps() error {
	for _, a := range p.arms {
		if ramp := time.Duration(a.load.Ramp); ramp.Seconds() > p.Warmup {
			return impossible("arm %q: load.ramp %v is longer than the warm-up of %v; lengthen protocol.warmup (--warmup), or shorten the ramp", a.Name, ramp, record.Duration(p.Warmup))
		}
	}
	return nil
}
