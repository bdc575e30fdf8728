package judge

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Differing returns the names of the client settings in which two arms differ, as a scenario writes them and in a fixed
// order; nil for equal clients. A verdict is about two servers only if their clients are alike. Open loops offer a load that
// no server can change, so their times may be shown side by side even then; in a closed loop the clients' settings
// themselves make the times (docs/decisions, 16).
func Differing(a, b record.Clients) (keys []string) {
	own, other := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range own.NumField() {
		key, _, _ := strings.Cut(own.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case own.Field(i).Equal(other.Field(i)):
		case key == "-": // the one setting that a record has elsewhere
			keys = append(keys, patienceDiffers(a.Patience, b.Patience)...)
		case key == "engine" || key == "ramp": // how a load is sent and begins, which is not in the windows
		case key == "connections" && a.KeepAlive != b.KeepAlive: // without keep-alive their number means something else
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// patienceDiffers returns the names of the settings in which two patiences differ.
func patienceDiffers(a, b record.Patience) (keys []string) {
	for key, differs := range map[string]bool{"deadline": a.Deadline != b.Deadline, "retries": a.Retries != b.Retries, "backoff": a.Backoff != b.Backoff} {
		if differs {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// loadsDiffer returns the names, sorted and each once, of the client settings in which some arm differs from the first arm.
// If there is any, no winner is named.
func loadsDiffer(arms []record.PlanArm) (keys []string) {
	for _, a := range arms {
		keys = append(keys, Differing(a.Clients, arms[0].Clients)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// pacing names the settings that determine response times in a closed loop: the mean response time
// of N clients is N/X minus their think time, X being the throughput (Little's law).
var pacing = []string{"loop", "rate", "connections", "think", "session", "pipeline"}

// incomparable returns the settings that make the response times of two arms incomparable; nil for two open loops.
func incomparable(a, b record.Clients) []string {
	if !a.Closed() && !b.Closed() {
		return nil
	}
	return slices.DeleteFunc(Differing(a, b), func(key string) bool { return !slices.Contains(pacing, key) })
}

// Reference returns the index of the arm that arm i is compared with. That is the baseline, index 0. But if arm i has another load
// than the baseline, and a challenger of the baseline's family has the load of arm i, it is that challenger: against the
// baseline, loads and not servers would be compared.
func Reference(arms []record.PlanArm, i int) int {
	own, base := arms[i], arms[0]
	if len(Differing(own.Clients, base.Clients)) == 0 {
		return 0
	}
	family := cmp.Or(base.Family, base.Name)
	return max(0, slices.IndexFunc(arms, func(a record.PlanArm) bool {
		return a.Role == record.Challenger && a.Family == family && a.Name != own.Name && len(Differing(a.Clients, own.Clients)) == 0
	}))
}

// Limits on totals over the blocks. Beyond the first two, arms are compared by goodput but not by times or CPU time: a server that
// fails quickly would look fast, and one with other statuses does other work.
const (
	ErrorLimit   = .001 // ratio of an arm's requests that may fail
	statusLimit  = .001 // by how much the ratios of one HTTP status may differ between two arms
	starvedLimit = .01  // ratio of the connections that may starve without their wait being in any time
	unsentLimit  = .01  // ratio of a paced loop's requests that may be missing
)

// A verdict is refused if the data cannot carry it, which says nothing about the servers. The reasons here are about totals over
// the blocks: a run without blocks, arms that failed or starved clients, and figures that are not known. Reasons that need the
// compared values are in verdicts.go. General reasons are tried before special ones, and the first one found is reported. No
// fact (fact.Fact.None) means that nothing speaks against the verdict.

// final reports whether no number of blocks changes a reason against a verdict.
func final(why fact.Fact) bool {
	return why.RestsOn(
		causeErrors.Code, causeNoReplies.Code, causeNoGoodput.Code, causeUnfit.Code, doubt.FewRequests.Code, causeUnknownCPU.Code, causeBusyBeside.Code, causeNoCapacity.Code, causeOverload.Code, causeGenerator.Code, doubt.Starvation.Code, causeUnsent.Code,
	)
}

// firstOf returns the first of these reasons; no fact if all are none.
func firstOf(reasons ...fact.Fact) (why fact.Fact) {
	for _, why := range reasons {
		if !why.None() {
			return why
		}
	}
	return why
}

// refuseRun returns the reason against every verdict of the run; no fact if there is none.
func (b blocks) refuseRun() (why fact.Fact) {
	if len(b.valid) > 0 {
		return why
	}
	return causeNoBlocks.Of(noBlocks{Ran: len(b.windows), Status: string(b.run.Status), Error: prose.FirstLine(b.run.Failure)})
}

// refusePair returns the reason against comparing two arms at a metric; no fact if there is none.
func (b blocks) refusePair(m stats.Metric, base, arm record.Arm) fact.Fact {
	return firstOf(
		b.refuseRun(), b.refuseArm(m, arm, base), b.overloaded(m, base), b.refuseMetric(m, arm), b.refuseMetric(m, base),
		b.refuseSilent(m, base.Name, arm.Name),
	)
}

// refuseSilent returns the reason against comparing arms at a metric that one of them lacks in a block because it gave no good
// reply there; no fact if there is none. In an arm that is silent in most blocks, that is overload, and its goodput of 0 counts.
// In an arm that is silent in a few, something else may have stopped it.
func (b blocks) refuseSilent(m stats.Metric, arms ...string) (why fact.Fact) {
	if m.Quantile == 0 && m.Figure != stats.Goodput {
		return why
	}
	mostly := func(arm string) bool { return stats.Median(b.series(arm, stats.Goodput)) == 0 }
	// Within a deadline an overloaded arm may answer none here and some there.
	impatient := slices.ContainsFunc(arms, b.impatient)
	both := !slices.ContainsFunc(arms, func(arm string) bool { return !mostly(arm) })
	for _, block := range b.valid {
		for _, arm := range arms {
			w := b.windows[block][arm]
			// Without a good reply a quantile is about failures only, and two goodputs of 0 have no ratio.
			if never := answeredNone(w); m.Quantile > 0 && never || m.Figure == stats.Goodput && answeredLate(w) && (both || !mostly(arm) && !impatient) {
				return causeNoReplies.Of(silence{Block: block, Late: !never}).On(arm).At(m.Name)
			}
		}
	}
	return why
}

// impatient reports whether the clients of an arm have a deadline; false for an arm that is not in the plan.
func (b blocks) impatient(arm string) bool {
	p := planned(b.run.Plan, arm)
	return p != nil && p.Clients.Impatient()
}

// refuseArm returns the reason against comparing an arm with base at a metric because of how their requests ended; no fact if
// there is none. Nothing is held against a metric that holds in overload, such as goodput.
func (b blocks) refuseArm(m stats.Metric, a, base record.Arm) (why fact.Fact) {
	if m.Proof == stats.InOverload {
		return why
	}
	if failed := b.failed(base, a); !failed.None() {
		return failed
	}
	// An overloaded arm may turn requests away, so another mix of statuses is no fault.
	if b.over[a.Name] || b.over[base.Name] {
		return why
	}
	codes := map[uint16]bool{}
	for _, w := range slices.Concat(b.of(a.Name), b.of(base.Name)) {
		for code := range w.Status {
			codes[code] = true
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		share := func(w *modelled) float64 { return w.Status[code] } // 0 where it is absent; status 0 is no answer
		own, other := medianOf(b.of(a.Name), share), medianOf(b.of(base.Name), share)
		if math.Abs(own-other) > statusLimit {
			return causeStatusMix.Of(statuses{Status: int(code), Own: own, Other: other}).On(a.Name).Against(base.Name)
		}
	}
	return why
}

// fails reports whether an arm fails too many requests in most blocks. In a few blocks they are noise: they count with the
// time they waited, and check makes sure that the other blocks do not say the opposite.
func (b blocks) fails(arm string) bool { return stats.Median(b.series(arm, stats.Errors)) > ErrorLimit }

// failed returns the fact that arms, overloaded ones aside, failed too many requests, and how most of these ended.
func (b blocks) failed(arms ...record.Arm) (why fact.Fact) {
	var who []fact.Fact
	ends := map[string]int{}
	for _, arm := range arms {
		ratio := float64(arm.Errors) / float64(max(arm.Requests, 1))
		if !b.fails(arm.Name) || b.over[arm.Name] {
			continue
		}
		who = append(who, doubt.TooManyFailed.Of(doubt.Failed{Errors: arm.Errors, Requests: arm.Requests, Share: ratio}).On(arm.Name))
		for end, n := range arm.Failures {
			ends[end] += n
		}
	}
	if len(who) == 0 {
		return why
	}
	common := request.Ends(ends)
	return causeErrors.Of(errorsOf{LimitPercent: 100 * ErrorLimit, Kinds: len(common), Mostly: common[0]}).Since(who...)
}

// overloaded returns the reason against a metric of an arm with a growing backlog; no fact if the backlog does not grow, or if the
// metric holds in overload. It comes before the reason that windows have too few requests, because longer windows do not help
// such an arm.
func (b blocks) overloaded(m stats.Metric, a record.Arm) (why fact.Fact) {
	switch {
	case m.Proof >= stats.InOverload || !b.over[a.Name]:
		return why
	case b.generatorBound[a.Name]: // so the arm is not shown to be at fault
		return causeGenerator.On(a.Name)
	}
	return causeOverload.Of(overloadOf(a)).On(a.Name)
}

// refuseMetric returns the reason against one metric of an arm; no fact if there is none.
func (b blocks) refuseMetric(m stats.Metric, a record.Arm) (why fact.Fact) {
	if why = b.overloaded(m, a); !why.None() {
		return why
	}
	switch {
	case m.Quantile > 0 && !b.judged[m.Figure]:
		few := doubt.Few{Needed: RunMargin * float64(stats.MinRequests(m.Quantile))}
		// If windows at the plan's rate hold enough, a closed loop beside has too few, and no longer window of that rate helps it.
		if rate := QuantileRate(b.run.Plan); !math.IsInf(rate, 1) && rate*b.run.Plan.Window.Seconds() < RequestsFor(m.Quantile) {
			few.Requests = rate * b.run.Plan.Window.Seconds()
			few.Longer = b.windowFor(m, stats.PlannedRequests(stats.MinRequests(m.Quantile))/rate)
		}
		return doubt.FewRequests.Of(few).At(m.Name)
	case m.Figure == stats.CPUPerRequest && slices.ContainsFunc(b.series(a.Name, m.Figure), math.IsNaN):
		return b.unknownCPU(a.Name)
	case m.Figure == stats.CPUPerRequest && b.beside(a.Name) > 0:
		return causeBusyBeside.On(a.Name)
	case m.Figure == stats.Capacity && slices.ContainsFunc(b.series(a.Name, m.Figure), math.IsNaN):
		return causeNoCapacity.Of(noCapacity{Slow: a.Clients.Speaks.HTTP2 || a.Clients.Speaks.TLS != ""}).On(a.Name)
	// The times are of the clients that were served, which are not the clients as a whole.
	case m.Proof < stats.InStarvation && b.starvesTooMany(a.Name):
		return firstOf(b.noAnswerYet(a.Name), doubt.Starvation.Of(doubt.Unanswered{Starved: a.StarvedConnections}).On(a.Name))
	case m.Proof < stats.InStarvation && b.unsentShare(a.Name) > 0:
		return causeUnsent.Of(unsentShare{b.unsentShare(a.Name)}).On(a.Name)
	}
	return why
}

// unknownCPU returns the fact that an arm's CPU time a request is not known, with the first block that lacks it and why.
func (b blocks) unknownCPU(arm string) fact.Fact {
	for _, block := range b.valid {
		w := b.windows[block][arm]
		if _, known := w.Values[stats.CPUPerRequest].Get(); known {
			continue
		}
		server := w.Trial.Server
		return causeUnknownCPU.Of(noCPU{
			Block: block, Idle: server.CPU >= 0, Lost: slices.ContainsFunc(server.Doubts, doubt.CPUTimeLost.Code.Is),
		}).On(arm)
	}
	return causeUnknownCPU.Of(noCPU{}).On(arm)
}

// overloadOf returns how much other programs may have to do with an arm's growing backlog.
func overloadOf(a record.Arm) (of doubt.Overload) {
	if a.Disturbed != nil && a.Disturbed.Foreign >= muchForeign {
		of.Others = a.Disturbed.Foreign
	}
	return of
}

// windowFor returns a window with enough requests for a quantile, and the budget for it; nil if no window is long enough. least is
// the shortest such window in seconds. If the plan has a doubt about this quantile, it returns what that doubt advises.
func (b blocks) windowFor(m stats.Metric, least float64) *doubt.Longer {
	if f := b.run.Plan.Feasible; f != nil && f.Would != nil && slices.ContainsFunc(f.Cannot, func(u record.Undecidable) bool { return u.Asked && u.Metric == m.Figure }) {
		return longer(f.Would.Window.Seconds(), f.Would.Budget.Seconds())
	}
	if math.IsInf(least, 1) {
		return nil
	}
	window, budget := stats.Widened(least, 0), 0.0
	// The blocks up to the first look must fit into the budget. Of a comparison the plan tells only the time that its blocks may take.
	p := b.run.Plan
	if needs := float64(stats.Looks()[0]*len(p.Arms)) * (p.Heating.Seconds() + p.Warmup.Seconds() + window + trialStarts); needs > max(p.Budget.Seconds(), p.Estimate.Seconds()) {
		budget = math.Ceil(needs)
	}
	return longer(window, budget)
}

// longer returns a window and the budget for it, in seconds; nil if there is no window.
func longer(window, budget float64) *doubt.Longer {
	if window == 0 {
		return nil
	}
	return &doubt.Longer{Window: window, Budget: budget}
}

// trialStarts is about how long a server takes to start and to drain, in seconds: a trial is longer than its warm-up and window
// by this time.
const trialStarts = .25

// starvesTooMany reports whether more than starvedLimit of an arm's connections starved without their wait being in any time: the
// median over the valid blocks. The times are then of the other connections only. In an open loop only connections with a
// request from before the window count. It is false if the number of connections is not known.
func (b blocks) starvesTooMany(arm string) bool {
	if p := planned(b.run.Plan, arm); p != nil && !p.Clients.Closed() {
		share := func(w *modelled) float64 { return float64(w.Unclocked) / float64(max(w.Asked, 1)) }
		return medianOf(b.of(arm), share) > starvedLimit
	}
	starved, served := stats.Median(b.series(arm, stats.Starved)), stats.Median(b.series(arm, stats.Served))
	return starved/(starved+served) > starvedLimit // NaN, of unknown ones or of none, is not
}

// noAnswerYet returns the fact that windows were too short to answer each client of an arm once; no fact if they were long enough.
// With such windows neither the measured times nor the twin, which serves all clients, is a figure of this arm.
func (b blocks) noAnswerYet(arm string) (why fact.Fact) {
	if f := b.fairness(arm); f != nil && f.Short && b.starvesTooMany(arm) {
		return doubt.Starvation.Of(doubt.Unanswered{Starved: f.Asked - f.Served, Short: true}).On(arm)
	}
	return why
}

// unsentShare returns the ratio of an arm's paced requests that were never sent, because a client cannot send while it waits for a
// reply: the median over the valid blocks, or 0 if it is within unsentLimit. Requests that were not sent have no times.
func (b blocks) unsentShare(arm string) float64 {
	if unsent := medianOf(b.of(arm), func(w *modelled) float64 { return w.Unsent }); unsent > unsentLimit {
		return unsent
	}
	return 0
}
