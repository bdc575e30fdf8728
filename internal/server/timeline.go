package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/timeline"
)

// stamped returns the newest n stamps of each process, oldest first, and the number of older
// ones.
func (s *Server) stamped(n int) (stamps []timeline.Server, older uint64, err error) {
	if f, ok := s.ln.(*fleet); ok {
		return f.stamped(n)
	}
	stamps, older = s.ring.Newest(n)
	return stamps, older, nil
}

// A person's answer is small by default. dumpRate only has to be slow enough for a client on a busy
// machine.
const (
	shownRequests     = 100    // default number of requests shown to a person
	mostShownRequests = 10_000 // programs read more with ?format=binary
	dumpsAtOnce       = 2      // whole timelines sent at a time: each holds a copy of the ring
	dumpRate          = 50_000 // stamps per second that a client must read: 3.6 MB/s
)

// timeline answers with the stamps of the newest requests as JSON, one request per line; ?n=
// sets their number. With ?format=binary it answers with all stamps, for a program.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Stamps == "off" {
		http.Error(w, "nothing is stamped; start the server with --stamps basic or full", http.StatusNotFound)
		return
	}
	switch r.FormValue("format") {
	case "":
	case "binary":
		s.dump(w, r)
		return
	default:
		http.Error(w, "format is binary, or left out for a line of JSON for each request", http.StatusBadRequest)
		return
	}
	n := shownRequests
	if asked := r.FormValue("n"); asked != "" {
		var err error
		if n, err = strconv.Atoi(asked); err != nil || n < 1 || n > mostShownRequests {
			http.Error(w, fmt.Sprintf("n is the number of requests to show, 1 to %d; format=binary has them all", mostShownRequests), http.StatusBadRequest)
			return
		}
	}
	// A fleet gives n of each process, in the order of the processes; the newest n of all are wanted.
	stamps, _, err := s.stamped(n)
	slices.SortStableFunc(stamps, func(a, b timeline.Server) int { return cmp.Compare(a.Read, b.Read) })
	writeWithin(w, adminWrite)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for _, st := range stamps[max(0, len(stamps)-n):] {
		if out.Encode(shown(st)) != nil {
			return
		}
	}
}

// writeWithin limits the time from now in which the client must read its answer.
func writeWithin(w http.ResponseWriter, limit time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // fails only for a test's writer
}

// dump answers with the whole timeline. Further callers wait for a place.
func (s *Server) dump(w http.ResponseWriter, r *http.Request) {
	select {
	case s.dumps <- struct{}{}:
		defer func() { <-s.dumps }()
	case <-r.Context().Done():
		return
	}
	stamps, lost, err := s.stamped(timeline.MaxRing)
	// The limit begins after the stamps are collected, and grows with their number.
	writeWithin(w, adminWrite+time.Duration(len(stamps))*time.Second/dumpRate)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	// The reader must know that requests are missing, or it would take the rest for all of them.
	w.Header().Set(timeline.LostHeader, strconv.FormatUint(lost, 10))
	_ = timeline.Write(w, stamps) // fails when the client has gone
}

// A shownRequest shows one request's stamps to people. Read is the time at which its first byte
// was read, in nanoseconds of the machine's monotonic clock. The other fields are durations in
// µs. A connection's wait in a queue counts for its first request.
//
// A nil field is left out of the JSON: nothing was measured, which differs from 0.
type shownRequest struct {
	Seq     *uint64  `json:"seq,omitempty"`
	Read    int64    `json:"read_ns"`
	Wakeup  *float64 `json:"wakeup_us,omitempty"` // from the kernel's receipt to the read, without the time in the queue
	Queue   *float64 `json:"queue_us,omitempty"`
	Service float64  `json:"service_us"`
	Finish  float64  `json:"finish_us"` // from the end of the handler to the write
}

// shown converts stamps, which are moments, to durations.
func shown(st timeline.Server) shownRequest {
	us := func(from, to int64) float64 { return float64(to-from) / float64(time.Microsecond) }
	r := shownRequest{Read: st.Read, Service: us(st.Begin, st.End), Finish: us(st.End, st.Write)}
	if st.Seq != timeline.Unnumbered {
		r.Seq = &st.Seq
	}
	if st.Received > 0 {
		r.Wakeup = new(us(st.Unread(), st.Read))
	}
	if st.Dequeue > 0 {
		r.Queue = new(us(st.Enqueue, st.Dequeue))
	}
	return r
}
