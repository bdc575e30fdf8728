package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/metrics"
	"schedlab/internal/model"
	"schedlab/internal/timeline"
	"schedlab/internal/workload"
)

// A fleet is the parent of a prefork server: it holds the address, keeps its
// processes running, and adds up what they report. It serves nothing itself.
type fleet struct {
	cfg      Config
	log      *slog.Logger
	held     *model.Reservation
	draining atomic.Bool
	complete chan struct{} // closed when every process has got to serve

	mu       sync.Mutex   // of everything below
	running  []*process   // by index; nil while there is none
	begun    map[int]bool // that have got to serve
	gone     model.Counts
	requests model.RequestCounts // of processes that have ended
	restarts uint64
	forced   int
}

const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 5 * time.Second
	healthyLife  = 10 * time.Second // a process that lived longer starts the back-off anew
	startLimit   = 10 * time.Second
	scrapeLimit  = time.Second // for a process to report; past it, its last report stands
	stampsLimit  = 10 * time.Second
)

// newFleet reserves the address. Nothing runs until serve.
func newFleet(ctx context.Context, cfg Config, socket model.Socket) (*fleet, error) {
	if cfg.Spawn == nil {
		return nil, errors.New("this program does not say how to start its processes")
	}
	held, err := socket.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Addr = held.Addr().String()
	return &fleet{cfg: cfg, log: cfg.Log, held: held,
		running: make([]*process, cfg.Processes), begun: map[int]bool{}, complete: make(chan struct{})}, nil
}

func (f *fleet) Addr() net.Addr { return f.held.Addr() }
func (f *fleet) Backlog() int   { return f.held.Backlog() }
func (f *fleet) MaxConns() int  { return f.cfg.MaxConns }
func (f *fleet) Draining() bool { return f.draining.Load() }
func (f *fleet) Close() error   { return f.held.Close() }

// serve starts the processes, and returns an error if one does not get to serve.
// From then on, of which begun tells, a process that ends is replaced. When ctx is done all drain at the
// same time, and those that outlive timeout are killed.
func (f *fleet) serve(ctx context.Context, timeout time.Duration, begun func()) (model.Drain, error) {
	defer f.held.Close()
	if !(f.cfg.Iters > 0) { // once for all, or the processes differ by its error
		f.cfg.Iters = workload.Calibrate()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var keepers sync.WaitGroup
	for i := range f.running {
		keepers.Go(func() { f.keep(ctx, stop, i) })
	}
	select {
	case <-f.complete:
		begun()
		<-ctx.Done()
	case <-ctx.Done():
	}
	began := time.Now()
	killer := time.AfterFunc(timeout, f.kill)
	f.drain()
	keepers.Wait()
	killer.Stop()

	drain := model.Drain{Took: time.Since(began)}
	f.mu.Lock()
	drain.Forced = f.forced
	f.mu.Unlock()
	if failed, ok := errors.AsType[*startError](context.Cause(ctx)); ok {
		return drain, failed
	}
	return drain, nil
}

// A startError says that a process of the first hour did not get to serve, so
// that trying again would not help.
type startError struct {
	index int
	err   error
}

func (e *startError) Error() string { return fmt.Sprintf("starting process %d: %v", e.index, e.err) }
func (e *startError) Unwrap() error { return e.err }

// keep keeps a process running under that index until ctx is done.
func (f *fleet) keep(ctx context.Context, stop context.CancelCauseFunc, index int) {
	backoff := firstRestart
	for first := true; ; first = false {
		began := time.Now()
		p, err := f.start(index)
		if p == nil && err == nil {
			return // draining
		}
		if err == nil {
			err = p.wait(f)
		}
		switch {
		case f.Draining():
			return
		case first && !f.hasBegun(index):
			stop(&startError{index, err})
			return
		}
		if time.Since(began) > healthyLife {
			backoff = firstRestart
		}
		f.log.Error("a process ended; another takes its place", "process", index, "error", err, "after", backoff)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastRestart)
		f.mu.Lock()
		f.restarts++
		f.mu.Unlock()
	}
}

// begin notes that the process under that index serves. f.mu is held.
func (f *fleet) begin(index int) {
	if f.begun[index] {
		return
	}
	if f.begun[index] = true; len(f.begun) == len(f.running) {
		close(f.complete)
	}
}

func (f *fleet) hasBegun(index int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun[index]
}

// start starts a process and takes it in, or returns nil when a drain has begun.
func (f *fleet) start(index int) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Draining() {
		return nil, nil
	}
	p, err := startProcess(f.cfg, index)
	if err != nil {
		return nil, err
	}
	f.running[index] = p
	return p, nil
}

// drain tells every process to stop; none starts any more.
func (f *fleet) drain() {
	f.mu.Lock()
	f.draining.Store(true)
	running := f.alive()
	f.mu.Unlock()
	for _, p := range running {
		p.order(order{Stop: true})
	}
}

func (f *fleet) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.alive() {
		f.log.Error("a process did not end in time and is killed", "process", p.index)
		p.kill()
	}
}

// alive lists the processes. f.mu is held.
func (f *fleet) alive() (running []*process) {
	for _, p := range f.running {
		if p != nil {
			running = append(running, p)
		}
	}
	return running
}

// bury adds what a process counted to what the fleet has counted. A process that
// did not drain leaves connections open, which the kernel closed: they are
// dropped. Of what it counted after its last report nobody knows.
func (f *fleet) bury(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[p.index] = nil
	last := p.last
	last.Counts.Dropped[model.ProcessDied] += last.Counts.Open
	last.Counts.Open = 0
	f.gone = f.gone.Plus(last.Counts)
	f.requests = f.requests.Plus(last.Requests)
	f.forced += last.Forced
}

// Counts is the sum of the processes' last readings, of which each adds up.
func (f *fleet) Counts() model.Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := f.gone
	for _, p := range f.alive() {
		sum = sum.Plus(p.last.Counts)
	}
	return sum
}

// Requests is the sum of the processes' last readings.
func (f *fleet) Requests() model.RequestCounts {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := f.requests
	for _, p := range f.alive() {
		sum = sum.Plus(p.last.Requests)
	}
	return sum
}

// processes counts those that serve, and those started in place of another.
func (f *fleet) processes() (serving int, restarts uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.alive() {
		if p.ready {
			serving++
		}
	}
	return serving, f.restarts
}

// ask sends an order to every process and returns their reports, and whether each that lives
// answered within limit. All are told at once: one that does not read its orders delays none
// of the others.
func (f *fleet) ask(o order, limit time.Duration) (reports []*report, all bool) {
	f.mu.Lock()
	running := f.alive()
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	reports = make([]*report, len(running))
	var asked sync.WaitGroup
	for i, p := range running {
		asked.Go(func() { reports[i] = p.ask(ctx, f, o) })
	}
	asked.Wait()
	all = ctx.Err() == nil
	return slices.DeleteFunc(reports, func(r *report) bool { return r == nil }), all
}

// snapshots asks every process for a report, once, and returns the newest metrics of all.
func (f *fleet) snapshots() (all []metrics.Snapshot) {
	f.ask(order{}, scrapeLimit)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.alive() {
		all = append(all, p.last.Metrics)
	}
	return all
}

// stamped returns the newest n stamps of every process, oldest first of each, and how many
// older ones there were.
func (f *fleet) stamped(n int) (stamps []timeline.Server, older uint64, err error) {
	reports, all := f.ask(order{Stamps: n}, stampsLimit)
	if !all {
		return nil, 0, fmt.Errorf("a process did not report its stamps within %v", stampsLimit)
	}
	for _, r := range reports {
		stamps, older = append(stamps, r.Stamps...), older+r.Older
	}
	return stamps, older, nil
}
