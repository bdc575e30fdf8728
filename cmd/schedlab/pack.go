package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
)

// packName stands for all embedded scenarios.
const packName = "all"

// named turns a command line's arguments into scenarios: "all" into the embedded
// ones, a directory into its YAML files.
func named(args []string) (names []string, err error) {
	for _, arg := range args {
		info, statErr := os.Stat(arg)
		switch {
		case slices.Contains(scenarioNames(), arg):
			names = append(names, arg)
		case arg == packName:
			names = append(names, scenarioNames()...)
		case statErr == nil && info.IsDir():
			files, err := inDirectory(arg)
			if err != nil {
				return nil, err
			}
			names = append(names, files...)
		default:
			names = append(names, arg)
		}
	}
	return names, nil
}

// inDirectory are the scenario files of a directory.
func inDirectory(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, usagef("reading directory %q: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, usagef("directory %q holds no scenario, no file *.yaml", dir)
	}
	slices.Sort(files)
	return files, nil
}

// A packed is a scenario of a pack: planned, or with the reason why this
// machine cannot run it.
type packed struct {
	scenario scenario.Scenario
	lacks    error
}

// plans reads every scenario and finds what is wrong before anything runs. In a
// pack, one that this machine is too small for is refused and not wrong.
func (f *compareFlags) plans(names []string) (all []packed, err error) {
	from := map[string]string{}
	for _, name := range names {
		s, err := f.question(name)
		if err != nil {
			return nil, err
		}
		switch other, twice := from[s.Name]; {
		case twice && filepath.Clean(other) == filepath.Clean(name):
			return nil, usagef("scenario %q is named twice; drop one", name)
		case twice:
			return nil, usagef("scenarios %q and %q are both called %s; give each a name of its own", other, name, s.Name)
		}
		from[s.Name] = name
		c, err := f.packed(s, len(names) > 1)
		if err != nil && len(names) > 1 {
			err = about(name, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (f *compareFlags) packed(s scenario.Scenario, inPack bool) (c packed, err error) {
	if c.scenario, err = f.withArms(s); err != nil {
		return c, err
	}
	_, err = f.plan(c.scenario)
	if bad, ok := errors.AsType[*experiment.Impossible](err); ok && bad.Machine && inPack {
		c.lacks, err = bad, nil
	}
	return c, err
}

// about says which scenario of several an error is about.
func about(name string, err error) error {
	if bad, ok := errors.AsType[*exitError](err); ok {
		return &exitError{bad.code, fmt.Errorf("scenario %q: %w", name, bad.err)}
	}
	return fmt.Errorf("scenario %q: %w", name, err)
}

// late says why a scenario that takes so long does not run when so much of --total is
// gone; "" when it does.
func (f *compareFlags) late(need, gone time.Duration) string {
	if f.total <= 0 || gone+need <= f.total {
		return ""
	}
	return fmt.Sprintf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), f.total, max(0, f.total-gone).Round(time.Second))
}

// pack runs scenarios one after the other, each with a record of its own, and
// writes what every assertion came to. An interrupt keeps what was done.
func (f *compareFlags) pack(cmd *cobra.Command, all []packed, show *progress) error {
	out, began := cmd.OutOrStdout(), time.Now()
	var entries []report.PackEntry
	var failed error
	for _, c := range all {
		e := report.PackEntry{Scenario: c.scenario.Name, Question: c.scenario.Question, Expect: c.scenario.Expect}
		err := f.entry(cmd.Context(), c, &e, began, show)
		if e.Result != nil && f.output != "text" {
			err = errors.Join(err, render(cmd, f.output, e.Result))
		}
		entries = append(entries, e)
		if f.output == "text" {
			if werr := report.PackScenario(out, e, report.TextOptions{}); werr != nil {
				return werr
			}
		}
		if err != nil {
			failed = errors.Join(failed, err)
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	if f.output == "text" {
		if err := report.PackSummary(out, entries); err != nil {
			return err
		}
	}
	return packOutcome(entries, failed, f.strict)
}

// entry runs one scenario and fills in what it came to; the error is one that the
// whole pack ends with.
func (f *compareFlags) entry(ctx context.Context, s packed, e *report.PackEntry, began time.Time, show *progress) error {
	if s.lacks != nil {
		e.NotRun = s.lacks.Error()
		return nil
	}
	c, err := f.plan(s.scenario)
	if err != nil {
		return err
	}
	if e.NotRun = f.late(seconds(c.Planned().Estimate), time.Since(began)); e.NotRun != "" {
		return nil
	}
	dir, run, err := c.Run(ctx, f.out, show.update)
	show.done()
	if run.Result != nil && run.Trials > 0 {
		e.Result = run.Result
		err = errors.Join(err, writeReports(dir, run.Result))
	}
	if err == nil {
		return nil
	}
	if e.Result == nil {
		e.NotRun = err.Error()
	}
	if _, impossible := errors.AsType[*experiment.Impossible](err); impossible {
		return nil // told as the reason, of this scenario alone
	}
	return f.failure(err, dir, run)
}

// packOutcome is the exit code a pack deserves.
func packOutcome(entries []report.PackEntry, failed error, strict bool) error {
	if bad, ok := errors.AsType[*exitError](failed); ok && bad.code == exitInterrupted {
		return bad
	}
	worst, answers := exitPartial, map[record.Answer]int{}
	for _, e := range entries {
		for outcome, n := range e.Answers() {
			answers[outcome] += n
		}
		if e.Result != nil && verdictCode(e.Result, false) == exitDone {
			worst = exitDone
		}
	}
	switch {
	case answers[record.Failed] > 0:
		return &exitError{exitExpectation, errors.Join(fmt.Errorf("%s failed", counted(answers[record.Failed], "expectation")), failed)}
	case failed != nil:
		return failed
	case worst != exitDone, strict && answers[record.Undecided] > 0:
		return &exitError{code: exitPartial}
	}
	return nil
}

// writePlans prints what a pack would do, how long it would take, and what of it would
// not fit into --total if all that runs takes as long as planned.
func (f *compareFlags) writePlans(w io.Writer, all []packed) error {
	total, late := time.Duration(0), []string{}
	for _, s := range all {
		if s.lacks != nil {
			fmt.Fprintf(w, "scenario    %s: %s\nrefused     %v\n\n", s.scenario.Name, s.scenario.Question, s.lacks)
			continue
		}
		c, err := f.plan(s.scenario)
		if err != nil {
			return err
		}
		need := seconds(c.Planned().Estimate)
		if why := f.late(need, total); why != "" {
			fmt.Fprintf(w, "scenario    %s: %s\nnot run     %s\n\n", s.scenario.Name, s.scenario.Question, why)
			late = append(late, s.scenario.Name)
			continue
		}
		if err := writePlan(w, c); err != nil {
			return err
		}
		total += need
	}
	if len(all) < 2 {
		return nil
	}
	fmt.Fprintf(w, "in all      %d scenarios, about %v", len(all), total.Round(time.Second))
	if len(late) > 0 {
		fmt.Fprintf(w, "; not within --total %v: %s", f.total, strings.Join(late, ", "))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// counted writes n and the word, with an s unless n is 1.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
