package main

import (
	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
)

// newCapacity declares the flags of capacity. The budget is each arm's, unlike in compare.
// --blocks and --rate are not declared, because a search sets its own rates.
func newCapacity() measuring {
	var f runFlags
	var r session.Capacity
	cmd := &cobra.Command{
		Use:   "capacity [SCENARIO]",
		Short: "Find the highest rate of requests at which a server is still fast enough",
		Long: `Find the highest rate of requests at which a server keeps an objective like
p99<=10ms, for each arm of a scenario. The answer is an interval: at its low end the
objective was kept in three windows of three, at its high end it was broken in most.
Each window is measured on a fresh process; the arms take turns. Then one server is
overloaded and offered the low rate again: if it breaks the objective three times
now, it does not recover.

The scenario's own rate is not used. Its load must be open and have a steady rate.
Without a SCENARIO the embedded 'capacity' is searched, which asks for CPU time that
only schedlab's own servers spend, and --workload asks them for other costs; --path
or --targets asks any server, of the arms you name and no others.

docs/guide/capacity.md says how the search works and what it cannot do. An arm whose
server dies ends its own search alone, and one that is too slow for windows to judge
has none; the others go on. The record, with report.html, is kept below --out.`,
		Example: `  schedlab capacity
  schedlab capacity --slo 'p99<=5ms,errors<=0.1%' --arms nethttp,fasthttp
  schedlab capacity pool-cpu --arm 'pool-request,workers=16' --budget 2m
  schedlab capacity --arms nethttp --window 1s --warmup 300ms --budget 25s
  schedlab capacity --workload 'cpu=200us,sleep=exp(10ms)' --slo 'p99<=60ms'
  schedlab capacity --path / --arm mine='./server -listen {addr}'
  schedlab capacity --targets reqs.txt --arm old='./old {addr}' --arm new='./new {addr}' --dry-run`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
	}
	f.bind(cmd, &r.Common)
	fl := cmd.Flags()
	fl.Lookup("warmup").Usage = "how long each server is loaded before it is measured (default 500ms)"
	fl.StringVar(&r.SLO, "slo", "p99<=10ms,errors<=0.1%", "the objective: terms like p99<=10ms, mean<=2ms, errors<=0.1%, goodput>=500/s, with commas between them; all must hold")
	fl.StringSliceVar(&r.Arms, "arms", nil, "which arms to search: names of the scenario's arms, of those of --arm, or modes (default all)")
	bindAsked(fl, &r.Adhoc, false)
	bindWorkload(cmd, &r.Adhoc)
	fl.DurationVar(&r.Window, "window", 0, "how long each window is (default 3s)")
	fl.DurationVar(&r.Budget, "budget", 0, "longest the search of each arm may take (default 90s)")
	// benchstat and hgrm have no form for a search.
	oneOf(fl, &f.output, "output", "text", "text, json, markdown, html, csv", "text", "json", "markdown", "html", "csv")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print the whole report")
	completeBy(cmd, "arms", listOf(knownArms))
	bindConfig(cmd)
	inSections(cmd,
		helpSection{"What to search", "slo arms arm workload path targets"},
		helpSection{theLoad, "close warmup seed"},
		helpSection{howSure, "budget window"},
		helpSection{theOutput, "output dry-run progress note out config help"},
		helpSection{theMachine, "wait-idle cpus allow-remote"},
	)
	return measuring{cmd, func(args []string) (session.Order, error) {
		r.Scenarios, r.Command = args, again(cmd, args)
		o, err := f.order(fl, &r.Common)
		o.Capacity = &r
		return o, err
	}}
}
