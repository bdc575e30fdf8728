package server

import (
	"encoding/gob"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/metrics"
)

// pretend returns a process of a fleet that is no process: its orders go to child.
func pretend(index int) (p *process, child net.Conn) {
	conn, child := net.Pipe()
	return &process{index: index, conn: conn, enc: gob.NewEncoder(conn), told: make(chan struct{}), exited: make(chan struct{})}, child
}

// A scrape waits for processes that do not answer no longer than for one of them,
// whether they read their orders or not, and has the report of the others.
func TestStuckProcessesDelayAScrapeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{begun: map[int]bool{}}
		deaf, child := pretend(0)
		defer child.Close()
		f.running = append(f.running, deaf)
		for i := 1; i <= 3; i++ {
			mute, child := pretend(i)
			defer child.Close()
			go io.Copy(io.Discard, child)
			f.running = append(f.running, mute)
		}
		well, child := pretend(4)
		defer child.Close()
		f.running = append(f.running, well)
		go func() {
			dec := gob.NewDecoder(child)
			for {
				var o order
				if dec.Decode(&o) != nil {
					return
				}
				well.take(f, report{Seq: o.Seq, Full: true, Metrics: metrics.Snapshot("well")})
			}
		}()
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
