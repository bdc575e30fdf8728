package judge

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// modelled is a measured window together with the figures of its ideal twin. Its Values hold two of them: see twin.
type modelled struct {
	window.Window
	twin
	noTwin fact.Fact // why there is no twin; no fact if there is one
}

// windows holds the windows of a run by block number, from 1, and arm name. A block that was cut off lacks some arms.
type windows map[int]map[string]*modelled

// blocks holds the windows of a run and tells which blocks count. Its methods only read it.
type blocks struct {
	run            record.Run
	aim            Aim
	windows        windows
	judged         map[stats.Figure]bool // quantiles for which the windows have enough requests
	valid          []int                 // numbers of the blocks that count, ascending
	refused        []record.Refusal
	over           map[string]bool // overloaded arms: their queue grows without end
	behind         map[string]bool // arms, not bound by the generator, whose backlog grew to the end of each window so far, of behindFrom blocks or more
	generatorBound map[string]bool // overloaded arms with a load generator that had no CPU time left
}

// validate chooses the blocks that count: complete blocks in which all data are right. If the data of one arm are wrong,
// the block is left out for all arms. So is a block in which the machine stood still. An arm with a growing backlog in more
// than half of its windows is overloaded, which is no wrong data: the arm is judged by its goodput only.
//
// Noise leaves no block out, whatever caused it (docs/decisions, 18): intervals from all blocks contain the noise, and
// leaving out blocks by their values would bias the rest.
func validate(run record.Run, aim Aim, taken windows) blocks {
	b := blocks{
		run: run, aim: aim, windows: taken, judged: judgedQuantiles(run.Plan, taken), refused: []record.Refusal{},
		over: map[string]bool{}, behind: map[string]bool{}, generatorBound: map[string]bool{},
	}
	var complete []int
	for _, block := range slices.Sorted(maps.Keys(taken)) {
		// Blocks are compared in pairs of arms, so a block that lacks an arm has nothing to give.
		if len(taken[block]) == len(run.Plan.Arms) {
			complete = append(complete, block)
		}
	}
	wrong, stood := map[int][]record.Refusal{}, stalled(run.Plan.Arms, complete, taken)
	for _, a := range run.Plan.Arms {
		growing, full := 0, 0 // windows in which the backlog grew, and how many of them had the load's CPUs full
		for _, block := range complete {
			w := taken[block][a.Name]
			for _, broken := range w.Breaches(ServerCPUs(run.Env), b.judged, Accounts(run.Plan, a.Name)) {
				if broken.Rule == window.RuleBacklog {
					growing, full = growing+1, full+stats.Count(w.Behind())
				} else {
					wrong[block] = append(wrong[block], broken)
				}
			}
			if stood[block] {
				wrong[block] = append(wrong[block], record.Refusal{Block: block, Arm: a.Name, Rule: ruleStalled, Value: 0, Limit: 1})
			}
		}
		// Where the load's CPUs were full in more than half of these windows, the generator may be at fault.
		b.over[a.Name], b.generatorBound[a.Name] = 2*growing > len(complete), 2*full > growing
		b.behind[a.Name] = growing == len(complete) && growing >= behindFrom && !b.generatorBound[a.Name]
	}
	for _, block := range complete {
		b.refused = append(b.refused, wrong[block]...)
		if len(wrong[block]) == 0 {
			b.valid = append(b.valid, block)
		}
	}
	return b
}

// behindFrom is the number of blocks from which on a backlog that grew in every one of them is the answer, before any verdict.
const behindFrom = 2

// ruleStalled is the rule that leaves out a block in which the whole machine stood still.
const ruleStalled = "good replies (no arm gave one: the machine stood still)"

// stalled returns the complete blocks in which no arm gave a good reply before its window ended. It returns nil if some arm gave
// none in most of its windows, because then the arm is at fault and not the machine. One arm alone tells nothing of the machine.
func stalled(arms []record.PlanArm, complete []int, taken windows) map[int]bool {
	if len(arms) < 2 {
		return nil
	}
	silent := map[int]int{} // arms without a good reply, by block
	for _, a := range arms {
		windows := 0
		for _, block := range complete {
			none := stats.Count(answeredLate(taken[block][a.Name]))
			silent[block], windows = silent[block]+none, windows+none
		}
		if 2*windows > len(complete) {
			return nil
		}
	}
	stood := map[int]bool{}
	for block, n := range silent {
		stood[block] = n == len(arms)
	}
	return stood
}

// answeredLate reports whether no good reply came before the end of a window that had requests: a goodput of 0.
func answeredLate(w *modelled) bool {
	return w.Requests > 0 && w.Values[stats.Goodput] == stats.Known(0)
}

// answeredNone reports whether no request of a window ever got a good reply, so that its times are all of failures.
func answeredNone(w *modelled) bool { return w.Requests > 0 && w.Good == 0 }

// silent returns a doubt for each arm that gave no good reply in the window of a valid block.
func (b blocks) silent() (all []fact.Fact) {
	for _, a := range b.run.Plan.Arms {
		var numbers []string
		never := true
		for i, w := range b.of(a.Name) {
			if answeredLate(w) || answeredNone(w) {
				numbers, never = append(numbers, strconv.Itoa(b.valid[i])), never && answeredNone(w)
			}
		}
		if len(numbers) > 0 {
			all = append(all, doubt.AnsweredNone.Of(doubt.Silence{Blocks: len(numbers), Late: !never, Numbers: strings.Join(numbers, ", ")}).On(a.Name))
		}
	}
	return all
}

// judgedQuantiles tells for each quantile whether the windows have enough requests to judge it. The plan
// tells it for open loops. For a closed loop it is known only after its windows have ended: the median number of requests
// decides.
func judgedQuantiles(p record.Plan, taken windows) map[stats.Figure]bool {
	judged := map[stats.Figure]bool{}
	for _, m := range stats.Quantiles() {
		judged[m.Figure] = QuantileRate(p)*p.Window.Seconds() >= RequestsFor(m.Quantile)
	}
	for _, a := range p.Arms {
		if !a.Clients.Closed() {
			continue
		}
		var requests []float64
		for _, arms := range taken {
			if w, ok := arms[a.Name]; ok {
				requests = append(requests, float64(w.Judged()))
			}
		}
		for _, m := range stats.Quantiles() {
			judged[m.Figure] = judged[m.Figure] && stats.Median(requests) >= RunMargin*float64(stats.MinRequests(m.Quantile))
		}
	}
	return judged
}

// ServerCPUs returns the number of CPUs that the plan gives to servers. An arm may choose other CPUs itself.
func ServerCPUs(e record.Env) int { return cpuset.Count(e.ServerCPUs, e.CPUs) }

// of returns an arm's window in each valid block, in block order.
func (b blocks) of(arm string) []*modelled {
	all := make([]*modelled, len(b.valid))
	for i, block := range b.valid {
		all[i] = b.windows[block][arm]
	}
	return all
}

// order returns the names of the arms of each block that ran, in the order they ran.
func (b blocks) order() (all [][]string) {
	last := 0
	if len(b.windows) > 0 {
		last = min(max(slices.Max(slices.Collect(maps.Keys(b.windows))), 0), len(b.run.Plan.Order))
	}
	for _, block := range b.run.Plan.Order[:last] {
		var names []string
		for _, i := range block {
			names = append(names, b.run.Plan.Arms[i].Name)
		}
		all = append(all, names)
	}
	return all
}

// stolen returns the ratio, in 0..1, of all CPU time that the hypervisor gave to others; unknown windows count as 0.
func (b blocks) stolen() float64 {
	var stolen, total float64
	for _, block := range slices.Sorted(maps.Keys(b.windows)) {
		for _, a := range b.run.Plan.Arms { // in order: a sum of floats depends on it
			if w, ok := b.windows[block][a.Name]; ok {
				stolen += max(0, w.Trial.Client.Steal)
				total += w.Trial.Window.Seconds()
			}
		}
	}
	return stolen / max(total*float64(max(b.run.Env.CPUs, 1)), math.SmallestNonzeroFloat64)
}

// series returns a figure of one arm, one value per valid block, in block order. NaN is unknown. The slice is new.
func (b blocks) series(arm string, f stats.Figure) []float64 {
	return b.each(arm, func(w *modelled) stats.Opt { return w.Values[f] })
}

// each returns a number of each of an arm's windows, as series does.
func (b blocks) each(arm string, of func(*modelled) stats.Opt) []float64 {
	return figures(b.of(arm), func(w *modelled) float64 { return of(w).Float() })
}

// figures returns a figure of each of all.
func figures[T any](all []T, figure func(T) float64) []float64 {
	v := make([]float64, len(all))
	for i, x := range all {
		v[i] = figure(x)
	}
	return v
}

// medianOf returns the median of a figure over all; NaN if all is empty.
func medianOf[T any](all []T, figure func(T) float64) float64 {
	return stats.Median(figures(all, figure))
}

// audit returns the queueing laws in the order in which they were first found. For each law it returns the valid window that came
// nearest to breaking it, and the number of windows checked. A window that breaks a law is not valid.
func (b blocks) audit() (laws []record.Law) {
	// A law with limit 0 is kept exactly, so any value above 0 would be far from it.
	near := func(l record.Law) float64 { return l.Value / max(l.Limit, math.SmallestNonzeroFloat32) }
	for _, block := range b.valid {
		for _, a := range b.run.Plan.Arms {
			w := b.windows[block][a.Name]
			for _, l := range w.Laws(ServerCPUs(b.run.Env)) {
				at := slices.IndexFunc(laws, func(other record.Law) bool { return other.Name == l.Name && other.Unit == l.Unit })
				if at < 0 {
					laws = append(laws, l)
					continue
				}
				if near(l) > near(laws[at]) {
					laws[at], l = l, laws[at]
				}
				laws[at].Windows += l.Windows
			}
		}
	}
	return laws
}
