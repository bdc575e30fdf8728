package report

import (
	"fmt"
	"slices"
	"strconv"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A metric describes how one figure of an arm is named, read and formatted.
type metric struct {
	name  string // as in records
	label string // as in reports
	in    string // follows "than nethttp": "at p99", "in goodput"
	bench string // unit in the Go benchmark format
	unit  string // base unit, as in CSV
	per   float64
	value func(a *record.Arm) *float64 // nil: not judged
	stats.Metric
}

// metrics returns the compared figures, which every arm has, in presentation order.
func metrics() []metric {
	words := map[string]metric{
		"p50":             {label: "p50", in: "at p50", bench: "p50-ns", unit: "s", per: 1e9, value: func(a *record.Arm) *float64 { return a.P50 }},
		"p90":             {label: "p90", in: "at p90", bench: "p90-ns", unit: "s", per: 1e9, value: func(a *record.Arm) *float64 { return a.P90 }},
		"p99":             {label: "p99", in: "at p99", bench: "p99-ns", unit: "s", per: 1e9, value: func(a *record.Arm) *float64 { return a.P99 }},
		"goodput":         {label: "goodput", in: "in goodput", bench: "req/s", unit: "1/s", per: 1, value: func(a *record.Arm) *float64 { return a.Goodput }},
		"cpu_per_request": {label: "CPU/request", in: "in CPU per request", bench: "cpu-ns/req", unit: "s", per: 1e9, value: func(a *record.Arm) *float64 { return a.CPUPerRequest }},
	}
	var all []metric
	for _, s := range stats.Metrics() {
		if m, ok := words[s.Name]; ok {
			m.name, m.Metric = s.Name, s
			all = append(all, m)
		}
	}
	return all
}

// find returns the metric of that name. A record may contain a metric that this version does not
// know: it keeps its name.
func find(name string) metric {
	for _, m := range metrics() {
		if m.name == name {
			return m
		}
	}
	return metric{name: name, label: name, in: "in " + name}
}

// word returns a verdict in the word for this metric (FASTER or HIGHER), whichever of them the
// record uses.
func (m metric) word(verdict string) string { return m.Word(m.Decision(verdict)) }

// tooFarApart is the ratio of largest to smallest time from which each time gets its best unit,
// instead of one unit for all.
const tooFarApart = 100

// cells formats one metric of every arm, aligned.
func (m metric) cells(arms []record.Arm) []string {
	var values []float64
	for i := range arms {
		if v := m.value(&arms[i]); v != nil {
			values = append(values, *v)
		}
	}
	s := timeScale(values...)
	low, high := span(values)
	apart := high >= tooFarApart*low // no single unit shows digits of both
	cells := make([]string, len(arms))
	for i := range arms {
		switch v := m.value(&arms[i]); {
		case v == nil || *v == 0 && m.unit == "s":
			cells[i] = none
		case m.unit == "s" && apart:
			cells[i] = seconds(*v)
		case m.unit == "s":
			cells[i] = s.format(*v)
		default:
			cells[i] = rate(*v)
		}
	}
	return cells
}

// asides returns columns that explain but are not judged: context switches, and the share of CPU
// time used by event loops. A column appears if an arm has the figure.
func asides(arms []record.Arm) (columns [][]string) {
	for _, c := range []struct {
		head string
		of   func(record.Arm) *float64
		cell func(float64) string
	}{
		{"switches/req", func(a record.Arm) *float64 { return a.Switches }, func(v float64) string { return group(strconv.FormatFloat(v, 'f', decimals(v, 3), 64)) }},
		{"loops' CPU", func(a record.Arm) *float64 { return a.Loops }, func(v float64) string { return fmt.Sprintf("%.0f%s%%", 100*v, nbsp) }},
	} {
		if slices.ContainsFunc(arms, func(a record.Arm) bool { return c.of(a) != nil }) {
			columns = append(columns, column(c.head, arms, func(a record.Arm) string {
				if v := c.of(a); v != nil {
					return c.cell(*v)
				}
				return none
			}))
		}
	}
	return columns
}

// footprints returns the columns of memory and threads; nil when no arm has them.
func footprints(arms []record.Arm) [][]string {
	if !slices.ContainsFunc(arms, func(a record.Arm) bool { return a.Footprint != nil }) {
		return nil
	}
	memory := func(a record.Arm) string {
		f := a.Footprint
		switch {
		case f == nil:
			return none
		case f.Resident && f.Processes > 1:
			return "≤" + nbsp + bytesText(f.Memory) // shared pages are counted for each process
		}
		return bytesText(f.Memory)
	}
	threads := func(a record.Arm) string {
		f := a.Footprint
		switch {
		case f == nil:
			return none
		case f.Processes > 1:
			return fmt.Sprintf("%s in %d processes", count(f.Threads), f.Processes)
		}
		return count(f.Threads)
	}
	return [][]string{column("memory", arms, memory), column("threads", arms, threads)}
}

// bytesText formats a size in bytes with about three digits.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	decimals := 0
	if unit != "B" && v < 100 {
		decimals = 1
	}
	return fmt.Sprintf("%s%s%s", strconv.FormatFloat(v, 'f', decimals, 64), nbsp, unit)
}
