package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a child as its parent knows it.
type process struct {
	index int
	cmd   *exec.Cmd
	conn  net.Conn
	calls *rpc.Client // on conn

	// The fleet's lock guards what follows.
	last Report // the newest of every field
	full uint64 // the number of the newest full report
}

// ChildFD is the descriptor at which a child finds the socket to its parent: the
// first after the standard three.
const ChildFD = 3

// startProcess starts this program again as process index of the fleet.
func startProcess(cfg Config, index int) (*process, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("making a socket to the process: %w", err)
	}
	defer theirs.Close()
	share := (cfg.MaxConns + cfg.Processes - 1) / cfg.Processes
	cmd := cfg.Spawn("--child", strconv.Itoa(index), "--addr", cfg.Addr, "--admin", "off",
		"--max-conns", strconv.Itoa(share), "--drain-timeout", (cfg.DrainTimeout - exitTime(cfg.DrainTimeout)).String(), "--iters", strconv.FormatFloat(cfg.Iters, 'g', -1, 64))
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+strconv.Itoa(cfg.Threads))
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	return &process{index: index, cmd: cmd, conn: conn, calls: rpc.NewClient(conn)}, nil
}

// exitTime is the part of a drain's timeout that is left for a process that has
// drained to report and to exit: an eighth, at most half a second.
func exitTime(timeout time.Duration) time.Duration { return min(timeout/8, time.Second/2) }

// socketPair makes two connected sockets that no other process inherits. Only Linux can ask
// for that in one call.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
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
		theirs.Close()
	}
	return ours, theirs, err
}

// call calls a method of [reporter] in the process. It fails when the process or ctx ends, or
// when the process does not read its calls; reply may be written to after that.
func (p *process) call(ctx context.Context, method string, arg, reply any) error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(scrapeLimit)) // on a closed socket the call fails
	call := p.calls.Go(childName+"."+method, arg, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errExited = errors.New("it exited without being told to")

// follow takes the process's reports, one each tick, until it ends, and calls serves when one
// has come. It gives the last counts to f and returns why the process ended.
func (p *process) follow(f *fleet, serves func()) error {
	slow := time.AfterFunc(startLimit, p.kill)
	defer slow.Stop()
	var r Report
	for first := true; !r.Final; first = false {
		r = Report{}
		if p.call(context.Background(), "Report", Order{Wait: !first}, &r) != nil {
			break // it ended, or wrote nonsense
		}
		f.take(p, r)
		if first {
			slow.Stop()
			serves()
		}
	}
	_ = p.calls.Close() // it is closed already when the process has ended
	if !r.Final {       // it may be alive without its socket, and useless
		p.kill()
	}
	err := p.cmd.Wait()
	f.bury(p)
	if err == nil {
		err = errExited
	}
	return err
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
