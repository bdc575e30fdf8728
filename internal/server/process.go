package server

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a child as its parent knows it.
type process struct {
	index int
	cmd   *exec.Cmd
	conn  net.Conn
	ready atomic.Bool
	last  report // newest of every field; guarded by the fleet's lock

	timeline *ringed // that came last and nobody has read; guarded likewise

	mu     sync.Mutex // of enc and told
	enc    *gob.Encoder
	told   chan struct{} // closed and renewed when a full report has come
	seen   atomic.Uint64 // number of the last full report
	exited chan struct{}
}

// ChildFD is the descriptor at which a child finds the socket to its parent: the
// first after the standard three.
const ChildFD = 3

// startProcess starts this program again as process index of the fleet.
func startProcess(cfg Config, index int) (*process, error) {
	pair, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("making a socket to the process: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "child"), os.NewFile(uintptr(pair[1]), "parent")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("making a socket to the process: %w", err)
	}
	share := (cfg.MaxConns + cfg.Processes - 1) / cfg.Processes
	cmd := cfg.Spawn("--child", strconv.Itoa(index), "--addr", cfg.Addr, "--admin", "off",
		"--max-conns", strconv.Itoa(share), "--drain-timeout", (cfg.DrainTimeout - exitTime(cfg.DrainTimeout)).String(), "--iters", strconv.FormatFloat(cfg.Iters, 'g', -1, 64))
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+strconv.Itoa(cfg.Threads))
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	return &process{
		index: index, cmd: cmd, conn: conn, enc: gob.NewEncoder(conn),
		told: make(chan struct{}), exited: make(chan struct{}),
	}, nil
}

// exitTime is the part of a drain's timeout that is left for a process that has
// drained to report and to exit: an eighth, at most half a second.
func exitTime(timeout time.Duration) time.Duration { return min(timeout/8, time.Second/2) }

// socketPair makes two sockets that no other process inherits. Only Linux can ask
// for that in one call.
func socketPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	return pair, err
}

// order sends an order. To a process that is gone it goes nowhere.
func (p *process) order(o order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(scrapeLimit))
	_ = p.enc.Encode(o)
}

// await waits for report seq, until late ends at most, or until the process has ended.
func (p *process) await(late context.Context, seq uint64) {
	for {
		p.mu.Lock()
		told := p.told
		p.mu.Unlock()
		if p.seen.Load() >= seq {
			return
		}
		select {
		case <-told:
		case <-p.exited:
			return
		case <-late.Done():
			return
		}
	}
}

var errExited = errors.New("it exited without being told to")

// wait takes the process's reports until it ends, gives f its counts, and says why
// it ended: nil after an orderly drain.
func (p *process) wait(f *fleet) error {
	slow := time.AfterFunc(startLimit, func() {
		if !p.ready.Load() {
			p.kill()
		}
	})
	defer slow.Stop()
	dec := gob.NewDecoder(p.conn)
	for {
		var r report
		if dec.Decode(&r) != nil {
			break // it ended, or wrote nonsense
		}
		p.take(f, r)
	}
	p.conn.Close()
	if !p.last.Final { // it may be alive without its socket, and useless
		p.kill()
	}
	err := p.cmd.Wait()
	f.bury(p)
	close(p.exited)
	if err == nil {
		err = errExited
	}
	return err
}

// take keeps the newest of everything.
func (p *process) take(f *fleet, r report) {
	f.mu.Lock()
	was := p.last
	p.last = r
	if r.Timeline != nil {
		p.timeline, p.last.Timeline = r.Timeline, nil
	}
	if !r.Full {
		p.last.Requests, p.last.Metrics = was.Requests, was.Metrics
	}
	if r.Ready {
		p.last.Counts = was.Counts
		p.ready.Store(true)
		if f.begun[p.index] = true; len(f.begun) == len(f.running) {
			f.once.Do(func() { close(f.complete) })
		}
	}
	f.mu.Unlock()
	if r.Seq == 0 {
		return
	}
	p.seen.Store(r.Seq)
	p.mu.Lock()
	close(p.told)
	p.told = make(chan struct{})
	p.mu.Unlock()
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
