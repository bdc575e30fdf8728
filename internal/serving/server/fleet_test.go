package server

import (
	"context"
	"io"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/serving/metrics"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/timeline"
)

// pretend returns a process of a fleet that is no process: its calls go to child.
func pretend(t *testing.T, f *fleet) (p *process, child net.Conn) {
	conn, child := net.Pipe()
	t.Cleanup(func() { child.Close() })
	p = &process{index: len(f.running), conn: conn, calls: rpc.NewClient(conn)}
	f.running = append(f.running, p)
	return p, child
}

// A wellChild answers at once.
type wellChild struct{}

func (wellChild) Report(_ Order, r *Report) error {
	*r = Report{Seq: 1, Full: true, Metrics: metrics.Snapshot("well")}
	return nil
}

func (wellChild) Stamps(n int, s *Stamps) error {
	*s = Stamps{make([]timeline.Server, n), 1}
	return nil
}

// A scrape waits for processes that do not answer no longer than for one of them,
// whether they read their calls or not, and has the report of the others.
func TestStuckProcessesDelayAScrapeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		pretend(t, f) // does not read
		for range 3 {
			_, mute := pretend(t, f)
			go io.Copy(io.Discard, mute)
		}
		_, child := pretend(t, f)
		go serveCalls(child, wellChild{})
		for range 2 {
			began := time.Now()
			all := f.snapshots()
			if took := time.Since(began); took != scrapeLimit {
				t.Errorf("got a scrape of %v, want %v", took, scrapeLimit)
			}
			if got := string(all[len(all)-1]); got != "well" {
				t.Errorf("got %q of the process that answers, want its report", got)
			}
		}
	})
}

// The newest counts, and the newest full report, stand when an older report comes after them.
func TestNewestReportStands(t *testing.T) {
	t.Parallel()
	newest := Report{Seq: 3, Full: true, Forced: 3, Counts: model.Counts{Accepted: 7, Done: 7}, Requests: model.RequestCounts{Started: 9}, Metrics: metrics.Snapshot("newest")}
	f := &fleet{}
	p, _ := pretend(t, f)
	for _, r := range []Report{
		newest,
		{Seq: 2, Counts: model.Counts{Accepted: 6, Open: 6}},
		{Seq: 1, Full: true, Counts: model.Counts{Accepted: 5, Open: 5}, Metrics: metrics.Snapshot("late")},
	} {
		f.take(p, r)
		want := newest
		want.Full = false // of the last report nothing else is kept
		if diff := cmp.Diff(want, p.last); diff != "" {
			t.Errorf("after %+v (-want, +got):\n%s", r, diff)
		}
	}
	f.bury(p)
	if f.Counts() != newest.Counts || f.Requests() != newest.Requests || f.gone.Forced != newest.Forced {
		t.Errorf("got %+v and %d forced, want the newest counts", f.Counts(), f.gone.Forced)
	}
}

// Counts that came before a full report with a lower number stand, and so does that report's rest.
func TestOvertakenFullReport(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	p, _ := pretend(t, f)
	f.take(p, Report{Seq: 2, Counts: model.Counts{Accepted: 6}})
	f.take(p, Report{Seq: 1, Full: true, Counts: model.Counts{Accepted: 5}, Requests: model.RequestCounts{Started: 4}})
	if f.Counts().Accepted != 6 || f.Requests().Started != 4 {
		t.Errorf("got %+v and %+v, want 6 accepted and 4 started", f.Counts(), f.Requests())
	}
}

// Those who ask for stamps at the same time all get those of every process.
func TestStampsForSeveralCallers(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	const processes = 3
	for range processes {
		_, child := pretend(t, f)
		go serveCalls(child, wellChild{})
	}
	var callers sync.WaitGroup
	for n := 1; n <= 8; n++ {
		callers.Go(func() {
			for range 100 {
				stamps, older, err := f.stamped(n)
				if err != nil || len(stamps) != processes*n || older != processes {
					t.Errorf("got %d stamps, %d older, %v; want %d of each process", len(stamps), older, err, n)
				}
			}
		})
	}
	callers.Wait()
}

// Stamps that a process does not report in time are missed, whether it reads its calls or not.
func TestMissingStampsAreAnError(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{}
			_, mute := pretend(t, f)
			if reads {
				go io.Copy(io.Discard, mute)
			}
			if stamps, _, err := f.stamped(1); err == nil {
				t.Errorf("got %d stamps of a process that does not answer (reads: %v), want an error", len(stamps), reads)
			}
		})
	}
}

// A process whose handler outlives the drain makes the whole server fail, as the handler does in other modes.
func TestHandlerThatOutlivesAProcess(t *testing.T) {
	t.Parallel()
	cfg := testConfig("prefork")
	cfg.Processes, cfg.DrainTimeout = 2, time.Second
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	eventually(t, "it serves", s.begun.Load)
	c, err := net.DialTimeout("tcp", s.ln.Addr().String(), soon)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /work?sleep=10s HTTP/1.1\r\nHost: test\r\n\r\n")
	f := s.ln.(*fleet)
	eventually(t, "the handler runs", func() bool {
		f.snapshots()
		return f.Requests().Started == 1
	})
	stop()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "did not drain in time") {
		t.Errorf("got %v, want the process that did not drain", err)
	}
}

// Reports are numbered in the order in which their counts were read, and the final one is full.
func TestReportsAreNumbered(t *testing.T) {
	t.Parallel()
	s, err := New(testConfig("nethttp"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.ln.Close()
	defer s.admin.ln.Close()
	r := &Child{server: s, drained: make(chan struct{}), forced: 2}
	reports := make([]Report, 100)
	var callers sync.WaitGroup
	for i := range reports {
		callers.Go(func() { _ = r.Report(Order{}, &reports[i]) })
	}
	callers.Wait()
	seen := map[uint64]bool{}
	for _, got := range reports {
		seen[got.Seq] = true
	}
	if len(seen) != len(reports) || seen[0] {
		t.Errorf("got %d numbers of %d reports, want each once, above 0", len(seen), len(reports))
	}
	close(r.drained)
	var final Report
	if err := r.Report(Order{Wait: true}, &final); err != nil || !final.Final || !final.Full || final.Forced != 2 || len(final.Metrics) == 0 || final.Seq != 101 {
		t.Errorf("got %+v, %v; want a full final report", final, err)
	}
}
