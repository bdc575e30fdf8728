package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/scenario"
)

// newCompare declares the flags of compare.
func newCompare() measuring {
	var f runFlags
	var r session.Compare
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO|DIR|all...]",
		Short: "Run servers side by side under the same load, and say which is faster",
		Long: `Start the servers of a scenario (its arms), send all of them the same requests at the
same times, and say which is faster, by how much, and how sure that is. They are
measured in turns, block by block, in a fresh process each time. The first arm is the
baseline, which runs twice in each block: by what the two differ is noise. Without a
SCENARIO 'quick' compares net/http, fasthttp and a worker pool, in half a minute on
two CPUs where the machine is quiet, and 75 s at most.

Several scenarios, a directory of them, or 'all' (the embedded ones) make a pack:
each has a record of its own, and a table tells every expectation as kept, not
kept, open or refused. One is not kept only when the blocks are sure of it. So does
--grid: one comparison for each cell, and a table of who wins where.

--arms all races every mode that fits the load: an arm that another one surely beats
takes no more windows. It ends with the best, and those not told apart from it.

Any server is an arm: --arm name='CMD {addr}' starts one, where {addr} or {host} and
{port} become an address, {admin} a second one and {dir} an empty directory, and
VARIABLE=VALUE words before it are its environment; --arm name=http://127.0.0.1:9000
takes one that runs already.

It prints the answer; the whole report is in the record, below --out. Verdicts are
FASTER, SLOWER, SAME, open or refused, which comes with its reason.`,
		Example: `  schedlab compare
  schedlab compare plaintext --seed 7
  schedlab compare --arms nethttp,pool --window 3.6s --budget 10m
  schedlab compare --arms all
  schedlab compare --arm 'pool,workers=64'
  schedlab compare pool-block --vary workers=4,5,8 --budget 5m
  schedlab compare --path / --arm pool --vary workers=4,8,16 --close
  schedlab compare all --total 4h15m
  schedlab compare capacity --arms nethttp,fasthttp --grid cpu=20us,100us --grid rate=2500/s,4000/s
  schedlab compare --workload 'cpu=200us,sleep=exp(10ms)' --rate 2000/s --slo 'p99<=60ms'
  schedlab compare --arm mine='./server -listen {addr}'
  schedlab compare --arms nethttp --arm nethttp,env.GOGC=400
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}' --rate 2000/s --expect 'not slower("p99", "new")' --strict
  schedlab compare --targets reqs.txt --rate 2000/s --arm a=http://127.0.0.1:9000 --arm b='GOGC=50 ./b {addr}'
  schedlab compare --log access.log@10x --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare plaintext --progress plain
  schedlab compare ./mine.yaml --dry-run`,
		ValidArgsFunction: completeScenarios,
	}
	f.bind(cmd, &r.Common)
	fl := cmd.Flags()
	fl.StringSliceVar(&r.Arms, "arms", nil, "which arms to compare, the baseline first: names of the scenario's arms, of those of --arm, or modes (default those of the scenario); all races every mode that fits, in 2 minutes")
	fl.StringArrayVar(&r.Vary, "vary", nil, "an arm for each value of a flag of serve or a setting of the load, like workers=4,8,16 (repeatable: every combination)")
	fl.StringArrayVar(&r.Grid, "grid", nil, "a comparison for each value of a part of the workload (cpu, sleep, sleep-share), of a setting of the load or of a flag of serve, like cpu=20us,100us (twice: every pair of values)")
	fl.StringArrayVar(&r.Expect, "expect", nil, "one more assertion, like 'not slower(\"p99\", \"new\")'; exit code 3 when it fails (repeatable; docs/reference/scenarios.md)")
	fl.StringVar(&r.Keep, "slo", "", "objective that each arm is expected to keep, like 'p99<=10ms,errors<=0.1%'")
	fl.BoolVar(&r.Strict, "strict", false, "exit code 4 when an expectation is open or refused, also where others are kept")
	fl.IntVar(&r.Blocks, "blocks", 0, "most blocks to run, 10 to 40 (default 40); a run ends earlier when everything is decided")
	fl.DurationVar(&r.Window, "window", 0, "how long each server is measured in a block (default 0.5s or the scenario's, and longer where the question needs it)")
	fl.DurationVar(&r.Budget, "budget", 0, "longest each comparison, or each cell of a grid, may take; a budget that you give is used as long as something is open (default 75s or the scenario's, and longer for a long --window or --warmup)")
	fl.DurationVar(&r.Total, "total", 0, "longest all scenarios, or all cells of a grid, may take together; those that no longer fit are left out (default no limit)")
	fl.Var(&r.Rate, "rate", "requests a second, like 3000/s, or a share of what the slowest arm can do, like 0.7x")
	oneOf(fl, &r.Engine, "engine", "", "what sends open loops: "+strings.Join(load.Engines(), " or ")+" (default "+load.DefaultEngine+"; docs/reference/engines.md)", load.Engines()...)
	bindAsked(fl, &r.Adhoc, true)
	bindWorkload(cmd, &r.Adhoc)
	oneOf(fl, &r.Stamps, "stamps", "", "what schedlab's own servers note of each request, to say where its time went: off, basic, or full, with the kernel's times (default full on Linux, else basic)", stampKinds...)
	fl.StringVar(&r.Resume, "resume", "", "go on with several scenarios or a grid that were cut short: the name of one of their runs, or latest. Give the other arguments as before; runs that ended are kept")
	oneOf(fl, &f.output, "output", "text", "text, json, markdown, html, csv, benchstat or hgrm", report.Formats().Names()...)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print the whole report")
	bindProfiles(fl, &r.Profiles)
	fl.BoolVar(&r.Explain, "explain", false, "then explain the largest difference, as 'schedlab explain' does, in up to "+session.TestBudget.String()+" more than --budget")
	completeBy(cmd, "vary", completeFactor(scenario.VaryFactors()...))
	completeBy(cmd, "grid", completeFactor(append([]string{"cpu", "sleep", "sleep-share"}, scenario.VaryFactors()...)...))
	completeBy(cmd, "arms", listOf(func(cmd *cobra.Command, args []string) []string {
		return append([]string{session.EveryMode}, knownArms(cmd, args)...)
	}))
	completeBy(cmd, "resume", completeRuns)
	bindConfig(cmd)
	inSections(cmd,
		helpSection{whatToCompare, "arms arm vary grid workload path targets log"},
		helpSection{theLoad, "rate close warmup engine stamps seed"},
		helpSection{howSure, "budget window blocks slo expect strict total resume"},
		helpSection{theOutput, "output explain profiles dry-run progress note out config help"},
		helpSection{theMachine, "wait-idle cpus allow-remote"},
	)
	return measuring{cmd, func(args []string) (session.Order, error) {
		r.Scenarios, r.Command = args, again(cmd, args)
		o, err := f.order(fl, &r.Common)
		o.Compare = &r
		if form := o.Output; slices.Equal(r.Arms, []string{session.EveryMode}) && (form == "benchstat" || form == "hgrm") {
			err = cmp.Or(err, session.Usagef("--output %s is about arms that run to the end, and with --arms %s an arm that cannot be the best is left out; take text, json, markdown, html or csv", form, session.EveryMode))
		}
		return o, cmp.Or(err, checkValues(fl, "slo"))
	}}
}
