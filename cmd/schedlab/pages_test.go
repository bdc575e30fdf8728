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

// A section is the figures of one scenario in a page of docs/experiments.
type section struct {
	name, topic string // of the scenario, and of the page's file
	scenario    scenario.Scenario
	plan        record.Plan
	measured    string // its text
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

// topics reads the pages of docs/experiments, by name.
func topics(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "docs", "experiments", "*.md"))
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

// sections are the sections of all pages, each planned as it would be where the server has two CPUs.
func sections(t *testing.T) (all []section) {
	t.Helper()
	for topic, text := range topics(t) {
		for _, part := range measuredPart.FindAllStringSubmatch(text, -1) {
			p := section{name: part[1], topic: topic, measured: part[2]}
			if !strings.Contains(text, "\n## "+p.name+"\n") {
				t.Errorf("%s: no heading for the section of %s, which links name", topic, p.name)
			}
			var err error
			if p.scenario, _, err = findScenario(p.name); err != nil {
				t.Errorf("%s: a section without a scenario: %v", p.name, err)
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

// Every embedded scenario that asks a question has one section, and the index links to it.
func TestEveryScenarioHasASection(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "experiments", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, p := range sections(t) {
		named = append(named, p.name)
		if !strings.Contains(string(readme), "["+p.name+"]("+p.topic+".md#"+p.name+")") {
			t.Errorf("docs/experiments/README.md does not link to %s in %s.md", p.name, p.topic)
		}
	}
	slices.Sort(named)
	if once := slices.Compact(slices.Clone(named)); len(once) != len(named) {
		t.Errorf("a scenario has two sections: %q", named)
	}
	for _, name := range library.Names() {
		if !slices.Contains(named, name) && !slices.Contains([]string{"capacity", "crossover", "mm1"}, name) { // those are for other commands
			t.Errorf("the scenario %s has no section", name)
		}
	}
}

// Figures in a page's sentences, as they are written there and in the sections.
var figureSaid = regexp.MustCompile(`[-+]?\d+(?:[.,]\d+)* (?:%|ms|µs)|×\d+(?:\.\d+)?`)

// Every change and time in a page's sentences and in its table of what is true stands in one of its
// sections, so it was measured. The questions and the column of the logs' claims are not ours.
func TestEveryFigureOfAPageWasMeasured(t *testing.T) {
	for topic, text := range topics(t) {
		var said, measured strings.Builder
		for _, part := range measuredPart.FindAllStringSubmatch(text, -1) {
			measured.WriteString(part[2])
		}
		for line := range strings.Lines(regexp.MustCompile(`(?s)<!-- measured .*?<!-- end -->`).ReplaceAllString(text, "")) {
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
			if !strings.Contains(measured.String(), plain) && !strings.Contains(measured.String(), strings.ReplaceAll(strings.Replace(plain, "µ", "u", 1), " ", "")) {
				t.Errorf("%s.md says %s, which none of its sections has", topic, figure)
			}
		}
	}
}

// Every page shows one chart, drawn from the figures that its sections have now.
func TestEveryPageHasItsChart(t *testing.T) {
	dir := filepath.Join(moduleRoot(t), "docs", "experiments", "charts")
	pages := topics(t)
	for topic, text := range pages {
		var want bytes.Buffer
		if err := report.TopicSVG(&want, text); err != nil {
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
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(pages) {
		t.Errorf("%d charts for %d pages (%v)", len(files), len(pages), err)
	}
}

// The whole pack fits into the --total that docs/scenarios.md gives.
func TestThePackFitsIntoItsTotal(t *testing.T) {
	sum := 0.0
	for _, p := range sections(t) {
		sum += p.plan.Estimate
	}
	if sum > (3*time.Hour + 15*time.Minute).Seconds() {
		t.Errorf("the budgets come to %.0f s", sum)
	}
}
