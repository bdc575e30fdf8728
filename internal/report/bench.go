package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Bench writes the Go benchmark format: the environment as configuration lines, unit metadata,
// then one line per arm and valid block, so that
//
//	benchstat -col /mode bench.txt
//
// compares the arms. mode= holds the arm's name. benchstat tests the arms as independent samples;
// schedlab's own verdicts pair them by block. Format: golang.org/design/14313-benchmark-format
// and benchfmt's unit lines.
func Bench(w io.Writer, r *record.Result) error {
	return emit(w, "benchstat", func(b *bytes.Buffer) {
		for _, line := range configuration(r) {
			if line[1] != "" {
				fmt.Fprintf(b, "%s: %s\n", line[0], oneLine(line[1]))
			}
		}
		for _, m := range stats.Metrics() {
			better := "lower"
			if m.HigherIsBetter {
				better = "higher"
			}
			fmt.Fprintf(b, "Unit %s better=%s assume=nothing\n", m.Bench, better)
		}
		for i := range r.Arms {
			benchArm(b, r, &r.Arms[i])
		}
	})
}

// configuration returns the keys and values of the configuration lines; an empty value leaves its
// line out.
func configuration(r *record.Result) [][2]string {
	e := r.Env
	started := ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format("2006-01-02T15:04:05Z")
	}
	offered := ""
	if r.Rate > 0 {
		offered = float(r.Rate)
	}
	return [][2]string{
		{"run", r.Run}, {"started", started}, {"scenario", r.Scenario}, {"status", string(r.Status)},
		{"seed", strconv.FormatUint(r.Seed, 10)}, {"rate", offered}, {"window-sec", float(r.Window)},
		{"cpu", e.CPU}, {"kernel", e.Kernel}, {"go", e.Go}, {"schedlab", e.Version},
		{"server-cpus", e.ServerCPUs}, {"load-cpus", e.LoadCPUs},
		{"server-procs", strconv.Itoa(e.ServerProcs)}, {"load-procs", strconv.Itoa(e.LoadProcs)}, {"gogc", e.GOGC},
	}
}

// benchArm writes one line for each valid block of an arm.
func benchArm(b *bytes.Buffer, r *record.Result, a *record.Arm) {
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
				scale = 1e9
			}
			if values := a.Blocks[m.Name]; i < len(values) && !math.IsNaN(values[i]) && !math.IsInf(values[i], 0) {
				fmt.Fprintf(&figures, " %s %s", strconv.FormatFloat(values[i]*scale, 'f', 3, 64), m.Bench)
			}
		}
		if figures.Len() > 0 { // a benchmark line needs at least one figure
			fmt.Fprintf(b, "%s 1%s\n", name, figures.String())
		}
	}
}

// token replaces characters that cannot stand in a value of a benchmark's name.
func token(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '/' || unicode.IsSpace(c) || !unicode.IsPrint(c) {
			return '_'
		}
		return c
	}, s)
}

// oneLine replaces line breaks and control characters, so that s stays one line and cannot drive
// a terminal.
func oneLine(s string) string { return strings.Join(strings.Fields(document.Harmless(s)), " ") }

// HGRM writes each arm's response-time distribution over all valid windows in HdrHistogram's text
// format, in milliseconds. Each follows a line #[Arm = name], where plotters want the file split.
// A distribution ends where evidence ends, so it holds no maximum. It returns an error if no arm
// has a distribution.
func HGRM(w io.Writer, r *record.Result) error {
	var body bytes.Buffer
	for i, a := range r.Arms {
		if len(a.Curve) == 0 {
			continue
		}
		good := float64(max(a.Requests-a.Errors, 0))
		if i > 0 {
			body.WriteString("\n")
		}
		fmt.Fprintf(&body, "#[Arm = %s]\n%12s %14s %10s %14s\n\n", oneLine(a.Name), "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
		for _, p := range a.Curve {
			fmt.Fprintf(&body, "%12.3f %14.12f %10.0f %14.2f\n", p.Seconds*1e3, p.Quantile, math.Round(p.Quantile*good), 1/(1-p.Quantile))
		}
		fmt.Fprintf(&body, "#[Total count = %.0f]\n", good)
	}
	if body.Len() == 0 {
		return errors.New("writing hgrm report: the result holds no distributions; trials/*/response.hgrm has those of single trials")
	}
	return emit(w, "hgrm", func(b *bytes.Buffer) { b.Write(body.Bytes()) })
}
