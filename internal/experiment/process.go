package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readyLimit = 10 * time.Second
	readyPoll  = 2 * time.Millisecond
	slowReply  = 50 * time.Millisecond // past it a server listens but does not reply
	stopLimit  = 3 * time.Second
	deathLimit = 200 * time.Millisecond // from the end of a server's sockets to its own
	pipeLimit  = time.Second            // how long a dead server's children may hold its output
	logTail    = 2000                   // bytes of a dead server's log in an error
	logLimit   = 64 << 10               // bytes of a server's log that are kept
)

// A process is one arm's server, fresh for one trial.
type process struct {
	cmd    *exec.Cmd
	addr   string // of the service
	admin  string // of its metrics, "" for a foreign command
	log    *tail
	exited chan struct{}
	err    error // how it ended; read after exited is closed
	dialed int   // connections opened to see whether it is ready

	readyLimit, stopLimit time.Duration
}

// start runs argv and waits until it answers path.
func (l *launcher) start(ctx context.Context, argv []string, path string) (*process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p := &process{
		addr: ports[0], log: &tail{limit: logLimit}, exited: make(chan struct{}),
		readyLimit: l.readyLimit, stopLimit: l.stopLimit,
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		if strings.Contains(w, adminMark) {
			p.admin = ports[1]
		}
		words[i] = strings.NewReplacer(addrMark, p.addr, adminMark, ports[1]).Replace(w)
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = serverEnv()
	p.cmd.WaitDelay = pipeLimit
	isolate(p.cmd)
	if err := l.run(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %q: %w", words[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.ready(ctx, path); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// serverEnv is this process's environment without what would configure a
// server behind the plan's back.
func serverEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SCHEDLAB_") {
			env = append(env, v)
		}
	}
	return env
}

// freePorts finds n loopback addresses nobody listens on.
func freePorts(n int) (addrs []string, err error) {
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer ln.Close()
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

// ready waits for a real reply.
func (p *process) ready(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.readyLimit, fmt.Errorf("no answer within %v", p.readyLimit))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: p.readyLimit}
	last := "nothing listens there"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+path, nil)
		if err != nil {
			return fmt.Errorf("asking %s%s: %w", p.addr, path, err)
		}
		asked := time.Now()
		reply, err := client.Do(req)
		if err == nil {
			p.dialed++
			_, err = io.Copy(io.Discard, reply.Body)
			reply.Body.Close()
			if err == nil && reply.StatusCode < 500 {
				return nil
			}
			last = fmt.Sprintf("GET %s is answered %d", path, reply.StatusCode)
		} else if refused := errors.Is(err, syscall.ECONNREFUSED); !refused && time.Since(asked) > slowReply {
			last = "it does not reply"
		} else if !refused && ctx.Err() == nil {
			last = oneLine(err.Error())
		}
		select {
		case <-p.exited:
			return p.died("before it answered")
		case <-ctx.Done():
			return fmt.Errorf("the server on %s is not ready: %w: %s; its log ends with: %s", p.addr, context.Cause(ctx), last, lastWords(p.log.String()))
		case <-time.After(readyPoll):
		}
	}
}

// died describes an exit nobody asked for.
func (p *process) died(when string) error {
	state := "exit status 0"
	switch {
	case errors.Is(p.err, exec.ErrWaitDelay):
		state += ", leaving children behind"
	case p.err != nil:
		state = p.err.Error()
	}
	return &serverDied{fmt.Sprintf("the server ended %s (%s); its log ends with: %s", when, state, lastWords(p.log.String()))}
}

type serverDied struct{ msg string }

func (e *serverDied) Error() string { return e.msg }

// lastWords is the line of a log that says most about an end: the last panic,
// since a stack follows it, or else the last line.
func lastWords(log string) string {
	last := "(nothing)"
	panicked := false
	for l := range strings.Lines(log) {
		l = strings.TrimSpace(l)
		now := strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ")
		if now || l != "" && !panicked {
			last, panicked = l, now
		}
	}
	return last[max(0, len(last)-logTail):]
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// scrape reads the server's metrics as OpenMetrics, nil for a foreign command.
func (p *process) scrape(ctx context.Context) ([]byte, error) {
	if p.admin == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	reply, err := p.ask(ctx, "/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	return io.ReadAll(io.LimitReader(reply.Body, 16<<20))
}

// ask gets a page of the server's admin side, on a connection of its own.
func (p *process) ask(ctx context.Context, path, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return client.Do(req)
}

// awaitDeath gives a server that may be dying time to be seen dead: its sockets are
// closed before its parent hears of its end, and stop would take that for a drain.
func (p *process) awaitDeath() {
	select {
	case <-p.exited:
	case <-time.After(deathLimit):
	}
}

// stop asks the server to drain and waits for its end; a server that does not
// end is killed, and that is an error.
func (p *process) stop() error {
	if !p.alive() {
		return p.died("during its trial")
	}
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the server: %w", err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(p.stopLimit):
		p.kill()
		return fmt.Errorf("the server did not end within %v of SIGTERM and was killed", p.stopLimit)
	}
}

// kill ends the server and what it started.
func (p *process) kill() {
	// The group is the server's own, made at its start, and may outlive it.
	_ = unix.Kill(-p.pid(), unix.SIGKILL)
	<-p.exited
}

// A tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	limit int
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if extra := t.buf.Len() - t.limit; extra > 0 {
		t.buf.Next(extra)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.Bytes()) }

// Bytes returns a copy of what is kept.
func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf.Bytes())
}
