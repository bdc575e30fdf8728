package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/docs/experiments"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// The directory of the pages, and the top of the tree, from here.
const (
	dir = ".."
	top = "../../.."
)

// measured returns the rows of answers.tsv.
func measured(t *testing.T) []experiments.Row {
	t.Helper()
	rows, err := readRows(filepath.Join(dir, "answers.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// topics returns the topic pages by name, without those that are planned.
func topics(t *testing.T) map[string]string {
	t.Helper()
	return pagesThat(t, func(page string) bool { return !planned(page) })
}

// pagesThat returns the pages by name that a condition holds for, without README.md.
func pagesThat(t *testing.T, holds func(page string) bool) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" && holds(read(t, file)) {
			all[name] = read(t, file)
		}
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// written returns what people wrote on a page: all but the parts that are made from the file.
func written(page string) string { return figuresPart.ReplaceAllString(page, "") }

// Tables and charts of every page are what the file gives, each scenario stands on one page, and what people
// wrote on a page has at most 90 lines.
func TestPagesAreOfTheFile(t *testing.T) {
	t.Parallel()
	rows, home := measured(t), map[string]string{}
	again, err := readRows(filepath.Join(dir, "answers-again.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := topics(t)
	for name, text := range all {
		want, err := newPage(text, read(t, filepath.Join(dir, "charts", name+".txt")), rows, again)
		if err != nil {
			t.Errorf("%s.md: %v", name, err)
			continue
		}
		if text != want.Text {
			t.Errorf("%s.md is not of answers.tsv; tools/experiments --pages writes it", name)
		}
		if chart := read(t, filepath.Join(dir, "charts", name+".svg")); chart != want.Chart {
			t.Errorf("charts/%s.svg is not of answers.tsv; tools/experiments --pages draws it", name)
		}
		if n := strings.Count(text, "](charts/"+name+".svg)"); n != 1 || len(want.Chart) > 12<<10 {
			t.Errorf("%s.md shows its chart %d times; it has %d bytes, at most 12 KiB are allowed", name, n, len(want.Chart))
		}
		if n := strings.Count(written(text), "\n"); n > 90 {
			t.Errorf("%s.md has %d lines beside its tables, more than 90", name, n)
		}
		for _, m := range figuresPart.FindAllStringSubmatch(text, -1) {
			if home[m[2]] != "" {
				t.Errorf("%s is on two pages, %s and %s", m[2], home[m[2]], name)
			}
			home[m[2]] = name
		}
	}
	index := read(t, filepath.Join(dir, "README.md"))
	for _, r := range rows {
		if r.Metric != "question" {
			continue
		}
		if link := fmt.Sprintf("[%s](%s.md#%[1]s)", r.Scenario, home[r.Scenario]); !strings.Contains(index, link) {
			t.Errorf("README.md has no link %s", link)
		}
	}
	if files, err := os.ReadDir(filepath.Join(dir, "charts")); err != nil || len(files) != 2*len(all) {
		t.Errorf("%d files of charts, a drawing and its specification each, for %d pages (%v)", len(files), len(all), err)
	}
}

// A page without figures is one whose experiment was not run: it says so, its hypotheses have no results, its scenarios
// exist and have no rows, and the index names none as a result.
func TestPlannedPagesHaveNoResults(t *testing.T) {
	t.Parallel()
	rows, index := measured(t), read(t, filepath.Join(dir, "README.md"))
	for name, text := range pagesThat(t, planned) {
		if !strings.Contains(text, "\nNot measured yet.") || !strings.Contains(text, "Written down before the first run") {
			t.Errorf("%s.md has no figures and does not say that it is not measured, or not that its hypotheses are older than a run", name)
		}
		for line := range strings.Lines(text) {
			if cells := strings.Split(line, "|"); len(cells) == 5 && !strings.HasPrefix(line, "|--") && cells[2] != " result " && strings.TrimSpace(cells[2]) != "" {
				t.Errorf("%s.md is not measured and has a result: %s", name, line)
			}
		}
		sections := strings.Split(text, "\n## ")[1:]
		for _, section := range sections {
			scenario, _, _ := strings.Cut(section, "\n")
			if _, err := experiments.ScenarioFile(top, scenario); err != nil {
				t.Errorf("%s.md: %v", name, err)
			}
			if len(of(rows, scenario)) > 0 {
				t.Errorf("%s.md has no figures of %s, which was measured", name, scenario)
			}
		}
		if len(sections) == 0 || !strings.Contains(index, "("+name+".md)") {
			t.Errorf("%s.md names no scenario, or README.md has no link to it", name)
		}
	}
}

// All rows of a scenario are of one run: one day, one build, one number of blocks.
func TestRowsOfAScenarioAreOfOneRun(t *testing.T) {
	t.Parallel()
	type run struct {
		day, commit string
		blocks      int
	}
	runs := map[string]run{}
	for _, r := range measured(t) {
		is := run{r.Day, r.Commit, r.Blocks}
		if was, ok := runs[r.Scenario]; ok && was != is {
			t.Errorf("%s: rows of two runs, %v and %v", r.Scenario, was, is)
		}
		runs[r.Scenario] = is
	}
	if len(runs) < 50 {
		t.Errorf("got %d scenarios", len(runs))
	}
}

// "Measured twice" is what tools/agree says of the two files.
func TestMeasuredTwice(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(filepath.Join(top, "tools", "agree"), filepath.Join(dir, "answers.tsv"), filepath.Join(dir, "answers-again.tsv")).Output()
	if err != nil {
		t.Fatalf("tools/agree: %v", err)
	}
	_, part, _ := strings.Cut(read(t, filepath.Join(dir, "README.md")), "<!-- agree: tools/experiments --pages writes this -->\n")
	part, _, _ = strings.Cut(part, "<!-- end -->")
	if part != string(out) {
		t.Errorf("README.md has\n%s\ntools/agree says\n%s", part, out)
	}
}

// Every stored verdict is what docs/reference/verdicts.md says of its own interval, whatever judge took it. A
// difference excludes 1 and has a median at least Effect off; SAME lies within ±Same. open may not lie
// within ±Same: but where a difference would be right, the copy of the baseline may have held it back.
func TestVerdictsKeepTheRule(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"answers.tsv", "answers-again.tsv"} {
		rows, err := readRows(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if why := breaks(r); why != "" {
				t.Errorf("%s: %s, %s of %s against %s: %s %.4g (%.4g to %.4g): %s", file, r.Scenario, r.Metric, r.Arm, r.Baseline, r.Verdict, r.Ratio, r.Low, r.High, why)
			}
		}
	}
}

// breaks returns how a row's verdict breaks the rule; "" if it does not. Ratios are rounded in the file.
func breaks(r experiments.Row) string {
	if r.Low == 0 || r.Baseline == "" {
		return ""
	}
	const rounding = 1e-4
	m := stats.MetricOf(r.Metric)
	outside := r.Low > 1 || r.High < 1
	matters := math.Abs(math.Log(r.Ratio)) >= math.Log1p(m.Effect)-rounding
	within := math.Log(r.Low) >= -math.Log1p(m.Same)-rounding && math.Log(r.High) <= math.Log1p(m.Same)+rounding
	up := r.Verdict == "SLOWER" || r.Verdict == "HIGHER"
	switch {
	case differs(r) && !outside:
		return "its interval holds no difference"
	case differs(r) && !matters:
		return "its median is too near to no difference"
	case differs(r) && up != (r.Ratio > 1):
		return "its median lies on the other side"
	case r.Verdict == string(stats.Same) && !within:
		return "its interval reaches beyond SAME"
	case r.Decision().Outcome == outcome.Open && within:
		return "its interval lies within SAME"
	}
	return ""
}

func TestBreaks(t *testing.T) {
	t.Parallel()
	row := func(metric, verdict string, ratio, low, high float64) experiments.Row {
		return experiments.Row{Metric: metric, Arm: "b", Baseline: "a", Verdict: verdict, Ratio: ratio, Low: low, High: high}
	}
	for _, c := range []struct {
		row  experiments.Row
		want string
	}{
		{row("p50", "FASTER", .95839, .86193, .97718), "too near"},
		{row("goodput", "HIGHER", 1.0182, 1.002, 1.035), "too near"},
		{row("cpu_per_request", "HIGHER", 1.0493, 1.0186, 1.0853), "too near"},
		{row("cpu_per_request", "SAME", 1.0493, 1.0186, 1.0853), ""},
		{row("cpu_per_request", "LOWER", .952, .927, .985), ""}, // 1/1.05 is 0.9524
		{row("p50", "SLOWER", 1.2, .99, 1.4), "no difference"},
		{row("p50", "SLOWER", .8, .7, .9), "other side"},
		{row("p50", "SAME", 1.05, .95, 1.2), "beyond SAME"},
		{row("p50", "open", 1, .95, 1.05), "within SAME"},
		{row("p50", "open", 1, .5, 1.05), ""},
		{row("p50", "refused", 0, 0, 0), ""},
	} {
		if got := breaks(c.row); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: got %q, want %q", c.row, got, c.want)
		}
	}
}

// causeSaid finds a sentence that says that a test confirmed a cause.
var causeSaid = regexp.MustCompile(`(?is)(?:confirmed|found|shown) (?:the \w+ )?(?:by|with) (?:\x60[^\x60]*--explain\x60|\x60schedlab explain)|--explain[^.|]{0,120}(?:confirmed|found)|cause[^.|]{0,60}(?:(?:was|is)|that a test) confirmed`)

// A page that says of a scenario that a test confirmed its cause has the record: a row of the file.
func TestEveryConfirmedCauseHasARecord(t *testing.T) {
	t.Parallel()
	rows := measured(t)
	known := func(scenarios string) bool {
		return slices.ContainsFunc(rows, func(r experiments.Row) bool {
			return r.Metric == "cause" && r.Verdict == string(outcome.Yes) && r.Text != "" && strings.Contains(scenarios, "#"+r.Scenario+")")
		})
	}
	check := func(where, text, scenarios string) {
		if m := causeSaid.FindString(text); m != "" && !known(scenarios+text) {
			t.Errorf("%s says %q, and answers.tsv has no cause of it", where, m)
		}
	}
	for name, text := range topics(t) {
		for section := range strings.SplitSeq(written(text), "\n## ") {
			scenario, _, _ := strings.Cut(section, "\n")
			check(name+".md", section, "(#"+scenario+")")
		}
	}
	// Elsewhere it is a claim only where it links to a scenario.
	for _, name := range []string{"findings.md", "evidence/claims.md", "guide/explain.md"} {
		for paragraph := range strings.SplitSeq(read(t, filepath.Join(top, "docs", name)), "\n\n") {
			if strings.Contains(paragraph, "experiments/") {
				check(name, paragraph, "")
			}
		}
	}
	for text, want := range map[string]bool{
		"The cause was confirmed by `--explain`": true, "`--explain` (not shown) found the hand-off": true,
		"Comparisons with a cause that a test confirmed": true, "`--explain` tests the cause": false, "the test's cause-batches was confirmed": true,
	} {
		if causeSaid.MatchString(text) != want {
			t.Errorf("%q: found %t", text, !want)
		}
	}
}

// A figure in a sentence, as people write it: a change, a time, a rate or a share. An interval of changes.
var (
	figureSaid   = regexp.MustCompile(`([-+]?)(\d+(?:,\d{3})*(?:\.\d+)?)( %| ms| µs|/s| MiB)|(×)(\d+(?:\.\d+)?)`)
	intervalSaid = regexp.MustCompile(`(?:([-+×]\d[\d.]*)(?: %)? )?\(([-+×±]\d[\d.]*)(?: %)? to ([-+×±]\d[\d.]*)(?: %)?\b`)
)

// unitsSaid are the metrics that have figures in a unit, and how many of it are one of the file's.
var unitsSaid = map[string]struct {
	metrics []string
	factor  float64
}{
	"ms":  {[]string{"p50", "p90", "p99", "cpu_per_request"}, 1e3},
	"µs":  {[]string{"p50", "p90", "p99", "cpu_per_request"}, 1e6},
	"/s":  {[]string{"goodput"}, 1},
	"MiB": {[]string{"memory"}, 1. / (1 << 20)},
}

// ratioSaid reads a change as it is written, without its per cent sign, and how far a ratio may lie from it.
func ratioSaid(text string) (ratio, off float64) {
	digits := strings.Trim(text, "+-×±")
	v, _ := strconv.ParseFloat(digits, 64)
	_, decimals, _ := strings.Cut(digits, ".")
	off = .51 * math.Pow(10, -float64(len(decimals)))
	switch {
	case strings.HasPrefix(text, "×"):
		return v, off
	case strings.HasPrefix(text, "-"):
		v = -v
	}
	return 1 + v/100, off / 100
}

// is reports whether a ratio is written so; unknown ones are not.
func is(ratio float64, text string) bool {
	v, off := ratioSaid(text)
	return ratio != 0 && math.Abs(ratio-v) <= off
}

// linked returns the rows of the scenarios that a text names in links or tables.
func linked(rows []experiments.Row, text string) []experiments.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r experiments.Row) bool {
		return !strings.Contains(text, "#"+r.Scenario+")") && !strings.Contains(text, "<!-- figures "+r.Scenario+" ")
	})
}

// hasFigure reports whether rows have a figure, as a sentence writes it: as a change or an end of its interval, as
// a median, or in what a claim, the load or a doubt says.
func hasFigure(rows []experiments.Row, figure string) bool {
	m := figureSaid.FindStringSubmatch(figure)
	sign, number, unit := m[1]+m[4], strings.ReplaceAll(m[2], ",", "")+m[5], strings.TrimSpace(m[3])
	// Demands are written as "243us", and rates as "243 requests/s".
	suffix := map[string]string{"µs": "(?: µs|us)", "ms": " ?ms", "/s": "(?:/s| requests/s)", "%": " %", "MiB": " MiB"}[unit]
	inText := regexp.MustCompile(`(?:^|[^\d.])` + m[4] + regexp.QuoteMeta(number) + suffix)
	return slices.ContainsFunc(rows, func(r experiments.Row) bool {
		if inText.MatchString(strings.ReplaceAll(r.Text+"\n"+r.Reason+"\n"+r.Asks, ",", "")) {
			return true
		}
		if of, ok := unitsSaid[unit]; ok {
			v, off := ratioSaid("×" + number)
			return slices.Contains(of.metrics, r.Metric) && math.Abs(r.Figure*of.factor-v) <= off
		}
		signs := []string{sign}
		if sign == "" {
			signs = []string{"+", "-"} // "22 % less" is -22 %
		}
		return r.Metric == "loop_share" && is(1+r.Figure, "+"+number) || slices.ContainsFunc(signs, func(sign string) bool {
			return is(r.Ratio, sign+number) || is(r.Low, sign+number) || is(r.High, sign+number)
		})
	})
}

// hasInterval reports whether rows have an interval, and the change before it if there is one.
func hasInterval(rows []experiments.Row, m []string) bool {
	return slices.ContainsFunc(rows, func(r experiments.Row) bool {
		return is(r.Low, m[2]) && is(r.High, m[3]) && (m[1] == "" || r.Ratio == 0 || is(r.Ratio, m[1]))
	})
}

// Every change, time, rate and memory in a page's sentences and in the appendix's column of what is true is in the file, below the
// scenarios that the page has or links to. The questions and the column of claims are not ours.
func TestEveryFigureOfAPageWasMeasured(t *testing.T) {
	t.Parallel()
	rows := measured(t)
	again, err := readRows(filepath.Join(dir, "answers-again.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := topics(t)
	all["../evidence/claims"] = read(t, filepath.Join(top, "docs", "evidence", "claims.md"))
	for name, text := range all {
		var said strings.Builder
		known := append(linked(rows, text), linked(again, text)...)
		for line := range strings.Lines(written(text)) {
			switch cells := strings.Split(line, "|"); {
			case strings.HasPrefix(line, "**"): // the question
			case len(cells) == 5:
				said.WriteString(cells[2] + "\n")
			default:
				said.WriteString(line)
			}
		}
		sentences := strings.ReplaceAll(said.String(), "\n", " ")
		for _, figure := range figureSaid.FindAllString(sentences, -1) {
			if !hasFigure(known, figure) {
				t.Errorf("%s.md says %s, which answers.tsv has of no scenario that the page links to", name, figure)
			}
		}
		for _, m := range intervalSaid.FindAllStringSubmatch(sentences, -1) {
			if !hasInterval(known, m) {
				t.Errorf("%s.md says %s, which is in no row", name, m[0])
			}
		}
	}
}

// Every change with its interval in the other pages that quote the experiments is in the file, too: in findings.md
// below the scenarios that the finding links to.
func TestEveryIntervalIsInTheFile(t *testing.T) {
	t.Parallel()
	rows := measured(t)
	again, err := readRows(filepath.Join(dir, "answers-again.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	everything := append(slices.Clone(rows), again...)
	check := func(where, text string, known []experiments.Row) {
		for _, m := range intervalSaid.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
			if !hasInterval(known, m) {
				t.Errorf("%s: %s is in no row", where, m[0])
			}
		}
	}
	for _, section := range strings.Split(read(t, filepath.Join(top, "docs", "findings.md")), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		check("docs/findings.md: "+title, section, append(linked(rows, section), linked(again, section)...))
	}
	check("README.md", read(t, filepath.Join(top, "README.md")), everything)
	check("docs/choosing.md", read(t, filepath.Join(top, "docs", "choosing.md")), rows)
	check("docs/evidence/claims.md", read(t, filepath.Join(top, "docs", "evidence", "claims.md")), everything)
	index, _, _ := strings.Cut(read(t, filepath.Join(dir, "README.md")), "## Measured twice")
	check("docs/experiments/README.md", index, everything)
}

// Where another page links to a scenario's figures, they are there.
func TestLinksToFigures(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`experiments/([a-z-]+)\.md#([a-z0-9-]+)\)`)
	all, rows := topics(t), measured(t)
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if len(of(rows, m[2])) > 0 && !strings.Contains(all[m[1]], "<!-- figures "+m[2]+" ") {
				t.Errorf("%s links to %s.md#%s, where its figures are not", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
