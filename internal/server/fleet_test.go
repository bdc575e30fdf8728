package server

import (
	"encoding/gob"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/metrics"
	"schedlab/internal/model"
	"schedlab/internal/timeline"
)

// pretend returns a process of a fleet that is no process: its orders go to child.
func pretend(t *testing.T, f *fleet) (p *process, child net.Conn) {
	conn, child := net.Pipe()
	t.Cleanup(func() { child.Close() })
	p = newProcess(len(f.running), conn)
	f.running = append(f.running, p)
	return p, child
}

// obeying answers every order to p with what answer returns.
func obeying(f *fleet, p *process, child net.Conn, answer func(order) report) {
	dec := gob.NewDecoder(child)
	for {
		var o order
		if dec.Decode(&o) != nil {
			return
		}
		r := answer(o)
		r.Seq = o.Seq
		p.take(f, r)
	}
}

// A scrape waits for processes that do not answer no longer than for one of them,
// whether they read their orders or not, and has the report of the others.
func TestStuckProcessesDelayAScrapeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{begun: map[int]bool{}}
		pretend(t, f) // does not read
		for range 3 {
			_, mute := pretend(t, f)
			go io.Copy(io.Discard, mute)
		}
		well, child := pretend(t, f)
		go obeying(f, well, child, func(order) report { return report{Full: true, Metrics: metrics.Snapshot("well")} })
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

// What a process counted by its end stands, also when an older report comes after it.
func TestFinalReportStands(t *testing.T) {
	t.Parallel()
	final := report{Final: true, Full: true, Forced: 3, Counts: model.Counts{Accepted: 7, Done: 7}, Requests: model.RequestCounts{Started: 9}, Metrics: metrics.Snapshot("final")}
	f := &fleet{begun: map[int]bool{}}
	p, _ := pretend(t, f)
	for _, r := range []report{
		final,
		{Counts: model.Counts{Accepted: 6, Open: 6}},
		{Seq: 1, Full: true, Counts: model.Counts{Accepted: 5, Open: 5}, Metrics: metrics.Snapshot("late")},
	} {
		p.take(f, r)
		if diff := cmp.Diff(final, p.last); diff != "" {
			t.Errorf("after %+v (-want, +got):\n%s", r, diff)
		}
	}
	f.bury(p)
	if f.Counts() != final.Counts || f.forced != final.Forced {
		t.Errorf("got %+v and %d forced, want the final counts", f.Counts(), f.forced)
	}
}

// Those who ask for stamps at the same time all get those of every process.
func TestStampsForSeveralCallers(t *testing.T) {
	t.Parallel()
	f := &fleet{begun: map[int]bool{}}
	const processes = 3
	for range processes {
		p, child := pretend(t, f)
		go obeying(f, p, child, func(o order) report { return report{Stamps: make([]timeline.Server, o.Stamps), Older: 1} })
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

// Stamps that a process does not report in time are missed.
func TestMissingStampsAreAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{begun: map[int]bool{}}
		pretend(t, f)
		if stamps, _, err := f.stamped(1); err == nil {
			t.Errorf("got %d stamps of a process that does not answer, want an error", len(stamps))
		}
	})
}

// A child's reports come in the order in which their counts were read.
func TestReportsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	parent, conn := net.Pipe()
	c := &Child{conn: conn, enc: gob.NewEncoder(conn)}
	var counted atomic.Uint64
	const reports = 100
	for range reports {
		go c.send(func() report {
			n := counted.Add(1)
			runtime.Gosched()
			return report{Counts: model.Counts{Accepted: n}}
		})
	}
	dec := gob.NewDecoder(parent)
	for want := range uint64(reports) {
		var r report
		if err := dec.Decode(&r); err != nil || r.Counts.Accepted != want+1 {
			t.Fatalf("got %d %v, want the report of %d", r.Counts.Accepted, err, want+1)
		}
	}
}
