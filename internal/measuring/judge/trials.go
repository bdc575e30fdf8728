package judge

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// Trials collects the trials of a run of any kind: which of them can be judged, what their servers published, and what speaks
// against the result. It is not safe for concurrent use.
type Trials struct {
	name, path string
	run        record.Run
	found      int // trials so far
	servers    servers
	doubts     []fact.Fact // about trials that are not judged
}

// NewTrials returns the trials of a run, none so far. It returns an error if run.json is damaged. path is for messages only.
func NewTrials(name, path string, run record.Run) (Trials, error) {
	for i, arm := range run.Plan.Arms {
		const longest = record.LongestName + 1 // a copy's name ends with a ' more
		if n := utf8.RuneCountInString(arm.Name); n == 0 || n > longest {
			return Trials{}, fmt.Errorf("judging %q: run.json is damaged: arm %d has a name of %d characters; one has 1 to %d", path, i+1, n, longest)
		}
	}
	// The order comes from a file, and the judge uses it as indices.
	for i, block := range run.Plan.Order {
		for _, arm := range block {
			if arm < 0 || arm >= len(run.Plan.Arms) {
				return Trials{}, fmt.Errorf("judging %q: run.json is damaged: block %d orders arm %d of %d", path, i+1, arm+1, len(run.Plan.Arms))
			}
		}
	}
	return Trials{name: name, path: path, run: run, servers: servers{}}, nil
}

// Admits reports whether a trial can be judged. If it can, Admits keeps what the server published; if not, the reason becomes a
// doubt. err is the error of reading the trial. own is a reason of this kind of run, which counts if there is no other.
func (of *Trials) Admits(t record.Trial, err error, own fact.Fact) bool {
	of.found++
	plan, why := of.run.Plan, own
	if before := plan.Before; before != nil && t.Block <= before.Blocks && err == nil {
		return false // a doubt of the plan tells of it
	}
	switch {
	case err != nil:
		why = unreadableTrial.Of(failure{err.Error()})
	case t.Failure != "" || t.Omitted != "": // a trial has one of them at most
		why = trialFailed.Of(failure{t.Failure + t.Omitted})
	case planned(plan, t.Arm) == nil:
		why = trialOfNoArm.On(t.Arm)
	// A trial with other lengths is from another run, or the record is damaged.
	case t.Window != plan.Window || t.Warmup != plan.Warmup || t.Window.Duration <= 0:
		why = otherWindow.Of(lengths{t.Warmup.Seconds(), t.Window.Seconds(), plan.Warmup.Seconds(), plan.Window.Seconds()})
	case why.None():
		of.servers[t.Arm] = append(of.servers[t.Arm], t.Server)
		return true
	}
	if err == nil {
		why = trialLeftOut.Of(leftOut{t.Number}).On(t.Arm).Since(why)
	}
	of.doubts = append(of.doubts, why)
	return false
}

// Common returns the fields that results of all kinds have, without doubts. Lists are empty and not nil, so that JSON shows [] and
// not null.
func (of *Trials) Common(kind string) record.Common {
	run, p := of.run, of.run.Plan
	// The watchdog measured steal over the whole run, which is better than over the windows.
	if o := run.Others; o != nil {
		run.Env.StealRatio = o.Steal
	}
	return record.Common{
		Schema: record.Schema, Kind: kind, Run: of.name, Dir: of.path, Scenario: p.Scenario, Question: p.Question, Status: run.Status, Seed: p.Seed, Asked: p.Asked,
		Warmup: record.Lasting(p.Heating.Duration + p.Warmup.Duration), Window: p.Window, Started: run.Started, Env: run.Env, Others: run.Others, Note: p.Note, Command: p.Command, Doubts: []fact.Fact{}, NotChecked: []string{},
	}
}

// Contestant returns what a plan, and the servers of the trials so far, tell about an arm.
func (of *Trials) Contestant(pa record.PlanArm) record.Contestant {
	return of.servers.contestant(of.run, pa)
}

// Doubts returns everything that speaks against a result other than a comparison, the heaviest first. own holds the doubts that
// only this kind of result has. answered reports that the result has an answer even if other programs took much of the CPUs.
func (of *Trials) Doubts(r record.Result, answered bool, own ...fact.Fact) []fact.Fact {
	run := of.run
	all := slices.Clone(of.doubts)
	if busy := Busy(run.Others, run.Env); !busy.None() {
		taken, _ := fact.In(doubt.MachineBusy, busy)
		taken.Open = going(run.Status) && !answered
		all = append(all, doubt.MachineBusy.Of(taken).Replacing(busy))
	}
	all = slices.Concat(all, lacking(run, of.found, 0), othersDoubts(run.Others), of.servers.doubtsOf(run.Plan), plantedFaults(run.Plan), own)
	if run.Status != record.Complete {
		all = append(all, notComplete(run, nil))
	}
	return fact.ByWeight(slices.Concat(all, run.Plan.Doubts, hostDoubts(r)))
}

// mostServerDoubts limits the number of different doubts that an arm's trials may raise. More
// would fill a page without telling more.
const mostServerDoubts = 4

// servers holds what the trials found out about the arms' servers, by arm, in the order of the trials.
type servers map[string][]record.ServerSide

// doubtsOf returns the doubts about the servers of a plan, arm by arm, each once. The copy is its
// baseline again, and has none.
func (s servers) doubtsOf(p record.Plan) (all []fact.Fact) {
	for _, a := range p.Arms {
		var own []fact.Fact
		for _, t := range s[a.Name] {
			for _, f := range t.Doubts {
				f.Arm = a.Name
				same := func(other fact.Fact) bool { return reflect.DeepEqual(f, other) }
				if a.Role != record.Copy && !slices.ContainsFunc(own, same) {
					own = append(own, f)
				}
			}
		}
		all = append(all, own[:min(len(own), mostServerDoubts)]...)
	}
	return all
}

// contestant returns what a plan, and the servers themselves, tell about an arm.
func (s servers) contestant(run record.Run, pa record.PlanArm) record.Contestant {
	a := record.Contestant{
		Name: pa.Name, Mode: pa.Mode, Role: pa.Role, CopyOf: pa.CopyOf, Command: cmdline.Join(pa.Command), Clients: pa.Clients, Procs: pa.Procs, Busy: pa.Busy,
		Attached: pa.URL != "", Levels: pa.Levels, Family: pa.Family,
	}
	procs := 0 // the GOMAXPROCS that the server publishes; 0 if it publishes none
	for _, t := range s[pa.Name] {
		// The last trial that tells them counts.
		a.CPUs, procs = cmp.Or(t.CPUs, a.CPUs), cmp.Or(t.Procs, procs)
	}
	// What the server publishes outweighs the plan. An arm with the GOMAXPROCS of the run keeps 0.
	if procs > 0 && procs != cmp.Or(pa.Procs, run.Env.ServerProcs) {
		a.Procs = procs
	}
	return a
}
