package advise

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Kinds of requests.
const (
	// The kinds are the parts of a table's row; Ask.Does tells which one requests are of.
	ShortCPU  = "short-cpu"  // they compute
	Blocking  = "blocking"   // they wait for something else
	Mixed     = "mixed"      // they compute and wait, or are of two lengths
	HeavyTail = "heavy-tail" // a few are a hundred times as long as the others
	Idle      = "idle"       // there are very many connections, and few of them carry requests
	Bursts    = "bursts"     // many arrive at the same moment
	Pipelined = "pipelined"  // they need almost no time, or several arrive in one write
	Locks     = "locks"      // much of their work is done under one lock
)

// What the asker wants to be good.
const (
	// Tail is the slowest requests' response time, Throughput the CPU time that a request costs,
	// Memory the server's memory, and Overload the good replies when more comes than can be served.
	Tail       = "tail"
	Throughput = "throughput"
	Memory     = "memory"
	Overload   = "overload"
)

// Matters returns the values of what may matter, in the table's order.
func Matters() []string { return []string{Tail, Throughput, Memory, Overload} }

// allButOverload is what one experiment below capacity can answer.
const allButOverload = Tail + " " + Throughput + " " + Memory

// table holds for each cell, or for several of one kind, the experiment that answers it, the metrics
// that decide ("": the ones in deciding), and the arms that compete: arms of the scenario, the baseline
// first, each followed by ":mode" if its name is not the mode. A closed loop is judged by its throughput. An open loop below
// capacity is judged by the CPU time of a request instead. TestTableIsOfThePack checks the table
// against the scenarios.
//
// The rest of the file reads the answers. A Pack holds the verdicts of all experiments, which the caller
// has from docs/experiments/answers.tsv. Cells looks up the verdicts of each cell and names its best arms.
var table = []struct{ does, matters, scenario, metrics, arms string }{
	// Short CPU work on kept connections. For overload: half as much again as the CPU can do.
	{ShortCPU, allButOverload, "pool-cpu", "", "goroutine nethttp pool,workers=4:pool-request"},
	{ShortCPU, Overload, "accept", "", "nethttp pool-reject:pool semaphore loop-single"},

	// Requests that wait 28 ms for something else. For overload: with too few workers by Little's
	// law, and with enough.
	{Blocking, allButOverload, "quick", "", "nethttp fasthttp pool"},
	{Blocking, Overload, "pool-block", "goodput", "nethttp pool,workers=4:pool pool,workers=8:pool"},

	// Long requests among short ones. The experiment with overload compares lengths of one mode's
	// queue, so the cell says that it lacks other modes.
	{Mixed, allButOverload, "quantum", "", "goroutine one-worker:pool-request loop-single"},
	{Mixed, Overload, "queue-requests", "", "q,queue-depth=16:pool-request q,queue-depth=4:pool-request q,queue-depth=128:pool-request"},

	// One request in a hundred is a hundred times the others. The scenario for overload loads no
	// server beyond its capacity, and belowCapacity says so.
	{HeavyTail, allButOverload, "heavy-tail", "", "goroutines:goroutine one-worker:pool-request"},
	{HeavyTail, Overload, "survivors", "goodput", "inline:loop-single answers:pool-request"},

	// Thousands of idle connections beside the others. For overload: 16384 connections, all in use.
	{Idle, allButOverload, "many-idle", "", "goroutine-crowd,idle=16000:goroutine loop-crowd,idle=16000:loop"},
	{Idle, Overload, "crowd", "goodput", "goroutine,connections=16384:goroutine loop,connections=16384:loop"},

	// The smallest request there is, sixteen at a time. For overload: twelve connections at once, with
	// listen backlogs of several lengths. That is below capacity and all arms have one mode, so the
	// cell says what it lacks.
	{Bursts, allButOverload, "queue-kinds-tiny", "", "shared:pool ring:pool-ring each:pool-perworker goroutines:goroutine"},
	{Bursts, Overload, "backlog", "p90", "long:nethttp short:nethttp enough:nethttp"},

	// Plain requests, which cost next to nothing. For memory and overload: sixteen in one write.
	{Pipelined, Tail + " " + Throughput, "plaintext", "", "nethttp goroutine fasthttp loop"},
	{Pipelined, Memory, "pipelined", "", "goroutine,pipeline=16:goroutine loop,pipeline=16:loop nethttp,pipeline=16:nethttp"},
	{Pipelined, Overload, "pipelined-crowd", "goodput", "loop,connections=256,pipeline=16:loop goroutine,connections=256,pipeline=16:goroutine"},

	// Four fifths of the work under one lock. For overload: reads, writes and deletes of a store
	// behind locks.
	{Locks, allButOverload, "lock", "", "goroutine nethttp turns-2:semaphore pool-request-2:pool-request"},
	{Locks, Overload, "kv-mix", "goodput", "goroutine pool,workers=4:pool pool,workers=12:pool requeue:pool-requeue"},
}

// deciding are the metrics that decide a cell, by what matters, unless the cell's row names others. A
// test takes them too, but for the tail.
var deciding = map[string]string{Tail: "p90 p99", Throughput: "cpu_per_request", Memory: "memory", Overload: "good_mean goodput"}

// Cells returns the cells of the table with the pack's answers, in the table's order. Equally good
// arms are listed in the order of modes, the plainest first. If a cell is undecided, arms with much
// worse medians are listed last. Without a pack no cell has an answer, and modes may be nil.
func Cells(pack Pack, modes []mode.Mode) (all []record.ChoiceCell) {
	for _, row := range table {
		var arms []record.ChoiceArm
		for text := range strings.FieldsSeq(row.arms) {
			name, mode, _ := strings.Cut(text, ":")
			arms = append(arms, record.ChoiceArm{Name: name, Mode: cmp.Or(mode, name)})
		}
		for matters := range strings.FieldsSeq(row.matters) {
			c := record.ChoiceCell{
				Does: row.does, Matters: matters, Scenario: row.scenario, Metrics: strings.Fields(cmp.Or(row.metrics, deciding[matters])),
				Arms: arms, Best: []record.ChoiceArm{}, Verdicts: []record.Verdict{},
			}
			c.Lacks = lacks(c)
			all = append(all, pack.answer(c, modes))
		}
	}
	return all
}

// belowCapacity are the scenarios that the table uses for overload although they load no server
// beyond its capacity.
var belowCapacity = []string{"backlog", "survivors"}

// lacks returns the reasons why a cell's experiment does not fit its question: all arms have one
// mode, or there is no overload.
func lacks(c record.ChoiceCell) (why []record.Fact) {
	names := record.Names{"scenario": c.Scenario, "mode": c.Arms[0].Mode}
	if !slices.ContainsFunc(c.Arms, func(a record.ChoiceArm) bool { return a.Mode != c.Arms[0].Mode }) {
		why = append(why, record.Fact{Code: chooseOneMode, Names: names})
	}
	if c.Matters == Overload && slices.Contains(belowCapacity, c.Scenario) {
		why = append(why, record.Fact{Code: chooseBelow, Names: names})
	}
	return why
}

// answer returns the cell c with its verdicts from the pack, its outcome and its best arms. If the
// pack lacks a verdict of the cell, the cell has no outcome and no best arms: it counts as not
// measured.
func (p Pack) answer(c record.ChoiceCell, modes []mode.Mode) record.ChoiceCell {
	for _, pair := range pairs(c) {
		i := slices.IndexFunc(p, func(r Row) bool { return r.Scenario == c.Scenario && pairOf(r.Verdict) == pair })
		if i < 0 {
			return c
		}
		c.Commit, c.Verdicts = p[i].Commit, append(c.Verdicts, p[i].Verdict)
	}
	// Measured, but every verdict was refused: no arm is best.
	if c.Outcome = record.NoVerdict; !judged(c.Verdicts) {
		return c
	}
	var names, best []string
	for _, a := range c.Arms {
		names = append(names, a.Name)
	}
	c.Outcome, best = leaders(names, c.Metrics, c.Verdicts)
	c.Best = slices.DeleteFunc(slices.Clone(c.Arms), func(a record.ChoiceArm) bool { return !slices.Contains(best, a.Name) })
	// Among equals the plainest is advised, except that one that trails is advised last.
	trails := trailing(c)
	slices.SortStableFunc(c.Best, func(a, b record.ChoiceArm) int {
		return cmp.Or(trails[a.Name]-trails[b.Name], rank(modes, a.Mode)-rank(modes, b.Mode))
	})
	return c
}

// judged reports whether any of the verdicts was not refused.
func judged(verdicts []record.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v record.Verdict) bool { return v.Verdict != stats.Refused })
}

// leaders returns the best of the named arms by their verdicts on some metrics, and in what way
// they are best. names[0] is the baseline. Verdicts between two challengers count as well.
func leaders(names, metrics []string, verdicts []record.Verdict) (record.AnswerKind, []string) {
	// The rule that names a winner wants a result: one with just these arms. Verdicts against its
	// baseline are the result's Verdicts, those between two challengers its Duels.
	r := record.Result{}
	for i, name := range names {
		r.Arms = append(r.Arms, record.Arm{Name: name, Role: []record.Role{record.Baseline, record.Challenger}[min(i, 1)]})
	}
	for _, v := range verdicts {
		if v.Baseline == names[0] {
			r.Verdicts = append(r.Verdicts, v)
		} else {
			r.Duels = append(r.Duels, v)
		}
	}
	return judge.Leaders(&r, metrics)
}

// trailing returns 1 for each arm in c.Best with a median that is worse than another's by more than
// SAME allows, by its name. It returns nil if the cell is decided. In an undecided cell "best" only
// means "not surely worse", and an arm that looks twice as slow should not be advised for being plain.
func trailing(c record.ChoiceCell) map[string]int {
	switch c.Outcome {
	case record.OneWins, record.ATie, record.TieForBest:
		return nil
	}
	// How much worse an arm is than the baseline: the sum over metrics of ln(ratio).
	worse := map[string]float64{}
	for _, v := range c.Verdicts {
		switch {
		case v.Baseline != c.Arms[0].Name || v.Ratio <= 0:
		case stats.MetricOf(v.Metric).HigherIsBetter:
			worse[v.Arm] -= math.Log(v.Ratio)
		default:
			worse[v.Arm] += math.Log(v.Ratio)
		}
	}
	limit := math.Inf(1)
	for _, b := range c.Best {
		limit = min(limit, worse[b.Name])
	}
	for _, metric := range c.Metrics {
		limit += math.Log1p(stats.MetricOf(metric).Same)
	}
	trails := map[string]int{}
	for _, b := range c.Best {
		trails[b.Name] = stats.Count(worse[b.Name] > limit)
	}
	return trails
}

// pairs returns the comparisons that decide a cell: each arm with each arm before it, in every
// metric. The earlier arm is the baseline.
func pairs(c record.ChoiceCell) (all []judge.Pair) {
	for i, a := range c.Arms {
		for _, before := range c.Arms[:i] {
			for _, metric := range c.Metrics {
				all = append(all, judge.Pair{Metric: metric, Baseline: before.Name, Arm: a.Name})
			}
		}
	}
	return all
}

// pairOf returns the comparison that a verdict is on.
func pairOf(v record.Verdict) judge.Pair {
	return judge.Pair{Metric: v.Metric, Baseline: v.Baseline, Arm: v.Arm}
}

// A Pack holds the verdicts of the experiments. The rows of one scenario are adjacent. nil is an
// empty pack.
type Pack []Row

// A Row is one verdict of the pack, with its scenario and the commit that was measured. Of the
// verdict it has what the file of answers holds; the other fields are zero.
type Row struct {
	Scenario, Commit string
	record.Verdict
}

// Pairs returns the comparisons of a scenario that the cells need, without duplicates. A run itself
// compares its challengers with its baseline only, in its own metrics: judge.Pairs computes these
// from the run's record.
func Pairs(scenario string) (all []judge.Pair) {
	for _, c := range Cells(nil, nil) {
		for _, p := range pairs(c) {
			if c.Scenario == scenario && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}
