package main

import (
	"bytes"
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
	"schedlab/internal/report"
	"schedlab/internal/scenario"
)

// A section is the figures of one scenario: a page of docs/experiments/raw.
type section struct {
	name     string // of the scenario
	scenario scenario.Scenario
	plan     record.Plan
	measured string // its text
}

// A section in a page, and what it says of itself.
var (
	measuredPart = regexp.MustCompile(`(?s)\n<!-- measured ([a-z0-9-]+): .*? -->\n(.*?)<!-- end -->\n`)
	commitLine   = regexp.MustCompile("(?m)^Measured .*(?:commit|record) `[0-9a-zA-Z-]+`")
	windowsShown = regexp.MustCompile(`(\d+)(?: of \d+)? blocks[^;]*?, ([0-9.]+ m?s) windows`)
	expectShown  = regexp.MustCompile("(?m)^- \\*\\*[A-Za-z ]+\\*\\* .*?`(.*?)`(?:: |$)")
)

const (
	unmeasured     = "Not measured yet"
	earlierEdition = "an earlier edition of the scenario"
)

// pages reads the pages of a folder below docs/experiments, by name, but not its README.
func pages(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "docs", "experiments", folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" {
			all[name] = string(text)
		}
	}
	return all
}

var rawLink = regexp.MustCompile(`\(raw/([a-z0-9-]+)\.md\)`)

// figuresOf returns the figures of all scenarios that a topic's page links to.
func figuresOf(page string, raw map[string]string) string {
	var all strings.Builder
	for _, link := range rawLink.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(all.String(), "<!-- measured "+link[1]+":") {
			all.WriteString(raw[link[1]])
		}
	}
	return all.String()
}

// sections are the figures of all scenarios, each planned as it would be where the server has two CPUs.
func sections(t *testing.T) (all []section) {
	t.Helper()
	for name, text := range pages(t, "raw") {
		part := measuredPart.FindStringSubmatch(text)
		if part == nil || part[1] != name {
			t.Errorf("raw/%s.md: no part 'measured %s'", name, name)
			continue
		}
		p := section{name: name, measured: part[2]}
		var err error
		if p.scenario, err = findScenario(p.name); err != nil {
			t.Errorf("raw/%s.md: figures without a scenario: %v", p.name, err)
			continue
		}
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

// A section quotes its scenario as the file says it today: the question, the windows, no more
// blocks than may run, and every expectation and claim; and it names the commit. Figures of a
// scenario that has changed since are marked as such, and a section without figures says so.
func TestPagesQuoteTheirScenario(t *testing.T) {
	all := sections(t)
	if len(all) < 50 {
		t.Errorf("got %d sections", len(all))
	}
	for _, p := range all {
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
func (p section) outdated(t *testing.T) string {
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
	case !slices.Equal(slices.Sorted(slices.Values(quoted)), slices.Sorted(slices.Values(p.plan.Expect))):
		return "other expectations"
	}
	return ""
}

// Every embedded scenario that asks a question has its figures; the index and a topic's page link to them.
func TestEveryScenarioHasASection(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "experiments", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var topics strings.Builder
	for _, text := range pages(t, "") {
		topics.WriteString(text)
	}
	var named []string
	for _, p := range sections(t) {
		named = append(named, p.name)
		if !strings.Contains(topics.String(), "](raw/"+p.name+".md)") {
			t.Errorf("no topic's page links to raw/%s.md", p.name)
		}
		if !strings.Contains(string(readme), "["+p.name+"](raw/"+p.name+".md)") {
			t.Errorf("docs/experiments/README.md does not link to raw/%s.md", p.name)
		}
	}
	for _, name := range library.Names() {
		if !slices.Contains(named, name) && !slices.Contains([]string{"capacity", "crossover", "mm1"}, name) { // those are for other commands
			t.Errorf("the scenario %s has no section", name)
		}
	}
}

// Figures in a page's sentences, as they are written there and in the sections.
var figureSaid = regexp.MustCompile(`[-+]?\d+(?:[.,]\d+)* (?:%|ms|µs)|×\d+(?:\.\d+)?`)

// Every change and time in a page's sentences and in its table of what is true stands in figures that
// it links to, so it was measured. The questions and the column of the logs' claims are not ours.
func TestEveryFigureOfAPageWasMeasured(t *testing.T) {
	raw := pages(t, "raw")
	for topic, text := range pages(t, "") {
		var said strings.Builder
		measured := figuresOf(text, raw)
		for line := range strings.Lines(text) {
			switch cells := strings.Split(line, "|"); {
			case strings.HasPrefix(line, "**"): // the question
			case len(cells) == 5:
				said.WriteString(cells[2] + "\n")
			default:
				said.WriteString(line)
			}
		}
		for _, figure := range figureSaid.FindAllString(strings.ReplaceAll(said.String(), "\n", " "), -1) {
			// A sentence may say "22 % less" of -22 %, and "243 µs" of a calibrated 243us.
			plain := strings.TrimLeft(figure, "+-")
			if !strings.Contains(measured, plain) && !strings.Contains(measured, strings.ReplaceAll(strings.Replace(plain, "µ", "u", 1), " ", "")) {
				t.Errorf("%s.md says %s, which no page of figures that it links to has", topic, figure)
			}
		}
	}
}

// Every page shows one chart, drawn from the figures that it links to, and has at most 90 lines.
func TestEveryPageHasItsChart(t *testing.T) {
	dir := filepath.Join(moduleRoot(t), "docs", "experiments", "charts")
	topics, raw := pages(t, ""), pages(t, "raw")
	for topic, text := range topics {
		if n := strings.Count(text, "\n"); n > 90 {
			t.Errorf("%s.md has %d lines, more than 90", topic, n)
		}
		var want bytes.Buffer
		if err := report.TopicSVG(&want, text+figuresOf(text, raw)); err != nil {
			t.Errorf("%s.md: %v", topic, err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, topic+".svg"))
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("charts/%s.svg is not what the tables of %s.md give (%v); tools/experiments --charts draws it", topic, topic, err)
		}
		if n := strings.Count(text, "](charts/"+topic+".svg)"); n != 1 || want.Len() > 12<<10 {
			t.Errorf("%s.md shows its chart %d times; it has %d bytes, at most 12 KiB are allowed", topic, n, want.Len())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(topics) {
		t.Errorf("%d charts for %d pages (%v)", len(files), len(topics), err)
	}
}

// The whole pack fits into the --total that docs/reference/scenarios.md gives.
func TestThePackFitsIntoItsTotal(t *testing.T) {
	sum := 0.0
	for _, p := range sections(t) {
		sum += p.plan.Estimate
	}
	if sum > (3*time.Hour + 15*time.Minute).Seconds() {
		t.Errorf("the budgets come to %.0f s", sum)
	}
}
