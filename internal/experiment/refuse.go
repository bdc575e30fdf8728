package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Limits of the run rules (measurement.md §5), on totals over valid blocks.
const (
	errorLimit  = .001
	statusLimit = .001
	stealLimit  = .01
	driftLimit  = .01
	// starvedLimit is the share of a closed loop's connections that may go without
	// an answer before those that got one say nothing about its clients.
	starvedLimit = .01
)

// provenStarved are the figures of a closed loop that hold whoever starved.
var provenStarved = append([]string{"cpu_per_request"}, overloadProof...)

// refuseRun is a reason against every verdict of the run, "" for none.
func (j *judge) refuseRun() string {
	p := j.run.Plan
	switch {
	case len(j.valid) < p.MinValid && j.run.Status != record.Complete:
		return fmt.Sprintf("%s, fewer than %d: the run was cut short", plural(len(j.valid), "valid block"), p.MinValid)
	case len(j.valid) < p.MinValid:
		reason := fmt.Sprintf("%s of %d, fewer than %d", plural(len(j.valid), "valid block"), len(j.windows), p.MinValid)
		if p.Unspared != "" {
			reason += ": " + p.Unspared
		}
		return reason
	}
	var steal, throttled, total float64
	for _, block := range j.valid {
		for _, a := range p.Arms { // in order: a sum of floats depends on it
			w := j.windows[block][a.Name]
			steal += max(0, w.trial.Client.Steal)
			throttled += max(0, w.trial.Client.Throttled)
			total += w.trial.Window
		}
	}
	j.result.Env.StealRatio = steal / (total * float64(max(j.run.Env.CPUs, 1)))
	switch {
	case j.result.Env.StealRatio > stealLimit:
		return fmt.Sprintf("steal %.1f %% of the CPUs, above %.0f %%: the hypervisor gave them to others", 100*j.result.Env.StealRatio, 100*stealLimit)
	case throttled > 0:
		return fmt.Sprintf("the cgroup's CPU limit held processes back for %.2f s", throttled)
	}
	return ""
}

// refuseArm is a reason against every verdict on an arm.
func (j *judge) refuseArm(a, base record.Arm) string {
	if failed := j.failed(base, a); failed != "" {
		return failed
	}
	if j.over[a.Name] || j.over[base.Name] {
		return ""
	}
	mix, other := j.statusMix(a.Name), j.statusMix(base.Name)
	for _, code := range slices.Sorted(unionKeys(mix, other)) {
		if d := math.Abs(mix[code] - other[code]); d > statusLimit {
			return fmt.Sprintf("status mix: %s answers %d in %.2f %%, %s in %.2f %% of requests", a.Name, code, 100*mix[code], base.Name, 100*other[code])
		}
	}
	return ""
}

// failed says which of the arms failed too many requests, and how those ended; "" for
// none.
func (j *judge) failed(arms ...record.Arm) string {
	var who []string
	ends := map[string]int{}
	for _, arm := range arms {
		ratio := float64(arm.Errors) / float64(max(arm.Requests, 1))
		if ratio <= errorLimit || j.over[arm.Name] {
			continue
		}
		who = append(who, fmt.Sprintf("%s failed %d of %d requests (%.2f %%)", arm.Name, arm.Errors, arm.Requests, 100*ratio))
		for end, n := range arm.Failures {
			ends[end] += n
		}
	}
	if len(who) == 0 {
		return ""
	}
	common := slices.SortedFunc(maps.Keys(ends), func(a, b string) int { return cmp.Or(cmp.Compare(ends[b], ends[a]), cmp.Compare(a, b)) })
	return fmt.Sprintf("errors: %s, above %.1f %%: mostly %s", strings.Join(who, " and "), 100*errorLimit, common[0])
}

// statusMix is the mean share of each status over the valid blocks.
func (j *judge) statusMix(arm string) map[uint16]float64 {
	mix := map[uint16]float64{}
	for _, block := range j.valid {
		for code, share := range j.windows[block][arm].status {
			mix[code] += share / float64(len(j.valid))
		}
	}
	return mix
}

// refuseMetric is a reason against one metric of an arm.
func (j *judge) refuseMetric(m stats.Metric, a record.Arm) string {
	q, timed := quantiles[m.Name]
	switch {
	case timed && !j.judged[m.Name]:
		had := ""
		if rate := lowestRate(j.run.Plan); !math.IsInf(rate, 1) {
			had = fmt.Sprintf("%.0f a window, ", rate*j.run.Plan.Window)
		}
		return fmt.Sprintf("too few requests: %s%s needs %.0f", had, m.Name, runMargin*float64(stats.MinRequests(q)))
	case m.Name == "cpu_per_request" && slices.ContainsFunc(j.series(a.Name, m.Name), math.IsNaN):
		return fmt.Sprintf("the server CPU time of %s is not known", a.Name)
	case timed && j.run.Env.Pause > (1-q)*j.run.Plan.Window:
		return fmt.Sprintf("platform-limited: the machine pauses a busy thread for %.1f ms, which alone can decide the %s of a window of %g s", 1e3*j.run.Env.Pause, m.Name, j.run.Plan.Window)
	case !slices.Contains(provenStarved, m.Name) && j.mutes(a.Name):
		return fmt.Sprintf(starvation+"%s left %d of its connections without an answer, and a closed loop has no times of those", a.Name, a.StarvedConnections)
	case !slices.Contains(provenStarved, m.Name) && j.owed(a.Name) > 0:
		return fmt.Sprintf("requests owed: the paced clients of %s did not send %.0f %% of theirs, which have no times", a.Name, 100*j.owed(a.Name))
	case m.Name != "goodput" && j.over[a.Name]:
		return fmt.Sprintf("overload: the backlog of %s grows all through the window, so only its goodput can be compared", a.Name)
	}
	return ""
}

// starvedShare is the share of an arm's connections that starved in a window, its
// median over the valid blocks: 0 in an open loop, where requests that wait for
// such a connection are counted.
func (j *judge) starvedShare(arm string) float64 {
	if p := j.planned(arm); p == nil || !p.Clients.Closed() {
		return 0
	}
	starved, served := stats.Median(j.series(arm, "starved")), stats.Median(j.series(arm, "served"))
	if !(starved > 0) { // or not known
		return 0
	}
	return starved / (starved + served)
}

// drift is a reason when the baseline moves over the run.
func (j *judge) drift(m stats.Metric, base record.Arm) string {
	rho, p := stats.Spearman(j.series(base.Name, m.Name))
	if p < driftLimit {
		return fmt.Sprintf("drift: %s of %s moves over the blocks (Spearman %.2f, p %.3f)", m.Name, base.Name, rho, p)
	}
	return ""
}
