package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// writePlans prints the plans of a dry run, their time, and the scenarios that do not fit into --total
// if each of the others takes as long as planned.
func writePlans(w io.Writer, a session.Answer) error {
	total, late := time.Duration(0), []string{}
	for _, s := range a.Plans {
		if s.NotRun == nil {
			if err := writePlan(w, s.Planned); err != nil {
				return err
			}
			total += s.Planned.Planned().Estimate.Duration
			continue
		}
		// A scenario that is not run has a reason instead of a plan.
		label := "refused"
		if s.Lacks == nil {
			label = "not run"
			late = append(late, cmp.Or(record.CellName(s.Scenario.Cell), s.Scenario.Name))
		}
		fmt.Fprintf(w, "scenario    %s: %s\n%-11s %v\n\n", s.Scenario.Name, s.Scenario.Question, label, s.NotRun)
	}
	if len(a.Plans) < 2 {
		return nil
	}
	what := "scenarios"
	if a.Plans[0].Scenario.Cell != nil {
		what = "cells"
	}
	fmt.Fprintf(w, "in all      %d %s, about %v; --budget is for each of them, --total for all", len(a.Plans), what, total.Round(time.Second))
	if len(late) > 0 {
		fmt.Fprintf(w, "; not within --total %v: %s", a.Total, strings.Join(late, ", "))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writePlan prints a comparison or a search that has not begun: the question, its time, the metrics
// that it cannot decide, and the commands of its arms, which a person can run. Each line begins with
// a label of up to eleven letters.
func writePlan(w io.Writer, c *runner.Comparison) error {
	p := c.Planned()
	span := func(s record.Span) time.Duration { return s.Round(time.Millisecond) }
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	if p.Cell != nil {
		fmt.Fprintf(w, "cell        %s\n", record.CellName(p.Cell))
	}
	search := !p.InBlocks()
	if search {
		fmt.Fprintf(w, "objective   %s\n", p.SLO)
		fmt.Fprintf(w, "search      up to %d windows of %v + %v for each arm, seed %d\n", p.Windows, span(p.Warmup), span(p.Window), p.Seed)
	} else {
		fmt.Fprintf(w, "blocks      up to %d of %d arms, %v + %v each, until all is decided\n",
			p.Blocks, len(p.Arms), span(p.Warmup), span(p.Window))
		fmt.Fprintf(w, "rate        %s, seed %d\n", c.Rate(), p.Seed)
		if p.Asked != "" {
			fmt.Fprintf(w, "asks        %s\n", p.Asked)
		}
	}
	// Each load once: most arms have the same clients.
	var loads []string
	for _, a := range p.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			fmt.Fprintf(w, "load        %s\n", text)
		}
	}
	fmt.Fprintf(w, "CPUs        server %s, load %s\n", c.Env().ServerCPUs, c.Env().LoadCPUs)
	if search { // every arm has the same budget, and the estimate is for all
		fmt.Fprintf(w, "time        about %.0f s, %v for each arm\n", p.Estimate.Seconds(), span(p.Budget))
	} else {
		writeBudget(w, c)
	}
	for _, d := range fact.ByWeight(p.Doubts) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		label := string(a.Role)
		if search {
			label = "arm"
		}
		fmt.Fprintf(w, "%-11s %s: %s\n", label, a.Name, cmdline.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeBudget prints how long a comparison may take, and which metrics it can decide in that time.
func writeBudget(w io.Writer, c *runner.Comparison) {
	p := c.Planned()
	budget, blocks := c.Budget()
	about := ""
	if p.Estimate.Duration < budget {
		about = fmt.Sprintf("about %.0f s, ", p.Estimate.Seconds())
	}
	fmt.Fprintf(w, "time        %s%.0f s at most\n", about, budget.Seconds())
	fmt.Fprintf(w, "budget      %v, room for %d blocks\n", budget, blocks)
	if f := p.Feasible; f != nil {
		if f.Planned.Duration > 0 {
			fmt.Fprintf(w, "window      %v instead of %v, for the requests that the quantiles need\n",
				p.Window.Round(time.Millisecond), f.Planned.Round(time.Millisecond))
		}
		// The rate depends on the probes, so the length of the windows is known when they have run.
		if f.NeedsRate > 0 {
			fmt.Fprintf(w, "awaits      the probes: below %.0f/s windows grow as far as the budget has room, and what is open then is told\n", f.NeedsRate)
		}
		for _, u := range runner.Undecided(*f, false) {
			fmt.Fprintf(w, "open        %s\n", u.String())
		}
	}
	for _, text := range p.Expect {
		fmt.Fprintf(w, "expect      %s\n", text)
	}
}
