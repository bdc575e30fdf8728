// Package report writes a record.Result: as text for a terminal, Markdown, a self-contained HTML page, JSON,
// CSV, the Go benchmark format, or HdrHistogram's distribution format. It also writes grids. It judges nothing: every number and
// verdict comes from the record.
//
// Most reports are built in two steps: a function of this package arranges the facts of a
// record as a document.Document, and that package writes the document as text, Markdown or
// HTML. The formats for programs have no document.
//
// The files, by a reader's question:
//
//   - report.go: the list of formats, and the formats for programs
//   - whole.go, brief.go: the full report with everything that speaks against it, and one screen of it
//   - summary.go: the reports of a pull request, a gate and a pack, and the charts of docs/experiments
//   - headline.go: the answer in one sentence; short.go: in twelve words, a chip for each arm and the rest
//   - words.go: verdicts, loads and machines in words
//   - table.go: tables; packages say and chart have the figures, and the axes, lines and bars
//   - curves.go and phases.go: the drawings of a run, also while it goes on
//   - page.go: which page a result has, and the frame for a result that is no comparison; attached.go: what others attach
//
// A report is complete before its first byte is written, so an error in building it writes nothing. Functions
// only read their record, so several goroutines may report one record at once.
package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Formats returns every format of a result. Its text is plain and 100 columns wide; Text takes more options.
func Formats() say.FormatsOf[record.Result] {
	return say.FormatsOf[record.Result]{
		{Name: "text", Render: func(w io.Writer, r record.Result) error { return Text(w, r, TextOptions{}) }},
		{Name: "json", Render: func(w io.Writer, r record.Result) error { return JSONAs(w, r, Headline(r)) }},
		{Name: "markdown", Render: Markdown},
		{Name: "summary", Render: func(w io.Writer, r record.Result) error { return pageOf(r).summary(w) }},
		{Name: "html", Render: HTML},
		{Name: "csv", Render: func(w io.Writer, r record.Result) error { return pageOf(r).csv(w) }},
		{Name: "benchstat", Render: ofBlocks("benchstat", bench)},
		{Name: "hgrm", Render: ofBlocks("hgrm", hgrm)},
	}
}

// ofBlocks returns how to write a result in a format that only a comparison has.
func ofBlocks(format string, render func(io.Writer, *record.Comparison) error) func(io.Writer, record.Result) error {
	return func(w io.Writer, r record.Result) error {
		if other, is := r.(Content); is {
			return fmt.Errorf("%s compares no blocks, so there is nothing to render as %s: use text, json, markdown, html or csv", other.Called(), format)
		}
		return render(w, r.(*record.Comparison))
	}
}

// JSONAs writes the whole result as JSON, with this headline. NaN or an infinite figure is an error.
func JSONAs(w io.Writer, r record.Result, headline string) error {
	return say.JSON(w, complete(r, headline))
}

// complete returns the result as JSON has it: a copy of r with this headline, and with empty lists in place of nil, so that a
// program needs no case for null. The lists are copies too: r stays unchanged.
func complete(r record.Result, headline string) record.Result {
	full := pageOf(r).data()
	full.Head().Headline = headline
	return full
}

// list returns a copy of s that is not nil.
func list[T any](s []T) []T { return append([]T{}, s...) }

// csv writes one row per arm and metric, in base units (seconds, 1/s), with the verdict in the same row. value is the arm's
// median; ratio is the median of the blocks' own ratios arm / baseline, and low and high are its interval. The baseline has no
// verdict; its copy has the A/A verdict. A figure that is not known is an empty cell.
func (p comparisonPage) csv(w io.Writer) error {
	r := p.Comparison
	rows := [][]string{{"run", "scenario", "arm", "mode", "role", "metric", "primary", "unit", "value",
		"verdict", "ratio", "low", "high", "blocks", "won", "needed", "reason"}}
	// Every arm has a row for every metric, measured or not, so that tables of different runs fit together.
	for _, a := range r.Arms {
		for _, m := range stats.Metrics() {
			value, judged, verdicts := "", make([]string, 8), r.Verdicts
			if a.Role == record.Copy {
				verdicts = r.AA
			}
			if v := a.Median(m.Figure); v != nil {
				value = say.Exact(*v)
			}
			if v := verdictOn(verdicts, a.Name, m.Figure); v.Arm != "" {
				won := strconv.Itoa(v.Won)
				if v.Verdict.Outcome == outcome.Refused { // it counts no blocks as won; 0 would read as "lost all"
					won = ""
				}
				judged = []string{v.Verdict.String(), ratio(v.Ratio), ratio(v.Low), ratio(v.High),
					strconv.Itoa(v.Blocks), won, strconv.Itoa(v.Needed), v.Reason.String()}
			}
			row := []string{r.Run, r.Scenario, a.Name, a.Mode, string(a.Role), m.Name, strconv.FormatBool(m.Primary), m.Unit, value}
			rows = append(rows, append(row, judged...))
		}
	}
	return writeCSV(w, rows)
}

// writeCSV writes rows, with the head first. Names come from users, so every cell is harmless to a
// terminal and to a spreadsheet.
func writeCSV(w io.Writer, rows [][]string) error {
	var b strings.Builder
	lines := csv.NewWriter(&b) // into memory: no error
	for _, row := range rows {
		harmless := make([]string, len(row))
		for i, c := range row {
			harmless[i] = cell(c)
		}
		_ = lines.Write(harmless)
	}
	lines.Flush()
	return say.Emit(w, "csv", b.String())
}

// cell makes a cell of a CSV file harmless. A spreadsheet computes what begins with = + - or @, so text
// that does gets a ' in front, which shows that it is text. Numbers stay as they are.
func cell(s string) string {
	s = document.Harmless(s)
	if _, err := strconv.ParseFloat(s, 64); err != nil && strings.IndexAny(strings.TrimSpace(s), "=+-@＝＋－＠") == 0 {
		return "'" + s
	}
	return s
}

// ratio formats a ratio; "" for 0, which means that there is none.
func ratio(v float64) string {
	if v == 0 {
		return ""
	}
	return say.Exact(v)
}

// bench writes the Go benchmark format: the environment as configuration lines, unit metadata,
// then one line per arm and valid block, so that
//
//	benchstat -col /mode bench.txt
//
// compares the arms. mode= holds the arm's name. Times are in ns. benchstat tests the arms as
// independent samples; schedlab's own verdicts pair them by block, so benchstat may find less.
// Format: golang.org/design/14313-benchmark-format and benchfmt's unit lines.
func bench(w io.Writer, r *record.Comparison) error {
	var b strings.Builder
	e, started, rate := r.Env, "", ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format("2006-01-02T15:04:05Z")
	}
	if r.Rate > 0 {
		rate = say.Exact(r.Rate)
	}
	for _, line := range [][2]string{
		{"run", r.Run}, {"started", started},
		{"scenario", r.Scenario}, {"status", string(r.Status)},
		{"seed", strconv.FormatUint(r.Seed, 10)}, {"rate", rate}, {"window-sec", say.Exact(r.Window.Seconds())},
		{"cpu", e.CPU}, {"kernel", e.Kernel}, {"go", e.Go}, {"schedlab", e.Version}, {"server-cpus", e.ServerCPUs}, {"load-cpus", e.LoadCPUs},
		{"server-procs", strconv.Itoa(e.ServerProcs)}, {"load-procs", strconv.Itoa(e.LoadProcs)}, {"gogc", e.GOGC},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], oneLine(line[1]))
		}
	}
	for _, m := range stats.Metrics() {
		// assume=nothing makes benchstat use medians and a rank test: response times are not normal.
		better := "lower"
		if m.HigherIsBetter {
			better = "higher"
		}
		fmt.Fprintf(&b, "Unit %s better=%s assume=nothing\n", m.Bench, better)
	}
	for i := range r.Arms {
		benchArm(&b, r, &r.Arms[i])
	}
	return say.Emit(w, "benchstat", b.String())
}

// benchArm writes one line for each valid block of an arm, with the figures that the block has.
func benchArm(b *strings.Builder, r *record.Comparison, a *record.Arm) {
	blocks := 0
	for _, values := range a.Blocks {
		blocks = max(blocks, len(values))
	}
	name := fmt.Sprintf("BenchmarkServe/mode=%s/scenario=%s", token(a.Name), token(r.Scenario))
	// Readers take a trailing -N for GOMAXPROCS. Write it where Go would, and where the end of a
	// scenario's name would be mistaken for it.
	procs := cmp.Or(a.Procs, r.Env.ServerProcs)
	if procs > 1 || regexp.MustCompile(`-\d+$`).MatchString(name) {
		name += fmt.Sprintf("-%d", max(procs, 1))
	}
	for i := range blocks {
		var figures strings.Builder
		for _, m := range stats.Metrics() {
			scale := 1.
			if m.Unit == "s" {
				scale = 1e9 // to ns
			}
			// A metric may lack blocks, where a window had too few requests for a quantile.
			if values := a.Blocks[m.Figure]; i < len(values) && !math.IsNaN(values[i]) && !math.IsInf(values[i], 0) {
				figures.WriteString(" " + strconv.FormatFloat(values[i]*scale, 'f', 3, 64) + " " + m.Bench)
			}
		}
		if figures.Len() > 0 { // a benchmark line needs at least one figure
			fmt.Fprintf(b, "%s 1%s\n", name, figures.String())
		}
	}
}

// token replaces characters that cannot stand in a value of a benchmark's name, which ends at a
// slash or a space.
func token(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '/' || unicode.IsSpace(c) || !unicode.IsPrint(c) {
			return '_'
		}
		return c
	}, s)
}

// oneLine replaces line breaks and control characters, so that s stays one line and cannot drive a terminal.
func oneLine(s string) string { return strings.Join(strings.Fields(document.Harmless(s)), " ") }

// hgrm writes each arm's response-time distribution over all valid windows in HdrHistogram's
// text format, in milliseconds. Each follows a line #[Arm = name], where plotters want the file
// split. A distribution ends where evidence ends, so it holds no maximum. TotalCount counts
// good replies. It returns an error if no arm has a distribution.
func hgrm(w io.Writer, r *record.Comparison) error {
	var body strings.Builder
	for i, a := range r.Arms {
		if len(a.Curve) == 0 {
			continue
		}
		// A curve is of good replies, so its counts are shares of these.
		good := float64(max(a.Requests-a.Errors, 0))
		if i > 0 {
			body.WriteString("\n")
		}
		fmt.Fprintf(&body, "#[Arm = %s]\n%12s %14s %10s %14s\n\n", oneLine(a.Name), "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
		// The columns and their widths are HdrHistogram's, so that its plotters read them. The
		// count of a point is the number of good replies up to its time.
		for _, p := range a.Curve {
			fmt.Fprintf(&body, "%12.3f %14.12f %10.0f %14.2f\n", p.Seconds*1e3, p.Quantile, math.Round(p.Quantile*good), 1/(1-p.Quantile))
		}
		fmt.Fprintf(&body, "#[Total count = %.0f]\n", good)
	}
	if body.Len() == 0 {
		return errors.New("writing hgrm report: the result holds no distributions; trials/*/response.hgrm has those of single trials")
	}
	return say.Emit(w, "hgrm", body.String())
}

// TextOptions adapt a text report to where it is read. The zero value is 100 columns without
// colour, for a file or a pipe.
type TextOptions = document.Options

// Colours are the colours of a text for a terminal. The words of verdicts and states stand out:
// blue for faster, red for slower and starved, magenta for incomplete. Open and refused are words of any sentence.
var Colours = map[string]string{
	string(stats.Faster): "1;34", string(stats.Slower): "1;31", string(stats.Same): "1",
	string(stats.Higher): "1", string(stats.Lower): "1",
	"INTERRUPTED": "1;35", "INCOMPLETE": "1;35", "PARTIAL": "1;35", "STARVED": "1;31",
}
