package model

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// stamps is a connection's part of the timeline. It holds the stamps that belong to no request
// yet, and the requests that wait for their answers to be written. Only reads are stamped by
// more than one goroutine: net/http has a second one that reads. All times are nanoseconds on
// the timeline's clock.
//
// One request goes through these steps: noteRead for each read, begin when the HTTP library has
// parsed it, answered when it has its answer, flush just before the answer is written. enqueue and dequeue
// stamp a connection that waits for a worker before the read.
type stamps struct {
	ring   *timeline.Ring
	kernel *kernelStamps // nil: not used

	first    atomic.Int64 // the first read since the last write
	last     atomic.Int64 // the newest read
	received atomic.Int64 // the kernel's stamp of the newest read

	accept                int64              // time of the accept; 0 once the first request has taken it
	queued, taken         int64              // wait of the connection in a queue since its last request
	read, receivedAtBegin int64              // first read of the request in service, and received when that request began
	unflushed             int                // requests since the last write
	pending               []timeline.Server  // requests answered but not written
	inline                [1]timeline.Server // room for pending when no requests are pipelined
}

// stamp begins the timeline of a connection that has just been accepted.
func (l *Listener) stamp(e *entry) {
	if l.asked.Timeline == nil {
		return
	}
	// The accept itself lies a moment before this stamp.
	s := &stamps{ring: l.asked.Timeline, accept: timeline.Now()}
	s.pending = s.inline[:0]
	if l.asked.KernelStamps {
		s.kernel = new(kernelStamps)
	}
	e.stamps = s
}

// noteRead stamps a read that has just returned bytes.
func (s *stamps) noteRead() {
	now := timeline.Now()
	if s.kernel != nil {
		s.received.Store(s.kernel.received(now))
	}
	s.last.Store(now)
	if s.first.Load() == 0 {
		s.first.Store(now) // one goroutine reads at a time
	}
}

// enqueue notes that the connection joined a queue at that time, dequeue that it leaves it now.
func (e *entry) enqueue(at int64) {
	e.waiting.Store(at)
	if e.stamps != nil {
		e.stamps.queued = at
	}
}

func (e *entry) dequeue() {
	if e.stamps != nil {
		e.stamps.taken = timeline.Now()
	}
}

// begin determines when the request that is served now was read: at the read of its first byte
// or, in a pipeline, at the read that completed it. It limits that time to x.Begun, because
// net/http's second goroutine may have read from the next request since. The first request
// after a connection's wait in a queue gets that wait.
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

// answered keeps the stamps of a request that has its answer, until the answer is written.
func (s *stamps) answered(x *workload.Exchange) {
	r := timeline.Server{
		Seq: number(x.Seq), Accept: s.accept, Received: s.receivedAtBegin, Read: s.read,
		Enqueue: x.Queued, Dequeue: x.Taken, Begin: x.Begun, End: x.Ended,
	}
	if r.End == 0 { // its queue refused it, so it did not run
		r.End = timeline.Now()
		r.Begin, r.Dequeue, x.Ended = r.End, r.End, r.End
	}
	s.accept = 0
	s.unflushed++
	// A client that never lets an answer be written could otherwise make the server keep stamps
	// without end. Their loss shows as requests without stamps.
	if len(s.pending) == timeline.MaxPending {
		s.pending = s.pending[:0]
	}
	s.pending = append(s.pending, r)
}

// flush stamps every pending request with the time of the write that begins now, and puts it
// into the timeline.
func (s *stamps) flush() {
	if len(s.pending) == 0 {
		return // the write is the rest of an answer, or a 100 Continue
	}
	now := timeline.Now()
	for i := range s.pending {
		s.pending[i].Write = now
	}
	s.ring.Put(s.pending...)
	s.pending, s.unflushed = s.pending[:0], 0
	s.first.Store(0) // before the client can have the answer, and ask again
}

// number parses a request's number in its trace; timeline.Unnumbered if seq is not a number.
func number(seq string) uint64 {
	if seq == "" || len(seq) > 18 { // an unnumbered request is no error, and costs nothing
		return timeline.Unnumbered
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return timeline.Unnumbered
	}
	return n
}

// timingHeader is the request header that, with any value, asks for Server-Timing in the answer.
// People and browsers can read Server-Timing (W3C Server Timing).
const timingHeader = "X-Server-Timing"

// serverTiming returns the durations of the wait in the queue and of the handler, in
// milliseconds. The time to write the answer is not known yet.
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
