package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A page is one experiment of docs/experiments.
type page struct {
	name, text string
	scenario   scenario.Scenario
	plan       record.Plan
	measured   string // what stands in its section Measured
}

// What a page says of itself, and in its section Measured.
var (
	measuredPart = regexp.MustCompile(`(?s)\n<!-- measured: .*? -->\n(.*)<!-- end -->\n`)
	commitLine   = regexp.MustCompile("(?m)^Measured .*(?:commit|record) `[0-9a-zA-Z-]+`")
	windowsShown = regexp.MustCompile(`(\d+)(?: of \d+)? blocks[^;]*?, ([0-9.]+ m?s) windows`)
	expectShown  = regexp.MustCompile("(?m)^- \\*\\*[A-Za-z]+\\*\\* `(.*?)`(?:: |$)")
)

const (
	unmeasured     = "Not measured yet"
	earlierEdition = "an earlier edition of the scenario"
)

// pages are all of them, each planned as it would be where the server has two CPUs.
func pages(t *testing.T) (all []page) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "docs", "experiments", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		p := page{name: strings.TrimSuffix(filepath.Base(file), ".md")}
		if p.name == "README" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p.text = string(text)
		if p.scenario, _, err = findScenario(p.name); err != nil {
			t.Errorf("%s: a page without a scenario: %v", p.name, err)
			continue
		}
		part := measuredPart.FindStringSubmatch(p.text)
		if part == nil {
			t.Errorf("%s has no section Measured", p.name)
			continue
		}
		p.measured = part[1]
		s := p.scenario
		s.Needs = scenario.Needs{} // planned here all the same
		c, err := experiment.Plan(s, experiment.Options{Self: "schedlab", Modes: modeFacts()})
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		p.plan = c.Planned()
		all = append(all, p)
	}
	return all
}

// A page quotes its scenario as the file says it today: the question, the windows, no more
// blocks than may run, and every expectation; and it names the commit. Figures of a
// scenario that has changed since are marked as such, and a page without figures says so.
func TestPagesQuoteTheirScenario(t *testing.T) {
	all := pages(t)
	if len(all) < 40 {
		t.Errorf("got %d pages", len(all))
	}
	for _, p := range all {
		if want := "\n**" + p.scenario.Question + "**\n"; !strings.Contains(p.text, want) {
			t.Errorf("%s: the page does not ask the scenario's question, %s", p.name, p.scenario.Question)
		}
		if strings.HasPrefix(p.measured, unmeasured) {
			continue
		}
		if !commitLine.MatchString(p.measured) {
			t.Errorf("%s: no line says by which commit it was measured", p.name)
		}
		if why := p.outdated(t); why != "" != strings.Contains(p.measured, earlierEdition) {
			t.Errorf("%s: measured with %s: %q; tools/experiments %s measures it anew", p.name, earlierEdition, why, p.name)
		}
	}
}

// outdated says in what the measured section differs from the scenario; "" for in nothing.
func (p page) outdated(t *testing.T) string {
	t.Helper()
	if strings.Contains(p.measured, "Refused on this machine: ") {
		return ""
	}
	shown := windowsShown.FindStringSubmatch(p.measured)
	if shown == nil {
		return "no windows are told"
	}
	blocks, err := strconv.Atoi(shown[1])
	if err != nil {
		t.Fatal(err)
	}
	window, err := time.ParseDuration(strings.ReplaceAll(shown[2], " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	// Where the probes choose the rate, a window may grow with what they find.
	want, grows := record.Duration(p.plan.Window), p.plan.Feasible != nil && p.plan.Feasible.NeedsRate > 0 || p.scenario.Load.MaxRate != (scenario.Rate{})
	var quoted []string
	for _, m := range expectShown.FindAllStringSubmatch(p.measured, -1) {
		quoted = append(quoted, m[1])
	}
	switch {
	case !strings.Contains(strings.ReplaceAll(p.measured, `\`, ""), "\n*"+p.scenario.Question+"*\n"):
		return "another question"
	case blocks > p.plan.Blocks:
		return "more blocks"
	case grows && window < want, !grows && (window-want).Abs() > want/100:
		return "windows of " + shown[2] + ", now " + want.String()
	case !slices.Equal(quoted, p.plan.Expect):
		return "other expectations"
	}
	return ""
}

// Every embedded scenario that asks a question has a page, and every page a line in the table.
func TestEveryScenarioHasAPage(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "experiments", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, p := range pages(t) {
		named = append(named, p.name)
		if !strings.Contains(string(readme), "| ["+p.name+"]("+p.name+".md) |") {
			t.Errorf("docs/experiments/README.md has no line about %s", p.name)
		}
	}
	for _, name := range library.Names() {
		if !slices.Contains(named, name) && !slices.Contains([]string{"capacity", "crossover", "mm1"}, name) { // those are for other commands
			t.Errorf("the scenario %s has no page", name)
		}
	}
}

// The whole pack fits into the --total that docs/scenarios.md gives.
func TestThePackFitsIntoItsTotal(t *testing.T) {
	sum := 0.0
	for _, p := range pages(t) {
		sum += p.plan.Estimate
	}
	if sum > (3*time.Hour + 15*time.Minute).Seconds() {
		t.Errorf("the budgets come to %.0f s", sum)
	}
}
