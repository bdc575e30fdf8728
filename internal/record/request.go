package record

import (
	"io"
	"strconv"
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
	Outcome   Outcome
	Iters     uint32 // CPU demand, calibrated iterations
	Sleep     int64  // blocking demand, nanoseconds
}

// An Outcome tells how a request ended.
// The numbers are stored in files, so they must not change.
type Outcome uint8

// The outcomes. Every scheduled request ends in exactly one.
const (
	Answered Outcome = iota // a complete reply, whatever its status
	TimedOut
	Refused // the connection could not be opened
	Reset   // the connection broke before the reply was complete
	Cut     // still under way when the attack was stopped
	outcomes
)

// Good reports whether r got a successful reply (2xx or 3xx).
// A redirect counts as good too, because no redirect is followed.
func (r Request) Good() bool { return r.Outcome == Answered && r.Status >= 200 && r.Status < 400 }

// End returns how r ended: "status 200", or the outcome if there was no reply.
func (r Request) End() string {
	if r.Outcome == Answered {
		return "status " + strconv.Itoa(int(r.Status))
	}
	return r.Outcome.String()
}

// String returns the outcome in words, such as "timed out".
func (o Outcome) String() string {
	if o < outcomes {
		return [...]string{"answered", "timed out", "refused", "reset", "cut off"}[o]
	}
	return "unknown outcome"
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

// stampsLayout is version 1. Each field is stored as its distance from Wrote, with distances from
// 0 on moved up by one, so that a stored 0 means not stamped.
func stampsLayout() layout[Stamps] {
	l := layout[Stamps]{what: "stamps", magic: "schedlab stamps", version: 1}
	add := func(name string, field func(*Stamps) *int64, from func(s, prev *Stamps) int64) {
		l.columns = append(l.columns, column[Stamps]{name,
			func(s, prev Stamps) int64 {
				at := *field(&s)
				if at == 0 {
					return 0
				}
				d := at - from(&s, &prev)
				// 0 is taken by "not stamped".
				if d >= 0 {
					d++
				}
				return d
			},
			func(s *Stamps, prev Stamps, v int64) bool {
				switch {
				case v > 0:
					*field(s) = from(s, &prev) + v - 1
				case v < 0:
					*field(s) = from(s, &prev) + v
				}
				return true
			},
		})
	}
	// Wrote is the first column, because all others are stored as distances from it.
	add("wrote", func(s *Stamps) *int64 { return &s.Wrote }, func(_, prev *Stamps) int64 { return prev.Wrote })
	wrote := func(s, _ *Stamps) int64 { return s.Wrote }
	for _, c := range []struct {
		name  string
		field func(*Stamps) *int64
	}{
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
		add(c.name, c.field, wrote)
	}
	return l
}

// EncodeStamps writes stamps in the columnar format of stamps.col.gz. It refuses
// more than MaxRequests.
func EncodeStamps(w io.Writer, stamps []Stamps) error { return stampsLayout().encode(w, stamps) }

// DecodeStamps reads the output of EncodeStamps, with the checks of Decode. It refuses stamps of
// more than most requests.
func DecodeStamps(r io.Reader, most int) ([]Stamps, error) { return stampsLayout().decode(r, most) }
