package arrivals

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"
)

// Limits of a log, so that a wrong file ends with an error instead of filling the memory.
const (
	maxLogRequests  = 5_000_000
	maxLogDifferent = 200_000
	maxLogLine      = 64 << 10
	maxLogSpan      = 366 * 24 * time.Hour
	maxLogMethods   = 20 // number of other methods that are counted separately
	toldLogLines    = 5  // number of lines that are listed for each reason to leave them out

	// A file without a log line at its beginning is no log. A log may begin with lines of something else.
	maxForeignLines = 10_000
	maxForeignBytes = 4 << 20
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
	// Lines counts the lines that are not empty and not comments. It is the sum of the requests in At and of the lines that
	// are left out, for one of three reasons. Methods counts the requests with each method other than GET
	// and HEAD, because a log has no bodies. Unsendable are log lines without a request that can be sent.
	// Unreadable are lines that are no log lines.
	Lines                  int
	Methods                map[string]int
	Unsendable, Unreadable LogLines
	// Whole is true when all times in the log are whole seconds. The requests of one
	// second are then spread over it at random, the same way every time the log is read.
	Whole bool
}

// A LogRequest is a request as an access log states it. Path includes the query. It begins with / and has
// only bytes that EscapeTarget leaves alone.
type LogRequest struct{ Method, Path string }

// LogLines counts lines. First holds the numbers, from 1, of the first few.
type LogLines struct {
	Count int
	First []int
}

func (l *LogLines) add(number int) {
	if l.Count++; len(l.First) < toldLogLines {
		l.First = append(l.First, number)
	}
}

// String returns the lines' numbers, as "lines 3, 4, ...".
func (l *LogLines) String() string {
	numbers := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.First)), ", "), "[]")
	switch {
	case l.Count == 1:
		return "line " + numbers
	case l.Count > len(l.First):
		numbers += ", ..."
	}
	return "lines " + numbers
}

// readAccessLog reads a log in one of logFormats; name is used in messages. It takes only GET and HEAD,
// and counts the lines that it leaves out. The log may be packed by gzip: see Text.
//
// It returns an error if no request is left. It also returns one for more than 5,000,000
// requests, more than 200,000 distinct ones, or more than a year from the first request to the last, and for
// a file without a log line in its first 10,000 lines or 4 MiB. Times may have any time zone; they are
// compared as moments.
func readAccessLog(name string, r io.Reader) (*AccessLog, error) {
	l := &AccessLog{Whole: true, Methods: map[string]int{}}
	p := logParser{log: l, places: map[LogRequest]uint32{}}
	if err := eachLine(name, r, maxLogLine, p.line); err != nil {
		return nil, err
	}
	switch {
	case len(p.asked) == 0 && l.Lines > 0 && l.Unreadable.Count == l.Lines:
		return nil, fmt.Errorf("%s:%d: %w", name, l.Unreadable.First[0], p.noLog())
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

	format  *logFormat // of the last log line
	columns w3cColumns
	bytes   int    // of the lines so far
	unread  string // the first line that is no log line
}

// line adds one line of the log. It returns an error only for a log beyond the limits: a line that
// cannot be read or sent is counted and left out.
func (p *logParser) line(number int, text string, whole bool) error {
	text = undocked(strings.TrimSpace(text))
	if text == "" || p.columns.directive(text) {
		return nil
	}
	p.log.Lines++
	p.bytes += len(text)
	at, asked, ok := p.read(text)
	if !whole || !ok {
		if p.unread == "" {
			p.unread = text
		}
		p.log.Unreadable.add(number)
		if n := p.log.Unreadable.Count; n == p.log.Lines && (!whole || n >= maxForeignLines || p.bytes >= maxForeignBytes) {
			return p.noLog()
		}
		return nil
	}
	request, err := parseRequest(asked)
	other, isOther := errors.AsType[otherMethod](err)
	switch {
	case isOther:
		p.log.Methods[p.methodName(string(other))]++
		return nil
	case err != nil:
		p.log.Unsendable.add(number)
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

// methodName returns the name under which a method is counted.
func (p *logParser) methodName(method string) string {
	if _, known := p.log.Methods[method]; !known && len(p.log.Methods) >= maxLogMethods {
		return "others"
	}
	return strings.Clone(method)
}

// read returns the time and the request line of a log line in any format; ok is false for other lines.
// Most logs have one format, so it tries the format of the line before first.
func (p *logParser) read(text string) (at time.Time, request string, ok bool) {
	if p.format != nil {
		if at, request, ok = p.format.read(p, text); ok {
			return at, request, ok
		}
	}
	for i := range logFormats {
		if at, request, ok = logFormats[i].read(p, text); ok {
			p.format = &logFormats[i]
			return at, request, ok
		}
	}
	return at, request, false
}

// noLog returns the error for a file without a log line. It names the format if that is known and cannot be
// read.
func (p *logParser) noLog() error {
	for _, f := range foreignFormats {
		if f.mark.MatchString(p.unread) {
			return fmt.Errorf("no line of an access log: this is %s; %s", f.name, f.convert)
		}
	}
	long := ""
	if len(p.unread) == maxLogLine {
		long = fmt.Sprintf(" (the line is longer than %d bytes)", maxLogLine)
	}
	return fmt.Errorf("no line of an access log%s; want the Common or Combined Log Format, like %s, or a log of "+
		"Envoy, HAProxy, IIS (W3C), an AWS load balancer, Squid, Caddy, Traefik or nginx as JSON", long, logForm)
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

// at returns the time of request i in a replay at a mean rate. A lower rate than the log's own stretches
// its times, a higher one shortens them.
func (l *AccessLog) at(i int, rate float64) time.Duration {
	return time.Duration(float64(l.At[i]) * (l.Rate() / rate))
}

// span returns the shortest window [0, span) that holds a replay at a mean rate, in requests per second. The
// last second of a log in whole seconds counts in full.
func (l *AccessLog) span(rate float64) time.Duration {
	n := len(l.At)
	return max(l.at(n-1, rate)+1, time.Duration(float64(n)/rate*float64(time.Second)))
}

// part returns the requests in [from, from+span) of a replay of the whole log at the mean rate
// rate.
func (l *AccessLog) part(from, span time.Duration, rate float64) (t Trace) {
	first := sort.Search(len(l.At), func(i int) bool { return l.at(i, rate) >= from })
	for i := first; i < len(l.At) && l.at(i, rate) < from+span; i++ {
		t.At, t.Which = append(t.At, l.at(i, rate)-from), append(t.Which, l.Which[i])
	}
	return t
}

// LeftOut returns a sentence about the lines that were left out, and why; "" if there are none.
func (l *AccessLog) LeftOut() string {
	var parts []string
	others := 0
	// The most frequent method first.
	methods := slices.SortedFunc(maps.Keys(l.Methods), func(a, b string) int {
		if l.Methods[a] != l.Methods[b] {
			return l.Methods[b] - l.Methods[a]
		}
		return strings.Compare(a, b)
	})
	for i, m := range methods {
		others += l.Methods[m]
		methods[i] = fmt.Sprintf("%s %d", m, l.Methods[m])
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d ask with other methods than GET and HEAD, whose bodies a log does not hold (%s)", others, strings.Join(methods, ", ")))
	}
	if l.Unsendable.Count > 0 {
		parts = append(parts, fmt.Sprintf("%d without a request that can be sent (%s)", l.Unsendable.Count, l.Unsendable.String()))
	}
	if l.Unreadable.Count > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot be read (%s)", l.Unreadable.Count, l.Unreadable.String()))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("of %d lines %d are left out: %s", l.Lines, others+l.Unsendable.Count+l.Unreadable.Count, strings.Join(parts, "; "))
}
