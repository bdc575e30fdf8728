package judge

import (
	"cmp"
	"slices"
	"strings"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Busy returns the fact that others took more than a tenth of the CPUs of the servers or of the load; no fact if they did not, or
// if the machine does not tell. It names the side from which more was taken. It also names the cause that took most there, if
// that is half of it or more, and else the largest cause with its share, and then the others. e tells which CPUs the sides have.
func Busy(o *record.Others, e record.Env) fact.Fact {
	if o.Quiet() {
		return fact.Fact{}
	}
	side, of := record.ServerSideCPU, e.ServerCPUs
	if o.On(record.LoadSideCPU) > o.On(side) {
		side, of = record.LoadSideCPU, e.LoadCPUs
	}
	total := o.On(side)
	kinds := map[string]float64{} // of causes that are no visible program
	var largest record.Trouble    // of the programs
	for _, t := range o.Troubles {
		switch kind := kindOf[t.Cause]; {
		case t.Cause == record.Program && t.On(side) > largest.On(side):
			largest = t
		case kind != "" && t.Disturbs(side):
			kinds[kind] += t.On(side)
		}
	}
	// The result has all causes; a sentence has room for few.
	causes := slices.DeleteFunc(slices.Clone(o.Troubles), func(t record.Trouble) bool {
		return !t.Disturbs(side) || t.On(side) < doubtShare
	})
	slices.SortStableFunc(causes, func(a, b record.Trouble) int { return cmp.Compare(b.On(side), a.On(side)) })
	shown := side
	if e.ServerCPUs == e.LoadCPUs { // neither is bound, or they have the same
		shown = record.BothSides
	}
	cpus := doubt.Taken{Side: string(shown), CPUs: cpuset.Count(of, e.CPUs)}
	words := doubt.MachineBusy.Of(cpus).Part("cpus")
	var because []fact.Fact
	for _, t := range causes[:min(len(causes), mostCauses)] {
		because = append(because, tookOf(t, side, words))
	}
	who, share := "", largest.On(side)
	for _, kind := range []string{doubt.UnseenPrograms, doubt.Hypervisor, doubt.Interrupts} {
		if kinds[kind] > share {
			who, share = kind, kinds[kind]
		}
	}
	several, most, rest := share < total/2, 0., 0.
	if several {
		share, most, rest = total, share, total-share
	}
	busy := doubt.Taken{
		Side: cpus.Side, CPUs: cpus.CPUs, Share: min(share, 1), Who: who,
		Watched: &doubt.Watched{Others: several, Most: most, Rest: rest, More: len(causes) - len(because), Seconds: o.Seconds},
		// The answer has twelve words at most.
		Brief: several || who != "" || strings.Contains(largest.Program, " "),
	}
	if who == "" {
		busy.OfProgram = &doubt.OfProgram{Program: largest.Program, PID: largest.PID}
	}
	return doubt.MachineBusy.Of(busy).Since(because...)
}

// kindOf maps the causes that are no program to what took the time.
var kindOf = map[record.Cause]string{
	record.Passing: doubt.UnseenPrograms, record.Stolen: doubt.Hypervisor, record.Interrupt: doubt.Interrupts, record.SoftIRQ: doubt.Interrupts,
}

// mostCauses is the largest number of causes that a sentence names.
const mostCauses = 3

// busy returns the fact that others took much of the CPUs during the run, with the effect on the run; no fact if they did not. It
// is Open if the question of the run is open and noise may be the reason.
//
// The watchdog saw the whole run. If it was quiet as a whole, the windows' own figure tells whether they were disturbed, as by a
// program that began late.
func (b blocks) busy(r *record.Comparison) fact.Fact {
	f := Busy(r.Others, r.Env)
	if f.None() {
		share := 0. // of the servers' CPUs, the most that other programs used while an arm ran
		for _, a := range r.Arms {
			if a.Disturbed != nil {
				share = max(share, a.Disturbed.Foreign)
			}
		}
		if share < muchForeign {
			return f
		}
		f = doubt.MachineBusy.Of(doubt.Taken{Side: string(record.ServerSideCPU), CPUs: ServerCPUs(r.Env), Share: share, Who: doubt.OtherPrograms, Brief: true})
	}
	busy, _ := fact.In(doubt.MachineBusy, f)
	// The widest interval shows what the run cannot tell. Of a gate these are the intervals of its own answers.
	verdicts := r.Verdicts
	if len(r.Gate) > 0 {
		verdicts = nil
		for _, g := range r.Gate {
			verdicts = append(verdicts, g.Verdict(r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name))
		}
	}
	for _, v := range verdicts {
		if v.Primary && v.Verdict.Outcome == outcome.Open && v.Low > 0 && v.High/v.Low > max(1, busy.High/max(busy.Low, 1e-9)) {
			f = f.Against(v.Baseline).At(v.Metric.String())
			busy.Challenger, busy.Low, busy.High = v.Arm, v.Low, v.High
		}
	}
	busy.Open = going(r.Status) && b.aim.open(r, r.Valid >= stats.Looks()[0])
	return doubt.MachineBusy.Of(busy).Replacing(f)
}

// muchForeign is the ratio of the servers' CPU time from which other programs made the windows busy, although the watchdog saw no
// more than a tenth over the run.
const muchForeign = .25

// going reports whether a run was not cut short. One that was has no answer for that reason.
func going(s record.Status) bool { return s == record.Complete || s == record.Running }

// mayBeOthers reports whether a verdict was refused for something that others cause when they take CPU time: noise, or an
// arm that falls behind or lets requests time out although its own work would not fill its CPUs.
func mayBeOthers(r *record.Comparison, why fact.Fact) bool {
	behind := why.Find(func(f fact.Fact) bool {
		return f.Code == causeOverload.Code || causeNoReplies.Code.Is(f) || doubt.TooManyFailed.Code.Is(f)
	})
	if behind.None() {
		return ofNoise(why)
	}
	a := armOf(r.Arms, behind.Arm)
	if a == nil || doubt.TooManyFailed.Code.Is(behind) && 2*a.Failures[request.TimedOut.String()] <= a.Errors {
		return false
	}
	cost := 0. // CPU time of a request; if the arm's is not known, because it gave no reply in a window, the largest of the others
	for _, other := range r.Arms {
		if other.CPUPerRequest != nil && (a.CPUPerRequest == nil || other.Name == a.Name) {
			cost = max(cost, *other.CPUPerRequest)
		}
	}
	return cost*cmp.Or(a.Clients.Rate, r.Rate) < float64(ServerCPUs(r.Env))
}

// ofNoise reports whether a verdict was refused for what disturbed the run, and not for what an arm did.
func ofNoise(why fact.Fact) bool {
	return why.RestsOn(causeNoBlocks.Code, causeTaken.Code, causeAA.Code, causeDrift.Code, causeImbalance.Code, causeSensitivity.Code)
}

// withoutAdvice returns the plan's doubts. If busy is a fact, it removes the advice of a larger budget from them: other programs
// are then the reason for open verdicts, and not the number of blocks.
func withoutAdvice(doubts []fact.Fact, busy fact.Fact) []fact.Fact {
	if busy.None() {
		return doubts
	}
	all := slices.Clone(doubts)
	for i, d := range all {
		if of, is := fact.In(doubt.BudgetEnded, d); is {
			all[i] = doubt.BudgetEnded.Of(doubt.Ended{Blocks: of.Blocks, Open: of.Open, Verdicts: of.Verdicts, Busy: true}).Replacing(d)
		}
	}
	return all
}

// withoutFirstLook drops the plan's doubt that other programs were busy before the first block, if the watchdog saw the
// whole run. Its own figures then tell how much they took, which may be next to nothing.
func withoutFirstLook(doubts []fact.Fact, seen *record.Others) []fact.Fact {
	if seen == nil {
		return doubts
	}
	return slices.DeleteFunc(slices.Clone(doubts), func(d fact.Fact) bool { return slices.ContainsFunc(d.Because, passes) })
}

// passes reports whether a fact is about a machine that other programs kept busy before the run.
func passes(f fact.Fact) bool {
	fitness, _ := fact.In(doubt.MachineVerdict, f)
	return fitness.Passing
}

// stoodStill returns a doubt if a block was left out because the load stood still in a window.
func (b blocks) stoodStill() []fact.Fact {
	longest, windows := record.Refusal{}, 0
	for _, x := range b.refused {
		if x.Rule == window.RuleStoodStill {
			windows++
			if x.Value > longest.Value {
				longest = x
			}
		}
	}
	if windows == 0 {
		return nil
	}
	return []fact.Fact{loadStoodStill.Of(stillness{Seconds: longest.Value, Block: longest.Block, More: windows - 1}).On(longest.Arm)}
}
