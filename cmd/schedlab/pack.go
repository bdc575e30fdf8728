package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// A question is a scenario with the arms of the command line, by the name it has there. The name is
// "" if flags replace the scenario.
//
// The file takes compare from its arguments to its exit code where there may be several scenarios:
// questions reads them, conduct plans them, writePlans prints the plans, pack runs them one after the
// other, and packOutcome sums up.
type question struct {
	scenario.Scenario
	name string
}

// questions reads the scenarios of the command line: names, files, directories, or "all". Two of
// one name are refused, because records and reports know a scenario by its name. Errors are wrong
// usage.
func (f *compareFlags) questions(args []string) (all []question, err error) {
	names, err := library.Expand(args)
	if err != nil {
		return nil, usage(err)
	}
	if f.adhoc.given() {
		names = []string{""} // the flags' own
	}
	for _, name := range names {
		s, err := f.question(name)
		if err != nil {
			return nil, err
		}
		// The same scenario twice is a slip; two of one name need other names.
		if i := slices.IndexFunc(all, func(q question) bool { return q.Name == s.Name }); i >= 0 {
			if filepath.Clean(all[i].name) == filepath.Clean(name) {
				return nil, usagef("scenario %q is named twice; drop one", name)
			}
			return nil, usagef("scenarios %q and %q are both called %s; give each a name of its own", all[i].name, name, s.Name)
		}
		if s, err = f.withArms(s); err != nil {
			return nil, about(name, len(names), err)
		}
		all = append(all, question{s, name})
	}
	return all, nil
}

// about says which scenario an error is about, where there are several.
func about(name string, several int, err error) error {
	if several < 2 {
		return err
	}
	return fmt.Errorf("scenario %q: %w", name, err)
}

// pack runs scenarios one after the other, each with its own record, and prints the outcome of
// every expectation. After an interrupt the records are kept. A scenario that fails does not end
// the pack: its error comes at the end. With another format than text, each result is rendered
// whole and there is no table at the end.
func (f *compareFlags) pack(cmd *cobra.Command, all experiment.Pack, show *progress) error {
	out := cmd.OutOrStdout()
	var entries []report.PackEntry
	var failed error
	// Results are printed as they come: a pack may take hours.
	for r := range all.Run(cmd.Context(), f.out, show.update) {
		show.ended(r.Dir, r.Run)
		e, err := f.entry(r)
		entries = append(entries, e)
		if f.output == "text" {
			if werr := report.PackScenario(out, e, report.TextOptions{}); werr != nil {
				return werr
			}
		} else if e.Result != nil {
			err = errors.Join(err, render(cmd, f.output, e.Result, false))
		}
		failed = errors.Join(failed, err)
	}
	if f.output == "text" {
		if err := report.PackSummary(out, entries); err != nil {
			return err
		}
	}
	return packOutcome(entries, failed, f.strict)
}

// entry writes the files of one scenario and returns its row of the report. An error makes the
// whole pack fail in the end. A scenario that turned out to be impossible is no error but a row
// without a result. The reports of a run that was cut short are written, too.
func (f *compareFlags) entry(r experiment.PackedRun) (e report.PackEntry, err error) {
	e = report.PackEntry{Scenario: r.Scenario.Name, Question: r.Scenario.Question, Expect: r.Scenario.Assertions()}
	// No room in --total, or a machine too small: told, and no error.
	if r.NotRun != nil {
		e.NotRun = r.NotRun.Error()
		return e, nil
	}
	// A run that was cut short still has a report of its blocks so far.
	if err = r.Err; r.Run.Result != nil && r.Run.Trials > 0 {
		e.Result = r.Run.Result
		err = errors.Join(err, writeReports(r.Dir, e.Result))
	}
	if err != nil && e.Result == nil {
		e.NotRun = err.Error()
	}
	// An impossible scenario is told as the reason, of this scenario alone.
	if _, impossible := errors.AsType[*experiment.Impossible](err); err == nil || impossible {
		return e, nil
	}
	return e, f.failure(err, r.Dir, r.Run)
}

// packOutcome is the exit code a pack deserves. An interrupt counts most, then a failed expectation,
// then an error of a scenario, and last outcome's code.
func packOutcome(entries []report.PackEntry, failed error, strict bool) error {
	// The user ended it: answers so far set no exit code.
	if bad, ok := errors.AsType[*exitError](failed); ok && bad.code == exitInterrupted {
		return bad
	}
	code, broken := outcome(entries, strict)
	switch {
	// The message has the errors of other scenarios as well.
	case code == exitExpectation:
		return &exitError{code, errors.Join(fmt.Errorf("%s failed", prose.Plural(broken, "expectation")), failed)}
	case failed != nil:
		return failed
	}
	return exit(code)
}

// outcome returns the exit code that results deserve, and how many expectations failed. The code is 3
// if one failed. It is 0 if one passed, a challenger has a primary verdict other than REFUSED, or its
// goodput differs. Otherwise, and with strict if an expectation is open or refused, it is 4.
func outcome(entries []report.PackEntry, strict bool) (code, failed int) {
	answers, reached := map[record.Answer]int{}, false
	for _, e := range entries {
		for answer, n := range e.Answers() {
			answers[answer] += n
		}
		// Goodput is not primary, but a difference in it is an answer: an overloaded arm has no other.
		reached = reached || e.Result != nil && slices.ContainsFunc(e.Result.Verdicts, func(v record.Verdict) bool {
			return v.Primary && v.Verdict != stats.Refused || v.Metric == "goodput" && v.Verdict.Differs()
		})
	}
	switch {
	case answers[record.Failed] > 0:
		return exitExpectation, answers[record.Failed]
	case strict && answers[record.Undecided]+answers[record.NoAnswer] > 0, !reached && answers[record.Passed] == 0:
		return exitPartial, 0
	}
	return exitDone, 0
}

// writePlans prints the plans of a pack, their time, and the scenarios that do not fit into --total
// if each of the others takes as long as planned. It is --dry-run; a map's is in map.go.
func (f *compareFlags) writePlans(w io.Writer, all experiment.Pack) error {
	// total is the time of the scenarios that fit so far.
	total, late := time.Duration(0), []string{}
	for _, s := range all.Scenarios {
		// Three kinds of lines: cannot run here, does not fit, and the plan.
		if s.Lacks != nil {
			fmt.Fprintf(w, "scenario    %s: %s\nrefused     %v\n\n", s.Scenario.Name, s.Scenario.Question, s.Lacks)
			continue
		}
		// The same rule as when the pack runs, with planned times for the times that are not known
		// yet.
		need := record.Duration(s.Planned.Planned().Estimate)
		if why := all.Late(need, total); why != nil {
			fmt.Fprintf(w, "scenario    %s: %s\nnot run     %v\n\n", s.Scenario.Name, s.Scenario.Question, why)
			late = append(late, s.Scenario.Name)
			continue
		}
		if err := writePlan(w, s.Planned); err != nil {
			return err
		}
		total += need
	}
	if len(all.Scenarios) < 2 {
		return nil
	}
	fmt.Fprintf(w, "in all      %d scenarios, about %v", len(all.Scenarios), total.Round(time.Second))
	if len(late) > 0 {
		fmt.Fprintf(w, "; not within --total %v: %s", f.total, strings.Join(late, ", "))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writePlan prints a comparison or a search that has not begun: the question, its time, the metrics
// that it cannot decide, and the commands of its arms, which a person can run. Each line begins with
// a label of up to eleven letters.
func writePlan(w io.Writer, c *experiment.Comparison) error {
	p := c.Planned()
	span := func(s float64) time.Duration { return record.Duration(s).Round(time.Millisecond) }
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	if p.SLO != "" {
		fmt.Fprintf(w, "objective   %s\n", p.SLO)
		fmt.Fprintf(w, "search      up to %d windows of %v + %v for each arm, seed %d\n", p.Windows, span(p.Warmup), span(p.Window), p.Seed)
	} else {
		fmt.Fprintf(w, "protocol    %s: up to %d blocks of %d arms, %v + %v each, until all is decided\n",
			p.Protocol, p.Blocks, len(p.Arms), span(p.Warmup), span(p.Window))
		fmt.Fprintf(w, "rate        %s, seed %d\n", c.Rate(), p.Seed)
		if p.Asked != "" {
			fmt.Fprintf(w, "asks        %s\n", p.Asked)
		}
	}
	// What the arms' clients do, each once: most arms have the same clients.
	var loads []string
	for _, a := range p.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			fmt.Fprintf(w, "load        %s\n", text)
		}
	}
	fmt.Fprintf(w, "CPUs        server %s, load %s\n", c.Env().ServerCPUs, c.Env().LoadCPUs)
	if p.SLO != "" { // every arm has the same budget, and the estimate is for all
		fmt.Fprintf(w, "time        about %.0f s, %v for each arm\n", p.Estimate, span(p.Budget))
	} else {
		writeBudget(w, c)
	}
	for _, d := range record.ByWeight(p.Doubts) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		label := string(a.Role)
		if p.SLO != "" {
			label = "arm"
		}
		fmt.Fprintf(w, "%-11s %s: %s\n", label, a.Name, command.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeBudget prints how long a comparison may take, and which metrics it can decide in that time.
func writeBudget(w io.Writer, c *experiment.Comparison) {
	p := c.Planned()
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
			fmt.Fprintf(w, "window      %v instead of %v, for the requests that the quantiles need\n",
				record.Duration(p.Window).Round(time.Millisecond), record.Duration(f.Planned).Round(time.Millisecond))
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
}
