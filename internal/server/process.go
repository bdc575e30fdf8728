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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a child as its parent knows it.
type process struct {
	index  int
	cmd    *exec.Cmd
	conn   net.Conn
	exited chan struct{}

	mu  sync.Mutex // of enc
	enc *gob.Encoder

	// The fleet's lock guards what follows.
	last    report // newest of every field
	ready   bool
	asked   uint64                 // number of the last report asked for
	waiting map[uint64]chan report // for the report of that number
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
	p := newProcess(index, conn)
	p.cmd = cmd
	return p, nil
}

func newProcess(index int, conn net.Conn) *process {
	return &process{index: index, conn: conn, enc: gob.NewEncoder(conn), exited: make(chan struct{}), waiting: map[uint64]chan report{}}
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

// ask sends an order and returns the report that answers it, nil if ctx or the process ends
// before that comes.
func (p *process) ask(ctx context.Context, f *fleet, o order) *report {
	answer := make(chan report, 1)
	f.mu.Lock()
	p.asked++
	o.Seq = p.asked
	p.waiting[o.Seq] = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(p.waiting, o.Seq)
		f.mu.Unlock()
	}()
	p.order(o)
	select {
	case r := <-answer:
		return &r
	case <-p.exited:
	case <-ctx.Done():
	}
	return nil
}

var errExited = errors.New("it exited without being told to")

// wait takes the process's reports until it ends, gives f its counts, and says why
// it ended: nil after an orderly drain.
func (p *process) wait(f *fleet) error {
	slow := time.AfterFunc(startLimit, p.kill)
	defer slow.Stop()
	dec := gob.NewDecoder(p.conn)
	for {
		var r report
		if dec.Decode(&r) != nil {
			break // it ended, or wrote nonsense
		}
		if r.Ready {
			slow.Stop()
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

// take hands a report to its asker and keeps the newest of every field. Nothing follows a
// final report, whenever it comes.
func (p *process) take(f *fleet, r report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if answer := p.waiting[r.Seq]; answer != nil {
		answer <- r
		delete(p.waiting, r.Seq)
	}
	if p.last.Final {
		return
	}
	if !r.Full {
		r.Requests, r.Metrics = p.last.Requests, p.last.Metrics
	}
	r.Stamps = nil
	p.last = r
	if r.Ready {
		p.ready = true
		f.begin(p.index)
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
