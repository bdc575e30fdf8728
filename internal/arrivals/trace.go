// Package arrivals decides when the requests of an open loop are sent and what each asks for.
// It has arrival processes, traces from files, and access logs. It draws lists of times from a
// seed. It sends nothing, waits for nothing and reads no clock.
package arrivals

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"sort"
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

// line adds one line of the file. The first that is not a comment may name the columns.
func (p *traceParser) line(_ int, text string) error {
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

// eachLine calls f with each line of a file and its number, from 1. A line of more than longest
// bytes is an error. Errors begin with the file's name and the line's number.
func eachLine(name string, r io.Reader, longest int, f func(number int, text string) error) error {
	lines := bufio.NewScanner(r)
	// The scanner's own limit would be 64 KiB.
	lines.Buffer(make([]byte, 0, min(longest, 4<<10)), longest)
	number := 0
	for lines.Scan() {
		number++
		if err := f(number, lines.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	err := lines.Err()
	if err == bufio.ErrTooLong {
		err = fmt.Errorf("the line is longer than %d bytes", longest)
	}
	if err != nil {
		// The scanner stops before the line that it cannot give out.
		return fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return nil
}

// Limits of a log, so that a wrong file ends with an error instead of filling the memory.
const (
	maxLogRequests  = 5_000_000
	maxLogDifferent = 200_000
	maxLogLine      = 64 << 10
	maxLogSpan      = 366 * 24 * time.Hour
	toldLogLines    = 5 // number of unreadable lines that are listed
)

// An AccessLog holds the requests of a server's access log, to be sent again. It does not
// change once it is read, so it is safe for concurrent use.
//
// A Process of KindLog draws its windows from it with part.
type AccessLog struct {
	// At holds the requests' times, ascending. They count from the start of the second in
	// which the first request came.
	At []time.Duration
	// Which holds each request's index in Requests. It is as long as At.
	Which []uint32
	// Requests holds the distinct requests, in the order of their first lines.
	Requests []LogRequest
	// Lines counts the lines that are not empty, Others the lines with a method other than
	// GET and HEAD, and Bad the lines that cannot be read. BadLines holds the numbers,
	// from 1, of the first few bad lines.
	Lines, Others, Bad int
	BadLines           []int
	// Whole is true when all times in the log are whole seconds. The requests of one
	// second are then spread over it at random, the same way every time the log is read.
	Whole bool
}

// A LogRequest is a request as an access log states it. Path includes the query.
type LogRequest struct{ Method, Path string }

// logLine matches a line of the Common Log Format, or of a format that begins like it, such as
// the Combined Log Format: host ident user [time] "METHOD path PROTOCOL" status bytes. It does
// not accept a path with a backslash, because the log has escaped bytes in it.
var logLine = regexp.MustCompile(`^\S+ \S+ [^\[]*\[([^\]]+)\] "([A-Za-z]+) (/[^ "\\]*)(?: HTTP/[0-9.]+)?" [0-9]{3} (?:[0-9]+|-)(?: .*)?$`)

const (
	logTime = "02/Jan/2006:15:04:05 -0700" // fractions of a second are read as well
	logForm = `host - user [10/Oct/2000:13:55:36 -0700] "GET /path HTTP/1.1" 200 512`
)

// ReadAccessLog reads a log in the Common or Combined Log Format; name is used in messages. It
// takes only GET and HEAD, because a log has no bodies. It counts lines with other methods, and
// lines that it cannot read, and leaves them out.
//
// It returns an error if no request is left. It also returns one for more than 5,000,000
// requests, more than 200,000 distinct ones, a line of more than 64 KiB, or more than a year
// from the first request to the last. Times may have any time zone; they are compared as moments.
func ReadAccessLog(name string, r io.Reader) (*AccessLog, error) {
	l := &AccessLog{Whole: true}
	p := logParser{log: l, places: map[LogRequest]uint32{}}
	if err := eachLine(name, r, maxLogLine, p.line); err != nil {
		return nil, err
	}
	switch {
	case len(p.asked) == 0 && l.Bad > 0:
		return nil, fmt.Errorf("%s:%d: no line of an access log; want the Common or Combined Log Format, like %s", name, l.BadLines[0], logForm)
	case len(p.asked) == 0:
		return nil, fmt.Errorf("%s: no GET or HEAD among %d requests; only those can be sent again from a log", name, l.Lines)
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// A logged is the request of one line.
type logged struct {
	at    time.Time
	which uint32
}

// A logParser holds the lines that have been read so far.
type logParser struct {
	log    *AccessLog
	asked  []logged
	places map[LogRequest]uint32 // index of each distinct request in Requests
}

// line adds one line of the log. It returns an error only for a log beyond the limits: a line that
// cannot be read is counted and left out.
func (p *logParser) line(number int, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	p.log.Lines++
	at, request, ok := parseLogLine(text)
	switch {
	case !ok:
		p.log.Bad++
		if len(p.log.BadLines) < toldLogLines {
			p.log.BadLines = append(p.log.BadLines, number)
		}
		return nil
	case request.Method != "GET" && request.Method != "HEAD":
		p.log.Others++
		return nil
	}
	place, known := p.places[request]
	if !known {
		if len(p.places) == maxLogDifferent {
			return fmt.Errorf("more than %d different requests; take a part of the log", maxLogDifferent)
		}
		request = LogRequest{strings.Clone(request.Method), strings.Clone(request.Path)} // lets go of the much longer line
		place = uint32(len(p.log.Requests))
		p.log.Requests = append(p.log.Requests, request)
		p.places[request] = place
	}
	if len(p.asked) == maxLogRequests {
		return fmt.Errorf("more than %d requests; take a part of the log", maxLogRequests)
	}
	p.asked = append(p.asked, logged{at, place})
	p.log.Whole = p.log.Whole && at.Nanosecond() == 0
	return nil
}

// parseLogLine returns the time and the request of a line; ok is false if it cannot be read.
func parseLogLine(text string) (at time.Time, request LogRequest, ok bool) {
	// A log that was written on Windows ends its lines with a carriage return.
	fields := logLine.FindStringSubmatch(strings.TrimRight(text, "\r"))
	if fields == nil {
		return at, request, false
	}
	at, err := time.Parse(logTime, fields[1])
	// A path may fit the pattern and still be one that no URL can have, such as with a bad %-escape.
	_, pathErr := url.ParseRequestURI(fields[3])
	return at, LogRequest{Method: fields[2], Path: fields[3]}, err == nil && pathErr == nil
}

// finish sorts the requests by time, because a server logs them in the order in which they end.
func (p *logParser) finish() error {
	slices.SortStableFunc(p.asked, func(a, b logged) int { return a.at.Compare(b.at) })
	// The replay begins at a whole second, so that times without fractions fill their seconds evenly.
	zero := p.asked[0].at.Truncate(time.Second)
	if last := p.asked[len(p.asked)-1].at; last.Sub(zero) > maxLogSpan {
		return fmt.Errorf("from %v to %v is longer than %v; take a part of the log", zero, last, maxLogSpan)
	}
	l := p.log
	l.At, l.Which = make([]time.Duration, len(p.asked)), make([]uint32, len(p.asked))
	for i, r := range p.asked {
		l.At[i], l.Which[i] = r.at.Sub(zero), r.which
	}
	// All requests of a second have the same time in such a log. Sent at once they would be bursts that
	// the clients never made, so they are spread over the second, as if the clients were independent.
	if l.Whole {
		// The seed is fixed, so that every run and every arm replays the same times.
		rng := rand.New(rand.NewPCG(0, 0))
		for i := range l.At {
			l.At[i] += time.Duration(rng.Int64N(int64(time.Second)))
		}
		slices.Sort(l.At)
	}
	return nil
}

// Rate returns the log's mean rate as it was recorded, in requests per second.
func (l *AccessLog) Rate() float64 {
	last, n := l.At[len(l.At)-1], float64(len(l.At))
	// The last second counts in full, since its requests are spread over all of it.
	if l.Whole {
		return n / (last.Truncate(time.Second) + time.Second).Seconds()
	}
	return n / max(last, time.Millisecond).Seconds()
}

// part returns the requests in [from, from+span) of a replay of the whole log at the mean rate
// rate.
func (l *AccessLog) part(from, span time.Duration, rate float64) (t Trace) {
	slower := l.Rate() / rate
	// A lower rate than the log's own stretches its times, a higher one shortens them.
	at := func(i int) time.Duration { return time.Duration(float64(l.At[i]) * slower) }
	first := sort.Search(len(l.At), func(i int) bool { return at(i) >= from })
	for i := first; i < len(l.At) && at(i) < from+span; i++ {
		t.At, t.Which = append(t.At, at(i)-from), append(t.Which, l.Which[i])
	}
	return t
}

// LeftOut returns a sentence about the lines that were left out, and why; "" if there are none.
func (l *AccessLog) LeftOut() string {
	var parts []string
	if l.Others > 0 {
		parts = append(parts, fmt.Sprintf("%d ask with other methods than GET and HEAD, whose bodies a log does not hold", l.Others))
	}
	if l.Bad > 0 {
		numbers := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.BadLines)), ", "), "[]")
		if l.Bad > len(l.BadLines) {
			numbers += ", ..."
		}
		parts = append(parts, fmt.Sprintf("%d cannot be read (%s %s)", l.Bad, cmp.Or(map[int]string{1: "line"}[l.Bad], "lines"), numbers))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("of %d lines %d are left out: %s", l.Lines, l.Others+l.Bad, strings.Join(parts, "; "))
}
