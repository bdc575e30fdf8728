package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"schedlab/docs/experiments"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A choice is a row of docs/choosing.md for each thing that matters: the experiment that asks for the requests of a kind, the
// metrics that decide (none: those in deciding), and the arms that compete, the baseline first. lacks says why the experiment
// answers another question; such a row is open. The rows of a kind are adjacent.
type choice struct{ kind, matters, scenario, metrics, arms, lacks string }

// belowCapacity is what one experiment below capacity can answer. A closed loop is judged by its throughput, and an open one
// by the CPU time of a request instead.
const belowCapacity = "tail throughput memory"

var choices = []choice{
	{"they compute", belowCapacity, "pool-cpu", "", "goroutine nethttp pool,workers=4", ""},
	{"they compute", "overload", "accept", "", "nethttp pool-reject semaphore loop-single", ""},
	{"they wait for something else", belowCapacity, "quick", "", "nethttp fasthttp pool", ""},
	{"they wait for something else", "overload", "pool-block", "goodput", "nethttp pool,workers=4 pool,workers=8", ""},
	{"long ones among short ones", belowCapacity, "quantum", "", "goroutine one-worker loop-single", ""},
	{"long ones among short ones", "overload", "queue-requests", "", "q,queue-depth=16 q,queue-depth=4 q,queue-depth=128", "it compares lengths of one model's queue"},
	{"one in a hundred takes as long as all the others", belowCapacity, "heavy-tail", "", "goroutines one-worker", ""},
	{"one in a hundred takes as long as all the others", "overload", "survivors", "goodput", "inline answers", "it shows no overload"},
	{"thousands of idle connections beside them; under overload 16,384 busy ones", belowCapacity, "many-idle", "", "goroutine-crowd,idle=16000 loop-crowd,idle=16000", ""},
	{"thousands of idle connections beside them; under overload 16,384 busy ones", "overload", "crowd", "goodput", "goroutine,connections=16384 loop,connections=16384", ""},
	{"many in one moment", belowCapacity, "queue-kinds-tiny", "", "shared ring each goroutines", ""},
	{"many in one moment", "overload", "backlog", "p90", "long short enough", "it compares settings of one model and shows no overload"},
	{"they ask next to nothing; for memory and under overload sixteen in one write", "tail throughput", "plaintext", "", "nethttp goroutine fasthttp loop", ""},
	{"they ask next to nothing; for memory and under overload sixteen in one write", "memory", "pipelined", "", "goroutine,pipeline=16 loop,pipeline=16 nethttp,pipeline=16", ""},
	{"they ask next to nothing; for memory and under overload sixteen in one write", "overload", "pipelined-crowd", "goodput", "loop,connections=256,pipeline=16 goroutine,connections=256,pipeline=16", ""},
	{"much of the work is under one lock; under overload a store behind locks", belowCapacity, "lock", "", "goroutine nethttp turns-2 pool-request-2", ""},
	{"much of the work is under one lock; under overload a store behind locks", "overload", "kv-mix", "goodput", "goroutine pool,workers=4 pool,workers=12 requeue", ""},
}

// deciding are the metrics that decide a row, by what matters.
var deciding = map[string]string{"tail": "p90 p99", "throughput": "cpu_per_request", "memory": "memory", "overload": "good_mean goodput"}

// pairs returns the comparisons that decide a row: each arm with each before it, in every metric.
func (c choice) pairs(matters string) (all []judge.Pair) {
	arms := strings.Fields(c.arms)
	for i, arm := range arms {
		for _, before := range arms[:i] {
			for metric := range strings.FieldsSeq(cmp.Or(c.metrics, deciding[matters])) {
				f, _ := stats.FigureOf(metric)
				all = append(all, judge.Pair{Metric: f, Baseline: before, Arm: arm})
			}
		}
	}
	return all
}

// pairsOf returns the comparisons of a scenario that docs/choosing.md needs. A run itself compares its challengers with its
// baseline only, in its own metrics.
func pairsOf(scenario string) (all []judge.Pair) {
	for _, c := range choices {
		for matters := range strings.FieldsSeq(c.matters) {
			for _, p := range c.pairs(matters) {
				if c.scenario == scenario && !slices.Contains(all, p) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// An answer is what an experiment says of a row: the arms that no other surely beats, in the row's order, and the verdicts.
type answer struct {
	kind     record.AnswerKind // "": open
	best     []string
	verdicts []experiments.Row // none: some of them are missing
}

// answerOf reads an answer from the rows of the file. The rule that names a winner wants a result: one with just these arms,
// with the verdicts against the baseline as its own and those between two others as its duels. All of them rank the arms, so all are
// primary.
func (c choice) answerOf(rows []experiments.Row, matters string) (a answer) {
	names := strings.Fields(c.arms)
	r := record.Comparison{}
	for i, name := range names {
		r.Arms = append(r.Arms, record.Arm{Contestant: record.Contestant{Name: name, Role: []record.Role{record.Baseline, record.Challenger}[min(i, 1)]}})
	}
	for _, p := range c.pairs(matters) {
		at := slices.IndexFunc(rows, func(r experiments.Row) bool {
			return r.Scenario == c.scenario && r.Metric == p.Metric.String() && r.Arm == p.Arm && r.Baseline == p.Baseline
		})
		if at < 0 {
			return answer{}
		}
		a.verdicts = append(a.verdicts, rows[at])
		v := record.Verdict{
			Metric: p.Metric, Primary: true, Arm: p.Arm, Baseline: p.Baseline, Verdict: rows[at].Decision(),
			Ratio: rows[at].Ratio, Low: rows[at].Low, High: rows[at].High, Blocks: rows[at].Blocks,
		}
		if p.Baseline == names[0] {
			r.Verdicts = append(r.Verdicts, v)
		} else {
			r.Duels = append(r.Duels, v)
		}
	}
	a.kind, a.best = judge.Leaders(&r)
	slices.SortFunc(a.best, func(x, y string) int { return slices.Index(names, x) - slices.Index(names, y) })
	return a
}

// shown returns an answer as two cells: the best arms, and the verdicts between the first of them and the others. What no
// experiment decided is open.
func (c choice) shown(a answer) (best, measured string) {
	switch {
	case c.lacks != "":
		return "open", c.lacks
	case a.kind == record.ATie:
		best = "no difference: " + code(a.best, ", ")
	case a.kind == record.OneWins || a.kind == record.TieForBest:
		best = code(a.best, " or ")
	case a.kind == record.SeveralWin:
		return "open", "better than the others: " + code(a.best, ", ")
	default:
		return "open", ""
	}
	var told []string
	last := experiments.Row{}
	for _, v := range a.verdicts {
		if v.Low == 0 || v.Arm != a.best[0] && v.Baseline != a.best[0] || !differs(v) && v.Verdict != string(stats.Same) {
			continue
		}
		difference := fmt.Sprintf("%s %s (%s to %s)", stats.MetricOf(v.Metric).Label, stats.Change(v.Ratio), bound(v.Low, differs(v)), bound(v.High, differs(v)))
		if v.Arm == last.Arm && v.Baseline == last.Baseline {
			told[len(told)-1] += ", " + difference
		} else {
			told = append(told, fmt.Sprintf("`%s` against `%s`: %s", v.Arm, v.Baseline, difference))
		}
		last = v
	}
	return best, strings.Join(told, "; ")
}

// code returns names as code.
func code(names []string, between string) string {
	return "`" + strings.Join(names, "`"+between+"`") + "`"
}

// choosingPart is the part of docs/choosing.md that is written from the file.
var choosingPart = regexp.MustCompile(`(?s)(<!-- choices[^\n]*-->\n).*?(<!-- end -->)`)

// choosing returns the text of docs/choosing.md with its table from the rows. home tells the page of an experiment.
func choosing(text string, rows []experiments.Row, home map[string]string) (string, error) {
	if !choosingPart.MatchString(text) {
		return "", fmt.Errorf("no part begins with <!-- choices and ends with <!-- end -->")
	}
	var b strings.Builder
	b.WriteString("| requests | what matters | best | measured | experiment |\n|---|---|---|---|---|\n")
	kind := ""
	for _, c := range choices {
		for matters := range strings.FieldsSeq(c.matters) {
			best, measured := c.shown(c.answerOf(rows, matters))
			page, blocks := "not measured", ""
			if own := of(rows, c.scenario); len(own) > 0 {
				if home[c.scenario] == "" {
					return "", fmt.Errorf("no page has the figures of %s", c.scenario)
				}
				page, blocks = fmt.Sprintf("[%s](experiments/%s.md#%[1]s)", c.scenario, home[c.scenario]), ", "+prose.Plural(own[0].Blocks, "block")
			}
			said := c.kind
			if said == kind {
				said = ""
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s%s |\n", said, matters, best, measured, page, blocks)
			kind = c.kind
		}
	}
	return choosingPart.ReplaceAllStringFunc(text, func(part string) string {
		m := choosingPart.FindStringSubmatch(part)
		return m[1] + b.String() + m[2]
	}), nil
}

// homes returns the page of each scenario, by the texts of the pages.
func homes(pages map[string]string) map[string]string {
	home := map[string]string{}
	for name, text := range pages {
		for _, m := range figuresPart.FindAllStringSubmatch(text, -1) {
			home[m[2]] = name
		}
	}
	return home
}

// writeChoosing writes the table of a file like docs/choosing.md anew, and reports whether that changed it.
func writeChoosing(file string, rows []experiments.Row, home map[string]string) (changed bool, err error) {
	was, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	now, err := choosing(string(was), rows, home)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	if now == string(was) {
		return false, nil
	}
	return true, os.WriteFile(file, []byte(now), 0o644)
}
