package arrivals

import (
	"bufio"
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

const (
	maxLogRequests  = 5_000_000
	maxLogDifferent = 200_000
	maxLogLine      = 64 << 10
	maxLogSpan      = 366 * 24 * time.Hour
	toldLogLines    = 5 // of those that cannot be read
)

// An AccessLog is what a server's access log says was asked of it, to be asked
// again. It is only read once made, and so safe for concurrent use.
type AccessLog struct {
	// At holds the requests' times, ascending, from the second of the first.
	At []time.Duration
	// Which holds for each of them its place in Requests.
	Which []uint32
	// Requests are the different ones, in the order of their first lines.
	Requests []LogRequest
	// Lines counts the lines that are not empty. Of those, Others ask with other
	// methods than GET and HEAD, and Bad cannot be read, the first of them at
	// BadLines.
	Lines, Others, Bad int
	BadLines           []int
	// Whole tells that the log's times are whole seconds. Within one its requests
	// are spread at random, the same way every time the log is read.
	Whole bool
}

// A LogRequest is what a line of an access log asks. Two that are equal are one.
type LogRequest struct{ Method, Path string }

// logLine is a line of the Common Log Format, or of the Combined one or another
// that goes on after it: host ident user [time] "METHOD path PROTOCOL" status bytes.
// A request with escapes in it was none that could be sent again.
var logLine = regexp.MustCompile(`^\S+ \S+ [^\[]*\[([^\]]+)\] "([A-Za-z]+) (/[^ "\\]*)(?: HTTP/[0-9.]+)?" [0-9]{3} (?:[0-9]+|-)(?: .*)?$`)

const (
	logTime = "02/Jan/2006:15:04:05 -0700" // fractions of a second are read too
	logForm = `host - user [10/Oct/2000:13:55:36 -0700] "GET /path HTTP/1.1" 200 512`
)

// ReadAccessLog reads a log in the Common or Combined Log Format; name is for
// messages. GET and HEAD are taken; lines that ask otherwise, whose bodies a log
// does not hold, or cannot be read are counted and left out. A log without one
// request to take is an error, and so are more than 5,000,000 requests, 200,000
// different ones, a line beyond 64 KiB, or a year and more between two.
func ReadAccessLog(name string, r io.Reader) (*AccessLog, error) {
	l := &AccessLog{Whole: true}
	p := logParser{log: l, places: map[LogRequest]uint32{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), maxLogLine)
	number := 0
	for lines.Scan() {
		number++
		if err := p.line(number, lines.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		if err == bufio.ErrTooLong {
			err = fmt.Errorf("the line is longer than %d bytes", maxLogLine)
		}
		return nil, fmt.Errorf("%s:%d: %w", name, number+1, err)
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

// A logged request is one line's.
type logged struct {
	at    time.Time
	which uint32
}

type logParser struct {
	log    *AccessLog
	asked  []logged
	places map[LogRequest]uint32 // in Requests
}

func (p *logParser) line(number int, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	p.log.Lines++
	fields := logLine.FindStringSubmatch(strings.TrimRight(text, "\r"))
	if fields == nil {
		p.bad(number)
		return nil
	}
	at, err := time.Parse(logTime, fields[1])
	method, path := fields[2], fields[3]
	if _, pathErr := url.ParseRequestURI(path); err != nil || pathErr != nil {
		p.bad(number)
		return nil
	}
	if method != "GET" && method != "HEAD" {
		p.log.Others++
		return nil
	}
	place, known := p.places[LogRequest{method, path}]
	if !known {
		if len(p.places) == maxLogDifferent {
			return fmt.Errorf("more than %d different requests; take a part of the log", maxLogDifferent)
		}
		path = strings.Clone(path) // the line is much longer
		place = uint32(len(p.log.Requests))
		p.log.Requests = append(p.log.Requests, LogRequest{method, path})
		p.places[LogRequest{method, path}] = place
	}
	if len(p.asked) == maxLogRequests {
		return fmt.Errorf("more than %d requests; take a part of the log", maxLogRequests)
	}
	p.asked = append(p.asked, logged{at, place})
	p.log.Whole = p.log.Whole && at.Nanosecond() == 0
	return nil
}

func (p *logParser) bad(number int) {
	p.log.Bad++
	if len(p.log.BadLines) < toldLogLines {
		p.log.BadLines = append(p.log.BadLines, number)
	}
}

// finish puts the requests in order: a server logs them as they end.
func (p *logParser) finish() error {
	slices.SortStableFunc(p.asked, func(a, b logged) int { return a.at.Compare(b.at) })
	zero := p.asked[0].at.Truncate(time.Second)
	if last := p.asked[len(p.asked)-1].at; last.Sub(zero) > maxLogSpan {
		return fmt.Errorf("from %v to %v is longer than %v; take a part of the log", zero, last, maxLogSpan)
	}
	l := p.log
	l.At, l.Which = make([]time.Duration, len(p.asked)), make([]uint32, len(p.asked))
	for i, r := range p.asked {
		l.At[i], l.Which[i] = r.at.Sub(zero), r.which
	}
	if l.Whole {
		spread(l.At)
	}
	return nil
}

// spread moves times within their whole second, as those of independent clients
// lie: uniformly.
func spread(at []time.Duration) {
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

// Rate is the log's mean rate, in requests per second of its own time.
func (l *AccessLog) Rate() float64 {
	last, n := l.At[len(l.At)-1], float64(len(l.At))
	if l.Whole {
		return n / (last.Truncate(time.Second) + time.Second).Seconds()
	}
	return n / max(last, time.Millisecond).Seconds()
}

// part lists the requests from a time on, within span, at a mean rate of the
// whole log.
func (l *AccessLog) part(from, span time.Duration, rate float64) (t Trace) {
	slower := l.Rate() / rate
	at := func(i int) time.Duration { return time.Duration(float64(l.At[i]) * slower) }
	first := sort.Search(len(l.At), func(i int) bool { return at(i) >= from })
	for i := first; i < len(l.At) && at(i) < from+span; i++ {
		t.At, t.Which = append(t.At, at(i)-from), append(t.Which, l.Which[i])
	}
	return t
}

// LeftOut says which lines are not sent again, and why; "" when all are.
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
