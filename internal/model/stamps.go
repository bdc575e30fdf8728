package model

import (
	"fmt"
	"sync/atomic"

	"schedlab/internal/timeline"
	"schedlab/internal/workload"
)

// stamps are a connection's part of the timeline: stamps that belong to no request yet, and the
// requests whose answers are not written. Only reads are stamped by more than one goroutine:
// net/http has a second one that reads.
type stamps struct {
	ring   *timeline.Ring
	kernel *kernelStamps // nil: not used

	first    atomic.Int64 // the first read since the last write
	last     atomic.Int64 // the newest read
	received atomic.Int64 // the kernel's, of the newest read

	accept                int64              // when it was accepted; 0: the first request has it
	queued, taken         int64              // of the connection, since its last request
	read, receivedAtBegin int64              // of the request that is served: its first read, and received when it began
	unflushed             int                // requests since the last write
	pending               []timeline.Server  // answered but not written
	inline                [1]timeline.Server // room for pending where nothing is pipelined
}

// stamp begins the timeline of a connection that has just been accepted.
func (l *Listener) stamp(e *entry) {
	if l.ring == nil {
		return
	}
	s := &stamps{ring: l.ring, accept: timeline.Now()}
	s.pending = s.inline[:0]
	if l.kernelStamps {
		s.kernel = new(kernelStamps)
	}
	e.stamps = s
}

// readTimes say when bytes were read: received is the kernel's stamp on them, 0 if there is
// none; returned is when the read returned, 0 if the clock was not read.
type readTimes struct{ received, returned int64 }

// noteRead stamps a read that has just returned bytes.
func (s *stamps) noteRead(at readTimes) {
	now := at.returned
	if now == 0 {
		now = timeline.Now()
	}
	if s.kernel != nil {
		s.received.Store(at.received)
	}
	s.last.Store(now)
	if s.first.Load() == 0 {
		s.first.Store(now) // one goroutine reads at a time
	}
}

// enqueue says that the connection joined a queue at that time, before anything was read from
// it; dequeue, that it leaves the queue now.
func (e *entry) enqueue(at int64) {
	e.startWait(at)
	if e.stamps != nil {
		e.stamps.queued = at
	}
}

func (e *entry) dequeue() {
	if e.stamps != nil {
		e.stamps.taken = timeline.Now()
	}
}

// begin fixes when a request that is served now was read: the read of its first byte, or in a
// pipeline the read that completed it. The first request of a connection that was queued gets
// the connection's wait. The time is at most x.Begun, because net/http's second goroutine may
// have read from the next request since.
func (s *stamps) begin(x *workload.Exchange) {
	if s.taken != 0 {
		x.Queued, x.Taken = s.queued, s.taken
		s.queued, s.taken = 0, 0
	}
	s.read = s.first.Load()
	if s.read == 0 || s.unflushed > 0 {
		s.read = s.last.Load()
	}
	s.read = min(s.read, x.Begun)
	s.receivedAtBegin = s.received.Load()
}

// answered keeps the stamps of a request that has its answer until that is written.
func (s *stamps) answered(x *workload.Exchange) {
	r := timeline.Server{
		Seq: number(x.Seq), Accept: s.accept, Received: s.receivedAtBegin, Read: s.read,
		Enqueue: x.Queued, Dequeue: x.Taken, Begin: x.Begun, End: x.Ended,
	}
	if r.End == 0 { // it was not run: its queue refused it
		r.End = timeline.Now()
		r.Begin, r.Dequeue, x.Ended = r.End, r.End, r.End
	}
	s.accept = 0
	s.unflushed++
	if len(s.pending) == timeline.MaxPending {
		s.pending = s.pending[:0]
	}
	s.pending = append(s.pending, r)
}

// flush stamps the write that begins now on every request that waits for it.
func (s *stamps) flush() {
	if len(s.pending) == 0 {
		return // the rest of an answer, or a 100 Continue
	}
	now := timeline.Now()
	for i := range s.pending {
		s.pending[i].Write = now
	}
	s.ring.Put(s.pending...)
	s.pending, s.unflushed = s.pending[:0], 0
	s.first.Store(0) // before the client can have the answer, and ask again
}

// number is a request's number in its trace.
func number(seq string) uint64 {
	if seq == "" || len(seq) > 18 {
		return timeline.Unnumbered
	}
	var n uint64
	for _, d := range []byte(seq) {
		if d < '0' || d > '9' {
			return timeline.Unnumbered
		}
		n = 10*n + uint64(d-'0')
	}
	return n
}

// timingHeader, with any value, asks for an answer's Server-Timing, which people
// and browsers can read (W3C Server Timing).
const timingHeader = "X-Server-Timing"

// serverTiming is how long the handler and the queue before it took, in milliseconds. The time
// to write the answer is not known yet.
func serverTiming(x *workload.Exchange) string {
	var queue, service int64
	if x.Taken != 0 {
		queue = x.Taken - x.Queued
	}
	if x.Begun != 0 {
		service = x.Ended - x.Begun
	}
	return fmt.Sprintf("queue;dur=%.3f, service;dur=%.3f", float64(queue)/1e6, float64(service)/1e6)
}
