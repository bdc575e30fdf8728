package arrivals

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"regexp"
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
	toldLogLines    = 5 // number of unreadable lines that are listed
)

// An AccessLog holds the requests of a server's access log, to be sent again. It does not
// change once it is read, so it is safe for concurrent use.
//
// ReadAccessLog makes one with a logParser: line by line it collects the times and the distinct
// requests, and finish sorts them. A Process of KindLog then draws its windows from it with part.
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
// from the first request to the last.
// Times may have any time zone; they are compared as moments.
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
		// The copies let go of the much longer line.
		request = LogRequest{Method: strings.Clone(request.Method), Path: strings.Clone(request.Path)}
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
	// the clients never made.
	if l.Whole {
		spread(l.At)
	}
	return nil
}

// spread spreads the times of each second uniformly over that second, as if the clients were
// independent.
func spread(at []time.Duration) {
	// The seed is fixed, so that every run and every arm replays the same times.
	rng := rand.New(rand.NewPCG(0, 0))
	for from := 0; from < len(at); {
		to := from
		for to < len(at) && at[to] == at[from] {
			to++
		}
		for i := from; i < to; i++ {
			at[i] += time.Duration(rng.Int64N(int64(time.Second)))
		}
		slices.Sort(at[from:to])
		from = to
	}
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
