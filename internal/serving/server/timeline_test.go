package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/shared/timeline"
)

// stamped is a configuration that stamps, with as much as every system can.
func stamped(mode string) Config {
	cfg := testConfig(mode)
	cfg.Stamps = "basic"
	spawn := cfg.Spawn
	cfg.Spawn = func(ctx context.Context, flags ...string) *exec.Cmd {
		return spawn(ctx, append(flags, "--stamps", "basic")...)
	}
	return cfg
}

// The timeline is told to people as a line of JSON for each request, newest last,
// and to programs as it is; processes of a prefork server tell theirs together.
func TestTimelinePage(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"nethttp", "pool", "pool-request", "loop", "prefork"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := stamped(mode)
			if mode == "prefork" {
				cfg.Processes = 2
			}
			r := run(t, cfg)
			const asked = 5
			for i := range asked {
				req, err := http.NewRequest(http.MethodGet, r.url("/work?sleep=2ms"), nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Vegeta-Seq", fmt.Sprint(i))
				res, err := browser(t).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
			}
			_, page := r.fetch(t, http.MethodGet, "/debug/timeline?n=100")
			seen := map[uint64]shownRequest{}
			for line := range strings.Lines(page) {
				var s shownRequest
				if err := json.Unmarshal([]byte(line), &s); err != nil || s.Seq == nil {
					t.Fatalf("line %q: %v", line, err)
				}
				seen[*s.Seq] = s
			}
			if len(seen) != asked {
				t.Fatalf("%d requests are shown, want %d: %s", len(seen), asked, page)
			}
			for seq, s := range seen {
				if s.Read <= 0 || s.Service < 2000 || s.Finish < 0 {
					t.Errorf("request %d that slept 2 ms is shown as %+v", seq, s)
				}
				if queues := mode == "pool-request"; queues && s.Queue == nil {
					t.Errorf("request %d of %s is shown without its queue", seq, mode)
				}
			}
			res, binary := r.fetch(t, http.MethodGet, "/debug/timeline?format=binary")
			stamps, err := timeline.Read(strings.NewReader(binary))
			if lost := res.Header.Get(timeline.LostHeader); err != nil || len(stamps) != asked || lost != "0" {
				t.Errorf("read %d requests, %q lost, %v; want %d and none", len(stamps), lost, err, asked)
			}
			if _, one := r.fetch(t, http.MethodGet, "/debug/timeline?n=1"); strings.Count(one, "\n") != 1 {
				t.Errorf("asked for one, got %q", one)
			}
			if res, page := r.fetch(t, http.MethodGet, "/debug/timeline?format=xml"); res.StatusCode != http.StatusBadRequest || !strings.Contains(page, "binary") {
				t.Errorf("format=xml is answered %d %q, want 400 and what there is", res.StatusCode, page)
			}
			for _, n := range []string{"x", "0", "10001"} {
				if res, _ := r.fetch(t, http.MethodGet, "/debug/timeline?n="+n); res.StatusCode != http.StatusBadRequest {
					t.Errorf("n=%s is answered %d, want 400", n, res.StatusCode)
				}
			}
		})
	}
}

// A server that stamps nothing says how to change that.
func TestTimelineOff(t *testing.T) {
	t.Parallel()
	r := run(t, testConfig("nethttp"))
	res, page := r.fetch(t, http.MethodGet, "/debug/timeline")
	if res.StatusCode != http.StatusNotFound || !strings.Contains(page, "--stamps") {
		t.Errorf("got %d %q", res.StatusCode, page)
	}
}

// A ring that is too small keeps the newest, and tells how many it had beside them.
func TestTimelineTellsWhatItLost(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"nethttp", "prefork"} {
		cfg := stamped(mode)
		cfg.Timeline = 2
		if mode == "prefork" {
			cfg.Processes = 1
		}
		spawn := cfg.Spawn
		cfg.Spawn = func(ctx context.Context, flags ...string) *exec.Cmd {
			return spawn(ctx, append(flags, "--timeline", "2")...)
		}
		r := run(t, cfg)
		for range 5 {
			res, err := browser(t).Get(r.url("/plaintext"))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		res, binary := r.fetch(t, http.MethodGet, "/debug/timeline?format=binary")
		stamps, err := timeline.Read(strings.NewReader(binary))
		if lost := res.Header.Get(timeline.LostHeader); err != nil || len(stamps) != 2 || lost != "3" {
			t.Errorf("%s: read %d requests, %q lost, %v; want the newest 2 of 5, and 3 lost", mode, len(stamps), lost, err)
		}
	}
}

// Who asks for one request's stamps gets these alone, not a copy of the whole ring, also while as
// many whole timelines are sent as may be. One more waits for its place.
func TestTimelineCopiesWhatIsAskedFor(t *testing.T) {
	r := run(t, stamped("nethttp"))
	for range r.cfg.Timeline {
		r.ring.Put(timeline.Server{})
	}
	for range dumpsAtOnce {
		r.dumps <- struct{}{}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, page := r.fetch(t, http.MethodGet, "/debug/timeline?n=1")
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || strings.Count(page, "\n") != 1 {
		t.Errorf("one request takes %d bytes, want less than 1 MiB: %q", got, page)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := httptest.NewRequestWithContext(ctx, http.MethodGet, "/debug/timeline?format=binary", nil)
	answer := httptest.NewRecorder()
	if r.timeline(answer, asked); answer.Body.Len() > 0 {
		t.Errorf("got %d bytes beside %d whole timelines, want none until one is sent", answer.Body.Len(), dumpsAtOnce)
	}
	<-r.dumps
	if _, page := r.fetch(t, http.MethodGet, "/debug/timeline?format=binary"); len(page) < 72*r.cfg.Timeline {
		t.Errorf("got %d bytes, want a whole timeline", len(page))
	}
}

// While a process is stuck the timeline's caller hears of it, and scrapes are answered.
func TestTimelineOfAStuckProcess(t *testing.T) {
	t.Parallel()
	cfg := stamped("prefork")
	cfg.Processes = 2
	r := run(t, cfg)
	stuck := r.ln.(*fleet).running[0].cmd.Process
	if err := stuck.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stuck.Signal(syscall.SIGCONT) }) // so that it drains
	for page, status := range map[string]int{"/debug/timeline?n=1": 503, "/metrics": 200} {
		t.Run(page, func(t *testing.T) {
			t.Parallel() // each page waits for the process until it gives up
			if res, body := r.fetch(t, http.MethodGet, page); res.StatusCode != status {
				t.Errorf("got %d %.100q, want %d", res.StatusCode, body, status)
			}
		})
	}
}

// The phases of requests are told by the metrics, also those of a connection that
// waited for a worker.
func TestPhases(t *testing.T) {
	t.Parallel()
	cfg := stamped("pool")
	cfg.Workers = 1
	r := run(t, cfg)
	held := make(chan error)
	go func() {
		res, err := browser(t).Get(r.url("/work?sleep=300ms"))
		if err == nil {
			res.Body.Close()
		}
		held <- err
	}()
	eventually(t, "a busy worker", func() bool { return r.ln.Counts().Open == 1 })
	req, err := http.NewRequest(http.MethodGet, r.url("/plaintext"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Server-Timing", "1")
	req.Close = true
	began := time.Now()
	res, err := new(http.Client).Do(req)
	if err = errors.Join(err, <-held); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	var queue, service float64
	if _, err := fmt.Sscanf(res.Header.Get("Server-Timing"), "queue;dur=%f, service;dur=%f", &queue, &service); err != nil {
		t.Fatalf("Server-Timing %q: %v", res.Header.Get("Server-Timing"), err)
	}
	if waited := float64(time.Since(began).Milliseconds()); queue <= 0 || queue > waited+1 {
		t.Errorf("Server-Timing says %.3f ms in the queue, the client waited %.0f ms", queue, waited)
	}
	_, page := r.fetch(t, http.MethodGet, "/metrics")
	for _, want := range []string{
		`schedlab_request_phase_seconds_count{mode="pool",phase="queue"} 2`,
		`schedlab_request_phase_seconds_count{mode="pool",phase="service"} 2`,
		`schedlab_timeline_lost_total{mode="pool"} 0`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
