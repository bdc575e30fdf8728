package arrivals

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a trace file. A demand and a time take 24 bytes, so 20,000,000 arrivals take half a gigabyte.
const (
	maxTraceArrivals = 20_000_000
	maxTraceLine     = 1 << 10
	maxTraceOffset   = 24 * time.Hour
)

// traceColumns lists the columns that a trace file may have; the first is required.
var traceColumns = []string{"at", "iters", "cpu", "sleep"}

// ReadTrace reads arrivals, one per line, with columns separated by commas: the time, and
// optionally the demand on a /work target. The first line may name the columns, in any order.
// Without such a line they are at,iters,sleep or the first one or two of these.
//
//	at,cpu,sleep
//	0s,200us,0s
//	1.5ms,200us,10ms
//
// at is the time from the window's start, sleep the time to block, cpu the CPU
// time, all as durations like 1.5ms or as seconds like 0.0015; iters is the CPU
// demand in iterations. cpu needs itersPerMicro, the calibrated iterations per
// microsecond; if that is 0 a column cpu is an error. Empty lines and lines that
// begin with # are skipped.
//
// The file is streamed. More than 20,000,000 arrivals, or one later than 24 hours, are
// an error. Errors begin with name and line.
//
// A traceParser takes the lines one by one. header decides about the columns at the first line that is
// not a comment, and field reads one value.
func ReadTrace(name string, r io.Reader, itersPerMicro float64) (Trace, error) {
	p := traceParser{iters: itersPerMicro}
	if err := eachLine(name, r, maxTraceLine, p.line); err != nil {
		return Trace{}, err
	}
	if len(p.trace.At) == 0 {
		return Trace{}, fmt.Errorf("%s: no arrivals; write one a line, like 1.5ms", name)
	}
	return p.trace, nil
}

// A traceParser holds the part of a trace that has been read so far.
type traceParser struct {
	trace   Trace
	columns []string
	iters   float64 // per microsecond
}

// line adds one line of the file. The number is not needed: eachLine adds it to errors.
func (p *traceParser) line(_ int, text string) error {
	if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
		return nil
	}
	fields := strings.Split(text, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	// Only the first line can name the columns. If it does not, it is already an arrival.
	if p.columns == nil {
		named, err := p.header(fields)
		if err != nil || named {
			return err
		}
	}
	if len(fields) != len(p.columns) {
		return fmt.Errorf("%d columns, want %d (%s)", len(fields), len(p.columns), strings.Join(p.columns, ","))
	}
	if len(p.trace.At) == maxTraceArrivals {
		return fmt.Errorf("more than %d arrivals; split the file", maxTraceArrivals)
	}
	var at time.Duration
	var d Demand
	for i, column := range p.columns {
		if err := p.field(column, fields[i], &at, &d); err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
	}
	if n := len(p.trace.At); n > 0 && at < p.trace.At[n-1] {
		return fmt.Errorf("an arrival at %v after one at %v; sort the file", at, p.trace.At[n-1])
	}
	p.trace.At = append(p.trace.At, at)
	// A file of times only has no demands, and its Demand stays nil.
	if len(p.columns) > 1 {
		p.trace.Demand = append(p.trace.Demand, d)
	}
	return nil
}

// header sets the columns from the first line, and reports whether that line names them.
func (p *traceParser) header(fields []string) (named bool, err error) {
	if !slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(traceColumns, f) }) {
		p.columns = []string{"at", "iters", "sleep"}[:min(3, len(fields))]
		return false, nil
	}
	for i, f := range fields {
		if !slices.Contains(traceColumns, f) || slices.Contains(fields[:i], f) {
			return true, fmt.Errorf("column %.40q is unknown or there twice (want at, and of %s what is needed)", f, strings.Join(traceColumns[1:], ", "))
		}
	}
	switch has := func(c string) bool { return slices.Contains(fields, c) }; {
	case !has("at"):
		return true, fmt.Errorf("no column at")
	case has("iters") && has("cpu"):
		return true, fmt.Errorf("iters and cpu are one demand; drop one of them")
	case has("cpu") && !(p.iters > 0):
		return true, fmt.Errorf("cpu cannot be turned into iterations here; give iters")
	}
	p.columns = fields
	return true, nil
}

// field parses the value of one column into the arrival's time or demand.
func (p *traceParser) field(column, text string, at *time.Duration, d *Demand) (err error) {
	var v time.Duration
	if column == "iters" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%.40q is not a whole number up to %d", text, uint32(math.MaxUint32))
		}
		d.Iters = uint32(n)
		return nil
	}
	if v, err = parseOffset(text); err != nil {
		return err
	}
	switch column {
	case "at":
		*at = v
	case "sleep":
		d.Sleep = v
	case "cpu":
		d.Iters = uint32(min(math.Round(float64(v)/1e3*p.iters), math.MaxUint32))
	}
	return nil
}

// parseOffset reads a duration like 1.5ms, or a number of seconds.
func parseOffset(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, numErr := strconv.ParseFloat(s, 64); err != nil && numErr == nil {
		// Seconds are tried after durations: 0.0015 has no unit and is no duration.
		d, err = -1, nil // a number out of range is refused below
		if seconds >= 0 && seconds <= maxTraceOffset.Seconds() {
			d = time.Duration(math.Round(seconds * 1e9))
		}
	}
	if err != nil || d < 0 || d > maxTraceOffset {
		return 0, fmt.Errorf("%.40q is not a duration like 1.5ms or a number of seconds, from 0 to %v", s, maxTraceOffset)
	}
	return d, nil
}
