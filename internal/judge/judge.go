// Package judge turns the record of a run into its result: it reduces every trial, leaves out
// blocks whose data are wrong, compares the arms, decides what is expected of them, and says
// what speaks against all that. It measures nothing.
package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"schedlab/internal/command"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// FromRecord computes the result of a run from its record: every figure again from
// the raw requests, then the rules, then the verdicts. Trials that cannot be
// read are doubts, not errors.
func FromRecord(dir *record.Dir, run record.Run) (*record.Result, error) {
	if run.Plan.SLO != "" {
		return judgeCapacity(dir, run)
	}
	j, err := New(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, err
	}
	found := 0
	for t, err := range dir.Trials() {
		j.Take(t, err)
		found++
	}
	if missing := run.Trials - found; missing > 0 {
		j.doubt(record.Fact{Code: record.MissingTrials, Values: record.Values{"missing": float64(missing), "trials": float64(run.Trials)}})
	}
	left, err := dir.Unfinished()
	if err != nil {
		return nil, err
	}
	return j.finish(len(left)), nil
}

// New makes a judge of a run whose trials are to come, from [Judge.Take] or a record.
func New(name, path string, run record.Run) (*Judge, error) {
	for i, block := range run.Plan.Order {
		for _, arm := range block {
			if arm < 0 || arm >= len(run.Plan.Arms) {
				return nil, fmt.Errorf("judging %q: run.json is damaged: block %d orders arm %d of %d", path, i+1, arm+1, len(run.Plan.Arms))
			}
		}
	}
	j := &Judge{run: run, windows: map[int]map[string]modelled{}, judged: JudgedQuantiles(run.Plan), otherCPUs: map[string]string{}, final: map[finality]bool{}}
	j.newResult(name, path)
	return j, nil
}

// Take adds a trial, or the reason why it cannot be read.
func (j *Judge) Take(t record.TrialRecord, err error) {
	if err != nil {
		j.doubt(unreadable(err))
		return
	}
	if why := j.unusable(t.Trial); !why.None() {
		j.doubt(leftOut(t.Trial, why))
		return
	}
	if j.windows[t.Block] == nil {
		j.windows[t.Block] = map[string]modelled{}
	}
	j.noteServer(t.Trial)
	w := modelled{Window: window.Reduce(t, j.run.Env, j.clients(t.Arm))}
	j.addTwin(&w, t)
	j.addPredictions(&w, t)
	j.windows[t.Block][t.Arm] = w
}

// finish computes the result of the trials taken; cut were left half-written.
func (j *Judge) finish(cut int) *record.Result {
	if cut > 0 {
		j.doubt(record.Fact{Code: record.TrialsCut, Values: record.Values{"trials": float64(cut)}})
	}
	j.addServerDoubts()
	j.judgeClosed()
	j.validate()
	j.fillArms()
	j.doubtLost()
	j.doubtUnsent()
	j.audit()
	j.fillTwins()
	j.result.Scales = j.scales()
	j.result.NotChecked = j.notChecked()
	j.verdicts()
	j.decideExpectations()
	j.conclude()
	j.tellOthers()
	return j.result
}

// clients are an arm's, as planned.
func (j *Judge) clients(arm string) record.Clients {
	if a := j.planned(arm); a != nil {
		return a.Clients
	}
	return record.Clients{}
}

func (j *Judge) planned(arm string) *record.PlanArm {
	for i := range j.run.Plan.Arms {
		if j.run.Plan.Arms[i].Name == arm {
			return &j.run.Plan.Arms[i]
		}
	}
	return nil
}

// judgeClosed finds out which quantiles the windows of closed loops can carry:
// how many requests they hold is known only now.
func (j *Judge) judgeClosed() {
	for _, a := range j.run.Plan.Arms {
		if !a.Clients.Closed() {
			continue
		}
		var requests []float64
		for _, arms := range j.windows {
			if w, ok := arms[a.Name]; ok {
				requests = append(requests, float64(w.Requests))
			}
		}
		for name, q := range window.Quantiles {
			j.judged[name] = j.judged[name] && stats.Median(requests) >= runMargin*float64(stats.MinRequests(q))
		}
	}
}

// unreadable is the doubt about a trial whose record is damaged.
func unreadable(err error) record.Fact {
	return record.Fact{Code: record.UnreadableTrial, Names: record.Names{"error": err.Error()}}
}

// leftOut is the doubt about a trial that is not judged, and why.
func leftOut(t record.Trial, why record.Fact) record.Fact {
	return record.Fact{Code: record.TrialLeftOut, Arm: t.Arm, Values: record.Values{"trial": float64(t.Number)}, Because: []record.Fact{why}}
}

// failed says that a trial did not come to its end.
func failed(t record.Trial) record.Fact {
	return record.Fact{Code: record.TrialFailed, Names: record.Names{"error": t.Failure + t.Omitted}}
}

// unusable says why a trial cannot be judged, if so.
func (j *Judge) unusable(t record.Trial) (why record.Fact) {
	_, twice := j.windows[t.Block][t.Arm]
	switch {
	case t.Failure != "" || t.Omitted != "":
		return failed(t)
	case !slices.ContainsFunc(j.run.Plan.Arms, func(a record.PlanArm) bool { return a.Name == t.Arm }):
		return record.Fact{Code: record.TrialOfNoArm, Arm: t.Arm}
	case t.Window != j.run.Plan.Window || t.Warmup != j.run.Plan.Warmup || t.Window <= 0:
		return record.Fact{Code: record.OtherWindow, Values: record.Values{
			"warmup": t.Warmup, "window": t.Window, "planned_warmup": j.run.Plan.Warmup, "planned_window": j.run.Plan.Window,
		}}
	case twice:
		return record.Fact{Code: record.SecondTrial, Values: record.Values{"block": float64(t.Block)}}
	}
	return why
}

// A modelled window is one with what theory says of it.
type modelled struct {
	window.Window
	predicted map[string]queueing.Prediction // by model
	twin      queueing.Prediction            // of the ideal twin, as it is with the measured CPU time
	noTwin    record.Fact                    // why there is none, if so
}

// A Judge takes the trials of a run and judges them together.
type Judge struct {
	run          record.Run
	judged       map[string]bool             // quantiles the plan can judge
	windows      map[int]map[string]modelled // by block and arm
	valid        []int                       // blocks that count
	serverDoubts map[string][]record.Fact    // doubts of an arm's trials, each once
	// otherCPUs is where an arm may run, when not only where the plan has servers.
	otherCPUs      map[string]string
	over           map[string]bool   // arms whose queue grows without end
	final          map[finality]bool // verdicts that are refused whatever comes
	generatorBound map[string]bool   // arms with which the queue grows as the load's CPUs are full
	refusal        *refusal          // why every verdict of the run is refused, nil if not
	result         *record.Result
}

func serverCPUs(e record.Env) int { return record.CountCPUs(e.ServerCPUs, e.CPUs) }

func (j *Judge) newResult(name, path string) {
	p := j.run.Plan
	j.result = &record.Result{
		Schema: record.Schema, Run: name, Dir: path, Scenario: p.Scenario, Question: p.Question,
		Status: j.run.Status, Seed: p.Seed, Rate: p.Rate, Sendable: p.Sendable, Asked: p.Asked, Window: p.Window, Planned: p.Blocks, Started: j.run.Started,
		Env: j.run.Env, Note: p.Note, Doubts: []record.Fact{}, Refused: []record.Refusal{}, Verdicts: []record.Verdict{},
		AA: []record.Verdict{}, NotChecked: []string{}, LoadsDiffer: LoadsDiffer(p.Arms),
	}
	for _, block := range p.Order {
		var names []string
		for _, i := range block {
			names = append(names, p.Arms[i].Name)
		}
		j.result.Order = append(j.result.Order, names)
	}
}

func (j *Judge) doubt(f record.Fact) { j.result.Doubts = append(j.result.Doubts, f) }

// validate chooses the blocks that count: whole ones whose data are right. What is wrong
// with one arm's leaves the block out for all. An arm whose backlog grows in most of its
// windows is overloaded, which is a fact about the arm: it is judged by its goodput only.
func (j *Judge) validate() {
	whole := map[int]map[string][]window.Breach{}
	growing, full := map[string]int{}, map[string]int{} // windows in which the backlog grew, and of those with the load's CPUs full
	for block, arms := range j.windows {
		if len(arms) < len(j.run.Plan.Arms) {
			continue
		}
		whole[block] = map[string][]window.Breach{}
		for name, w := range arms {
			whole[block][name] = w.Breaches(serverCPUs(j.run.Env), j.judged, Accounts(j.run.Plan, name))
			grows := broke(whole[block][name], window.RuleBacklog)
			growing[name] += stats.Count(grows)
			full[name] += stats.Count(grows && w.Behind())
		}
	}
	j.over, j.generatorBound = map[string]bool{}, map[string]bool{}
	for name, n := range growing {
		j.over[name], j.generatorBound[name] = 2*n > len(whole), 2*full[name] > n
	}
	for _, block := range slices.Sorted(maps.Keys(whole)) {
		wrong := false
		for _, a := range j.run.Plan.Arms {
			for _, b := range whole[block][a.Name] {
				if b.Rule != window.RuleBacklog {
					wrong = true
					j.result.Refused = append(j.result.Refused, record.Refusal{Block: block, Arm: a.Name, Rule: b.Rule, Value: b.Value, Limit: b.Limit})
				}
			}
		}
		if !wrong {
			j.valid = append(j.valid, block)
		}
	}
	j.result.Valid, j.result.Ran = len(j.valid), len(j.windows)
	j.result.Env.StealRatio = j.stolen()
	if n := len(j.windows); n > 0 { // a run seldom takes all the blocks that were planned
		last := slices.Max(slices.Collect(maps.Keys(j.windows)))
		j.result.Order = j.result.Order[:min(max(last, 0), len(j.result.Order))]
	}
}

// stolen is the share of all CPUs that the hypervisor gave to others, over all windows.
func (j *Judge) stolen() float64 {
	var stolen, total float64
	for _, block := range slices.Sorted(maps.Keys(j.windows)) {
		for _, a := range j.run.Plan.Arms { // in order: a sum of floats depends on it
			if w, ok := j.windows[block][a.Name]; ok {
				stolen += max(0, w.Trial.Client.Steal)
				total += w.Trial.Window
			}
		}
	}
	if total == 0 {
		return 0
	}
	return stolen / (total * float64(max(j.run.Env.CPUs, 1)))
}

func broke(all []window.Breach, rule string) bool {
	return slices.ContainsFunc(all, func(b window.Breach) bool { return b.Rule == rule })
}

// series is a metric of one arm over the valid blocks.
func (j *Judge) series(arm, metric string) []float64 {
	v := make([]float64, len(j.valid))
	for i, block := range j.valid {
		v[i] = j.windows[block][arm].Values[metric]
	}
	return v
}

func (j *Judge) fillArms() {
	for _, pa := range j.run.Plan.Arms {
		a := record.Arm{
			Name: pa.Name, Mode: pa.Mode, Role: pa.Role, Command: command.Join(pa.Command),
			Levels: pa.Levels, Family: pa.Family, Procs: pa.Procs, Attached: pa.URL != "", CPUs: j.otherCPUs[pa.Name],
			Clients: pa.Clients, XMax: measured(j.run.XMax[pa.Name]), Apart: j.run.Apart[pa.Name], Blocks: map[string][]float64{}, Curve: []record.Point{},
		}
		for _, m := range stats.Metrics() {
			v := j.series(pa.Name, m.Name)
			if !slices.ContainsFunc(v, math.IsNaN) {
				a.Blocks[m.Name] = v
			}
		}
		if m := stats.Median(j.series(pa.Name, "mean")); !math.IsNaN(m) {
			a.Mean = &m
		}
		median := func(metric string) *float64 {
			v, ok := a.Blocks[metric]
			if !ok || len(v) == 0 || window.Quantiles[metric] > 0 && !j.judged[metric] {
				return nil
			}
			m := stats.Median(v)
			return &m
		}
		a.P50, a.P90, a.P99 = median("p50"), median("p90"), median("p99")
		a.Goodput, a.CPUPerRequest = median("goodput"), median("cpu_per_request")
		hist := record.NewHistogram()
		for _, block := range j.valid {
			w := j.windows[block][pa.Name]
			hist.Merge(w.Hist)
			a.Requests += w.Requests
			a.Errors += w.Requests - w.Good
			for end, n := range w.Failures {
				if a.Failures == nil {
					a.Failures = map[string]int{}
				}
				a.Failures[end] += n
			}
			a.NEff += float64(w.Requests) / w.Tau / float64(len(j.valid))
			a.StarvedConnections = max(a.StarvedConnections, w.Starved)
			if w.Jain > 0 && (a.Jain == nil || w.Jain < *a.Jain) {
				a.Jain = &w.Jain
			}
		}
		if m := stats.Median(j.series(pa.Name, "good_mean")); float64(a.Errors) > errorLimit*float64(a.Requests) && !math.IsNaN(m) {
			a.GoodMean = &m
		}
		a.Disturbed = j.disturbed(pa.Name)
		a.Generator, a.Predictions = j.generator(pa.Name), j.predictions(pa.Name)
		if len(j.valid) > 0 {
			a.Curve = hist.Curve()
		}
		a.Footprint = j.footprint(pa.Name)
		a.Phases, a.Joined = j.armPhases(pa.Name), j.joined(pa.Name)
		a.Fairness, a.Sessions = j.fairness(pa.Name), j.sessions(pa.Name)
		a.Switches, a.Overflows = j.kernel(pa.Name)
		j.result.Arms = append(j.result.Arms, a)
	}
}

// measured is nil for the 0 of what was not.
func measured(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// generator sums up what the load side did in an arm's valid windows; nil when
// that was not recorded.
func (j *Judge) generator(arm string) *record.Proofs {
	var g record.Proofs
	var late record.ReadLate
	var busy, lateP50, lateP99 []float64
	for _, block := range j.valid {
		p := j.windows[block][arm].Trial.Client.Proof
		if p == nil {
			return nil
		}
		busy = append(busy, p.Busy)
		g.GCs += p.GCs
		g.LongestPause, g.LongestLag = max(g.LongestPause, p.LongestPause), max(g.LongestLag, p.LongestLag)
		g.Missing += max(0, p.Planned-p.Sent)
		if l := p.ReadLate; l != nil {
			late.Replies += l.Replies
			lateP50, lateP99 = append(lateP50, l.P50), append(lateP99, l.P99)
		}
	}
	if len(busy) == 0 {
		return nil
	}
	g.Busy = stats.Median(busy)
	if late.Replies > 0 {
		late.P50, late.P99 = stats.Median(lateP50), stats.Median(lateP99)
		g.ReadLate = &late
	}
	return &g
}
