package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/choose"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// A chosen model's test is a comparison.
type chosen struct{ compareFlags }

// compare lays out the comparison that tests an advice, as the command line would.
func (f *chooseFlags) compare(t choose.Test, show *progress) (*chosen, *experiment.Comparison, error) {
	c := &chosen{compareFlags{Options: f.options, addArms: t.Arms, vary: t.Vary, out: f.out, adhoc: adhocFlags{path: t.Path}}}
	c.OnTrouble, c.OnCannot = show.trouble, show.cannot
	c.Rate = scenario.Rate{PerSecond: t.Rate}
	if err := knowSelf(&c.Options); err != nil {
		return nil, nil, err
	}
	plain, err := c.scenario("") // without expectations, for the arms' names
	if err != nil {
		return nil, nil, err
	}
	for _, arm := range plain.Contestants()[1:] {
		for _, metric := range t.Metrics {
			if slices.ContainsFunc(stats.Metrics(), func(m stats.Metric) bool { return m.Name == metric && !slices.Contains(t.Metrics, "good_mean") }) {
				c.expect = append(c.expect, fmt.Sprintf("not faster(%q, %q)", metric, arm.Name))
			}
		}
	}
	for _, term := range t.Keeps {
		c.expect = append(c.expect, keeps(term, plain.Contestants()[0].Name))
	}
	s, err := c.scenario("")
	if err != nil {
		return nil, nil, err
	}
	if f.verify {
		c.Note = "tests an advice of schedlab choose"
		c.Iters = workload.Calibrate()
	}
	planned, err := c.plan(s)
	return c, planned, err
}

// keeps says as an expectation that an arm keeps a term of an SLO.
func keeps(term stats.Term, arm string) string {
	return fmt.Sprintf("%s(%q) <= %s", term.Metric, arm, strings.TrimPrefix(term.String(), term.Metric+"<="))
}

// verify runs it.
func (c *chosen) verify(ctx context.Context, planned *experiment.Comparison, t choose.Test, show *progress) (*record.ChoiceTest, error) {
	dir, run, err := planned.Run(ctx, c.out, show.update)
	show.done()
	if err != nil {
		return nil, c.failure(err, dir, run)
	}
	if err := writeReports(dir, run.Result); err != nil {
		return nil, err
	}
	var arms []string
	for _, a := range run.Plan.Arms {
		if a.Role != record.Copy {
			arms = append(arms, a.Name)
		}
	}
	_, verdicts, err := judge.Pairs(dir, run, choose.TestPairs(arms, t.Metrics))
	if err != nil {
		return nil, err
	}
	var slo []record.Expectation
	for _, e := range run.Result.Expectations {
		if slices.ContainsFunc(t.Keeps, func(term stats.Term) bool { return e.Text == keeps(term, arms[0]) }) {
			slo = append(slo, e)
		}
	}
	v := choose.Verify(run.Result.Arms[0], arms, t.Metrics, verdicts, slo)
	v.Dir = dir.Path()
	return v, nil
}

// rowsOf are the verdicts of a record, and the scenario that it is of.
func rowsOf(name string) (string, choose.Pack, error) {
	dir, run, err := record.Open(name, record.DefaultRoot)
	if err != nil {
		return "", nil, usage(err)
	}
	result, verdicts, err := judge.Pairs(dir, run, choose.Pairs(run.Plan.Scenario))
	if err != nil {
		return "", nil, err
	}
	return result.Scenario, choose.Rows(result, verdicts), nil
}
