// Package request is one scheduled request: its times, how it ended and its server's stamps, and the format of the files
// that hold a trial's requests and stamps.
package request

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"schedlab/internal/shared/stats"
)

// A Request is one scheduled request and its outcome. Times are nanoseconds from the start of the
// trial's attack, on one monotonic clock. Sent is -1 if the request was never sent. Done is when
// the reply was read completely or the request failed. Response time is Done - Scheduled, lag is
// Sent - Scheduled. A request's index in its trial's requests is its Seq.
type Request struct {
	Scheduled int64
	Sent      int64
	Done      int64
	Bytes     uint32 // response body bytes
	Status    uint16 // HTTP status, 0 without a reply
	Outcome   End
	Class     uint8  // index of its class in the plan; 0 where there are no classes
	Iters     uint32 // CPU demand, calibrated iterations
	Retries   uint8  // how often it was sent again; Status, Bytes and Outcome are of the last time
	Sleep     int64  // blocking demand, nanoseconds
}

// An End tells how a request ended. The numbers are stored in files, so they must not change.
type End uint8

// The outcomes. Every scheduled request ends in exactly one.
const (
	Answered End = iota // a complete reply, whatever its status
	TimedOut
	Refused     // the server's port is closed
	Reset       // the server reset the connection (TCP RST) before the reply was complete
	Cut         // still under way when the attack was stopped
	Closed      // the server closed the connection before the reply began
	Short       // the server closed the connection in the middle of the reply
	Malformed   // what came is not HTTP
	Untrusted   // the server's certificate is not signed by a known authority
	Expired     // the server's certificate is not valid at this time
	OtherHost   // the server's certificate is for another host
	NoTLS       // the TLS handshake failed for another reason
	NoName      // the host's name has no address
	Unreachable // no way to the host
	Exhausted   // the generator had no local port or file descriptor left
	NoHTTP2     // the server does not speak HTTP/2
	// NoClientCert is a server that wants another certificate of its client, or one at all.
	NoClientCert
	outcomes
)

// endings has the word for each outcome, and its meaning where no reply was good. mend tells the reader how to
// mend it; "" where there is no advice.
var endings = [outcomes]struct{ word, means, mend string }{
	Answered:     {"answered", "", ""},
	TimedOut:     {"timed out", "no reply came within the timeout", ""},
	Refused:      {"refused", "the port is closed, no server listens there", "start the server, or mend the port"},
	Reset:        {"reset", "the server reset the connection", ""},
	Cut:          {"cut off", "the attack ended first", ""},
	Closed:       {"closed without a reply", "the server closed the connection without a reply", ""},
	Short:        {"reply cut short", "the server closed the connection in the middle of its reply", ""},
	Malformed:    {"malformed reply", "what came back is not HTTP", ""},
	Untrusted:    {"untrusted certificate", "its certificate is signed by no authority that this machine knows", "--insecure takes any certificate"},
	Expired:      {"expired certificate", "its certificate has expired, or is not valid yet", "--insecure takes any certificate"},
	OtherHost:    {"certificate of another host", "its certificate is for another host", "ask by the name in the certificate, or --insecure takes any"},
	NoTLS:        {"no TLS", "the TLS handshake failed", "ask for http:// if the server speaks no TLS"},
	NoName:       {"name not found", "the host's name has no address", "mend the name"},
	NoHTTP2:      {"no HTTP/2", "the server does not speak HTTP/2", "ask in HTTP/1.1"},
	NoClientCert: {"client certificate refused", "the server takes no client without a certificate that it trusts", "--cert and --key give one"},
	Unreachable:  {"unreachable", "there is no way to the host", ""},
	Exhausted:    {"no local port", "this machine ran out of local ports or file descriptors, which is not the server's fault", "keep connections, or raise ulimit -n"},
}

// Broke reports whether the connection failed, as when a server dies.
func (o End) Broke() bool {
	return o == Refused || o == Reset || o == Closed || o == Short
}

// Waited reports whether the request was still waiting for its reply when the client gave up.
func (o End) Waited() bool { return o == TimedOut || o == Cut }

// Good reports whether r got a successful reply (2xx or 3xx).
// A redirect counts as good too, because no redirect is followed.
func (r Request) Good() bool { return r.Outcome == Answered && r.Status >= 200 && r.Status < 400 }

// Redirect reports whether a status sends the client elsewhere (RFC 9110, section 15.4), which no client here
// follows.
func Redirect(status uint16) bool { return status >= 300 && status < 400 && status != 304 }

// FailedEnds counts the requests without a good reply by how they ended: see End.
func FailedEnds(requests []Request) map[string]int {
	ends := map[string]int{}
	for _, r := range requests {
		if !r.Good() {
			ends[r.End()]++
		}
	}
	return ends
}

// End returns how r ended: "status 200", or the outcome if there was no reply.
func (r Request) End() string {
	if r.Outcome == Answered {
		return "status " + strconv.Itoa(int(r.Status))
	}
	return r.Outcome.String()
}

// String returns the outcome in words, such as "timed out".
func (o End) String() string {
	if o < outcomes {
		return endings[o].word
	}
	return "unknown outcome"
}

// Means returns the outcome as a clause that explains it, such as "the server reset the connection"; "" for Answered.
func (o End) Means() string {
	if o < outcomes {
		return endings[o].means
	}
	return o.String()
}

// Ends returns how requests ended that got no good reply, the most frequent end first and equal ones by
// name. ends counts them as [Request.End] names them.
func Ends(ends map[string]int) []string {
	return slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[b], ends[a]), cmp.Compare(a, b))
	})
}

// endOf returns the outcome with a word; outcomes for none.
func endOf(word string) End {
	for o, e := range endings {
		if e.word == word {
			return End(o)
		}
	}
	return outcomes
}

// Lost returns the ends, as [Request.End] names them, of requests that got no reply, with their counts.
func Lost(ends map[string]int) map[string]int {
	lost := map[string]int{}
	for end, n := range ends {
		if endOf(end) < outcomes {
			lost[end] = n
		}
	}
	return lost
}

// Mostly describes why no reply was good: the most frequent end of ends, its meaning, and how often it
// came if there are others. It returns "" for no ends.
func Mostly(ends map[string]int) string {
	sorted, all := Ends(ends), 0
	if len(sorted) == 0 {
		return ""
	}
	for _, n := range ends {
		all += n
	}
	end := sorted[0]
	text := end
	if o := endOf(end); o < outcomes {
		text = o.Means()
		if mend := endings[o].mend; mend != "" {
			text += "; " + mend
		}
	} else if code, is := strings.CutPrefix(end, "status "); is {
		if n, err := strconv.Atoi(code); err == nil && http.StatusText(n) != "" {
			text += " (" + http.StatusText(n) + ")"
		}
	}
	if len(sorted) > 1 {
		text = fmt.Sprintf("%d of %d times %s", ends[end], all, text)
	}
	return text
}

// Stamps are the times at which one request reached each step, in nanoseconds from the start of
// the trial's attack, like the times of a Request. 0 means not stamped; a time before the start
// is 1. The client sets its stamps up to the step that the request reached. The server's stamps
// are set if it was asked for stamps and they were joined to the request: see Joined.
type Stamps struct {
	Ready int64 // client: the request had an open connection
	Wrote int64 // just before the request was written
	First int64 // the first byte of the reply had come

	Accept   int64 // server: the connection was accepted, if this is its first request
	Received int64 // the kernel had received it, if the kernel was asked
	Read     int64 // its first byte was read
	Enqueue  int64 // it, or its unread connection, was put into a queue
	Dequeue  int64 // and taken out
	Begin    int64 // the handler began
	End      int64 // and returned
	Write    int64 // just before the first write of the reply
}

// Joined reports whether the server's stamps are set.
func (s Stamps) Joined() bool { return s.Write != 0 }

// stampsLayout is version 1. Each field is stored as its distance from Wrote, with distances from 0 on moved up
// by one, so that a stored 0 means not stamped.
func stampsLayout() layout[Stamps] {
	l := layout[Stamps]{what: "stamps", magic: "schedlab stamps", version: 1}
	for i, c := range []struct {
		name  string
		field func(*Stamps) *int64
	}{
		{"wrote", func(s *Stamps) *int64 { return &s.Wrote }}, // first, because all others are distances from it
		{"ready", func(s *Stamps) *int64 { return &s.Ready }},
		{"first", func(s *Stamps) *int64 { return &s.First }},
		{"accept", func(s *Stamps) *int64 { return &s.Accept }},
		{"received", func(s *Stamps) *int64 { return &s.Received }},
		{"read", func(s *Stamps) *int64 { return &s.Read }},
		{"enqueue", func(s *Stamps) *int64 { return &s.Enqueue }},
		{"dequeue", func(s *Stamps) *int64 { return &s.Dequeue }},
		{"begin", func(s *Stamps) *int64 { return &s.Begin }},
		{"end", func(s *Stamps) *int64 { return &s.End }},
		{"write", func(s *Stamps) *int64 { return &s.Write }},
	} {
		// from returns the time from which the field's distance counts. Wrote counts from the Wrote of the row before.
		field := c.field
		from := func(s, prev *Stamps) int64 {
			if i == 0 {
				return prev.Wrote
			}
			return s.Wrote
		}
		get := func(s, prev *Stamps) int64 {
			at := *field(s)
			if at == 0 {
				return 0
			}
			d := at - from(s, prev)
			if d >= 0 { // 0 is taken by "not stamped"
				d++
			}
			return d
		}
		set := func(s, prev *Stamps, v int64) bool {
			at := int64(0)
			if v != 0 {
				at = from(s, prev) + v - int64(stats.Count(v > 0))
			}
			*field(s) = at
			return true
		}
		l.columns = append(l.columns, column[Stamps]{c.name, 1, get, set})
	}
	return l
}

// EncodeStamps writes stamps in the columnar format of stamps.col.gz. It refuses more than maxRequests.
func EncodeStamps(w io.Writer, stamps []Stamps) error { return stampsLayout().encode(w, stamps) }

// DecodeStamps reads the output of EncodeStamps, as Decode does.
func DecodeStamps(r io.Reader, size int64, space []Stamps) ([]Stamps, error) {
	return stampsLayout().decode(r, size, space)
}

const (
	// maxRequests is the largest number of requests one file may hold. Encode and Decode
	// refuse more. It is twice what a plan allows a trial (runner.MostRequests), with room for
	// random arrivals, and for a closed loop of 40 s at 250,000/s.
	maxRequests = 10_000_000

	// The times of real requests are nanoseconds and compress to 2 bytes a request or more.
	// Decode refuses a file that claims more than mostPerByte requests per byte plus fewRequests:
	// a file of a few kilobytes must not fill the memory.
	mostPerByte = 4
	fewRequests = 20_000
)

// requestsMagic begins the uncompressed data of requests.col.gz.
const requestsMagic = "schedlab requests"

// A layout is the file format of rows of one type. Inside gzip: the magic words, a version byte,
// the count as a uvarint, then one column after the other as zigzag varints.
//
// Columns lie one after the other because neighbouring values of one column are alike, which gzip uses.
type layout[T any] struct {
	what    string // name of the rows, for error messages
	magic   string
	version byte        // the newest
	columns []column[T] // in file order; a file has those since its version or an older one
}

// A column converts one field of a row to and from a varint. A field that follows another one closely is stored
// as its distance from it, so that a steady trial compresses to a few bytes a request. get computes the stored
// value of r; set undoes it, whatever the field held before. prev is the row before, the zero row at first.
type column[T any] struct {
	name  string
	since byte // the first version with the column; an older file has 0 in each row
	get   func(r, prev *T) int64
	set   func(r, prev *T, v int64) bool // false: v is out of range
}

// requestLayout is version 2, which has classes and retries. Differences wrap, so every int64 survives the round trip.
func requestLayout() layout[Request] {
	return layout[Request]{"requests", requestsMagic, 2, []column[Request]{
		{"scheduled", 1, func(r, p *Request) int64 { return r.Scheduled - p.Scheduled },
			func(r, p *Request, v int64) bool { r.Scheduled = p.Scheduled + v; return true }},
		{"sent", 1, func(r, _ *Request) int64 { return r.Sent - r.Scheduled },
			func(r, _ *Request, v int64) bool { r.Sent = r.Scheduled + v; return true }},
		{"done", 1, func(r, _ *Request) int64 { return r.Done - r.Scheduled },
			func(r, _ *Request, v int64) bool { r.Done = r.Scheduled + v; return true }},
		{"bytes", 1, func(r, p *Request) int64 { return int64(r.Bytes) - int64(p.Bytes) },
			func(r, p *Request, v int64) bool { return narrow(&r.Bytes, p.Bytes, v, math.MaxUint32) }},
		{"status", 1, func(r, p *Request) int64 { return int64(r.Status) - int64(p.Status) },
			func(r, p *Request, v int64) bool { return narrow(&r.Status, p.Status, v, math.MaxUint16) }},
		{"outcome", 1, func(r, p *Request) int64 { return int64(r.Outcome) - int64(p.Outcome) },
			func(r, p *Request, v int64) bool {
				return narrow(&r.Outcome, p.Outcome, v, int64(outcomes)-1)
			}},
		{"iters", 1, func(r, _ *Request) int64 { return int64(r.Iters) },
			func(r, _ *Request, v int64) bool { return narrow(&r.Iters, 0, v, math.MaxUint32) }},
		{"sleep", 1, func(r, _ *Request) int64 { return r.Sleep },
			func(r, _ *Request, v int64) bool { r.Sleep = v; return true }},
		{"class", 2, func(r, _ *Request) int64 { return int64(r.Class) },
			func(r, _ *Request, v int64) bool { return narrow(&r.Class, 0, v, math.MaxUint8) }},
		{"retries", 2, func(r, _ *Request) int64 { return int64(r.Retries) },
			func(r, _ *Request, v int64) bool { return narrow(&r.Retries, 0, v, math.MaxUint8) }},
	}}
}

// narrow stores prev + v in dst when it lies in 0..limit.
func narrow[T ~uint8 | ~uint16 | ~uint32](dst *T, prev T, v, limit int64) bool {
	sum := int64(prev) + v // prev is not negative, so a sum that overflows is below 0
	if sum < 0 || sum > limit {
		return false
	}
	*dst = T(sum)
	return true
}

// Encode writes requests in the columnar format of requests.col.gz. It refuses
// more than maxRequests and any unknown Outcome.
func Encode(w io.Writer, requests []Request) error {
	for i, r := range requests {
		if r.Outcome >= outcomes {
			return fmt.Errorf("encoding request %d: unknown outcome %d", i, r.Outcome)
		}
	}
	return requestLayout().encode(w, requests)
}

// Decode reads what Encode wrote, to the end of r, a file of size bytes. It returns the requests in the memory of
// space if that has room for them; space may be nil. Other memory grows with size and stays below maxRequests requests.
// Errors name the column, the request and the offset in the uncompressed data; a file of a newer version is named as such.
func Decode(r io.Reader, size int64, space []Request) ([]Request, error) {
	return requestLayout().decode(r, size, space)
}

// needed returns the oldest version that has a column for everything in rows, so that an older schedlab can read what has
// nothing new.
//
// The columns of later versions do not depend on the row before.
func (l layout[T]) needed(rows []T) (version byte) {
	version = 1
	for _, c := range l.columns {
		for i := 0; i < len(rows) && c.since > version; i++ {
			if c.get(&rows[i], &rows[i]) != 0 {
				version = c.since
			}
		}
	}
	return version
}

// encode writes the rows. It refuses more than maxRequests.
func (l layout[T]) encode(w io.Writer, rows []T) error {
	if len(rows) > maxRequests {
		return fmt.Errorf("encoding %s: %d are more than the limit of %d", l.what, len(rows), maxRequests)
	}
	// Speed matters more than size: trials are written between windows.
	zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // no error: the level is valid
	out := bufio.NewWriter(zip)
	version := l.needed(rows)
	buf := append([]byte(l.magic), version)
	buf = binary.AppendUvarint(buf, uint64(len(rows)))
	// A write that fails makes Flush fail, too.
	_, _ = out.Write(buf)
	for _, c := range l.columns {
		if c.since > version {
			continue
		}
		prev := new(T)
		for i := range rows {
			_, _ = out.Write(binary.AppendVarint(buf[:0], c.get(&rows[i], prev)))
			prev = &rows[i]
		}
	}
	if err := errors.Join(out.Flush(), zip.Close()); err != nil {
		return fmt.Errorf("encoding %s: %w", l.what, err)
	}
	return nil
}

// decode reads the rows of a file of size bytes. It refuses a file with more rows than that size may hold.
func (l layout[T]) decode(r io.Reader, size int64, space []T) ([]T, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: not a gzip file: %w", l.what, whole(err))
	}
	in := &source{r: zip}
	count, version, err := l.decodeHeader(in, int(min(fewRequests+mostPerByte*size, maxRequests)))
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", l.what, err)
	}
	// The count is at most the limit, so a small file cannot claim much memory. The next trial may have some more rows.
	if count > cap(space) {
		space = make([]T, count+count/32)
	}
	rows := space[:count]
	if count == 0 {
		rows = nil
	}
	for _, c := range l.columns {
		prev := new(T)
		for n := range rows {
			v, err := int64(0), error(nil)
			if c.since <= version {
				v, err = in.varint()
			}
			if err != nil {
				return nil, fmt.Errorf("decoding %s: column %q, request %d of %d, offset %d: %w", l.what, c.name, n, count, in.last, err)
			}
			// A value that no field can hold means that the file is corrupt.
			if !c.set(&rows[n], prev, v) {
				return nil, fmt.Errorf("decoding %s: column %q, request %d of %d, offset %d: difference %d leaves the column's range", l.what, c.name, n, count, in.last, v)
			}
			prev = &rows[n]
		}
	}
	// Reading the end also makes gzip check its sum over everything before.
	switch in.fill(1); {
	case in.from < in.to:
		return nil, fmt.Errorf("decoding %s: data after the last column, offset %d", l.what, in.offset())
	case !errors.Is(in.err, io.EOF):
		return nil, fmt.Errorf("decoding %s: offset %d: %w", l.what, in.offset(), in.err)
	}
	return rows, nil
}

// decodeHeader checks magic words and version, and returns the number of rows and the version.
func (l layout[T]) decodeHeader(in *source, most int) (count int, version byte, err error) {
	in.fill(len(l.magic) + 1)
	head := in.buf[in.from:in.to]
	if len(head) <= len(l.magic) {
		return 0, 0, fmt.Errorf("header: %w", whole(in.err))
	}
	if !bytes.HasPrefix(head, []byte(l.magic)) {
		return 0, 0, fmt.Errorf("header: not a %s file", l.magic)
	}
	if version = head[len(l.magic)]; version < 1 || version > l.version {
		return 0, 0, fmt.Errorf("format version %d, this schedlab reads version %d: use a newer schedlab", version, l.version)
	}
	in.from += len(l.magic) + 1
	rows, err := in.uvarint()
	if err != nil {
		return 0, 0, fmt.Errorf("count: %w", err)
	}
	if rows > uint64(most) {
		return 0, 0, fmt.Errorf("count: %d requests, and the file may hold %d", rows, most)
	}
	return int(rows), version, nil
}

// whole turns an unexpected io.EOF into io.ErrUnexpectedEOF, so that the message says the file was cut short.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A source reads the uncompressed data of a file, value by value.
type source struct {
	r        io.Reader
	err      error // the error that ended r, io.EOF included; returned when buf is empty
	buf      [16 << 10]byte
	from, to int   // the part of buf that was not used yet
	base     int64 // offset of buf in the data
	last     int64 // offset of the last value
}

// offset returns the offset in the data of the next value.
func (s *source) offset() int64 { return s.base + int64(s.from) }

// fill reads until need bytes are there, or until the data end. need is at most the size of buf.
func (s *source) fill(need int) {
	if s.to-s.from >= need {
		return
	}
	s.base, s.to, s.from = s.offset(), copy(s.buf[:], s.buf[s.from:s.to]), 0
	for s.to < need && s.err == nil {
		n := 0
		n, s.err = s.r.Read(s.buf[s.to:])
		s.to += n
	}
}

// varint reads a zigzag varint.
func (s *source) varint() (int64, error) {
	u, err := s.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// uvarint reads a varint.
func (s *source) uvarint() (v uint64, err error) {
	if s.from < s.to && s.buf[s.from] < 1<<7 { // most numbers are of one byte
		s.last = s.offset()
		s.from++
		return uint64(s.buf[s.from-1]), nil
	}
	s.fill(binary.MaxVarintLen64)
	s.last = s.offset()
	v, n := binary.Uvarint(s.buf[s.from:s.to])
	switch {
	case n > 0:
		s.from += n
	case n == 0:
		err = whole(s.err)
	default:
		err = errors.New("a number of more than 64 bits")
	}
	return v, err
}
