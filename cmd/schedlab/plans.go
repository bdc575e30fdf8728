package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

// writePlans prints the plans of a dry run, their time, and the scenarios that do not fit into --total
// if each of the others takes as long as planned.
func writePlans(w io.Writer, a session.Answer) error {
	total, late := time.Duration(0), []string{}
	for _, s := range a.Plans {
		if s.NotRun == nil {
			if err := writePlan(w, s.Outline()); err != nil {
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
// that it cannot decide, and the commands of its arms, which a person can run.
func writePlan(w io.Writer, o session.Outline) error {
	var doubts []session.Line
	for _, text := range o.Doubts {
		doubts = append(doubts, session.Line{Label: "doubt", Text: text})
	}
	for _, l := range slices.Concat(o.What, o.Time, doubts, o.Commands) {
		fmt.Fprintf(w, "%-11s %s\n", l.Label, l.Text)
	}
	_, err := fmt.Fprintln(w)
	return err
}
