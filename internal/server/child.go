package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"
	"time"

	"schedlab/internal/metrics"
	"schedlab/internal/model"
	"schedlab/internal/timeline"
)

// A Child is one process of a prefork server, as it knows itself. Its parent asks it for
// reports and stops it through a socket; when the parent ends, so does the child.
type Child struct {
	Index int
	conn  net.Conn
}

// orphanLife is the time a child has to answer requests in flight when its parent is gone.
const orphanLife = 500 * time.Millisecond

var errOrphan = errors.New("the parent process is gone")

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
	return &Child{Index: index, conn: conn}, nil
}

// reporter has the methods that a parent calls in its child by net/rpc, some of them at the
// same time.
type reporter struct {
	server  *Server
	stop    context.CancelFunc
	drained chan struct{} // closed once nothing will change any more
	forced  int           // connections that the drain cut; set before drained is closed

	mu  sync.Mutex
	seq uint64 // number of the last report
}

// An Order asks a child for a [Report].
type Order struct {
	Wait bool // until the next tick, or the end of the drain
	Full bool // with requests and metrics
}

// A Report is a child's counts at one moment.
type Report struct {
	Seq    uint64 // counts up with the moments: replies may overtake each other
	Counts model.Counts
	Final  bool // the child has drained, and nothing will change any more
	Forced int  // connections that the drain cut

	Full     bool // the fields below are set
	Requests model.RequestCounts
	Metrics  metrics.Snapshot
}

// Report reads the counts. A final report is always full.
func (r *reporter) Report(o Order, to *Report) error {
	if o.Wait {
		select {
		case <-time.After(untilTick(0)):
		case <-r.drained:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.drained:
		to.Final, to.Forced, o.Full = true, r.forced, true
	default:
	}
	r.seq++
	to.Seq, to.Counts = r.seq, r.server.ln.Counts()
	if !o.Full {
		return nil
	}
	snapshot, err := r.server.metrics.Snapshot()
	if err != nil {
		r.server.cfg.Log.Error("reading the metrics for the parent failed", "error", err)
		return nil
	}
	to.Full, to.Requests, to.Metrics = true, r.server.model.Requests(), snapshot
	return nil
}

// Stamps are the newest stamps of a child, oldest first.
type Stamps struct {
	Newest []timeline.Server
	Older  uint64 // how many there were before these
}

// Stamps returns the newest n stamps.
func (r *reporter) Stamps(n int, to *Stamps) error {
	to.Newest, to.Older = r.server.ring.Newest(n)
	return nil
}

// Stop begins the drain.
func (r *reporter) Stop(struct{}, *struct{}) error {
	r.stop()
	return nil
}

// serveChild is Serve of a prefork server's process. It returns when the parent has the final
// report, or is gone.
func (s *Server) serveChild(ctx context.Context, c *Child) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &reporter{server: s, stop: stop, drained: make(chan struct{})}
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		defer stop()
		serveCalls(c.conn, r)
	}()
	var drain model.Drain
	var err error
	served := make(chan struct{})
	go func() {
		defer close(served)
		drain, err = s.ln.serve(ctx, s.cfg.DrainTimeout, func() {})
	}()
	select {
	case <-served:
	case <-hungUp:
		select {
		case <-served:
		case <-time.After(orphanLife):
			return errOrphan
		}
	}
	r.forced = drain.Forced
	close(r.drained)
	<-hungUp
	if err != nil {
		return fmt.Errorf("serving %s: %w", s.mode.Name, err)
	}
	return nil
}

// childName is under which name a child's methods are called.
const childName = "Child"

// serveCalls answers the parent's calls of methods until it hangs up.
func serveCalls(conn net.Conn, methods any) {
	calls := rpc.NewServer()
	if err := calls.RegisterName(childName, methods); err != nil {
		panic(err) // a method that net/rpc cannot call: a bug here
	}
	calls.ServeConn(conn)
}
