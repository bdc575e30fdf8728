package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Limits on totals over the blocks.
const (
	errorLimit  = .001
	statusLimit = .001
	// starvedLimit is the share of a closed loop's connections that may go without
	// an answer before those that got one say nothing about its clients.
	starvedLimit = .01
	// owedLimit is the share of a paced loop's requests that may be missing.
	owedLimit = .01
)

// A refusal is why a verdict cannot be given; nil for none.
type refusal struct {
	code   record.RefusalCode
	text   string
	values map[string]float64
	// final says that no number of blocks changes it.
	final bool
}

func refused(code record.RefusalCode, values map[string]float64, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...), values: values}
}

// whatever is r as one that no number of blocks changes.
func (r *refusal) whatever() *refusal {
	r.final = true
	return r
}

// because is r of something that rests on what it refuses.
func (r *refusal) because(code record.RefusalCode, prefix string) *refusal {
	c := *r
	c.code, c.text = code, prefix+r.text
	return &c
}

// provenStarved are the figures of a closed loop that hold whoever starved.
var provenStarved = append([]string{"cpu_per_request"}, overloadProof...)

// refuseRun is a reason against every verdict of the run.
func (j *Judge) refuseRun() *refusal {
	if len(j.valid) > 0 {
		return nil
	}
	said := "no block has run"
	if n := len(j.windows); n > 0 {
		said = fmt.Sprintf("the data of %s are wrong or not whole", prose.Plural(n, "block"))
	}
	if j.run.Status != record.Complete {
		said += ": the run was cut short"
	}
	return refused(record.CauseNoBlocks, map[string]float64{"ran": float64(len(j.windows))}, "%s", said)
}

// refuseArm is a reason against every verdict on an arm.
func (j *Judge) refuseArm(a, base record.Arm) *refusal {
	if failed := j.failed(base, a); failed != nil {
		return failed
	}
	if j.over[a.Name] || j.over[base.Name] {
		return nil
	}
	mix, other := j.statusMix(a.Name), j.statusMix(base.Name)
	for _, code := range slices.Sorted(unionKeys(mix, other)) {
		if d := math.Abs(mix[code] - other[code]); d > statusLimit {
			return refused(record.CauseStatusMix, map[string]float64{"status": float64(code), "arm": mix[code], "baseline": other[code]},
				"status mix: %s answers %d in %.2f %%, %s in %.2f %% of requests", a.Name, code, 100*mix[code], base.Name, 100*other[code])
		}
	}
	return nil
}

// fails reports whether an arm fails too many requests in most blocks. A stall of the
// machine that fails those of a few is noise: they count with the time that they waited,
// and check sees to it that the other blocks do not say the opposite.
func (j *Judge) fails(arm string) bool { return stats.Median(j.series(arm, "errors")) > errorLimit }

// failed says which of the arms failed too many requests, and how those ended.
func (j *Judge) failed(arms ...record.Arm) *refusal {
	var who []string
	values := map[string]float64{}
	ends := map[string]int{}
	for _, arm := range arms {
		ratio := float64(arm.Errors) / float64(max(arm.Requests, 1))
		if !j.fails(arm.Name) || j.over[arm.Name] {
			continue
		}
		values[arm.Name] = ratio
		who = append(who, fmt.Sprintf("%s failed %d of %d requests (%.2f %%)", arm.Name, arm.Errors, arm.Requests, 100*ratio))
		for end, n := range arm.Failures {
			ends[end] += n
		}
	}
	if len(who) == 0 {
		return nil
	}
	common := slices.SortedFunc(maps.Keys(ends), func(a, b string) int { return cmp.Or(cmp.Compare(ends[b], ends[a]), cmp.Compare(a, b)) })
	return refused(record.CauseErrors, values, "errors: %s, above %.1f %%: mostly %s", strings.Join(who, " and "), 100*errorLimit, common[0]).whatever()
}

// statusMix is the share of each status, the median over the blocks.
func (j *Judge) statusMix(arm string) map[uint16]float64 {
	mix := map[uint16]float64{}
	for _, block := range j.valid {
		for code := range j.windows[block][arm].Status {
			mix[code] = 0
		}
	}
	for code := range mix {
		shares := make([]float64, len(j.valid))
		for i, block := range j.valid {
			shares[i] = j.windows[block][arm].Status[code]
		}
		mix[code] = stats.Median(shares)
	}
	return mix
}

// refuseMetric is a reason against one metric of an arm.
func (j *Judge) refuseMetric(m stats.Metric, a record.Arm) *refusal {
	q, timed := window.Quantiles[m.Name]
	switch {
	case timed && !j.judged[m.Name]:
		had, need := "", runMargin*float64(stats.MinRequests(q))
		values := map[string]float64{"needed": need}
		if rate := lowestRate(j.run.Plan); !math.IsInf(rate, 1) {
			values["requests"] = rate * j.run.Plan.Window
			had = fmt.Sprintf("%.0f a window, ", values["requests"])
		}
		return refused(record.CauseFewRequests, values, "too few requests: %s%s needs %.0f", had, m.Name, need).whatever()
	case m.Name == "cpu_per_request" && slices.ContainsFunc(j.series(a.Name, m.Name), math.IsNaN):
		return refused(record.CauseUnknownCPU, nil, "the server CPU time of %s is not known", a.Name).whatever()
	case !slices.Contains(provenStarved, m.Name) && j.mutes(a.Name):
		return refused(record.CauseStarvation, map[string]float64{"starved": float64(a.StarvedConnections)},
			starvation+"%s left %d of its connections without an answer, and a closed loop has no times of those", a.Name, a.StarvedConnections).whatever()
	case !slices.Contains(provenStarved, m.Name) && j.owed(a.Name) > 0:
		owed := j.owed(a.Name)
		return refused(record.CauseOwed, map[string]float64{"owed": owed}, "requests owed: the paced clients of %s did not send %.0f %% of theirs, which have no times", a.Name, 100*owed).whatever()
	case m.Name != "goodput" && j.over[a.Name]:
		return refused(record.CauseOverload, nil, "overload: the backlog of %s grows all through the window, so only its goodput can be compared", a.Name).whatever()
	}
	return nil
}

// starvedShare is the share of an arm's connections that starved in a window, its
// median over the valid blocks: 0 in an open loop, where requests that wait for
// such a connection are counted.
func (j *Judge) starvedShare(arm string) float64 {
	if p := j.planned(arm); p == nil || !p.Clients.Closed() {
		return 0
	}
	starved, served := stats.Median(j.series(arm, "starved")), stats.Median(j.series(arm, "served"))
	if !(starved > 0) { // or not known
		return 0
	}
	return starved / (starved + served)
}
