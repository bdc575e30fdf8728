package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/metrics"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// A fleet is the parent of a prefork server. It holds the address, keeps its processes running,
// and adds up their counts. It serves nothing itself.
//
// For each process a goroutine runs keep: it starts the process, follows its reports, buries it
// when it ends, and starts another. Reports go one way, from a child into process.last. A scrape
// adds up the last reports and the counts of processes that have ended. So the counters of
// connections and requests do not fall when a process ends. A process that does not answer delays a
// scrape by scrapeLimit and no longer.
//
// The embedded Listener holds the address and accepts nothing: the fleet has its Addr, Backlog and
// Close.
type fleet struct {
	*model.Listener
	cfg      Config
	draining atomic.Bool
	starting atomic.Int64  // processes that have not served yet
	complete chan struct{} // closed when every process has served
	restarts atomic.Uint64

	mu      sync.Mutex // guards the fields below, and the reports of the processes
	running []*process // by index; nil while there is none
	gone    Report     // the sum of the last reports of processes that have ended
	failed  error      // why processes could not be started, or did not drain
}

// The wait before a process is started again doubles from firstRestart to lastRestart.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 5 * time.Second
	healthyLife  = 10 * time.Second // a process that lived longer resets the back-off
	startLimit   = 10 * time.Second // time to the first report: a process that takes longer is killed
	scrapeLimit  = time.Second      // time for a process to report; after it the last report is used
	stampsLimit  = 10 * time.Second
)

// newFleet returns a fleet and reserves its address. Nothing runs until serve.
func newFleet(ctx context.Context, cfg Config, socket model.Socket) (*fleet, error) {
	if cfg.Spawn == nil {
		return nil, errors.New("this program does not say how to start its processes")
	}
	ln, err := socket.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	// If the kernel chose the port, the processes must ask for that port and not for any.
	cfg.Addr = ln.Addr().String()
	f := &fleet{Listener: ln, cfg: cfg, running: make([]*process, cfg.Processes), complete: make(chan struct{})}
	f.starting.Store(int64(cfg.Processes))
	return f, nil
}

// Draining reports whether serve has begun to stop the processes.
func (f *fleet) Draining() bool { return f.draining.Load() }

// serve starts the processes. It returns an error if one of them ends before it serves. Once all
// serve it calls begun, and from then on replaces any process that ends. When ctx is done all
// processes drain at the same time, and are killed at the end of the drain timeout. One that did
// not drain by then is an error, too.
func (f *fleet) serve(ctx context.Context, _ time.Duration, begun func()) (model.Drain, error) {
	defer f.Close()
	if !(f.cfg.Iters > 0) { // one calibration for all, or the processes would differ by its error
		f.cfg.Iters = workload.Calibrate()
	}
	ctx, stop := context.WithCancel(ctx) // its end makes every process drain: see startProcess
	defer stop()
	var keepers sync.WaitGroup
	for i := range f.running {
		keepers.Go(func() { f.keep(ctx, stop, i) })
	}
	select {
	// Serving ends when ctx does: because the caller ended it, or because a process could not start.
	case <-f.complete:
		begun()
		<-ctx.Done()
	case <-ctx.Done():
	}
	began := time.Now()
	f.draining.Store(true)
	keepers.Wait()
	return model.Drain{Took: time.Since(began), Forced: f.gone.Forced}, f.failed
}

// keep keeps a process with that index running until ctx is done and the process has drained. If
// the very first process with this index ends before it serves, keep stops the fleet: it would
// not help to start the process again.
func (f *fleet) keep(ctx context.Context, stop context.CancelFunc, index int) {
	served := false
	for backoff := firstRestart; ; backoff = min(2*backoff, lastRestart) {
		began := time.Now()
		p, err := startProcess(ctx, f.cfg, index)
		if err == nil {
			f.mu.Lock()
			f.running[index] = p
			f.mu.Unlock()
			// Only the first process of an index counts as starting. A later one finds served set.
			err = p.follow(f, func() {
				if !served && f.starting.Add(-1) == 0 {
					close(f.complete)
				}
				served = true
			})
		}
		switch {
		case ctx.Err() != nil:
			if _, failed := errors.AsType[*exec.ExitError](err); failed {
				f.cfg.Log.Error("a process did not drain in time", "process", index, "error", err)
				if served { // otherwise it failed to start, as another did before it
					f.fail(fmt.Errorf("process %d did not drain in time: %w", index, err))
				}
			}
			return
		case !served:
			f.fail(fmt.Errorf("starting process %d: %w", index, err))
			stop()
			return
		}
		// Without a reset, a process that dies once a day would be restarted ever later.
		if time.Since(began) > healthyLife {
			backoff = firstRestart
		}
		f.cfg.Log.Error("a process ended; another takes its place", "process", index, "error", err, "after", backoff)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		f.restarts.Add(1)
	}
}

// fail makes serve return err, with the errors of other processes.
func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = errors.Join(f.failed, err)
}

// alive returns the running processes. The caller holds f.mu.
func (f *fleet) alive() []*process {
	return slices.DeleteFunc(slices.Clone(f.running), func(p *process) bool { return p == nil })
}

// bury adds the counts of a process that has ended to the fleet's. If the process did not drain,
// the kernel closed its open connections, and they count as dropped. Its counts after the last
// report are lost.
func (f *fleet) bury(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// One lock section takes the process out and adds its counts, so no sum misses it or counts it
	// twice.
	f.running[p.index] = nil
	last := p.last
	last.Counts.Dropped[model.ProcessDied] += last.Counts.Open
	last.Counts.Open = 0
	f.gone = f.gone.plus(last)
}

// total returns the sum of the last reports of all processes. Every report is consistent (see
// [model.Counts]), so the sum is too. Of Requests it has the last full reports.
func (f *fleet) total() Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := f.gone
	for _, p := range f.alive() {
		sum = sum.plus(p.last)
	}
	return sum
}

func (f *fleet) Counts() model.Counts          { return f.total().Counts }
func (f *fleet) Requests() model.RequestCounts { return f.total().Requests }

// processes returns the number of processes that serve, and the number of restarts.
func (f *fleet) processes() (serving int, restarts uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.alive() {
		if p.last.Seq > 0 {
			serving++
		}
	}
	return serving, f.restarts.Load()
}

// each calls a method of [Child] in all processes concurrently, so that a process that does not
// answer delays no other. It calls take for one reply at a time. The calls end after limit; inTime
// is false if a process did not answer by then.
func each[Reply any](f *fleet, limit time.Duration, method string, arg any, take func(*process, Reply)) (inTime bool) {
	f.mu.Lock()
	running := f.alive()
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	inTime = true
	var calls sync.WaitGroup
	var mu sync.Mutex // held for take and inTime
	for _, p := range running {
		calls.Go(func() {
			var r Reply
			err := p.call(ctx, method, arg, &r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				take(p, r)
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
				inTime = false
			}
		})
	}
	calls.Wait()
	return inTime
}

// snapshots asks every process once for a report, and returns the newest metrics of each.
func (f *fleet) snapshots() (all []metrics.Snapshot) {
	each(f, scrapeLimit, "Report", Order{Full: true}, f.take)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.alive() {
		all = append(all, p.last.Metrics)
	}
	return all
}

// stamped returns the newest n stamps of every process, process by process, each oldest first.
// It also returns the number of older ones.
func (f *fleet) stamped(n int) (stamps []timeline.Server, older uint64, err error) {
	// A process that ended meanwhile is left out. A late one is an error, because the rest would
	// look complete.
	if !each(f, stampsLimit, "Stamps", n, func(_ *process, s Stamps) {
		stamps, older = append(stamps, s.Newest...), older+s.Older
	}) {
		return nil, 0, fmt.Errorf("a process did not report its stamps within %v", stampsLimit)
	}
	return stamps, older, nil
}

// take updates the fields of p's last report that r has newer values for.
func (f *fleet) take(p *process, r Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Replies can overtake each other. Full fields and counts have their own newest Seq, since a
	// newer report may be without the full fields.
	if r.Full && r.Seq > p.full {
		p.full, p.last.Requests, p.last.Metrics = r.Seq, r.Requests, r.Metrics
	}
	if r.Seq > p.last.Seq {
		p.last.Seq, p.last.Counts, p.last.Forced = r.Seq, r.Counts, r.Forced
	}
}

// A process is the parent's side of a child.
type process struct {
	index int
	cmd   *exec.Cmd
	conn  net.Conn
	calls *rpc.Client // on conn

	// The fleet's lock guards the fields below.
	last Report // the newest value of every field
	full uint64 // Seq of the newest full report
}

// ChildFD is the descriptor of a child's socket to its parent: the first after the standard
// three.
const ChildFD = 3

// startProcess starts this program again as the fleet's process number index. The end of ctx makes the
// process drain; one that still runs after the drain timeout is killed.
func startProcess(ctx context.Context, cfg Config, index int) (*process, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("making a socket to the process: %w", err)
	}
	defer theirs.Close() // or the end of the child would not close the connection
	// Rounded up, so that the shares together are never below the cap.
	share := (cfg.MaxConns + cfg.Processes - 1) / cfg.Processes
	// The drain of the process is a little shorter than the fleet's: it still has to report and exit
	// before it is killed.
	drain := cfg.DrainTimeout - min(cfg.DrainTimeout/8, time.Second/2)
	// The later of two equal flags counts.
	cmd := cfg.Spawn(ctx, "--child", strconv.Itoa(index), "--addr", cfg.Addr, "--admin", "off",
		"--max-conns", strconv.Itoa(share), "--drain-timeout", drain.String(), "--iters", strconv.FormatFloat(cfg.Iters, 'g', -1, 64))
	cmd.ExtraFiles = []*os.File{theirs} // becomes descriptor ChildFD
	// The runtime reads it before main, so no thread count changes later.
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+strconv.Itoa(cfg.Threads))
	p := &process{index: index, cmd: cmd, conn: conn, calls: rpc.NewClient(conn)}
	cmd.WaitDelay = cfg.DrainTimeout
	cmd.Cancel = func() error {
		limited, cancel := context.WithTimeout(context.Background(), scrapeLimit)
		defer cancel()
		return p.call(limited, "Stop", struct{}{}, new(struct{}))
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, p.calls.Close())
	}
	return p, nil
}

// socketPair makes two connected sockets that no other process inherits. It needs several calls
// and ForkLock, because only Linux can do this in one call.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	// No process may be started between the making of the sockets and CloseOnExec: it would inherit
	// them, and they would stay open.
	syscall.ForkLock.RLock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(pair[0]), "child")
	defer file.Close()
	theirs = os.NewFile(uintptr(pair[1]), "parent")
	if ours, err = net.FileConn(file); err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// call calls a method of [Child] in the process. It fails when the process or ctx ends, or
// when the process does not read its calls. reply may still be written to after a failure.
func (p *process) call(ctx context.Context, method string, arg, reply any) error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(scrapeLimit)) // on a closed socket the call fails
	// Room for one, so that the reader of replies is not blocked by a reply that comes after ctx has ended.
	call := p.calls.Go(childName+"."+method, arg, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow takes the process's reports, one each tick, until the process ends. It calls serves
// after the first report. At the end it adds the last counts to f and returns why the process
// ended.
func (p *process) follow(f *fleet, serves func()) error {
	// A process that hangs before its first report would otherwise hang the start of the fleet.
	slow := time.AfterFunc(startLimit, p.kill)
	defer slow.Stop()
	var r Report
	for first := true; !r.Final; first = false {
		r = Report{}
		// No time limit: a process that hangs later keeps its last report until a drain kills it.
		if p.call(context.Background(), "Report", Order{Wait: !first}, &r) != nil {
			break // the process ended, or its reply cannot be decoded
		}
		f.take(p, r)
		if first {
			slow.Stop()
			serves()
		}
	}
	_ = p.calls.Close() // fails when the process has ended, because the connection is closed already
	if !r.Final {       // the process may live on without its socket, and is of no use
		p.kill()
	}
	err := p.cmd.Wait()
	f.bury(p)
	return cmp.Or(err, errors.New("it exited without being told to"))
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// A Child represents, in a process of a prefork server, the process itself and its link to the
// parent, over one pair of Unix sockets with net/rpc: the parent calls, the child answers. Calls may be
// concurrent. A child learns from the closed socket that its parent has gone, and ends too; it needs no
// signal and no file.
//
// Index, from 0, is the child's number in the fleet. It is the label process of the child's
// metrics, and a child that replaces another has the same one. The methods Report, Stamps and Stop are
// for the parent. They have the form that net/rpc asks for: an argument, a pointer to the reply, an
// error.
type Child struct {
	Index   int
	conn    net.Conn
	server  *Server
	stop    context.CancelFunc
	drained chan struct{} // closed when the drain has ended and no count will change any more
	forced  int           // connections that the drain cut; set before drained is closed

	mu  sync.Mutex
	seq uint64 // number of the last report
}

// orphanLife is the time that a child has for requests in flight after its parent has gone. It is
// short: a server that is started again may find the address taken until the child is gone.
const orphanLife = 500 * time.Millisecond

// NewChild returns the Child with that index. fd is the descriptor of the socket to the parent;
// NewChild takes it over. It returns an error if fd is not such a socket.
func NewChild(index int, fd uintptr) (*Child, error) {
	f := os.NewFile(fd, "parent")
	defer f.Close() // FileConn makes a duplicate
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("no socket to a prefork parent (%w): --child is for its own use", err)
	}
	return &Child{Index: index, conn: conn}, nil
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

// plus returns r with the counts of another process added.
func (r Report) plus(o Report) Report {
	r.Counts, r.Requests, r.Forced = r.Counts.Plus(o.Counts), r.Requests.Plus(o.Requests), r.Forced+o.Forced
	return r
}

// Report fills to with the present counts. A final report is always full.
func (c *Child) Report(o Order, to *Report) error {
	// The wait is here and not in the parent, so that all children report the same moment: a tick
	// of the machine's clock.
	if o.Wait {
		select {
		case <-time.After(untilTick(0)):
		case <-c.drained:
		}
	}
	// Under the lock Seq grows in the order in which the counts are read.
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.drained:
		to.Final, to.Forced, o.Full = true, c.forced, true
	default:
	}
	c.seq++
	to.Seq, to.Counts = c.seq, c.server.ln.Counts()
	if !o.Full {
		return nil
	}
	// A failure leaves Full false. The counts are still good, so the call itself succeeds.
	snapshot, err := c.server.metrics.Snapshot()
	if err != nil {
		c.server.cfg.Log.Error("reading the metrics for the parent failed", "error", err)
		return nil
	}
	to.Full, to.Requests, to.Metrics = true, c.server.model.Requests(), snapshot
	return nil
}

// Stamps holds the newest stamps of a child, oldest first.
type Stamps struct {
	Newest []timeline.Server
	Older  uint64 // number of requests stamped before these
}

// Stamps fills to with the newest n stamps. A parent asks for them only if the fleet stamps
// requests, so the ring exists.
func (c *Child) Stamps(n int, to *Stamps) error {
	to.Newest, to.Older = c.server.ring.Newest(n)
	return nil
}

// Stop begins the drain and returns at once. The final report tells that the drain has ended.
func (c *Child) Stop(struct{}, *struct{}) error {
	c.stop()
	return nil
}

// serveChild runs Serve in a process of a prefork server. It returns when the parent has the
// final report, or has gone.
func (s *Server) serveChild(ctx context.Context, c *Child) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.server, c.stop, c.drained = s, stop, make(chan struct{})
	// Two goroutines: one answers the parent until it hangs up, the other serves. When the parent
	// hangs up, the drain begins.
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		defer stop()
		serveCalls(c.conn, c)
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
		// The serving goroutine is left behind. The process ends when serveChild returns.
		case <-time.After(orphanLife):
			return errors.New("the parent process is gone")
		}
	}
	c.forced = drain.Forced
	// The child lives until the parent has taken the final report and closed the socket.
	close(c.drained)
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
