// Package timeline shows where a request's time went. It defines the stamps that
// client and server put on a request, all on one clock, and the parts between
// them, which add up to the client's response time exactly. The serving and the
// measuring half both use it. It reads no sockets and judges nothing.
package timeline

import (
	"time"

	"golang.org/x/sys/unix"
)

// Unnumbered is the Seq of a request without a number.
const Unnumbered = ^uint64(0)

// Server holds the server's stamps of one request, in nanoseconds of [Now]. A
// stamp that does not apply is 0. Read, Begin, End and Write are always set. [Write]
// writes its fields in this order.
type Server struct {
	Seq      uint64 // X-Vegeta-Seq, or Unnumbered
	Accept   int64  // accept returned; only on a connection's first request
	Received int64  // the kernel had received its bytes; 0 if the server does not ask the kernel
	Read     int64  // the read of its first byte returned; in a pipeline, of its last
	Enqueue  int64  // the request, or its connection before the read, was put into a queue
	Dequeue  int64  // it was taken out of the queue
	Begin    int64  // the handler began
	End      int64  // the handler returned
	Write    int64  // before the first write of its answer
}

// Unread returns the time from which on the request could have been read: it lay
// in its socket and waited only for a goroutine to run. That is the time at which
// the kernel received it or, if later, its connection left the queue.
func (s Server) Unread() int64 {
	if s.Dequeue <= s.Read { // the connection was queued; also true without a queue
		return min(max(s.Received, s.Dequeue), s.Read)
	}
	return s.Received
}

// Client holds the client's stamps of the same request, on the same clock.
type Client struct {
	Scheduled int64 // the request was due
	Sent      int64 // it was handed to the connections
	Ready     int64 // it had an open connection
	Wrote     int64 // before it was written
	First     int64 // the first byte of the answer had come
	Done      int64 // the last byte of the answer had come
}

// A Part is one of the consecutive intervals of a request's response time.
type Part uint8

// The parts of a response time, in the order in which they pass.
const (
	Lag      Part = iota // the generator sent the request late
	Connect              // waiting for a connection, or opening one
	Build                // from the open connection to the write
	Accept               // in the kernel's accept queue
	Ingress              // in the kernel's network stack, or unread in the socket
	Wakeup               // received by the kernel, until its reader ran; without the kernel's stamps part of Ingress
	Parse                // read, and not yet queued or begun
	Queue                // in the server's queue, itself or with its connection
	Handover             // taken from the queue, and not yet begun
	Service              // in the handler
	Finish               // from the handler's end to the write
	Egress               // from the write to the first byte at the client
	Receive              // from the answer's first byte to its last
	NumParts             // the number of parts
)

// String returns the name in lower case, such as queue.
func (p Part) String() string {
	return [NumParts]string{
		"lag", "connect", "build", "accept", "ingress", "wakeup", "parse",
		"queue", "handover", "service", "finish", "egress", "receive",
	}[p]
}

// Parts holds the length of each part of a request in nanoseconds. Their sum is the response time,
// from the scheduled time.
type Parts [NumParts]int64

// Negative returns the first part below 0, and whether there is one. Correct stamps give no
// negative part.
func (p *Parts) Negative() (Part, bool) {
	for i, d := range p {
		if d < 0 {
			return Part(i), true
		}
	}
	return 0, false
}

// Split divides a response time into parts by the stamps of both sides. Nothing is
// left over: the sum of the parts is Done - Scheduled, whatever the stamps are
// (docs/reference/timeline.md). Queue is the wait of the request if it was queued itself,
// or else the wait of its connection before the read.
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

// Unjoined divides the response time of a request without stamps of the server.
// The time from the client's write to the answer's first byte is all Ingress.
func Unjoined(c Client) (p Parts) {
	p[Lag], p[Connect], p[Build] = c.Sent-c.Scheduled, c.Ready-c.Sent, c.Wrote-c.Ready
	p[Ingress], p[Receive] = c.First-c.Wrote, c.Done-c.First
	return p
}

// originAt and originMono are one moment on two clocks: Go's, which gives only differences, and the
// machine's CLOCK_MONOTONIC in nanoseconds, which all its processes share.
var originAt, originMono = calibrate()

// calibrate reads the machine's clock between two readings of Go's. On Linux
// they are the same clock, and the error is half the time between the two
// readings: some 25 ns.
func calibrate() (at time.Time, mono int64) {
	least := time.Duration(1<<63 - 1)
	for range 100 { // the closest comparison counts
		var ts unix.Timespec
		before := time.Now()
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // which every Linux has
		if took := time.Since(before); err == nil && took < least {
			least, at, mono = took, before.Add(took/2), ts.Nano()
		}
	}
	return at, mono
}

// Now returns the time on the machine's monotonic clock in nanoseconds. The clock is the same in
// every process of the machine. Now is safe for concurrent use.
func Now() int64 { return originMono + int64(time.Since(originAt)) }

// At converts t to nanoseconds on the clock of [Now]. t must carry a monotonic reading.
func At(t time.Time) int64 { return originMono + int64(t.Sub(originAt)) }
