// Package process starts the servers of a run, each new and on the servers' CPUs, waits until
// they answer, reads their metrics, and ends them. It also finds a server that runs already.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/command"
	"schedlab/internal/host"
	"schedlab/internal/prose"
	"schedlab/internal/record"
)

const (
	readyLimit = 10 * time.Second
	readyPoll  = 2 * time.Millisecond
	bindTime   = 50 * time.Millisecond // within which a server that finds its port taken has ended
	slowReply  = 50 * time.Millisecond // past it a server listens but does not reply
	stopLimit  = 3 * time.Second
	portTries  = 3           // starts of a server that finds its port taken
	deathLimit = time.Second // from the end of a server's sockets to its own
	pipeLimit  = time.Second // how long a dead server's children may hold its output
	logTail    = 2000        // bytes of a dead server's log in an error
	logLimit   = 64 << 10    // bytes of a server's log that are kept

	mostMetrics = 4 << 20 // bytes of a scrape
)

// A Process is one arm's server, fresh for one trial unless it runs already.
type Process struct {
	cmd     *exec.Cmd // nil for one that runs already
	Found   int       // the pid of such a one, 0 when it is not known
	Addr    string    // of the service
	Admin   string    // of its admin side, "" when its command names none
	metrics string    // URL of them, "" when it shows none
	dir     string    // its directory, "" when its command names none
	log     *tail
	exited  chan struct{}
	err     error         // how it ended; read after exited is closed
	dialed  int           // connections opened to see whether it is ready
	Doubts  []record.Fact // raised at its start

	readyLimit, stopLimit time.Duration
}

// Start runs argv and waits until it answers path. argv may begin with variables,
// or be the address of a server that runs already, which is asked once. Between the
// choice of a port and its use another program may take it: then it is tried again.
func (l *Launcher) Start(ctx context.Context, argv []string, path string) (*Process, error) {
	if isAddress(argv) {
		return l.Attach(ctx, argv[0], path)
	}
	for try := 1; ; try++ {
		p, err := l.startOnce(ctx, argv, path)
		if died := (*DiedError)(nil); try == portTries || !errors.As(err, &died) || !died.port {
			return p, err
		}
	}
}

func (l *Launcher) startOnce(ctx context.Context, argv []string, path string) (*Process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p := &Process{
		Addr: ports[0], log: &tail{limit: logLimit}, exited: make(chan struct{}),
		readyLimit: l.readyLimit, stopLimit: l.stopLimit,
	}
	words, err := p.fill(argv, ports[1])
	if err != nil {
		return nil, err
	}
	variables, words := command.Variables(words)
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = append(serverEnv(), variables...)
	p.cmd.WaitDelay = pipeLimit
	isolate(p.cmd)
	if err := l.run(p.cmd.Start); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %q: %w", words[0], err), p.clean())
	}
	began := time.Now()
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.ready(ctx, path); err != nil {
		p.Kill()
		return nil, err
	}
	// Who has the port may have answered in its place.
	if p.listens() {
		p.ShowsMetrics("")
		return p, nil
	}
	select {
	case <-p.exited:
		err := p.Died(atStart)
		p.Kill()
		return nil, err
	case <-time.After(bindTime - time.Since(began)):
	}
	p.ShowsMetrics("")
	return p, nil
}

// fill replaces the marks in argv, and makes the directory if one asks for it.
func (p *Process) fill(argv []string, admin string) ([]string, error) {
	host, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		return nil, fmt.Errorf("the address %s: %w", p.Addr, err)
	}
	says := func(mark string) bool {
		return slices.ContainsFunc(argv, func(w string) bool { return strings.Contains(w, mark) })
	}
	if says(command.AdminMark) {
		p.Admin = admin
	}
	if says(command.DirMark) {
		if p.dir, err = os.MkdirTemp("", "schedlab-arm-"); err != nil {
			return nil, fmt.Errorf("making a directory for the server: %w", err)
		}
	}
	marks := strings.NewReplacer(command.AddrMark, p.Addr, command.HostMark, host, command.PortMark, port, command.AdminMark, admin, command.DirMark, p.dir)
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = marks.Replace(w)
	}
	return words, nil
}

// clean removes the server's directory.
func (p *Process) clean() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
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
func (p *Process) ready(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.readyLimit, fmt.Errorf("no answer within %v", p.readyLimit))
	defer cancel()
	last := "nothing listens there"
	for {
		asked := time.Now()
		switch status, err := p.askOnce(ctx, path); {
		case err == nil && status < http.StatusInternalServerError:
			return nil
		case err == nil:
			last = fmt.Sprintf("GET %s is answered %d", path, status)
		case errors.Is(err, syscall.ECONNREFUSED):
		case time.Since(asked) > slowReply:
			last = "it does not reply"
		case ctx.Err() == nil:
			last = prose.FirstLine(err.Error())
		}
		select {
		case <-p.exited:
			return p.Died(atStart)
		case <-ctx.Done():
			return fmt.Errorf("the server on %s is not ready: %w: %s; its log ends with: %s", p.Addr, context.Cause(ctx), last, lastWords(p.log.String()))
		case <-time.After(readyPoll):
		}
	}
}

// askOnce is the status of a whole reply, on a connection of its own.
func (p *Process) askOnce(ctx context.Context, path string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Addr+path, nil)
	if err != nil {
		return 0, fmt.Errorf("asking %s%s: %w", p.Addr, path, err)
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: p.readyLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // where it leads is nobody's arm
	}
	reply, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	p.dialed++
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, err
}

// Pid is 0 for a server that runs already and cannot be found.
func (p *Process) Pid() int {
	if p.cmd == nil {
		return p.Found
	}
	return p.cmd.Process.Pid
}

// Alive reports whether it has not ended, as far as is known.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ShowsMetrics has Scrape read the server's own metrics, where an arm says they
// are; or those of its admin side, when that is "".
func (p *Process) ShowsMetrics(where string) {
	switch {
	case where != "":
		p.metrics = command.MetricsAt(where, p.Addr, p.Admin)
	case p.Admin != "":
		p.metrics = "http://" + p.Admin + "/metrics"
	}
}

// Profiles is the URL of the profiles beside its metrics, if it shows any there; "" for a
// server that shows no metrics.
func (p *Process) Profiles() string {
	at, err := url.Parse(p.metrics)
	if err != nil || at.Host == "" {
		return ""
	}
	return at.Scheme + "://" + at.Host + "/debug/pprof/"
}

// Scrape reads the server's metrics, as OpenMetrics if it knows that; nil for one
// that shows none.
func (p *Process) Scrape(ctx context.Context) ([]byte, error) {
	if p.metrics == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	reply, err := p.Ask(ctx, p.metrics, "application/openmetrics-text; version=1.0.0; charset=utf-8, text/plain; version=0.0.4; q=0.5")
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, mostMetrics+1))
	switch {
	case err != nil:
		return nil, err
	case reply.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s is answered %d", p.metrics, reply.StatusCode)
	case len(text) > mostMetrics:
		return nil, fmt.Errorf("%s is longer than %d MiB", p.metrics, mostMetrics>>20)
	}
	return text, nil
}

// General is a text about the server without the addresses of this trial, so that
// it is the same in every one.
func (p *Process) General(text string) string {
	text = strings.ReplaceAll(text, p.Addr, command.AddrMark)
	if p.Admin != "" {
		text = strings.ReplaceAll(text, p.Admin, command.AdminMark)
	}
	return text
}

// Ask gets a page of the server, on a connection of its own.
func (p *Process) Ask(ctx context.Context, page, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return client.Do(req)
}

// AwaitDeath gives a server that may be dying time to be seen dead: its sockets are
// closed before its parent hears of its end, and Stop would take that for a drain.
func (p *Process) AwaitDeath() {
	select {
	case <-p.exited:
	case <-time.After(deathLimit):
	}
}

// LingeredError is the error of a server that SIGTERM did not end in time. It was killed.
type LingeredError struct{ limit time.Duration }

func (e *LingeredError) Error() string {
	return fmt.Sprintf("the server did not end within %v of SIGTERM and was killed", e.limit)
}

// Stop asks the server to drain and waits for its end; the error of one that had
// to be killed is a *[LingeredError]. One that ran already goes on.
func (p *Process) Stop() error {
	if p.cmd == nil {
		return nil
	}
	if !p.Alive() {
		return p.Died("during its trial")
	}
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the server: %w", err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(p.stopLimit):
		p.Kill()
		return &LingeredError{p.stopLimit}
	}
}

// Kill ends the server and what it started, and removes its directory. One that
// ran already goes on.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	// The group is the server's own, made at its start, and may outlive it.
	_ = unix.Kill(-p.Pid(), unix.SIGKILL)
	<-p.exited
	_ = p.clean() // a temporary directory: what cannot be removed is the system's
}

// Output is the last of what it wrote to its standard output and error.
func (p *Process) Output() []byte { return p.log.Bytes() }

// A Launcher starts processes from one thread that is bound to the server's
// CPUs, so that they inherit them. The thread lives until Close: the kernel
// kills the processes when it ends, so none outlives this program.
type Launcher struct {
	jobs                  chan func()
	readyLimit, stopLimit time.Duration // for a server to answer, and to end
}

// NewLauncher makes that thread.
func NewLauncher(c host.Sides) (*Launcher, error) {
	l := &Launcher{jobs: make(chan func()), readyLimit: readyLimit, stopLimit: stopLimit}
	bound := make(chan error)
	go func() {
		// Never unlocked: a thread with its own affinity must not return to the pool.
		runtime.LockOSThread()
		if c.Pin {
			if err := host.BindThread(c.Server); err != nil {
				bound <- fmt.Errorf("pinning the server to CPUs %s: %w; use --pin none", c.Server, err)
				return
			}
		}
		close(bound)
		for job := range l.jobs {
			job()
		}
	}()
	return l, <-bound
}

func (l *Launcher) run(f func() error) error {
	done := make(chan error, 1)
	l.jobs <- func() { done <- f() }
	return <-done
}

// Close ends it.
func (l *Launcher) Close() { close(l.jobs) }

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

// Place notes where a server may run when that is not only where the plan has
// servers: it was not started here, or set an affinity of its own. What others took
// of its CPUs cannot be told then.
func (p *Process) Place(c host.Sides, side *record.ServerSide) {
	where := host.MayRun(p.Pid())
	if where == nil || len(where.Without(c.Server)) == 0 || !c.Pin && p.cmd != nil {
		return
	}
	side.CPUs, side.Foreign = where.String(), -1
	f := record.Fact{Code: otherCPUs, Names: record.Names{"cpus": where.Words(), "servers": c.Server.Words()}}
	if p.cmd == nil {
		f.Names["attached"] = "yes"
	}
	if rest := where.Without(c.Load); len(rest) < len(where) {
		f.Names["shared"] = where.Without(rest).Words()
	}
	side.Doubts = append(side.Doubts, f)
}
