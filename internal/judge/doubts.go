package judge

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/doubt"
	"schedlab/internal/outcome"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// doubts returns everything that speaks against a result, the heaviest first. That others took much of the CPUs comes
// before all; if noise left verdicts open, what else explains it follows. of holds the doubts about the record and the servers. A doubt never changes a verdict: a reason that is
// strong enough refuses it instead (refuse.go, verdicts.go).
func (b blocks) doubts(r *record.Result, of []record.Fact) []record.Fact {
	busy := b.busy(r)
	all := record.ByWeight(slices.Concat(
		b.standing(r), b.stoodStill(), othersDoubts(b.run.Others), withoutAdvice(withoutFirstLook(b.run.Plan.Doubts, r.Others), busy), of, b.silent(), b.lost(r.Arms), b.unsent(), b.limited(), HostDoubts(r.Env),
	))
	if undecided(r) {
		slices.SortStableFunc(all, func(a, b record.Fact) int { return stats.Count(b.Disturbs()) - stats.Count(a.Disturbs()) })
	}
	if f := b.copyHides(r); !f.None() {
		all = slices.Insert(all, 0, f)
	}
	if !busy.None() {
		all = slices.Insert(all, 0, busy)
	}
	return all
}

// undecided reports whether noise may be the reason that a run has no answer: a primary verdict is open, or a
// disturbance refused one, or no block counts. A run that was cut short has another reason.
func undecided(r *record.Result) bool {
	return r.Status == record.Complete && slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && (v.Verdict.Outcome == outcome.Open || ofNoise(v.Reason))
	})
}

// standing returns the doubts that apply to every verdict. r has its arms and counts already.
func (b blocks) standing(r *record.Result) (all []record.Fact) {
	all = Planted(b.run.Plan)
	add := func(f record.Fact) { all = append(all, f) }
	if r.Status != record.Complete {
		f := notComplete(b.run)
		f.Values = record.Values{"valid": float64(r.Valid)}
		add(f)
	}
	if n := r.Ran - r.Valid; n > 0 {
		add(record.Fact{Code: blocksLeftOut, Values: record.Values{"blocks": float64(n), "ran": float64(r.Ran)}, Names: record.Names{"rules": strings.Join(r.LeftOutFor(), ", ")}})
	}
	for _, a := range r.Arms {
		if a.Starves() {
			add(b.starved(a))
		}
		if f := b.redirects(a); !f.None() {
			add(f)
		}
		if d := a.Disturbed; d != nil && d.Load > window.ShareLimit && a.Role != record.Copy {
			add(record.Fact{Code: loadTookCPU, Arm: a.Name, Values: record.Values{"share": d.Load, "most": window.ShareLimit}, Names: record.Names{"cpus": r.Env.SharedCPUs().Words()}})
		}
		switch {
		case b.over[a.Name] && b.generatorBound[a.Name]:
			add(doubt.GeneratorLimit.On(a.Name))
		case b.over[a.Name]:
			add(doubt.Overloaded.On(a.Name))
		}
	}
	return append(all, oneCPU(r)...)
}

// plantFlags matches the flags of serve that plant a fault, with their values.
var plantFlags = regexp.MustCompile(`--plant(-cpu)?[= ]\S+`)

// Planted returns a doubt for each arm that is started with a planted fault, to test schedlab itself.
func Planted(p record.Plan) (all []record.Fact) {
	for _, a := range p.Arms {
		if flags := plantFlags.FindAllString(command.Join(a.Command), -1); flags != nil && a.Role != record.Copy {
			all = append(all, record.Fact{Code: faultPlanted, Arm: a.Name, Names: record.Names{"flags": strings.Join(flags, " ")}})
		}
	}
	return all
}

// notComplete returns the doubt about a run that is not complete, with its status and the first line of its error.
func notComplete(run record.Run) record.Fact {
	f := record.Fact{Code: runNotComplete, Names: record.Names{"status": string(run.Status)}}
	if run.Failure != "" {
		f.Names["error"] = prose.FirstLine(run.Failure)
	}
	return f
}

// oneCPU returns a doubt if no arm had more than one CPU.
func oneCPU(r *record.Result) []record.Fact {
	if serverCPUs(r.Env) > 1 || slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return record.CountCPUs(a.CPUs, 1) > 1 }) {
		return nil
	}
	return []record.Fact{{Code: onlyOneCPU}}
}

// tenths rounds a time to tenths of a millisecond, upwards.
func tenths(seconds float64) float64 { return math.Ceil(seconds*1e4) / 1e4 }

// HostDoubts returns the doubts about any run with server and load on one machine, or on a cluster.
func HostDoubts(e record.Env) (all []record.Fact) {
	if c := e.Cluster; c != nil {
		f := record.Fact{Code: onCluster, Values: record.Values{"clock": tenths(c.ClockError), "late": tenths(c.Late)}}
		both := slices.DeleteFunc(slices.Clone(c.ServerNodes), func(node string) bool { return !slices.Contains(c.LoadNodes, node) })
		if len(both) > 0 {
			f.Names = record.Names{"shared": strings.Join(both, ", ")}
		}
		return []record.Fact{f}
	}
	if e.Virtualised {
		all = append(all, virtualised)
	}
	return append(all, oneHost)
}

// lost returns a doubt for each arm with a server that could not keep all its stamps. It refuses
// no verdict, because the newest requests have their stamps.
func (b blocks) lost(arms []record.Arm) (all []record.Fact) {
	for _, a := range arms {
		windows := 0
		for _, w := range b.of(a.Name) {
			// A server may drop stamps of requests outside the window, which lacks nothing then.
			windows += stats.Count(w.Phases.Lost > 0 && w.Phases.Joined < w.Phases.Good)
		}
		if windows > 0 {
			all = append(all, record.Fact{Code: stampsLost, Arm: a.Name, Values: record.Values{
				"windows": float64(windows), "of": float64(len(b.valid)), "joined": a.Joined,
			}})
		}
	}
	return all
}

// unsent returns a doubt for each arm that left more than unsentLimit of its paced requests unsent.
func (b blocks) unsent() (all []record.Fact) {
	for _, a := range b.run.Plan.Arms {
		if unsent := b.unsentShare(a.Name); unsent > 0 && a.Role != record.Copy {
			all = append(all, record.Fact{Code: unsentRequests, Arm: a.Name, Values: record.Values{"share": unsent, "rate": a.Clients.Rate}})
		}
	}
	return all
}

// limited returns a doubt for each arm with servers on a cluster that their CPU limit stopped for more
// than 1 % of the median window. It refuses no verdict: an arm that wants more CPU is stopped more.
func (b blocks) limited() (all []record.Fact) {
	for _, a := range b.run.Plan.Arms {
		share := medianOf(b.of(a.Name), func(w *modelled) float64 { return w.Trial.Server.Throttled / w.Trial.Window })
		if share > .01 && a.Role != record.Copy {
			all = append(all, record.Fact{Code: serverLimited, Arm: a.Name, Values: record.Values{"share": share}})
		}
	}
	return all
}

// incomplete returns the doubts about an incomplete record. found is the number of trials that it has, cut the number that
// were left half-written. A run that goes on has no number of trials yet, and misses none.
func incomplete(run record.Run, found, cut int) (all []record.Fact) {
	if missing := run.Trials - found; missing > 0 {
		all = append(all, record.Fact{Code: missingTrials, Values: record.Values{"missing": float64(missing), "trials": float64(run.Trials)}})
	}
	if cut > 0 {
		all = append(all, record.Fact{Code: trialsCut, Values: record.Values{"trials": float64(cut)}})
	}
	return all
}

// redirects returns the doubt about an arm that sent clients elsewhere; no fact for other arms. The status is
// the most frequent one.
func (b blocks) redirects(a record.Arm) (f record.Fact) {
	if a.Role == record.Copy {
		return f
	}
	share, most, status := 0., 0., 0
	for code := uint16(300); code < 400; code++ {
		if !record.Redirect(code) {
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
func (b blocks) starved(a record.Arm) record.Fact {
	f := record.Fact{Code: starvedConnections, Arm: a.Name, Values: record.Values{"starved": float64(a.StarvedConnections)}}
	if of := a.Fairness; of != nil {
		f.Values["asked"] = float64(of.Asked)
		if of.Short && of.Turns > 0 {
			// The time in which as many replies go out as there are connections: their turns would be
			// even in it if they came in order.
			round := b.run.Plan.Window / of.Turns * float64(of.Asked) / float64(of.Served)
			f.Values["turns"], f.Values["warmup"], f.Values["window"] = of.Turns, math.Ceil(2*round), math.Ceil(5*round)
		}
	}
	return f
}

// timeOf maps each cause that takes CPU time to the code of its fact.
var timeOf = map[record.Cause]record.Code{
	record.Stolen: stolenTime, record.Interrupt: interruptTime, record.SoftIRQ: softIRQTime,
	record.Program: programTime, record.Own: ownTime, record.Passing: passingTime,
}

// took returns the fact that a cause took a share of one CPU's time.
func took(t record.Trouble) record.Fact {
	return record.Fact{
		Code: timeOf[t.Cause], Values: record.Values{"share": t.Share, "cpu": float64(t.CPU), "pid": float64(t.PID), "processes": float64(t.Processes)},
		Names: record.Names{"side": string(t.Side), "program": t.Program, "parent": t.Parent},
	}
}

// TroubleSoFar returns the fact, for the screen, about a cause that disturbs a run while it goes on.
func TroubleSoFar(t record.Trouble) record.Fact {
	return record.Fact{Code: stillGoingOn, Because: []record.Fact{took(t)}}
}

// doubtShare is the ratio of a CPU's time, over the whole run, from which a cause is a doubt. Time without a known cause is a
// difference of two clocks that tick apart, so its limit doubtPassing is higher.
const doubtShare, doubtPassing = .01, .10

// othersDoubts returns one doubt about everything else that used the CPUs over the whole run, with the causes as its
// Because; nil if nothing used enough to matter, or so much that the machine was busy, which is another doubt (see Busy).
func othersDoubts(o *record.Others) []record.Fact {
	if o == nil || !o.Quiet() {
		return nil
	}
	var all []record.Fact
	for _, t := range o.Troubles {
		if t.Share >= doubtPassing || t.Cause != record.Passing && t.Share >= doubtShare {
			all = append(all, took(t))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []record.Fact{{Code: othersUsedCPUs, Values: record.Values{"seconds": o.Seconds}, Because: all}}
}

// An unchecked rule silently passes a window that lacks the figure it needs, and so looks like one that was kept.
// lacks gets a window and whether its server should have stamped.
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
		var names []string // arms that lack the figure in a valid window, or in any if none is valid; the copy only without its baseline
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
