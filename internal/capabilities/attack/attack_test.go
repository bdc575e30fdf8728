package attack

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// attacked sums up requests of a load that ran as planned, written as soon as they were sent unless ready is later by that
// much, and returns the window with its doubts.
func attacked(loop string, over time.Duration, waited int, ready int64, requests []request.Request) (window.Window, []fact.Fact) {
	l := Load{Options: load.Options{Clients: record.Clients{Loop: loop}, Duration: over}}
	trial := record.Trial{Window: record.Lasting(over), Server: record.UnknownServer()}
	s := sending{Tally: window.NewTally(trial, l.Clients), load: l}
	for _, r := range requests {
		s.add(r, request.Stamps{Ready: r.Sent + ready, Wrote: r.Sent + ready, First: r.Done})
	}
	w := s.Window(trial, record.Env{})
	return w, s.doubts(&w, &load.ClosedResult{Result: load.Result{Waited: waited}}, record.Complete)
}

// Requests that were sent 5 ms late are the generator's fault in an open loop alone:
// a client of a closed loop without a pace has no schedule to be late for.
func TestBlamesOpenLoopsForLag(t *testing.T) {
	t.Parallel()
	var requests []request.Request
	for i := range int64(1000) {
		at := i * int64(time.Millisecond)
		requests = append(requests, request.Request{Scheduled: at, Sent: at + 5e6, Done: at + 7e6, Status: 200})
	}
	for loop, blamed := range map[string]bool{"open": true, "closed": false} {
		w, doubts := attacked(loop, time.Second, 0, 0, requests)
		if got := strings.Contains(said(doubts), "the generator was late"); got != blamed {
			t.Errorf("%s loop: blamed %v, doubts %s; want %v", loop, got, said(doubts), blamed)
		}
		if lag, response := w.Late[stats.P50].Float(), w.Values[stats.P50].Float(); !(lag >= 4e-3 && response >= 6.9e-3) {
			t.Errorf("%s loop: lag p50 %g s, response %g; want 5 ms and 7 ms", loop, lag, response)
		}
	}
}

func said(doubts []fact.Fact) string {
	var texts []string
	for _, d := range doubts {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "\n")
}

// What is said of an attack under way: bad replies are replies, the time never passes the attack's end, and
// after that the line tells how many replies are awaited.
func TestSoFar(t *testing.T) {
	t.Parallel()
	const over = 15 * time.Second
	kept := load.Options{Clients: record.Clients{Loop: "open"}, Duration: over, Trace: arrivals.Trace{At: make([]time.Duration, 2100)}}
	streamed := kept
	streamed.Rate, streamed.Times = 2100/over.Seconds(), func(func(time.Duration) bool) {}
	s := sending{Tally: window.NewTally(record.Trial{Window: record.Lasting(over)}, kept.Clients)}
	for i := range int64(2000) {
		r := request.Request{Scheduled: i, Sent: i, Done: i + 2e6, Status: 200}
		switch {
		case i < 3:
			r.Outcome, r.Status = request.Reset, 0
		case i < 10:
			r.Status = 503
		}
		s.add(r, request.Stamps{Ready: i, Wrote: i, First: i})
	}
	const counts = ": 2000 of 2100 requests ended, 3 without a reply, 7 not good; of those that ended p50 2.00 ms, p99 2.00 ms"
	for _, line := range []struct {
		at   time.Duration
		of   load.Options
		want string
	}{
		{9900 * time.Millisecond, kept, ""}, {10100 * time.Millisecond, kept, "after 10 s of 15 s" + counts}, {14 * time.Second, kept, ""},
		{15100 * time.Millisecond, kept, ""}, {16 * time.Second, kept, "the 15 s are over, waiting for replies to 100 requests" + counts},
		{17 * time.Second, kept, ""}, {25 * time.Second, streamed, "the 15 s are over, waiting for replies to about 100 requests" + counts},
	} {
		s.load = Load{Options: line.of}
		if got := s.soFar(line.at); got != line.want {
			t.Errorf("at %v: got %q, want %q", line.at, got, line.want)
		}
	}
}

// Goodput is of the replies that came while the attack sent. A request that the end cut off is no failure.
func TestGoodput(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	// A hundred a second for three seconds, answered after wait, or ended as one of these says.
	run := func(wait func(i int64) int64, end request.End, ended ...int) (requests []request.Request) {
		for i := range int64(300) {
			at := i * second / 100
			requests = append(requests, request.Request{Scheduled: at, Sent: at, Done: at + wait(i), Status: 200})
		}
		for _, i := range ended {
			r := &requests[i]
			r.Outcome, r.Status, r.Done = end, 0, r.Sent+2*second
		}
		return requests
	}
	prompt := func(int64) int64 { return 1e6 }
	for _, c := range []struct {
		name     string
		requests []request.Request
		want     float64
		failed   int
	}{
		{"prompt", run(prompt, request.Answered), 100, 0},
		{"the last ones lost", run(prompt, request.TimedOut, 297, 298, 299), 99, 3},
		{"half of the rate", run(func(i int64) int64 { return (i + 1) * second / 100 }, request.Answered), 50, 0},
		{"the last ones cut off", run(prompt, request.Cut, 298, 299), 298. / 3, 0},
	} {
		w, _ := attacked("open", 3*time.Second, 0, 0, c.requests)
		if goodput := w.Values[stats.Goodput].Float(); !(math.Abs(goodput-c.want) <= .01*c.want) || w.Requests-w.Good != c.failed {
			t.Errorf("%s: goodput %g/s, %d failed; want %g/s, %d", c.name, goodput, w.Requests-w.Good, c.want, c.failed)
		}
	}
}

// More connections are advised when they would change something: not for the few
// requests that waited long because the server died.
func TestAdviceOnConnections(t *testing.T) {
	t.Parallel()
	var requests []request.Request
	for i := range int64(1931) {
		at := i * int64(time.Millisecond)
		requests = append(requests, request.Request{Scheduled: at, Sent: at, Done: at + 10e6, Status: 200})
	}
	for waited, advised := range map[int]bool{3: false, 19: false, 200: true} {
		if _, doubts := attacked("open", 1931*time.Millisecond, waited, 5e6, requests); len(doubts) > 0 != advised {
			t.Errorf("%d of 1931 waited: doubts %s; want one, on connections: %v", waited, said(doubts), advised)
		}
	}
}

// The goodput of an interrupted attack is over the time until the stop, not until its last request.
func TestGoodputOfAnInterruptedAttack(t *testing.T) {
	t.Parallel()
	const until = 300 * time.Millisecond
	// The time counts from the request: how long the load takes to start is the machine's.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.AfterFunc(until, cancel) }))
	defer s.Close()
	l := Load{Name: s.URL, Rest: runner.RestWait, Options: load.Options{
		Clients: record.Clients{Loop: "open", Connections: 1, KeepAlive: true}, Targets: []load.Target{{Method: "GET", URL: s.URL}},
		Duration: time.Hour, Trace: arrivals.Trace{At: []time.Duration{0, time.Hour - 1}},
	}}
	r, _, err := Run(ctx, l, &Files{}, func(string) {})
	if err == nil || r == nil || r.Status != record.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	if a := r.Arms[0]; a.Requests != 1 || a.Errors != 0 || a.Goodput == nil || *a.Goodput > 2/until.Seconds() || *a.Goodput < .01 {
		t.Errorf("%+v; want a good reply in %v", a.Figures, until)
	}
}

// The results of a closed loop have the numbers and the targets with which the requests were sent, after a warm-up too.
func TestResultsOfAClosedLoop(t *testing.T) {
	t.Parallel()
	var asked sync.Map // path by number
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("X-Vegeta-Seq"), r.URL.Path)
	}))
	defer s.Close()
	l := Load{Name: s.URL, Rest: runner.RestWait, Options: load.Options{
		Clients: record.Clients{Loop: "closed", Connections: 3, KeepAlive: true, Rate: 150}, Warmup: 110 * time.Millisecond, Duration: 150 * time.Millisecond,
		Targets: []load.Target{{Method: "GET", URL: s.URL + "/a"}, {Method: "GET", URL: s.URL + "/b"}},
	}}
	name := filepath.Join(t.TempDir(), "out.bin")
	files, err := OpenFiles(name, "", l.Targets, nil, load.ScheduledStamp)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	_, times, err := Run(t.Context(), l, files, func(string) {})
	if err := errors.Join(err, files.Finish(times)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// vegeta's format is gob.
	decode, n := gob.NewDecoder(bytes.NewReader(text)), 0
	for r := (struct {
		Seq uint64
		URL string
	}{}); decode.Decode(&r) == nil; n++ {
		if path, _ := asked.Load(strconv.FormatUint(r.Seq, 10)); r.Seq == 0 || r.URL != fmt.Sprint(s.URL, path) {
			t.Errorf("result of request %d is of %s; the server was asked for %v", r.Seq, r.URL, path)
		}
	}
	if n == 0 {
		t.Error("no results")
	}
}

// Connections whose request the stop of an attack cut off are not called starved.
func TestStopStarvesNobody(t *testing.T) {
	t.Parallel()
	s := sending{cut: 15}
	for _, c := range []struct {
		status       record.Status
		silent, want int
	}{{record.Interrupted, 15, 0}, {record.Interrupted, 12, 0}, {record.Interrupted, 20, 5}, {record.Complete, 15, 15}} {
		if got := s.starved(c.silent, c.status); got != c.want {
			t.Errorf("%s, %d without a reply: got %d starved, want %d", c.status, c.silent, got, c.want)
		}
	}
}
