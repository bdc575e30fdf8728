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

// A Child represents, in a process of a prefork server, the process itself and its link to the
// parent. The parent asks for reports and stops the child through a socket. When the parent
// ends, so does the child.
//
// The parent's side is in fleet.go. The two talk over one pair of Unix sockets with net/rpc: the
// parent calls, the child answers. A child learns from the closed socket that its parent has gone,
// so it needs no signal and no file.
//
// Index, from 0, is the child's number in the fleet. It is the label process of the child's
// metrics, and a child that replaces another has the same one.
type Child struct {
	Index int
	conn  net.Conn
}

// orphanLife is the time that a child has for requests in flight after its parent has gone. It is
// short: a server that is started again may find the address taken until the child is gone.
const orphanLife = 500 * time.Millisecond

var errOrphan = errors.New("the parent process is gone")

// NewChild returns the Child with that index. fd is the descriptor of the socket to the parent;
// NewChild takes it over. It returns an error if fd is not such a socket.
func NewChild(index int, fd uintptr) (*Child, error) {
	f := os.NewFile(fd, "parent")
	if f == nil {
		return nil, errors.New("no socket to a prefork parent: --child is for its own use")
	}
	// FileConn makes a duplicate, so this descriptor is no longer needed.
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("no socket to a prefork parent (%w): --child is for its own use", err)
	}
	return &Child{Index: index, conn: conn}, nil
}

// A reporter has the methods that a parent calls in its child by net/rpc. Calls may be
// concurrent.
//
// Every method has the form that net/rpc asks for: an argument, a pointer to the reply, an error.
type reporter struct {
	server  *Server
	stop    context.CancelFunc
	drained chan struct{} // closed when the drain has ended and no count will change any more
	forced  int           // connections that the drain cut; set before drained is closed

	mu  sync.Mutex
	seq uint64 // number of the last report
}

// An Order asks a child for a [Report]. The zero value asks for the connection counts, at once.
type Order struct {
	Wait bool // report at the next tick, or at the end of the drain
	Full bool // report requests and metrics too
}

// A Report is a child's counts at one moment.
//
// The parent asks for connection counts at every tick. Requests and metrics cost more to collect,
// so it asks for them only for a scrape.
type Report struct {
	Seq    uint64 // grows with each report, because replies may overtake each other
	Counts model.Counts
	Final  bool // the child has drained, and no count will change any more
	Forced int  // connections that the drain cut with a request in flight

	Full     bool // the fields below are set
	Requests model.RequestCounts
	Metrics  metrics.Snapshot
}

// Report fills to with the present counts. A final report is always full.
func (r *reporter) Report(o Order, to *Report) error {
	// The wait is here and not in the parent, so that all children report the same moment: a tick
	// of the machine's clock.
	if o.Wait {
		select {
		case <-time.After(untilTick(0)):
		case <-r.drained:
		}
	}
	// Under the lock Seq grows in the order in which the counts are read.
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
	// A failure leaves Full false. The counts are still good, so the call itself succeeds.
	snapshot, err := r.server.metrics.Snapshot()
	if err != nil {
		r.server.cfg.Log.Error("reading the metrics for the parent failed", "error", err)
		return nil
	}
	to.Full, to.Requests, to.Metrics = true, r.server.model.Requests(), snapshot
	return nil
}

// Stamps holds the newest stamps of a child, oldest first.
type Stamps struct {
	Newest []timeline.Server
	Older  uint64 // number of requests stamped before these
}

// Stamps fills to with the newest n stamps. A parent asks for them only if the fleet stamps
// requests, so the ring exists.
func (r *reporter) Stamps(n int, to *Stamps) error {
	to.Newest, to.Older = r.server.ring.Newest(n)
	return nil
}

// Stop begins the drain and returns at once. The final report tells that the drain has ended.
func (r *reporter) Stop(struct{}, *struct{}) error {
	r.stop()
	return nil
}

// serveChild runs Serve in a process of a prefork server. It returns when the parent has the
// final report, or has gone.
func (s *Server) serveChild(ctx context.Context, c *Child) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &reporter{server: s, stop: stop, drained: make(chan struct{})}
	// Two goroutines: one answers the parent until it hangs up, the other serves. When the parent
	// hangs up, the drain begins.
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
		// The serving goroutine is left behind. The process ends when serveChild returns, and takes
		// it along.
		case <-time.After(orphanLife):
			return errOrphan
		}
	}
	r.forced = drain.Forced
	// From now on every report is final. The child lives until the parent has taken one and closed
	// the socket.
	close(r.drained)
	<-hungUp
	if err != nil {
		return fmt.Errorf("serving %s: %w", s.mode.Name, err)
	}
	return nil
}

// childName is the net/rpc name of a child's methods.
const childName = "Child"

// serveCalls answers the parent's calls of methods until the parent closes conn.
func serveCalls(conn net.Conn, methods any) {
	calls := rpc.NewServer()
	if err := calls.RegisterName(childName, methods); err != nil {
		panic(err) // a method that net/rpc cannot call is a bug in this package
	}
	calls.ServeConn(conn)
}
