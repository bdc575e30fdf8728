package load

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/record"
)

// A Stamp says which time a vegeta result begins at.
type Stamp int

// ScheduledStamp gives response time, the honest figure. SentStamp gives the
// time since the request was sent, as vegeta itself reports it.
const (
	ScheduledStamp Stamp = iota
	SentStamp
)

// EncodeVegeta writes reqs, the requests of an attack that began at start, in
// vegeta's binary format, readable by `vegeta report` and its kin. Each result's
// Timestamp is the request's scheduled (or sent) time and its Latency lasts from
// there to its end. Requests without a reply have code 0 and their outcome as
// error; with SentStamp those never sent are left out. Targets are those of the
// attack: they give method, URL and bytes sent.
func EncodeVegeta(w io.Writer, name string, start time.Time, targets []Target, reqs []record.Request, from Stamp) error {
	tps, _, err := templates(targets, true, false)
	if err != nil {
		return fmt.Errorf("encoding vegeta results: %w", err)
	}
	urls := make([]string, len(targets))
	for i, t := range targets {
		// The demand is appended as in the request, before any fragment.
		urls[i], _, _ = strings.Cut(t.URL, "#")
	}
	encode := vegeta.NewEncoder(w)
	for seq, r := range reqs {
		began := r.Scheduled
		if from == SentStamp {
			if began = r.Sent; began < 0 {
				continue
			}
		}
		i := seq % len(targets)
		d := Demand{Iters: r.Iters, Sleep: time.Duration(r.Sleep)}
		result := vegeta.Result{
			Attack:    name,
			Seq:       uint64(seq),
			Code:      r.Status,
			Timestamp: start.Add(time.Duration(began)),
			Latency:   time.Duration(r.Done - began),
			BytesIn:   uint64(r.Bytes),
			BytesOut:  uint64(len(targets[i].Body)),
			Method:    targets[i].Method,
			URL:       string(tps[i].demand([]byte(urls[i]), d)),
			Error:     vegetaError(r),
		}
		if err := encode.Encode(&result); err != nil {
			return fmt.Errorf("encoding vegeta result %d: %w", seq, err)
		}
	}
	return nil
}

// vegetaError is what vegeta counts as an error: no reply, or a bad status.
func vegetaError(r record.Request) string {
	switch {
	case r.Outcome != record.Answered:
		return r.Outcome.String()
	case r.Good():
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(int(r.Status)) + " " + http.StatusText(int(r.Status)))
}
