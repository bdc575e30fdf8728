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
	Seq      uint64 // the report's number
	Timeline bool   // with the stamps
	Stop     bool
}

// A report is what a child tells: its connections, at every change and at most
// ten times a second; everything, when it is asked and at its end.
type report struct {
	Seq      uint64 // of the order it answers; 0: of none
	Ready    bool   // it listens
	Counts   model.Counts
	Full     bool // with what follows
	Requests model.RequestCounts
	Metrics  metrics.Snapshot
	Timeline *ringed // only when asked for
	Final    bool    // it drained, and nothing will change any more
	Forced   int     // connections its drain cut
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

// send reports. It fails when the parent is gone, which the orders tell.
func (c *Child) send(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.enc.Encode(r)
}

var (
	errStop   = errors.New("the parent said stop")
	errOrphan = errors.New("the parent process is gone")
)

// obey answers orders until the parent says stop or is gone, which ends ctx.
func (c *Child) obey(stop context.CancelCauseFunc, full func() report, stamped func() *ringed) {
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
		r := full()
		r.Seq = o.Seq
		if o.Timeline {
			r.Timeline = stamped()
		}
		c.send(r)
	}
}

// tell reports the connections at every tick by which they have changed, until ctx ends.
func (c *Child) tell(ctx context.Context, counts func() model.Counts) {
	var told model.Counts
	everyTick(ctx, 0, func() {
		if now := counts(); now != told {
			c.send(report{Counts: now})
			told = now
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
	var helpers sync.WaitGroup
	telling, quiet := context.WithCancel(context.Background())
	defer quiet()
	helpers.Go(func() { c.obey(stop, full, func() *ringed { return encodeRing(s.ring) }) })
	helpers.Go(func() { c.tell(telling, s.ln.Counts) })
	served := make(chan ended, 1)
	go func() {
		drain, err := s.ln.serve(ctx, s.cfg.DrainTimeout, func() { c.send(report{Ready: true}) })
		served <- ended{drain, err}
	}()
	var end ended
	select {
	case end = <-served:
	case <-orphaned(ctx):
		return errOrphan
	}
	quiet()
	last := full()
	last.Final, last.Forced = true, end.Forced
	c.send(last)
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
