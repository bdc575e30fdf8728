package server

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"schedlab/internal/metrics"
	"schedlab/internal/model"
	"schedlab/internal/timeline"
)

// A Child is a process of a prefork server as it knows itself: its number, and
// the socket to its parent. On that come orders and go reports, nothing else; it
// ends when the parent does.
type Child struct {
	Index int
	conn  net.Conn
	enc   *gob.Encoder
	mu    sync.Mutex // of enc
}

// An order asks a child for a full report, or to drain.
type order struct {
	Seq    uint64 // the report's number
	Stamps int    // report the newest stamps, so many of them, instead of everything
	Stop   bool
}

// A report tells the parent a child's connections, at every change and at most ten times a
// second, and everything when the parent asks and at the child's end.
type report struct {
	Seq      uint64 // of the order it answers; 0: of none
	Ready    bool   // it listens
	Counts   model.Counts
	Full     bool // with what follows
	Requests model.RequestCounts
	Metrics  metrics.Snapshot
	Final    bool // it drained, and nothing will change any more
	Forced   int  // connections its drain cut

	// Only when asked for.
	Stamps []timeline.Server
	Older  uint64 // stamps there were before these
}

// orphanLife is the time to answer what is in flight when the parent is gone.
const orphanLife = 500 * time.Millisecond

// NewChild takes over the descriptor that a prefork parent left to its child.
func NewChild(index int, fd uintptr) (*Child, error) {
	f := os.NewFile(fd, "parent")
	if f == nil {
		return nil, errors.New("no socket to a prefork parent: --child is for its own use")
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("no socket to a prefork parent (%w): --child is for its own use", err)
	}
	return &Child{Index: index, conn: conn, enc: gob.NewEncoder(conn)}, nil
}

// send sends the report that read returns. It reads under the lock, so that no report
// overtakes a newer one. It fails when the parent is gone, which obey finds out.
func (c *Child) send(read func() report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.enc.Encode(read())
}

var (
	errStop   = errors.New("the parent said stop")
	errOrphan = errors.New("the parent process is gone")
)

// obey answers orders until the parent says stop or is gone, which ends ctx.
func (c *Child) obey(stop context.CancelCauseFunc, answer func(order) report) {
	dec := gob.NewDecoder(c.conn)
	for {
		var o order
		if err := dec.Decode(&o); err != nil {
			stop(errOrphan)
			return
		}
		if o.Stop {
			stop(errStop)
			continue // a stopping child still answers scrapes
		}
		c.send(func() report { return answer(o) })
	}
}

// tell reports the connections at every tick by which they have changed, until ctx ends.
func (c *Child) tell(ctx context.Context, counts func() model.Counts) {
	var told model.Counts
	everyTick(ctx, 0, func() {
		if counts() != told {
			c.send(func() report {
				told = counts()
				return report{Counts: told}
			})
		}
	})
}

// serveChild is Serve of a prefork server's process.
func (s *Server) serveChild(ctx context.Context, c *Child) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full := func() report {
		snapshot, err := s.metrics.Snapshot()
		if err != nil {
			s.cfg.Log.Error("reading the metrics for the parent failed", "error", err)
		}
		return report{Counts: s.ln.Counts(), Full: err == nil, Requests: s.model.Requests(), Metrics: snapshot}
	}
	answer := func(o order) (r report) {
		if o.Stamps == 0 {
			r = full()
		} else {
			r.Counts = s.ln.Counts()
			r.Stamps, r.Older = s.ring.Newest(o.Stamps)
		}
		r.Seq = o.Seq
		return r
	}
	var helpers sync.WaitGroup
	telling, quiet := context.WithCancel(context.Background())
	defer quiet()
	helpers.Go(func() { c.obey(stop, answer) })
	helpers.Go(func() { c.tell(telling, s.ln.Counts) })
	served := make(chan ended, 1)
	go func() {
		drain, err := s.ln.serve(ctx, s.cfg.DrainTimeout, func() {
			c.send(func() report { return report{Ready: true, Counts: s.ln.Counts()} })
		})
		served <- ended{drain, err}
	}()
	var end ended
	select {
	case end = <-served:
	case <-orphaned(ctx):
		return errOrphan
	}
	quiet()
	c.send(func() report {
		last := full()
		last.Final, last.Forced = true, end.Forced
		return last
	})
	c.conn.Close()
	helpers.Wait()
	if end.err != nil {
		return fmt.Errorf("serving %s: %w", s.mode.Name, end.err)
	}
	return nil
}

type ended struct {
	model.Drain
	err error
}

// orphaned returns a channel that gets a value when an orphan has lived for long
// enough.
func orphaned(ctx context.Context) <-chan struct{} {
	late := make(chan struct{}, 1)
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errOrphan) {
			time.Sleep(orphanLife)
			late <- struct{}{}
		}
	})
	return late
}
