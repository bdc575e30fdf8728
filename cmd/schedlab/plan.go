package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/record"
	"schedlab/internal/report"
)

// writePlan prints a comparison that has not begun: the question, its time, the metrics that it
// cannot decide, and the commands of its arms, which a person can run. Each line begins with a
// label of up to eleven letters.
//
// The functions of this file print the plans of --dry-run: writePlan a comparison's, writeSearch a
// search's. A map's is in map.go.
func writePlan(w io.Writer, c *experiment.Comparison) error {
	p := c.Planned()
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	fmt.Fprintf(w, "protocol    %s: up to %d blocks of %d arms, %v + %v each, until all is decided\n", p.Protocol, p.Blocks, len(p.Arms),
		record.Duration(p.Warmup).Round(time.Millisecond), record.Duration(p.Window).Round(time.Millisecond))
	fmt.Fprintf(w, "rate        %s, seed %d\n", c.Rate(), p.Seed)
	if p.Asked != "" {
		fmt.Fprintf(w, "asks        %s\n", p.Asked)
	}
	writeLoads(w, p, c.Env())
	budget, blocks := c.Budget()
	about := ""
	// The estimate is printed only where it is shorter than the budget.
	if p.Estimate < budget.Seconds() {
		about = fmt.Sprintf("about %.0f s, ", p.Estimate)
	}
	fmt.Fprintf(w, "time        %s%.0f s at most\n", about, budget.Seconds())
	fmt.Fprintf(w, "budget      %v, room for %d blocks\n", budget, blocks)
	if f := p.Feasible; f != nil {
		if f.Planned > 0 {
			fmt.Fprintf(w, "window      %v instead of %v, for the requests that the quantiles need\n", record.Duration(p.Window).Round(time.Millisecond), record.Duration(f.Planned).Round(time.Millisecond))
		}
		// A rate that depends on the probes: how long windows get is known when they have run.
		if f.NeedsRate > 0 {
			fmt.Fprintf(w, "awaits      the probes: below %.0f/s windows grow as far as the budget has room, and what is undecided then is told\n", f.NeedsRate)
		}
		for _, u := range experiment.Undecided(*f, false) {
			fmt.Fprintf(w, "undecided   %s\n", u.String())
		}
	}
	for _, text := range p.Expect {
		fmt.Fprintf(w, "expect      %s\n", text)
	}
	for _, d := range record.ByWeight(p.Doubts) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		fmt.Fprintf(w, "%-11s %s: %s\n", a.Role, a.Name, command.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeLoads prints what the arms' clients do, each once, and the CPUs of both sides. Most arms
// have the same clients, so most plans have one such line. Arms may differ in their clients, if the
// scenario varies the load.
func writeLoads(w io.Writer, p record.Plan, e record.Env) {
	var loads []string
	for _, a := range p.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			fmt.Fprintf(w, "load        %s\n", text)
		}
	}
	fmt.Fprintf(w, "CPUs        server %s, load %s\n", e.ServerCPUs, e.LoadCPUs)
}

// writeSearch prints a search that has not begun: its objective, its windows and its time. Every
// arm has the same budget, so the estimate is for all and the budget for each.
func writeSearch(w io.Writer, c *experiment.Comparison) error {
	p := c.Planned()
	span := func(s float64) time.Duration { return record.Duration(s).Round(time.Millisecond) }
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	fmt.Fprintf(w, "objective   %s\n", p.SLO)
	fmt.Fprintf(w, "search      up to %d windows of %v + %v for each arm, seed %d\n", p.Windows, span(p.Warmup), span(p.Window), p.Seed)
	writeLoads(w, p, c.Env())
	fmt.Fprintf(w, "time        about %.0f s, %v for each arm\n", p.Estimate, span(p.Budget))
	for _, d := range record.ByWeight(p.Doubts) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		fmt.Fprintf(w, "arm         %s: %s\n", a.Name, command.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}
