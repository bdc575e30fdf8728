package judge

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// doubts returns everything that speaks against a result, the heaviest first. The doubt that other programs took much of the CPUs
// comes first of all; if noise left verdicts open, other disturbances follow it. of holds the doubts about the record and the
// servers. A doubt never changes a verdict: a reason that is strong enough refuses it instead (refuse.go, verdicts.go).
func (b blocks) doubts(r *record.Comparison, of []fact.Fact) []fact.Fact {
	busy := b.busy(r)
	all := fact.ByWeight(slices.Concat(
		b.standing(r), b.stoodStill(), othersDoubts(b.run.Others), withoutAdvice(withoutFirstLook(b.run.Plan.Doubts, r.Others), busy), of, b.silent(), b.lost(r.Arms), b.unsent(), b.limited(), hostDoubts(r),
	))
	if openByNoise(r) {
		slices.SortStableFunc(all, func(a, b fact.Fact) int { return stats.Count(b.Disturbs()) - stats.Count(a.Disturbs()) })
	}
	if f := b.copyHides(r); !f.None() {
		all = slices.Insert(all, 0, f)
	}
	if !busy.None() {
		all = slices.Insert(all, 0, busy)
	}
	return all
}

// openByNoise reports whether noise may be the reason that a run has no answer: a primary verdict is open, or a
// disturbance refused one, or no block counts. A run that was cut short has another reason.
func openByNoise(r *record.Comparison) bool {
	return r.Status == record.Complete && slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && (v.Verdict.Outcome == outcome.Open || ofNoise(v.Reason))
	})
}

// standing returns the doubts that apply to every verdict. r has its arms and counts already.
func (b blocks) standing(r *record.Comparison) (all []fact.Fact) {
	all = plantedFaults(b.run.Plan)
	add := func(f fact.Fact) { all = append(all, f) }
	if r.Status != record.Complete {
		run := b.run
		if r.Valid == 0 {
			run.Failure = "" // the reason of every verdict tells it
		}
		add(notComplete(run, &r.Valid))
	}
	if n := r.Ran - r.Valid; n > 0 {
		add(blocksLeftOut.Of(blocksLost{n, r.Ran, strings.Join(r.LeftOutFor(), ", ")}))
	}
	for _, a := range r.Arms {
		if a.Starves() {
			add(b.starved(a))
		}
		if f := b.redirects(a); !f.None() {
			add(f)
		}
		if f := b.cold(a); !f.None() && a.Role != record.Copy {
			add(f.On(a.Name))
		}
		if used := b.extrapolated(a.Name); used > 0 && a.Role != record.Copy {
			add(capacityWorkedOut.Of(usedCPU{used}).On(a.Name))
		}
		if d := a.Disturbed; d != nil && d.Load > window.ShareLimit && a.Role != record.Copy {
			add(loadTookCPU.Of(fromLoad{d.Load, window.ShareLimit, r.Env.SharedCPUs().Words()}).On(a.Name))
		}
		switch {
		case b.over[a.Name] && b.generatorBound[a.Name]:
			add(doubt.GeneratorLimit.On(a.Name))
		case b.over[a.Name]:
			add(doubt.Overloaded.Of(overloadOf(a)).On(a.Name))
		}
	}
	return all
}

// A server is cold if it answered coldGrowth times as much in the second half of its saturated turns as in the first, in the median, and
// in more of them than chance gives once in a thousand runs: coldTurns standard deviations above half of them. It is so, too, if
// it used most of its CPUs' time at the rate, and requests took coldBeside times the CPU time there that they take when it is
// saturated. (At a low rate they may take more for being woken up, but then the CPUs are mostly idle.)
const (
	coldGrowth = 1.1
	coldTurns  = 3.1
	coldBeside = 2
	coldBusy   = .7
	// longestAdvised is the longest warm-up that is advised, in seconds.
	longestAdvised = 30
)

// cold returns the doubt that an arm's servers were not warm when they were measured, which shows when they are saturated, after
// the window. No fact if they were, or if too few turns tell.
func (b blocks) cold(a record.Arm) (f fact.Fact) {
	said, plan := doubt.Cold{}, b.run.Plan
	// Only commands are kept busy in a long warm-up, and only here.
	started := !slices.ContainsFunc(plan.Arms, func(a record.PlanArm) bool { return a.Mode != "" || len(a.Command) == 0 })
	if longer := max(3, math.Ceil(3*(plan.Heating.Seconds()+plan.Warmup.Seconds()))); started && b.run.Env.Site == nil && longer <= longestAdvised {
		said.Warmup = longer
	}
	if said.Beside = b.beside(a.Name); said.Beside > 0 {
		return doubt.ColdServer.Of(said)
	}
	grew := b.knownOf(a.Name, func(w *modelled) stats.Opt { return w.Growth })
	faster := len(slices.DeleteFunc(slices.Clone(grew), func(g float64) bool { return g <= 1 }))
	n := float64(len(grew))
	if len(grew) < stats.Looks()[0] || float64(faster) < (n+coldTurns*math.Sqrt(n))/2 || stats.Median(grew) < coldGrowth {
		return f
	}
	said.Growth, said.Faster, said.Of = stats.Median(grew)-1, faster, len(grew)
	return doubt.ColdServer.Of(said)
}

// extrapolated returns the share of its CPUs' time that an arm's server used, in the median of the turns in which the load was at its
// limit before the server, so that capacity is worked out from it; 0 if there were none.
func (b blocks) extrapolated(arm string) float64 {
	if slices.ContainsFunc(b.series(arm, stats.Capacity), math.IsNaN) {
		return 0 // it is refused
	}
	used := b.knownOf(arm, func(w *modelled) stats.Opt {
		if s := w.Trial.Server.Saturated; s != nil && s.LoadLimited {
			return stats.Known(s.Used())
		}
		return stats.Opt{}
	})
	if len(used) == 0 {
		return 0
	}
	return stats.Median(used)
}

// knownOf returns a number of each of an arm's windows that has it.
func (b blocks) knownOf(arm string, of func(*modelled) stats.Opt) []float64 {
	return slices.DeleteFunc(b.each(arm, of), math.IsNaN)
}

// beside returns how many times the CPU time of a saturated server an arm took for a request at the rate, if it used most of its CPUs'
// time on something else than requests; 0 if it did not, or if too few turns tell.
func (b blocks) beside(arm string) float64 {
	times := b.knownOf(arm, func(w *modelled) stats.Opt { return w.Beside })
	busy := b.knownOf(arm, func(w *modelled) stats.Opt { return w.Busy })
	if len(times) < stats.Looks()[0] || stats.Median(times) < coldBeside || stats.Median(busy) < coldBusy {
		return 0
	}
	return stats.Median(times)
}

// plantFlags matches the flags of serve that plant a fault, with their values.
var plantFlags = regexp.MustCompile(`--plant(-cpu)?[= ]\S+`)

// plantedFaults returns a doubt for each arm that is started with a planted fault, to test schedlab itself.
func plantedFaults(p record.Plan) (all []fact.Fact) {
	for _, a := range p.Arms {
		if flags := plantFlags.FindAllString(cmdline.Join(a.Command), -1); flags != nil && a.Role != record.Copy {
			all = append(all, faultPlanted.Of(planted{strings.Join(flags, " ")}).On(a.Name))
		}
	}
	return all
}

// notComplete returns the doubt about a run that is not complete, with its status and the first line of its error. valid is
// the number of blocks by which it is judged, nil for a search.
func notComplete(run record.Run, valid *int) fact.Fact {
	return runNotComplete.Of(incomplete{Status: string(run.Status), Error: prose.FirstLine(run.Failure), Valid: valid})
}

// tenths rounds a time to tenths of a millisecond, upwards.
func tenths(seconds float64) float64 { return math.Ceil(seconds*1e4) / 1e4 }

// wordsOf returns the words of the site where servers and load ran, none for this machine.
func wordsOf(e record.Env) (words record.SiteWords) {
	if e.Site != nil {
		words = e.Site.Words
	}
	return words
}

// hostDoubts returns the doubts about the machine of a run, or about the site that it used, and about servers that all had one
// CPU.
func hostDoubts(r record.Result) (all []fact.Fact) {
	e := r.Head().Env
	several := func(a record.Contestant) bool { return cpuset.Count(a.CPUs, 1) > 1 }
	if ServerCPUs(e) <= 1 && !slices.ContainsFunc(r.Contestants(), several) {
		ours := func(a record.Contestant) bool { return a.Mode != "" }
		all = append(all, onlyOneCPU.Of(single{wordsOf(e).CPUs, !slices.ContainsFunc(r.Contestants(), ours)}))
	}
	if c := e.Site; c != nil {
		both := slices.DeleteFunc(slices.Clone(c.ServerMachines), func(name string) bool { return !slices.Contains(c.LoadMachines, name) })
		return append(all, onOtherSite.Of(machines{tenths(c.ClockError), tenths(c.Late), strings.Join(both, ", "), c.Words.Apart}))
	}
	if e.Virtualised {
		all = append(all, virtualised)
	}
	return append(all, oneHost)
}

// lost returns a doubt for each arm with a server that could not keep all its stamps. It refuses
// no verdict, because the newest requests have their stamps.
func (b blocks) lost(arms []record.Arm) (all []fact.Fact) {
	for _, a := range arms {
		windows := 0
		for _, w := range b.of(a.Name) {
			// A server may drop stamps of requests outside the window, which lacks nothing then.
			windows += stats.Count(w.Phases.Lost > 0 && w.Phases.Joined < w.Phases.Good)
		}
		if windows > 0 {
			all = append(all, stampsLost.Of(lost{windows, len(b.valid), a.Joined}).On(a.Name))
		}
	}
	return all
}

// unsent returns a doubt for each arm that left more than unsentLimit of its paced requests unsent.
func (b blocks) unsent() (all []fact.Fact) {
	for _, a := range b.run.Plan.Arms {
		if unsent := b.unsentShare(a.Name); unsent > 0 && a.Role != record.Copy {
			all = append(all, unsentRequests.Of(notSent{unsent, a.Clients.Rate}).On(a.Name))
		}
	}
	return all
}

// limited returns a doubt for each arm with servers that a CPU limit which is not the arm's own stopped for more
// than 1 % of the median window. It refuses no verdict: an arm that wants more CPU is stopped more.
func (b blocks) limited() (all []fact.Fact) {
	for _, a := range b.run.Plan.Arms {
		stopped := medianOf(b.of(a.Name), func(w *modelled) float64 { return w.Trial.Server.Throttled / w.Trial.Window.Seconds() })
		if own, _ := cmdline.Limit(a.Command); own == "" && stopped > .01 && a.Role != record.Copy {
			all = append(all, serverLimited.Of(limit{stopped, wordsOf(b.run.Env).CPUs}).On(a.Name))
		}
	}
	return all
}

// lacking returns the doubts about an incomplete record. found is the number of trials that it has, short the number that
// were left half-written. A run that goes on has no number of trials yet, and misses none.
func lacking(run record.Run, found, short int) (all []fact.Fact) {
	if n := run.Trials - found; n > 0 {
		all = append(all, missingTrials.Of(missing{n, run.Trials}))
	}
	if short > 0 {
		all = append(all, trialsCut.Of(cut{short}))
	}
	return all
}

// redirects returns the doubt about an arm that sent clients elsewhere; no fact for other arms. The status is
// the most frequent one.
func (b blocks) redirects(a record.Arm) (f fact.Fact) {
	if a.Role == record.Copy {
		return f
	}
	share, most, status := 0., 0., 0
	for code := uint16(300); code < 400; code++ {
		if !request.Redirect(code) {
			continue
		}
		of := 0.
		for _, w := range b.of(a.Name) {
			of += w.Status[code] / float64(len(b.valid))
		}
		if share += of; of > most {
			most, status = of, int(code)
		}
	}
	if share > statusLimit {
		f = doubt.Redirects.Of(doubt.Redirection{Share: share, Status: status}).On(a.Name)
	}
	return f
}

// starved returns the doubt about an arm that starved connections, or that had too little time to serve them.
func (b blocks) starved(a record.Arm) fact.Fact {
	f := starving{Starved: a.StarvedConnections}
	if of := a.Fairness; of != nil {
		f.Asked = of.Asked
		if of.Short && of.Turns > 0 {
			// If clients had their turns in order, each would have one reply in this time.
			round := b.run.Plan.Window.Seconds() / of.Turns * float64(of.Asked) / float64(of.Served)
			f.Turns, f.Warmup, f.Window = of.Turns, math.Ceil(2*round), math.Ceil(5*round)
		}
	}
	return starvedConnections.Of(f).On(a.Name)
}

// timeOf maps each cause that takes CPU time to the kind of its fact.
var timeOf = map[record.Cause]*fact.Kind[usage]{
	record.Stolen: stolenTime, record.Interrupt: interruptTime, record.SoftIRQ: softIRQTime,
	record.Program: programTime, record.Own: ownTime, record.Passing: passingTime,
}

// took returns the fact that a cause took a share of one CPU's time.
func took(t record.Trouble) fact.Fact {
	return timeOf[t.Cause].Of(usageOf(t))
}

// tookOf returns the fact that a cause took a share of a side's CPUs, which words name. Shares of one side can be compared.
func tookOf(t record.Trouble, side record.Side, words string) fact.Fact {
	u := usageOf(t)
	u.Share, u.Of = t.On(side), words
	return timeOf[t.Cause].Of(u)
}

func usageOf(t record.Trouble) usage {
	return usage{Share: t.Share, CPU: t.CPU, PID: t.PID, Processes: t.Processes, Side: string(t.Side), Program: t.Program, Parent: t.Parent}
}

// TroubleSoFar returns the fact, for the screen, about a cause that disturbs a run while it goes on.
func TroubleSoFar(t record.Trouble) fact.Fact {
	return stillGoingOn.Since(took(t))
}

// doubtShare is the ratio of a CPU's time, over the whole run, from which a cause is a doubt. Time without a known cause is a
// difference of two clocks that tick apart, so its limit doubtPassing is higher.
const doubtShare, doubtPassing = .01, .10

// othersDoubts returns one doubt about everything else that used the CPUs over the whole run, with the causes as its Because. It
// returns nil if nothing used enough to matter, and also if the machine was busy, because Busy has that doubt.
func othersDoubts(o *record.Others) []fact.Fact {
	if o == nil || !o.Quiet() {
		return nil
	}
	var all []fact.Fact
	for _, t := range o.Troubles {
		if t.Share >= doubtPassing || t.Cause != record.Passing && t.Share >= doubtShare {
			all = append(all, took(t))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []fact.Fact{othersUsedCPUs.Of(watched{o.Seconds}).Since(all...)}
}

// An unchecked is a rule that passes any window without the figure that it needs, so the report has to say that it was not
// checked. lacks gets a window and whether its server should have stamped.
type unchecked struct {
	rule, why string
	machine   bool // about the machine and the load's process, and not about an arm
	lacks     func(w *modelled, stamped bool) bool
}

// dataRules holds the rules that need a figure which a record may lack. Their names are the ones in a report.
var dataRules = []unchecked{
	{"unjoined requests and negative parts", "no server-side stamps were taken", false, func(w *modelled, stamped bool) bool { return !stamped || !w.Phases.Stamped }},
	{"imbalance of foreign load", "what others used of them is not known", false, func(w *modelled, _ bool) bool { return w.Trial.Server.Foreign < 0 }},
	{window.LawUtilisation, "the server's CPU time is not known", false, func(w *modelled, _ bool) bool { return w.Trial.Server.CPU < 0 }},
	{window.LawFlow + " (connections)", "the server shows no counters", false, func(w *modelled, _ bool) bool { return w.Trial.Server.Accepted < 0 }},
	{window.LawFlow + " (requests)", "the record does not tell what the load sent", false, func(w *modelled, _ bool) bool { return w.Trial.Client.Proof == nil }},
	{"imbalance of steal", "the kernel does not tell it", true, func(w *modelled, _ bool) bool { return w.Trial.Client.Steal < 0 }},
	{"imbalance of throttling", "the kernel does not tell it", true, func(w *modelled, _ bool) bool { return w.Trial.Client.Throttled < 0 }},
}

// notChecked lists, for people, the rules that could not be checked because the record lacks a figure. A rule about arms
// names the arms that lack it, unless all do. The list is empty and not nil if all was checked.
func (b blocks) notChecked() []string {
	missing := []string{}
	for _, u := range dataRules {
		var names []string // arms that lack the figure in a valid window, or in any if none is valid; the copy only if its baseline has it
		all := true
		for _, a := range b.run.Plan.Arms {
			lacks := false
			for block, arms := range b.windows {
				if w, ok := arms[a.Name]; ok && (len(b.valid) == 0 || slices.Contains(b.valid, block)) {
					lacks = lacks || u.lacks(w, Accounts(b.run.Plan, a.Name))
				}
			}
			all = all && lacks
			if lacks && (a.Role != record.Copy || len(names) == 0) {
				names = append(names, a.Name)
			}
		}
		if len(names) > 0 && (all || u.machine) {
			missing = append(missing, u.rule+": "+u.why)
		} else if len(names) > 0 {
			missing = append(missing, u.rule+" of "+strings.Join(names, ", ")+": "+u.why)
		}
	}
	return missing
}
