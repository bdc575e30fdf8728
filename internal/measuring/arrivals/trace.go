// Package arrivals decides when the requests of an open loop are sent and what each asks for.
// It has arrival processes, traces from files, and access logs. It draws lists of times from a
// seed. It sends nothing, waits for nothing and reads no clock.
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

// A Trace is the list of arrivals of one window. It is drawn before the attack, so that
// every arm of a block gets the same one.
//
// The lists are parallel: entry i of each is about arrival i. The zero Trace has no arrivals.
type Trace struct {
	// At holds the times of arrival, ascending, from the attack's start.
	At []time.Duration
	// Demand holds each arrival's demand. It is as long as At, or nil for no demand.
	Demand []Demand
	// Which holds the index of each arrival's target. It is as long as At, or nil to use
	// all targets in rotation.
	Which []uint32
}

// A Demand is the work that one request asks of a target with path /work. The zero value asks
// for none.
type Demand struct {
	Iters uint32        // calibrated CPU iterations
	Sleep time.Duration // time spent blocked
}

// Check returns an error if the lists of t differ in length, its times do not ascend from 0,
// or a demand is negative.
func (t Trace) Check() error {
	if t.Demand != nil && len(t.Demand) != len(t.At) {
		return fmt.Errorf("checking the trace: %d demands for %d arrivals; give one each, or none", len(t.Demand), len(t.At))
	}
	if t.Which != nil && len(t.Which) != len(t.At) {
		return fmt.Errorf("checking the trace: targets of %d arrivals, there are %d; give one each, or none", len(t.Which), len(t.At))
	}
	for i, at := range t.At {
		if at < 0 || i > 0 && at < t.At[i-1] {
			return fmt.Errorf("checking the trace: arrival %d is at %v, after one at %v; sort the arrivals and begin at 0", i, at, t.At[max(i-1, 0)])
		}
		if t.Demand != nil && t.Demand[i].Sleep < 0 {
			return fmt.Errorf("checking the trace: arrival %d sleeps for %v; a demand is never negative", i, t.Demand[i].Sleep)
		}
	}
	return nil
}

// until returns the part of the trace before span. It shares t's memory.
func (t *Trace) until(span time.Duration) Trace {
	// An arrival at span itself belongs to the next window.
	n, _ := slices.BinarySearch(t.At, span)
	part := Trace{At: t.At[:n:n]}
	if t.Demand != nil {
		part.Demand = t.Demand[:n:n]
	}
	return part
}

// Limits of a trace file. A demand and a time take 24 bytes, so 20,000,000 arrivals take half a gigabyte.
const (
	maxTraceArrivals = 20_000_000
	maxTraceLine     = 1 << 10
	maxTraceOffset   = 24 * time.Hour
)

// traceColumns lists the columns that a trace file may have; the first is required.
var traceColumns = []string{"at", "iters", "cpu", "sleep"}

// readTrace reads arrivals, one per line, with columns separated by commas: the time, and
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
// The file may be packed by gzip: see Text. It is streamed. More than 20,000,000 arrivals, or one later than 24 hours, are
// an error. Errors begin with name and line.
func readTrace(name string, r io.Reader, itersPerMicro float64) (Trace, error) {
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

// line adds one line of the file. The first that is not a comment may name the columns.
func (p *traceParser) line(_ int, text string, whole bool) error {
	if !whole {
		return fmt.Errorf("the line is longer than %d bytes", maxTraceLine)
	}
	if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
		return nil
	}
	fields := strings.Split(text, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
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
	var at, cpu time.Duration
	var d Demand
	for i, column := range p.columns {
		var err error
		switch column {
		case "at":
			at, err = parseOffset(fields[i])
		case "iters":
			var n uint64
			if n, err = strconv.ParseUint(fields[i], 10, 32); err != nil {
				err = fmt.Errorf("%.40q is not a whole number up to %d", fields[i], uint32(math.MaxUint32))
			}
			d.Iters = uint32(n)
		case "cpu":
			cpu, err = parseOffset(fields[i])
			d.Iters = uint32(min(math.Round(float64(cpu)/1e3*p.iters), math.MaxUint32))
		case "sleep":
			d.Sleep, err = parseOffset(fields[i])
		}
		if err != nil {
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

// header sets the columns from the first line, and reports whether that line names them. If it does
// not, it is already an arrival.
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
