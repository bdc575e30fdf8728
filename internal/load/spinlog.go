package load

import (
	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// An entry holds what the spinner knows about one request. Times are nanoseconds from the
// load's start, at least 1; 0: it has not happened. due and sent may be 0 themselves.
// ready, wrote and first are the stamps of the same names in record.Stamps.
type entry struct {
	due     int64 // may be 0
	sent    int64 // may be 0; negative: not sent yet
	ready   int64
	wrote   int64
	first   int64
	done    int64 // 0: no outcome yet
	bytes   uint32
	conn    int32 // index of its connection; -1 before it has one
	status  uint16
	outcome record.Outcome
	ends    bool // it was the last request on its connection
}

// A requestLog holds an entry for every request, in the order they were sent. The entries lie
// in slabs, so that the log can grow without copying.
type requestLog struct {
	slabs [][]entry
	n     int
}

// A slab holds 65,536 entries of 64 bytes, 4 MiB. Its length is a power of two, so that at needs no
// division.
const (
	slabBits = 16
	slabSize = 1 << slabBits
)

// newRequestLog makes room for n entries and writes to that memory, so that no page fault
// comes while a load runs.
func newRequestLog(n int) *requestLog {
	l := &requestLog{}
	for range (n + slabSize - 1) / slabSize {
		l.grow()
	}
	return l
}

// grow adds a slab. Writing to all its entries brings its pages into memory.
func (l *requestLog) grow() {
	slab := make([]entry, slabSize)
	for i := range slab {
		slab[i].conn, slab[i].sent = -1, -1
	}
	l.slabs = append(l.slabs, slab)
}

// at returns entry i. The pointer stays valid when the log grows.
func (l *requestLog) at(i int) *entry { return &l.slabs[i>>slabBits][i&(slabSize-1)] }

// add appends an entry that has not been sent.
func (l *requestLog) add() (i int, e *entry) {
	if l.n == len(l.slabs)*slabSize {
		l.grow()
	}
	i = l.n
	l.n++
	return i, l.at(i)
}

// stamps returns the client's stamps of the request.
func (e *entry) stamps() record.Stamps {
	return record.Stamps{Ready: e.ready, Wrote: e.wrote, First: e.first}
}

// request returns the entry as a record, with demand d.
func (e *entry) request(d arrivals.Demand) record.Request {
	return record.Request{
		Scheduled: e.due, Sent: e.sent, Done: e.done, Bytes: e.bytes, Status: e.status, Outcome: e.outcome,
		Iters: d.Iters, Sleep: int64(d.Sleep),
	}
}
