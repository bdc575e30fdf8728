package runner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// Estimates of the time that a run takes in addition to its windows: to start and end servers, and to
// join the stamps and write the record, which costs time per request.
const (
	// requestCost joins the stamps of one request and writes it. probeCost is for a server's
	// start, its probe and its end. fixedCost is everything else of a run. They only have to be
	// about right: the budget is kept by the clock, see blocks.go. trialCost is the time to start
	// and end a trial's server; another site adds its own.
	trialCost   = 100 * time.Millisecond
	requestCost = 15 * time.Microsecond
	probeCost   = 950 * time.Millisecond // including a rehearsal
	fixedCost   = 3 * time.Second
)

// A plan is a planned comparison or search. It is a value: what learns more returns another plan, and none
// changes once it is made. The methods with a pointer receiver are the steps of making one.
//
// The order of making one is: newPlan chooses CPUs and arms, the strategy sets windows, blocks and
// budget (a comparison and a search differ here), and warn adds the doubts that are known without
// measuring. A relative rate stays open until the probes; offered then fills it in (rate.go).
type plan struct {
	record.Plan                      // its recorded form, but for the arms and the expectations; see recorded
	Arms        []arm                // including the baseline's copy
	Expect      []expect.Expectation // the claims' last
	strategy    strategy
	opts        Options
	scenario    scenario.Scenario
	cpus        host.Sides
	asked       times // what flags and scenario say, from which fit sets the window and the budget
	budget      time.Duration
	grown       time.Duration // to which the default budget grew for windows or warm-ups that flags give; 0 if it did not
	self        string        // path of this program, "" when the caller named none
}

// An arm is one server of a plan, with its clients. An arm is a value; its rate is in
// Clients.Rate, 0 while it is not known.
type arm struct {
	record.PlanArm                  // the recorded form
	asked          scenario.Arm     // the arm in the scenario
	load           scenario.Load    // load of its clients; the rate may be relative
	arrivals       arrivals.Process // of an open loop, with its trace file read
}

// recorded returns the plan in the form of the record.
func (p plan) recorded() record.Plan {
	r := p.Plan
	r.Doubts = slices.Clone(p.Doubts)
	for _, a := range p.Arms {
		r.Arms = append(r.Arms, a.PlanArm)
	}
	for _, e := range p.Expect {
		r.Expect = append(r.Expect, e.String())
	}
	return r
}

// originals returns the arms without the baseline's copy.
func (p plan) originals() []arm {
	return slices.DeleteFunc(slices.Clone(p.Arms), func(a arm) bool { return a.Role == record.Copy })
}

// settle sets the window and checks what depends on the window and the rates. It is called when the
// plan is made, and again when the probes have told the rates.
func (p *plan) settle() error {
	// After this the window is long enough for what was asked, or mustJudge refuses.
	p.settleWindow()
	if err := p.mustJudge(); err != nil {
		return err
	}
	if err := p.settleArrivals(); err != nil {
		return err
	}
	for _, a := range p.Arms {
		// Until all clients have started, their number N is not the arm's.
		if ramp := time.Duration(a.load.Ramp); ramp > p.Warmup.Duration {
			return impossibleBy("warmup", "arm %q: load.ramp %v is longer than the warm-up of %v; lengthen protocol.warmup (--warmup), or shorten the ramp", a.Name, ramp, p.Warmup)
		}
		// A trial keeps all its requests in memory until it is recorded.
		if n := a.Clients.Rate * (p.Warmup.Seconds() + p.Window.Seconds()); n > MostRequests {
			return impossibleBy("rate", "the rate %.0f/s makes %.0f requests a trial, above %d; lower --rate or shorten --window", a.Clients.Rate, n, MostRequests)
		}
	}
	return nil
}

// newPlan plans a run: it sets the arms, and then windows and budget, both as the strategy wants them. Only the rate may
// still be open. The error is an *[Impossible], or about this machine.
func newPlan(s scenario.Scenario, o Options) (plan, error) {
	switch {
	case o.Race != nil:
		o.Aim = o.Race
	case o.Aim == nil:
		o.Aim = judge.Winner{}
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	by := strategyOf(o)
	s, o, err := by.accept(s, o)
	if err != nil {
		return plan{}, err
	}
	cpus, err := chooseCPUs(o, s.Needs)
	if err != nil {
		return plan{}, err
	}
	self, _ := exec.LookPath(o.Self) // "" if it cannot be started
	p := plan{strategy: by, opts: o, scenario: s, cpus: cpus, self: self}
	p.Plan = record.Plan{
		Scenario: s.Name, Question: s.Question, Source: s.Source, Cell: s.Cell, Pack: o.Pack, Seed: o.Seed, Note: o.Note, Command: o.Command,
		Connections: s.Load.Connections, Stamps: cmp.Or(o.Stamps, "basic"),
	}
	by.Record(&p.Plan)
	// The stamp that full adds, when the kernel received a request, exists on Linux only.
	if o.Stamps == "" && runtime.GOOS == "linux" {
		p.Stamps = record.StampsFull
	}
	var words record.SiteWords
	if o.Site != nil {
		words = o.Site.Describe().Words
		if o.Stamps != "" && o.Stamps != record.StampsOff {
			return plan{}, impossibleBy("stamps", "--stamps %s: the clocks of several machines are too far apart for stamps; leave it out", o.Stamps)
		}
		if o.Engine == load.EngineVegeta {
			return plan{}, impossibleBy("engine", "--engine vegeta: %s begin at one agreed moment, which only the engine spin can; leave it out", words.Senders)
		}
		p.Stamps = record.StampsOff
	}
	// The files come first, because a log fixes the rate of the arms.
	for _, step := range []func(p *plan) error{(*plan).openFiles, (*plan).takeArms, by.schedule} {
		if err := step(&p); err != nil {
			return plan{}, err
		}
	}
	// This check is last, so that faults in a scenario are found on every machine.
	if n := len(cpus.Server); s.Needs.ServerCPUs > n {
		mend := ""
		switch {
		case words.CPUs != "":
			mend = fmt.Sprintf("; give %s %d", words.CPUs, s.Needs.ServerCPUs)
		case o.CPUs != "" && o.CPUs != FreeCPUs:
			mend = fmt.Sprintf("; --cpus %s gives it that many", o.CPUs)
		}
		return plan{}, &Impossible{Machine: true, msg: fmt.Sprintf("scenario %q needs %s for the server, and has %d here: the models would not differ in what it asks%s",
			s.Name, prose.Plural(s.Needs.ServerCPUs, "CPU"), n, mend)}
	}
	if !o.Machine.None() {
		p.doubt(machineUnfit.Of(unfitness{}).Since(o.Machine))
	}
	p.warn()
	return p, nil
}

// openFiles opens the scenario's files, and raises doubts about gaps in an access log. A log may
// have lines that cannot be replayed, or times in whole seconds.
func (p *plan) openFiles() error {
	if err := p.scenario.Open(); err != nil {
		return impossible("%v", err)
	}
	p.Asked, p.Classes = p.scenario.Asked(), p.scenario.Workload.Recorded()
	if p.scenario.Log == nil {
		return nil
	}
	l := p.scenario.Log.Log()
	if said := l.LeftOut(); said != "" {
		p.doubt(doubt.LogLinesLeftOut.Of(doubt.Lines{File: p.scenario.Log.File, Said: said}))
	}
	if l.Whole {
		p.doubt(wholeSeconds.Of(logFile{p.scenario.Log.File}))
	}
	return nil
}

// takeExpectations takes the scenario's assertions and claims, without those about arms that are not compared:
// --arms and --vary may leave out arms of the scenario. It raises a doubt about assertions left out.
func (p *plan) takeExpectations() {
	var arms []string
	for _, a := range p.Arms {
		arms = append(arms, a.Name)
	}
	absent := 0
	take := func(e expect.Expectation) (known bool) {
		if e.CheckArms(arms) != nil {
			absent++
			return false
		}
		p.Expect = append(p.Expect, e)
		return true
	}
	for _, e := range p.scenario.Expect {
		take(e)
	}
	claims := map[string]string{}
	for _, c := range p.scenario.Claims {
		// The sentence may name arms, too.
		if c.Says.CheckArms(arms) == nil && take(c.When) {
			claims[c.When.String()] = c.Says.String()
		}
	}
	if len(claims) > 0 {
		p.Claims = claims
	}
	if absent > 0 {
		p.doubt(expectationsLeftOut.Of(leftOut{absent}))
	}
}

// takeArms sets the arms of the plan.
func (p *plan) takeArms() error {
	asked := p.scenario.Contestants()
	if len(asked) > scenario.MaxArms {
		return impossibleBy("arms", "%d arms are more than %d; drop some", len(asked), scenario.MaxArms)
	}
	// Before the arms are counted: who mistypes one of two should read of that.
	for _, a := range asked {
		if _, _, err := p.served(a); err != nil {
			return &Impossible{Place: a.Place, Flag: a.Flag, msg: fmt.Sprintf("arm %q: %v", a.Name, err)}
		}
	}
	arms, err := p.strategy.cast(asked)
	if err != nil {
		return err
	}
	for _, a := range arms {
		if slices.ContainsFunc(p.Arms, func(earlier arm) bool { return earlier.Name == a.Name }) {
			return impossibleBy(a.Flag, "two arms are called %q; name one of them otherwise", a.Name)
		}
		if err := p.takeArm(a.Arm, a.role); err != nil {
			return impossibleBy(a.Flag, "arm %q: %v", a.Name, err)
		}
	}
	return p.chooseEngine()
}

// chooseEngine gives all open loops the engine that some arm's clients need, where the user chose none: two engines would
// differ by more than many servers do.
func (p *plan) chooseEngine() error {
	i := slices.IndexFunc(p.Arms, func(a arm) bool { return load.EngineFor(a.Clients) != "" })
	if i < 0 {
		return nil
	}
	engine := load.EngineFor(p.Arms[i].Clients)
	if p.opts.Site != nil {
		words := p.opts.Site.Describe().Words
		return impossible("arm %q: %s begin at one agreed moment, which only the engine spin can, and that speaks HTTP/1.1 without TLS; leave TLS and HTTP/2 out", p.Arms[i].Name, words.Senders)
	}
	for k := range p.Arms {
		a := &p.Arms[k]
		if err := scenario.CheckEngine(engine, a.load); err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		if _, err := load.Transport(a.Clients); err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		a.Clients.Engine = engine
	}
	p.cpus.Vegeta = true
	if p.opts.Engine == "" {
		p.doubt(engineChosen.Of(chosen{Engine: engine}))
	}
	return nil
}

// served returns an arm with the present spelling of its mode and flags, and that mode; of another program the zero
// mode. It asks the mode whether its server would take the flags, and looks for another program, instead of finding out
// when it is started.
func (p *plan) served(a scenario.Arm) (scenario.Arm, mode.Mode, error) {
	a, err := a.Renamed()
	m, ours := p.opts.Modes[a.Mode]
	switch {
	case err != nil:
		return a, m, err
	case a.Mode != "" && !ours:
		names := slices.Sorted(maps.Keys(p.opts.Modes))
		if a.Flag == "arms" && p.opts.EveryMode != "" {
			names = append(names, p.opts.EveryMode)
		}
		return a, m, fmt.Errorf("unknown mode %q %s", a.Mode, prose.Choice(a.Mode, names))
	case m.Check != nil:
		return a, m, m.Check(a.Flags)
	case len(a.Command) == 0:
		return a, m, nil
	}
	program := a.Command[0]
	_, image := strings.CutPrefix(program, cmdline.ImageMark)
	switch {
	case image && p.opts.Site == nil:
		mend := ""
		if p.opts.ForImages != "" {
			mend = ", or see " + p.opts.ForImages
		}
		return a, m, fmt.Errorf("%s is an image, and this machine runs programs: give the arm as './PROGRAM -listen %s'%s", program, cmdline.AddrMark, mend)
	case !image && p.opts.Site != nil:
		return a, m, fmt.Errorf("%s is a program, and %s runs images: give the arm as '%sREGISTRY/NAME@sha256:... -listen %s'",
			program, p.opts.Site.Describe().Words.Name, cmdline.ImageMark, cmdline.AddrMark)
	}
	if _, err := exec.LookPath(program); err != nil && !image {
		return a, m, fmt.Errorf("%w; give a program's path, or a name in PATH", err)
	}
	return a, m, nil
}

// takeArm adds an arm to the plan. The plan has its mode as it was typed, and the command has the present
// spelling. The error does not name the arm.
func (p *plan) takeArm(asked scenario.Arm, role record.Role) error {
	o, typed := p.opts, asked.Mode
	asked, mode, err := p.served(asked)
	if err != nil {
		return err
	}
	// The copy would repeat every doubt about the baseline.
	doubt := func(f fact.Fact) {
		if f.Arm = asked.Name; role != record.Copy {
			p.doubt(f)
		}
	}
	if len(asked.Command) > 0 {
		doubt(otherProgram.Of(readyPath{p.scenario.ReadyPath(asked)}))
	}
	if asked.URL != "" {
		doubt(runsAlready)
	}
	if err := p.checkLimit(asked); err != nil {
		return err
	}
	l, err := p.scenario.Clients(asked)
	if err != nil {
		return err
	}
	if bad := l.Check(); bad != nil {
		return fmt.Errorf("%s %s", bad.Path, bad.Msg)
	}
	if err := scenario.CheckEngine(o.Engine, l); err != nil {
		return err
	}
	if o.Site != nil && (l.Deadline > 0 || l.Retries > 0) {
		return fmt.Errorf("%s send each request once and wait for it; leave out deadline and retries", o.Site.Describe().Words.Senders)
	}
	// Without another rate, a log is replayed at its own speed.
	if p.scenario.Log != nil && l.Rate == (scenario.Rate{}) {
		l.Rate.PerSecond = scenario.Rounded(p.scenario.Log.OwnRate())
	}
	// A server keeps the stamps of at most MaxPending requests under way on a connection.
	stamps := p.Stamps
	if l.Pipeline > timeline.MaxPending {
		stamps = record.StampsOff
		doubt(pipelineTooDeep.Of(pipeline{Most: timeline.MaxPending, Pipeline: l.Pipeline}))
	}
	if asked.Mode != "" && l.HTTP == "2" {
		stamps = record.StampsOff
		doubt(streamsUnstamped)
	}
	a := arm{asked: asked, load: l, PlanArm: record.PlanArm{
		Name: asked.Name, Mode: typed, Role: role, CopyOf: asked.CopyOf, Command: asked.Argv(o.Self, o.Iters, stamps), KeepAlive: l.KeepAlive,
		Clients: l.Recorded(o.Engine), Stamps: asked.Flags["stamps"], Levels: asked.Levels, Family: asked.Family,
		URL: asked.URL, Metrics: asked.Metrics, Procs: p.setup(asked).own,
	}}
	if mode.Station != "" {
		a.Station = new(p.stationOf(asked))
	}
	if !a.Clients.Closed() && p.scenario.Log == nil {
		if a.arrivals, err = p.openArrivals(l.Arrivals); err != nil {
			return err
		}
	}
	p.Arms = append(p.Arms, a)
	return nil
}

// checkLimit returns an error if this machine cannot put the CPU limit of an arm on its server. It makes such a
// control group and removes it.
func (p *plan) checkLimit(asked scenario.Arm) error {
	cpus := asked.CPULimit()
	if cpus == 0 {
		return nil
	}
	if p.opts.Site != nil {
		return fmt.Errorf("limit: %s sets the CPU limit of all servers alike; leave limit out", p.opts.Site.Describe().Words.Name)
	}
	limit, err := host.NewLimit(cpus)
	if err != nil {
		return err
	}
	return limit.Remove()
}

// openArrivals returns the arrivals of an open loop, ready to draw from. A trace file is read once for all
// arms; every trial draws from its content then. text is as in a scenario, such as poisson or trace(FILE).
func (p *plan) openArrivals(text string) (arrivals.Process, error) {
	for _, earlier := range p.Arms {
		if !earlier.Clients.Closed() && earlier.Clients.Arrivals == text {
			return earlier.arrivals, nil
		}
	}
	a, _ := arrivals.Parse(text) // Load.Check has parsed it
	return a.Open(p.iters())
}

// iters returns the iterations in a microsecond of CPU time, which turn a demand into iterations.
// Without a calibration, one iteration counts as a microsecond.
func (p plan) iters() float64 { return cmp.Or(p.opts.Iters, 1) }

// takeTimes sets windows, blocks and their orders, looks and budget. Flags override the scenario, and the
// scenario overrides the defaults. Impossible settings are an error that names the flag.
func (p *plan) takeTimes() error {
	o, asked, needs := p.opts, p.scenario.Protocol, p.needs()
	finer, usual := needs.Stretch, scenario.Quick
	spare := p.strategy.policy().spare
	switch {
	case needs.Capacity && slices.Contains(needs.Must, stats.Capacity): // the others need longer windows, of which it would leave fewer
		usual = scenario.Saturated
	case spare > 0:
		usual = scenario.Racing
	}
	stretched := func(d time.Duration) time.Duration { return time.Duration(float64(d) * finer) }
	window := cmp.Or(o.Window, stretched(cmp.Or(time.Duration(asked.Window), usual.Window)))
	warmup := cmp.Or(o.Warmup, time.Duration(asked.Warmup), max(usual.Warmup, p.untilStarved()))
	p.Blocks = cmp.Or(o.Blocks, asked.Blocks, scenario.MaxBlocks)
	switch {
	case p.Blocks < scenario.MinBlocks:
		return impossibleBy("blocks", "--blocks %d is below %d, too few for any verdict", p.Blocks, scenario.MinBlocks)
	case p.Blocks > scenario.MaxBlocks:
		return impossibleBy("blocks", "--blocks %d is above %d, the last look; lengthen the windows instead", p.Blocks, scenario.MaxBlocks)
	}
	if err := CheckSpan(warmup, window); err != nil {
		return err
	}
	heating := p.heating(o.Warmup) // a scenario's own warm-up is as it says
	p.Heating, p.Warmup, p.Window = record.Lasting(heating), record.Lasting(warmup-heating), record.Lasting(window)
	p.budget = stretched(cmp.Or(time.Duration(asked.Budget), usual.Budget))
	// The same number of blocks takes longer on another site.
	if o.Site != nil {
		here := p.span() + trialCost
		p.budget = roundUp(time.Duration(float64(p.budget)*float64(here+o.Site.TrialCost())/float64(here)), time.Second)
	}
	p.budget = cmp.Or(o.Budget, p.budget)
	// A race has shorter windows than the scenario's, where these would leave no time for it.
	for l := p.limits(); spare > 0 && o.Window == 0 && window > ShortestWindow && p.costOf(window, l.roomy) > p.budget; {
		window = max(window-windowStep, ShortestWindow)
	}
	p.Window = record.Lasting(window)
	// Long windows or warm-ups of flags get a budget that has room for them, unless that was chosen, too.
	long := o.Window > stretched(usual.Window) || o.Warmup > usual.Warmup
	if l := p.limits(); long && !l.budget && spare == 0 && p.cost(scenario.MinBlocks) <= scenario.Full.Budget {
		cost := roundUp(p.cost(min(max(l.first, roomyBlocks), p.Blocks)), time.Second)
		if room := min(cost, scenario.Full.Budget); room > p.budget {
			p.budget, p.grown = room, room
		}
	}
	// Fewer blocks than MinBlocks decide nothing, so do not even start. A race needs more, which it checks itself.
	if cost := p.cost(scenario.MinBlocks); spare == 0 && cost > p.budget {
		return &Impossible{Needs: roundUp(cost, time.Second), Flag: "budget", msg: fmt.Sprintf("%d blocks of %d arms (%s is the baseline again, for the A/A control) take %v, more than the budget of %v; raise --budget, drop arms or shorten --window",
			scenario.MinBlocks, len(p.Arms), p.Arms[1].Name, cost.Round(time.Second), p.budget)}
	}
	p.asked = times{window, p.budget}
	// Looks beyond the last block never come.
	p.Looks = slices.DeleteFunc(stats.Looks(), func(n int) bool { return n > p.Blocks })
	// Each block's order is drawn independently. Only then is the sign of a block's log-ratio a fair coin
	// between two identical arms, whatever drifts on the machine. The seed fixes all orders.
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	for range p.Blocks {
		p.Order = append(p.Order, rng.Perm(len(p.Arms)))
	}
	return nil
}

// ShortestWindow is the shortest window of a trial.
const ShortestWindow = 100 * time.Millisecond

// untilStarved returns the warm-up in which an open loop gives each kept connection a request, in an
// arm that starves some of them, with four standard deviations for chance. Then no request of the
// window starves, and a trial need not wait until it times out. It is 0 without such an arm, for a
// rate that is not known yet, and where this takes no less than the timeout.
func (p plan) untilStarved() (warmup time.Duration) {
	for _, a := range p.Arms {
		if c := a.Clients; !c.Closed() && c.Rate > 0 && p.starves(a) {
			n := float64(c.Connections)
			need := (n + 4*math.Sqrt(n)) / c.Rate
			if need < p.Timeout.Seconds() {
				warmup = max(warmup, record.Duration(need).Truncate(windowStep)+windowStep)
			}
		}
	}
	return warmup
}

// CheckSpan returns an error if a trial cannot have this warm-up and window. A window must be 100ms or longer, and
// neither may be longer than a day.
func CheckSpan(warmup, window time.Duration) error {
	switch {
	case window < ShortestWindow || window > scenario.Longest:
		return impossibleBy("window", "--window %v is outside %v to %v", window, ShortestWindow, scenario.Longest)
	case warmup < 0 || warmup > scenario.Longest:
		return impossibleBy("warmup", "--warmup %v is outside 0 to %v", warmup, scenario.Longest)
	}
	return nil
}

// span returns how long a trial's load lasts, warm-up included.
func (p plan) span() time.Duration { return p.Warmup.Duration + p.Window.Duration }

// cost returns about how long a run of blocks blocks takes. It is an estimate, without the time
// that servers need beyond the usual to start and end.
func (p plan) cost(blocks int) time.Duration { return p.costOf(p.Window.Duration, blocks) }

// costOf returns about how long a run of blocks blocks with windows of length window takes.
func (p plan) costOf(window time.Duration, blocks int) time.Duration {
	cost := time.Duration(blocks)*p.blockCost(window) + time.Duration(blocks*len(p.Arms))*judging + fixedCost
	// There is a probe of the load's share of the CPUs, and one of each arm whose kind of server differs.
	if _, ok := p.sharingArm(); ok {
		cost += shareCost
	}
	for i, a := range p.Arms {
		if p.probes(a) && p.sameAs(i) < 0 {
			cost += probeCost - probeWindow + p.probeFor() + p.heatCost()
		}
	}
	return cost
}

// heatCost returns how long it takes at most to heat a server.
func (p plan) heatCost() time.Duration {
	if p.Heating.Duration == 0 {
		return 0
	}
	return p.Heating.Duration + mostSettling
}

// blockCost returns about how long a block with windows of length window takes.
func (p plan) blockCost(window time.Duration) (cost time.Duration) {
	span := p.Warmup.Duration + window
	each := trialCost + p.heatCost()
	if turn := p.turn(window); turn > 0 {
		each += turn + p.turnWarm()
	}
	if p.opts.Site != nil {
		each += p.opts.Site.TrialCost()
	}
	for _, a := range p.Arms { // the rate is 0 if it is not known yet: in a closed loop, or if it is relative
		cost += span + each + time.Duration(min(a.Clients.Rate*span.Seconds(), MostRequests))*requestCost
	}
	return cost
}

// doubt adds a doubt to the plan.
func (p *plan) doubt(f fact.Fact) { p.Doubts = append(p.Doubts, f) }
