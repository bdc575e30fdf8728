package load

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// A Stamp selects the time at which a vegeta result begins.
type Stamp int

// ScheduledStamp gives response time, the honest figure. SentStamp gives the
// time since the request was sent, as vegeta itself reports it.
const (
	ScheduledStamp Stamp = iota
	SentStamp
)

// A VegetaWriter writes the requests of an attack in vegeta's binary format, which
// `vegeta report` and vegeta's other commands read. Each result's Timestamp is the
// request's scheduled (or sent) time, and its Latency lasts from there to its end.
// Requests without a reply have code 0 and their outcome as error. Requests never
// sent are left out.
//
// It writes whole results only, several at a time and at most 200 ms late, so that the
// file of a killed process can be read. It is not safe for concurrent use.
type VegetaWriter struct {
	Start time.Time // of the attack; set it before the first Write
	Which []uint32  // the trace's Which

	w        io.Writer
	buffered bytes.Buffer
	flushed  time.Time
	encode   vegeta.Encoder
	name     string
	targets  []Target
	tps      []template
	from     Stamp
}

// A VegetaWriter buffers results up to this size, and for this long.
const (
	flushBytes = 32 << 10
	flushEvery = 200 * time.Millisecond
)

// NewVegetaWriter returns a writer to w of the results of an attack called name. The attack's
// targets give method, URL and bytes sent. The caller calls Flush at the end.
func NewVegetaWriter(w io.Writer, name string, targets []Target, from Stamp) (*VegetaWriter, error) {
	tps, _, err := templates(targets, true, false)
	if err != nil {
		return nil, fmt.Errorf("encoding vegeta results: %w", err)
	}
	v := &VegetaWriter{w: w, name: name, targets: targets, tps: tps, from: from, flushed: time.Now()}
	v.encode = vegeta.NewEncoder(&v.buffered)
	return v, nil
}

// Write adds request number seq of the attack. It may only buffer it; see Flush.
func (v *VegetaWriter) Write(seq int, r record.Request) error {
	if r.Sent < 0 {
		return nil
	}
	// A result begins at Timestamp and ends Latency later, so both count from the same stamp.
	began := r.Scheduled
	if v.from == SentStamp {
		began = r.Sent
	}
	// A log attack sends its targets in the log's order, all others in turn.
	i := targetOf(uint64(seq), v.Which, len(v.targets))
	d := arrivals.Demand{Iters: r.Iters, Sleep: time.Duration(r.Sleep)}
	result := vegeta.Result{
		Attack:    v.name,
		Seq:       uint64(seq),
		Code:      r.Status,
		Timestamp: v.Start.Add(time.Duration(began)),
		Latency:   time.Duration(r.Done - began),
		BytesIn:   uint64(r.Bytes),
		BytesOut:  uint64(len(v.targets[i].Body)),
		Method:    v.targets[i].Method,
		URL:       v.tps[i].demandURL(d),
		Error:     vegetaError(r),
	}
	if err := v.encode.Encode(&result); err != nil {
		return fmt.Errorf("encoding vegeta result %d: %w", seq, err)
	}
	if v.buffered.Len() < flushBytes && time.Since(v.flushed) < flushEvery {
		return nil
	}
	return v.Flush()
}

// Flush writes the buffered results.
func (v *VegetaWriter) Flush() error {
	v.flushed = time.Now()
	if _, err := v.buffered.WriteTo(v.w); err != nil {
		return fmt.Errorf("writing vegeta results: %w", err)
	}
	return nil
}

// vegetaError returns the error that vegeta would report: the outcome of a request without a
// reply, or a bad status; "" for a good reply.
func vegetaError(r record.Request) string {
	switch {
	case r.Outcome != record.Answered:
		return r.Outcome.String()
	case r.Good():
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(int(r.Status)) + " " + http.StatusText(int(r.Status)))
}
