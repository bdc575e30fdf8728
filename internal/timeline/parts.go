package timeline

import "fmt"

// Unnumbered is the Seq of a request that did not say its number.
const Unnumbered = ^uint64(0)

// Server is what the server stamped on one request: nanoseconds of [Now], 0 for
// what does not apply. Read, Begin, End and Write are always there.
type Server struct {
	Seq      uint64 // X-Vegeta-Seq, or Unnumbered
	Accept   int64  // accept returned; only of a connection's first request
	Received int64  // the kernel had its bytes; only where it was asked
	Read     int64  // the read of its first byte returned; in a pipeline, of its last
	Enqueue  int64  // it, or its connection before it was read, was put into a queue
	Dequeue  int64  // and taken out
	Begin    int64  // the handler began
	End      int64  // and returned
	Write    int64  // before the first write of its answer
}

// Unread is since when the request lay in its socket and nothing but a goroutine
// was missing: since the kernel received it, or its connection left its queue.
func (s Server) Unread() int64 {
	if s.Dequeue <= s.Read { // also without a queue
		return min(max(s.Received, s.Dequeue), s.Read)
	}
	return s.Received
}

// Client is what the client stamped on the same request, on the same clock.
type Client struct {
	Scheduled int64
	Sent      int64 // handed to the connections
	Ready     int64 // it has a connection that is open
	Wrote     int64 // before the write
	First     int64 // the answer's first byte has come
	Done      int64 // and its last
}

// A Part is a stretch of a request's time.
type Part uint8

// The parts of a response time, in the order in which they pass.
const (
	Lag      Part = iota // late from the generator
	Connect              // waiting for a connection, or opening one
	Build                // from there to the write
	Accept               // in the kernel's accept queue
	Ingress              // in the kernel's network, or unread in the socket
	Wakeup               // the kernel had it and its reader did not run; where the kernel was asked
	Parse                // read, and not yet handed on
	Queue                // in the server's queue, or its connection was
	Handover             // taken from the queue, and not yet begun
	Service              // the handler's
	Finish               // from its end to the write
	Egress               // from the write to the client
	Receive              // from the answer's first byte to its last
	NumParts
)

func (p Part) String() string {
	if p < NumParts {
		return [...]string{
			"lag", "connect", "build", "accept", "ingress", "wakeup", "parse",
			"queue", "handover", "service", "finish", "egress", "receive",
		}[p]
	}
	return fmt.Sprintf("part %d", uint8(p))
}

// Parts are the lengths of a request's parts in nanoseconds.
type Parts [NumParts]int64

// Sum is the request's response time, from its scheduled time.
func (p *Parts) Sum() (sum int64) {
	for _, d := range p {
		sum += d
	}
	return sum
}

// Negative reports the first part below 0, which no honest pair of stamps has.
func (p *Parts) Negative() (Part, bool) {
	for i, d := range p {
		if d < 0 {
			return Part(i), true
		}
	}
	return 0, false
}

// Split divides a response time by the stamps of both sides, without a rest:
// the parts' sum is Done - Scheduled, whatever the stamps are (measurement.md
// §3). A queue counts once: of the request where the request was queued, of its
// connection where that waited to be read.
func Split(c Client, s Server) (p Parts) {
	p[Lag] = c.Sent - c.Scheduled
	p[Connect] = c.Ready - c.Sent
	p[Build] = c.Wrote - c.Ready

	at := max(c.Wrote, s.Accept)
	p[Accept] = at - c.Wrote
	if s.Dequeue <= s.Read { // the connection was queued, unread; or there was no queue
		if s.Dequeue > at {
			from := max(s.Enqueue, at)
			p[Ingress] += from - at
			p[Queue] += s.Dequeue - from
			at = s.Dequeue
		}
		s.Enqueue, s.Dequeue = 0, 0
	}
	if s.Received > 0 {
		received := min(max(s.Received, at), max(s.Read, at))
		p[Ingress] += received - at
		p[Wakeup] = s.Read - received
	} else {
		p[Ingress] += s.Read - at
	}

	if s.Dequeue == 0 {
		p[Parse] = s.Begin - s.Read
	} else {
		p[Parse] = s.Enqueue - s.Read
		p[Queue] += s.Dequeue - s.Enqueue
		p[Handover] = s.Begin - s.Dequeue
	}
	p[Service] = s.End - s.Begin
	p[Finish] = s.Write - s.End
	p[Egress] = c.First - s.Write
	p[Receive] = c.Done - c.First
	return p
}

// Unjoined divides the response time of a request of which the server said
// nothing: what lies between the client's write and the first byte is Ingress.
func Unjoined(c Client) (p Parts) {
	p[Lag], p[Connect], p[Build] = c.Sent-c.Scheduled, c.Ready-c.Sent, c.Wrote-c.Ready
	p[Ingress], p[Receive] = c.First-c.Wrote, c.Done-c.First
	return p
}
