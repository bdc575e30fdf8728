package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/docs/experiments"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// A section is what docs/experiments/answers.tsv has of one scenario, and the scenario planned as it would be
// where the server has two CPUs.
type section struct {
	name     string // of the scenario
	scenario scenario.Scenario
	plan     record.Plan
	rows     []experiments.Row
}

// text returns the text of a kind that a section has once, such as its question.
func (p section) text(kind string) string {
	for _, r := range p.rows {
		if r.Metric == kind {
			return r.Text
		}
	}
	return ""
}

// sections are what the file has of all scenarios.
func sections(t *testing.T) (all []section) {
	t.Helper()
	rows, err := experiments.Answers()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if i > 0 && rows[i-1].Scenario == r.Scenario {
			all[len(all)-1].rows = append(all[len(all)-1].rows, r)
			continue
		}
		all = append(all, section{name: r.Scenario, rows: []experiments.Row{r}})
	}
	// The plan looks for the ready arms, which 'make arms' builds below the tree's top.
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	arms, err := filepath.Glob(filepath.Join(tree, "loadtests", "arms", "*", "main*.go"))
	if err != nil || len(arms) == 0 {
		t.Fatalf("ready arms: %v, %v", arms, err)
	}
	here := t.TempDir()
	arms = append(arms, filepath.Join("serve-no-green-tea", "main.go")) // the same program, built otherwise
	for _, arm := range arms {
		path := filepath.Join(here, "bin", "arms", filepath.Base(filepath.Dir(arm)))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(here, "bin", "schedlab"), nil, 0o700); err != nil { // behind a relay it is a command, too
		t.Fatal(err)
	}
	t.Chdir(here)
	defer t.Chdir(filepath.Join(tree, "cmd", "schedlab"))
	for i := range all {
		p := &all[i]
		file, err := experiments.ScenarioFile(tree, p.name)
		if err != nil {
			t.Fatalf("answers.tsv has figures without a scenario: %v", err)
		}
		if p.scenario, err = session.Find(file); err != nil {
			t.Fatal(err)
		}
		s := p.scenario
		s.Needs = scenario.Needs{} // planned here all the same
		c, err := runner.Plan(s, runner.Options{Self: "schedlab", Modes: modeFacts()})
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		p.plan = c.Planned()
	}
	return all
}

// The file has each scenario as its file says it today: the question, the windows, no more blocks than may
// run, and every expectation and claim; and it names the commit and the day. Figures of a scenario that has
// changed since have a row "outdated".
func TestAnswersQuoteTheirScenario(t *testing.T) {
	all := sections(t)
	if len(all) < 50 {
		t.Errorf("got %d scenarios", len(all))
	}
	for _, p := range all {
		if r := p.rows[0]; r.Commit == "" || r.Day == "" {
			t.Errorf("%s: no row says by which commit and when it was measured", p.name)
		}
		if why := p.outdated(t); (why != "") != (p.text("outdated") != "") {
			t.Errorf("%s: a row says that it is outdated by %q, and it is by %q; tools/experiments %s measures it anew", p.name, p.text("outdated"), why, p.name)
		}
	}
}

// outdated says in what the rows differ from the scenario; "" for in nothing.
func (p section) outdated(t *testing.T) string {
	t.Helper()
	at := slices.IndexFunc(p.rows, func(r experiments.Row) bool { return r.Metric == "window" })
	if at < 0 {
		return "no windows told"
	}
	window := record.Duration(p.rows[at].Figure)
	// Where the probes choose the rate, a window may grow with what they find.
	want, grows := p.plan.Window.Duration, p.plan.Feasible != nil && p.plan.Feasible.NeedsRate > 0 || p.scenario.Load.MaxRate != (scenario.Rate{})
	var quoted []string
	for _, r := range p.rows {
		if r.Metric == "claim" {
			quoted = append(quoted, r.Asks)
		}
	}
	switch {
	case p.text("question") != p.scenario.Question:
		return "another question"
	case p.rows[0].Blocks > p.plan.Blocks:
		return "more blocks"
	case grows && window < want, !grows && (window-want).Abs() > want/100:
		return "windows of " + window.String() + ", now " + want.String()
	case !slices.Equal(slices.Sorted(slices.Values(quoted)), slices.Sorted(slices.Values(p.plan.Expect))):
		return "other expectations"
	}
	return ""
}

// The file has every embedded scenario that asks a question, unless a page says that it is still to be measured.
func TestEveryScenarioHasAnswers(t *testing.T) {
	var named []string
	for _, p := range sections(t) {
		named = append(named, p.name)
	}
	for _, name := range session.Scenarios.Names() {
		if !slices.Contains(named, name) && !slices.Contains(planned(t), name) && !slices.Contains([]string{"capacity", "crossover", "mm1"}, name) { // those are for other commands
			t.Errorf("answers.tsv has nothing of the scenario %s", name)
		}
	}
}

// planned returns the scenarios of the pages whose experiments have a hypothesis and no figures yet: the heads of their sections.
func planned(t *testing.T) (names []string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/experiments/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %v, %v", pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nNot measured yet.") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if name, is := strings.CutPrefix(line, "## "); is {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// The experiments of the binary take at most the time that scenarios.md gives 'compare all'. Those beside the ready arms, and
// for rows of the logs, come on top.
func TestThePackFitsIntoItsTotal(t *testing.T) {
	sum := 0.0
	for _, p := range sections(t) {
		if slices.Contains(session.Scenarios.Names(), p.name) {
			sum += p.plan.Estimate.Seconds()
		}
	}
	if sum > (4*time.Hour + 15*time.Minute).Seconds() {
		t.Errorf("the budgets come to %.0f s", sum)
	}
}
