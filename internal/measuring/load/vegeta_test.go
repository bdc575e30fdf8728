package load

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/shared/request"
)

func TestEncodeVegetaRoundTrip(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	start := time.Now()
	targets := []Target{
		{Method: "GET", URL: "http://server/work#top"},
		{Method: "PUT", URL: "http://server/kv/a", Body: []byte("value")},
	}
	reqs := []request.Request{
		{Scheduled: 1 * ms, Sent: 2 * ms, Done: 5 * ms, Status: 200, Bytes: 3, Iters: 7, Sleep: 2},
		{Scheduled: 2 * ms, Sent: 2 * ms, Done: 9 * ms, Status: 503, Bytes: 1},
		{Scheduled: 3 * ms, Sent: 4 * ms, Done: 8 * ms, Outcome: request.TimedOut},
		{Scheduled: 4 * ms, Sent: -1, Done: 6 * ms, Outcome: request.Cut},
	}
	result := func(seq int, at, latency int64, code uint16, in uint64, failure string) vegeta.Result {
		r := vegeta.Result{Attack: "arm", Seq: uint64(seq), Timestamp: start.Add(time.Duration(at)), Latency: time.Duration(latency), Code: code, BytesIn: in, Error: failure}
		r.Method, r.URL = "GET", "http://server/work"
		if seq%2 == 1 {
			r.Method, r.URL, r.BytesOut = "PUT", "http://server/kv/a", 5
		}
		if seq == 0 {
			r.URL += "?iters=7&sleep=2ns"
		}
		return r
	}
	for from, want := range map[Stamp][]vegeta.Result{
		ScheduledStamp: {
			result(0, 1*ms, 4*ms, 200, 3, ""),
			result(1, 2*ms, 7*ms, 503, 1, "503 Service Unavailable"),
			result(2, 3*ms, 5*ms, 0, 0, "timed out"),
		},
		SentStamp: {
			result(0, 2*ms, 3*ms, 200, 3, ""),
			result(1, 2*ms, 7*ms, 503, 1, "503 Service Unavailable"),
			result(2, 4*ms, 4*ms, 0, 0, "timed out"),
		},
	} {
		var file bytes.Buffer
		if err := encodeVegeta(&file, "arm", start, targets, reqs, from); err != nil {
			t.Fatal(err)
		}
		var got []vegeta.Result
		decode := vegeta.DecoderFor(&file)
		if decode == nil {
			t.Fatal("vegeta does not know the format")
		}
		for {
			var r vegeta.Result
			err := decode.Decode(&r)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stamp %d, results (-want +got):\n%s", from, diff)
		}
	}
}

func TestEncodeVegetaReportsWriteErrors(t *testing.T) {
	t.Parallel()
	targets := []Target{{Method: "GET", URL: "http://server/"}}
	r, w := io.Pipe()
	r.Close()
	if err := encodeVegeta(w, "", time.Now(), targets, make([]request.Request, 1), ScheduledStamp); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the writer's error", err)
	}
	if err := encodeVegeta(w, "", time.Now(), nil, nil, ScheduledStamp); err == nil {
		t.Error("no targets: no error")
	}
}

// encodeVegeta writes reqs, the requests of an attack that began at start, with a
// VegetaWriter.
func encodeVegeta(w io.Writer, name string, start time.Time, targets []Target, reqs []request.Request, from Stamp) error {
	v, err := NewVegetaWriter(w, name, targets, nil, from)
	if err != nil {
		return err
	}
	v.Start = start
	for seq, r := range reqs {
		if err := v.Write(seq, r); err != nil {
			return err
		}
	}
	return v.Flush()
}
