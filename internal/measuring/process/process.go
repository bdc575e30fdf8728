// Package process starts the servers of a run, waits until they reply, reads their metrics, and ends them. Each
// server is a new process on the servers' CPUs. The package also attaches to a server that is already running.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/host"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

const (
	// The limits in seconds are long against any healthy server, so that running into one is a fault and not
	// noise. bindTime is short, because every start waits for it where a server's socket cannot be seen.
	readyLimit = 10 * time.Second      // until a server's first reply
	readyPoll  = 2 * time.Millisecond  // between two requests for it
	bindTime   = 50 * time.Millisecond // a server that finds its port taken ends within this time
	slowReply  = 50 * time.Millisecond // after this time without a reply, the server listens but does not reply
	stopLimit  = 3 * time.Second       // from SIGTERM to a server's end; also for a scrape
	portTries  = 3                     // attempts to start a server that finds its port taken
	deathLimit = time.Second           // from the closing of a server's sockets to the end of its process
	pipeLimit  = time.Second           // how long a dead server's children may hold its output
	logTail    = 2000                  // bytes of a dead server's log in an error
	logLimit   = 64 << 10              // bytes of a server's log that are kept

	mostMetrics = 4 << 20 // bytes of a scrape
)

// A Process is the server of one arm. It is a new process for each trial, unless the arm names a
// server that is already running.
//
// [Launcher.Start] returns it when the server replies. Its methods that wait take a context or have a limit of
// their own. It is not safe for concurrent use, except for Alive, Pid, Output and Scrape.
type Process struct {
	cmd     *exec.Cmd // nil for a server that was already running
	Found   int       // pid of a server that was already running, 0 when it is not known
	Addr    string    // host:port of the service
	Admin   string    // host:port of the admin side, "" when the command has no mark for it
	door    Door      // how it is asked
	metrics string    // URL of the metrics, "" when the server has none
	dir     string    // temporary directory, "" when the command has no mark for it
	log     *tail
	limit   *host.Limit // on its CPU time; nil for none
	exited  chan struct{}
	err     error       // how the server ended; read it only after exited is closed
	remote  *Remote     // nil for a server on this machine
	Doubts  []fact.Fact // raised when the server was started or attached

	readyLimit, stopLimit time.Duration
}

// Start runs the command argv and waits until GET path has a reply below 500. argv may begin with
// environment variables (NAME=value) and a CPU limit (limit=0.5). It may instead be the address of a server that is already
// running; Start then calls Attach. Another program may take the chosen port before the server
// does; Start then tries again, 3 times in all. The caller ends the server with Stop or Kill.
func (l *Launcher) Start(ctx context.Context, argv []string, path string) (*Process, error) {
	// The command is the address of a server that is already running.
	if len(argv) == 1 && (strings.HasPrefix(argv[0], "http://") || strings.HasPrefix(argv[0], "https://")) {
		return l.Attach(ctx, argv[0], path)
	}
	if l.Elsewhere != nil {
		return l.startElsewhere(ctx, argv, path)
	}
	for try := 1; ; try++ {
		p, err := l.startOnce(ctx, argv, path)
		// Only a server that found its port taken deserves another try: any other reason would be
		// the same again.
		if died := (*DiedError)(nil); try == portTries || !errors.As(err, &died) || !died.port {
			return p, err
		}
	}
}

// startOnce is one attempt of Start, with a new port.
func (l *Launcher) startOnce(ctx context.Context, argv []string, path string) (*Process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p := l.process(ports[0])
	words, err := p.fill(argv, ports[1])
	if err != nil {
		return nil, err
	}
	variables, words := cmdline.Variables(words)
	cpus, variables := cmdline.Limit(variables)
	if p.limit, err = limited(cpus); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = append(ServerEnv(), variables...)
	// Without a limit, Wait would go on as long as a child of a dead server holds its output open.
	p.cmd.WaitDelay = pipeLimit
	host.Isolate(p.cmd)
	// Start on the launcher's thread, so that the server inherits its CPUs and, where it has a limit, its group.
	started := make(chan error, 1)
	l.jobs <- func() { started <- p.limit.Start(p.cmd) }
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("starting %q: %w", words[0], err), p.limit.Remove(), os.RemoveAll(p.dir))
	}
	began := time.Now()
	// It ends with the server. err is written before exited is closed, so that readers of err see it.
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.ready(ctx, path); err != nil {
		p.Kill()
		return nil, err
	}
	p.ShowsMetrics("")
	// The reply may have come from another program that has the port.
	at, err := netip.ParseAddrPort(p.Addr)
	if err == nil && len(host.Listening(at, host.Family(p.Pid()))) > 0 {
		return p, nil
	}
	select {
	case <-p.exited:
		err := p.Died(atStart)
		p.Kill()
		return nil, err
	// It is alive after bindTime, so it has its port, though its listening socket is not to be
	// seen: the system may hide it.
	case <-time.After(bindTime - time.Since(began)):
	}
	return p, nil
}

// limited returns the limit that a command's word limit asks for; nil if text is "".
func limited(text string) (*host.Limit, error) {
	if text == "" {
		return nil, nil
	}
	cpus, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("limit %q is not a number of CPUs, like 0.5", text)
	}
	return host.NewLimit(cpus)
}

// process returns the Process of a server on addr, before its start.
func (l *Launcher) process(addr string) *Process {
	return &Process{Addr: addr, door: l.door, log: &tail{}, exited: make(chan struct{}), readyLimit: l.readyLimit, stopLimit: l.stopLimit}
}

// fill replaces the marks in argv, such as {addr}. It makes the temporary directory if argv has the
// mark for it.
func (p *Process) fill(argv []string, admin string) ([]string, error) {
	host, port, _ := net.SplitHostPort(p.Addr) // no error: freePorts found it
	all := strings.Join(argv, " ")
	if strings.Contains(all, cmdline.AdminMark) {
		p.Admin = admin
	}
	if strings.Contains(all, cmdline.DirMark) {
		var err error
		if p.dir, err = os.MkdirTemp("", "schedlab-arm-"); err != nil {
			return nil, fmt.Errorf("making a directory for the server: %w", err)
		}
	}
	marks := strings.NewReplacer(cmdline.AddrMark, p.Addr, cmdline.HostMark, host, cmdline.PortMark, port, cmdline.AdminMark, admin, cmdline.DirMark, p.dir)
	words := slices.Clone(argv) // the arm's command is used again for the next trial
	for i, w := range words {
		words[i] = marks.Replace(w)
	}
	return words, nil
}

// ServerEnv returns this process's environment without the SCHEDLAB_ variables, which would configure a server
// without the plan's knowledge. The user sets the environment of an arm in its command.
func ServerEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SCHEDLAB_") })
}

// freePorts returns n loopback addresses, host:port, on which no program listens. They are below the ports that
// Linux and macOS give to whoever asks for any (from 32768 and 49152), so no client's connection takes one before
// the server does; another program that asks for it by number may, see Start. Each stays reserved until all are
// found, so that no two are equal.
func freePorts(n int) (addrs []string, err error) {
	const lowest, count, tries = 20_000, 12_000, 100
	for try := 0; len(addrs) < n; try++ {
		port := lowest + rand.IntN(count)
		if try >= tries {
			port = 0 // where all of these are taken, or forbidden, any port
		}
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil && port == 0 {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		if err != nil {
			continue
		}
		defer ln.Close()
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

// ready waits until GET path has a whole reply with a status below 500. It asks often, because the
// wait is part of every trial. A status of 500 or more means that the server runs but is not ready
// yet. The error tells the last thing that was seen, and the end of the server's log.
func (p *Process) ready(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.readyLimit, fmt.Errorf("no answer within %v", p.readyLimit))
	defer cancel()
	last := "nothing listens there"
	for {
		asked := time.Now()
		switch status, err := p.askOnce(ctx, path); {
		case err == nil && status < http.StatusInternalServerError:
			return nil
		// Waiting changes no certificate.
		case request.OfCertificate(err) != 0:
			return fmt.Errorf("the server on %s: %s", p.Addr, failure(err))
		case err == nil:
			last = fmt.Sprintf("GET %s is answered %d", path, status)
		// Nothing listens yet, as last already tells.
		case errors.Is(err, syscall.ECONNREFUSED):
		case time.Since(asked) > slowReply:
			last = "it does not reply"
		// An error after the deadline only tells that the time is over, so keep the one before.
		case ctx.Err() == nil:
			last = prose.FirstLine(err.Error())
		}
		select {
		case <-p.exited:
			return p.Died(atStart)
		case <-ctx.Done():
			return fmt.Errorf("the server on %s is not ready: %w: %s; its log ends with: %s", p.Addr, context.Cause(ctx), last, lastWords(string(p.Output())))
		case <-time.After(readyPoll):
		}
	}
}

// askOnce sends GET path on a new connection, reads the whole reply, and returns its status. It
// follows no redirect, and raises a doubt about one to https.
func (p *Process) askOnce(ctx context.Context, path string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.door.scheme()+p.Addr+path, nil)
	if err != nil {
		return 0, fmt.Errorf("asking %s%s: %w", p.Addr, path, err)
	}
	req.Host = p.door.Host
	client := &http.Client{
		Transport: p.door.once(), Timeout: p.readyLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the other server is not under test
	}
	reply, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	if to, err := reply.Location(); err == nil && request.Redirect(uint16(reply.StatusCode)) && to.Scheme == "https" && !p.door.TLS {
		p.Doubts = append(p.Doubts, movedToTLS.Of(moved{Path: path, Status: reply.StatusCode, To: to.String()}))
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, err
}

// Pid returns the server's process ID. It returns 0 if the server was already running and its
// process cannot be found.
func (p *Process) Pid() int {
	if p.cmd == nil {
		return p.Found
	}
	return p.cmd.Process.Pid
}

// Alive reports whether the server is not known to have ended. It is always true for a server that
// was already running. It may be called from any goroutine.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ShowsMetrics tells Scrape where the server's metrics are: at where, as the arm gives it, or on
// the admin side if where is "".
func (p *Process) ShowsMetrics(where string) {
	switch {
	case where != "":
		p.metrics = cmdline.MetricsAt(where, p.Addr, p.Admin)
		if strings.HasPrefix(where, "/") { // on the server itself
			p.metrics = p.door.scheme() + p.Addr + where
		}
	case p.Admin != "":
		p.metrics = "http://" + p.Admin + "/metrics"
	}
}

// Profiles returns the URL /debug/pprof/ on the host that serves the metrics, and for a server without metrics on the
// address that it serves; the server may have no profiles there. Nothing is sent to find out.
func (p *Process) Profiles() string {
	at, err := url.Parse(p.metrics)
	if err != nil || at.Host == "" {
		return p.door.scheme() + p.Addr + "/debug/pprof/"
	}
	return at.Scheme + "://" + at.Host + "/debug/pprof/"
}

// Scrape returns the text of the server's metrics, in OpenMetrics format if the server has it. It
// returns nil for a server without metrics. It waits 3 seconds and reads 4 MiB at most.
func (p *Process) Scrape(ctx context.Context) (text []byte, err error) {
	if p.metrics == "" {
		return nil, nil
	}
	const accept = "application/openmetrics-text; version=1.0.0; charset=utf-8, text/plain; version=0.0.4; q=0.5"
	err = p.Get(ctx, p.metrics, accept, stopLimit, func(reply *http.Response) error {
		// One byte more than allowed tells a page that is too long from one that just fits.
		if text, err = io.ReadAll(io.LimitReader(reply.Body, mostMetrics+1)); err == nil && len(text) > mostMetrics {
			err = fmt.Errorf("%s is longer than %d MiB", p.metrics, mostMetrics>>20)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

// General returns text with this trial's addresses replaced by their marks, so that it is the same
// in every trial.
func (p *Process) General(text string) string {
	text = strings.ReplaceAll(text, p.Addr, cmdline.AddrMark)
	if p.Admin != "" {
		text = strings.ReplaceAll(text, p.Admin, cmdline.AdminMark)
	}
	return text
}

// ErrNoPage is the error for a page that the server does not have.
var ErrNoPage = errors.New("no such page")

// Get requests a page of the server, calls read with the reply, and closes the reply's body. The error is read's, or
// names a status other than 200; with 404 it wraps ErrNoPage. Get takes no longer than limit in all. The
// connection is new and has no keep-alive, so that it does not stay open.
func (p *Process) Get(ctx context.Context, page, accept string, limit time.Duration, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if req.URL.Host == p.Addr {
		client.Transport, req.Host = p.door.once(), p.door.Host
	}
	reply, err := client.Do(req)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	switch reply.StatusCode {
	case http.StatusOK:
		return read(reply)
	case http.StatusNotFound:
		return fmt.Errorf("%s is answered 404: %w", page, ErrNoPage)
	}
	said, _ := io.ReadAll(io.LimitReader(reply.Body, 200))
	return fmt.Errorf("%s is answered %d, %q", page, reply.StatusCode, said)
}

// AwaitDeath waits up to a second for a server that may be dying to end. Its sockets close before
// its parent learns of its end, and Stop would otherwise take the crash for a drain.
func (p *Process) AwaitDeath() {
	select {
	case <-p.exited:
	case <-time.After(deathLimit):
	}
}

// LingeredError is the error for a server that did not end in time after SIGTERM and was killed.
// The windows measured on it still count.
type LingeredError struct{ limit time.Duration }

// Error tells how long the server had.
func (e *LingeredError) Error() string {
	return fmt.Sprintf("the server did not end within %v of SIGTERM and was killed", e.limit)
}

// Stop sends SIGTERM so that the server drains, and waits for its end. The error is a *[LingeredError] if the
// server had to be killed, and a *[DiedError] if it had ended before. Stop does nothing to a server that was
// already running. An exit status other than 0 after SIGTERM is no error, because many servers end so.
func (p *Process) Stop() error {
	if p.remote != nil {
		return p.remote.Stop()
	}
	if p.cmd == nil {
		return nil
	}
	// Its windows may have been measured on a dying server.
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

// Kill ends the server and its child processes, and removes its control group and temporary directory. It does
// nothing to a server that was already running.
func (p *Process) Kill() {
	if p.remote != nil {
		p.remote.Kill()
	}
	if p.cmd == nil {
		return
	}
	// The server is the leader of its process group, which may outlive it.
	_ = unix.Kill(-p.Pid(), unix.SIGKILL)
	<-p.exited
	host.Bury(p.Pid())
	_ = p.limit.Remove()    // empty: the next limit's making tries again
	_ = os.RemoveAll(p.dir) // a temporary directory: the system removes the rest
}

// Output returns a copy of the last 64 KiB that the server wrote to its standard output and error.
func (p *Process) Output() []byte {
	if p.remote != nil {
		return p.remote.Log()
	}
	return p.log.Bytes()
}

// A Launcher starts processes from one thread that is bound to the servers' CPUs, so that they
// inherit its affinity. The thread lives until Close. The kernel kills the processes when the
// thread ends, so none outlives this program. A Launcher is safe for concurrent use until Close.
//
// A process inherits the affinity of the thread that forks it, and the kernel's parent-death
// signal follows that thread, too (prctl(2), PR_SET_PDEATHSIG). A goroutine may move between
// threads, so the launcher keeps one thread for itself and runs every start on it.
type Launcher struct {
	// Elsewhere, if not nil, starts the servers on other machines; see [Remote].
	Elsewhere             func(ctx context.Context, argv []string) (*Remote, error)
	door                  Door
	jobs                  chan func()
	readyLimit, stopLimit time.Duration // how long a server may take until its first reply, and to end
}

// A Door is how a server is asked. The zero Door is HTTP/1.1 without TLS, by the server's address.
type Door struct {
	TLS  bool
	Host string          // name to ask for; "" for the address
	By   *http.Transport // what speaks to it; nil: HTTP/1.1 without TLS
}

// scheme returns how a URL of the server begins.
func (d Door) scheme() string {
	if d.TLS {
		return "https://"
	}
	return "http://"
}

// once returns a transport for one request, which leaves no connection open.
func (d Door) once() *http.Transport {
	t := &http.Transport{}
	if d.By != nil {
		t = d.By.Clone()
	}
	t.DisableKeepAlives = true
	return t
}

// Through returns the launcher for servers that are asked through a door. Only the original is closed.
func (l *Launcher) Through(d Door) *Launcher {
	with := *l
	with.door = d
	return &with
}

// NewLauncher returns a Launcher for the CPUs c.Server. It binds its thread only if c.Pin is set.
// The caller ends it with Close, also when nothing was started.
func NewLauncher(c host.Sides) (*Launcher, error) {
	l := &Launcher{jobs: make(chan func()), readyLimit: readyLimit, stopLimit: stopLimit}
	// A closed channel gives nil: the thread is ready.
	bound := make(chan error)
	go func() {
		// The thread is never unlocked: with its changed affinity it must not return to the pool.
		runtime.LockOSThread()
		if c.Pin {
			if err := host.BindThread(c.Server); err != nil {
				bound <- fmt.Errorf("pinning the server to CPUs %s: %w; use --cpus none", c.Server, err)
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

// Close ends the thread, and with it the servers that it started. Call it once.
func (l *Launcher) Close() { close(l.jobs) }

// A tail keeps the last logLimit bytes written to it. It is safe for concurrent use. A server that
// logs every request would otherwise fill the memory.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if extra := t.buf.Len() - logLimit; extra > 0 {
		t.buf.Next(extra)
	}
	return len(b), nil
}

// Bytes returns a copy of the bytes kept.
func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf.Bytes())
}

// Place notes in side the CPUs on which a server may run, if some are not among the plan's server
// CPUs: the server was not started here, or it set its own affinity. The CPU time that other
// programs took is then unknown (Foreign is -1).
func (p *Process) Place(c host.Sides, side *record.ServerSide) {
	// A server started without pinning may run everywhere by intention, which is no doubt.
	where := host.MayRun(p.Pid())
	if where == nil || len(where.Without(c.Server)) == 0 || !c.Pin && p.cmd != nil {
		return
	}
	side.CPUs, side.Foreign = where.String(), -1
	v := affinity{CPUs: where.Words(), Servers: c.Server.Words()}
	if p.cmd == nil {
		v.Attached = "yes"
	}
	// Name the CPUs that it shares with the load.
	if rest := where.Without(c.Load); len(rest) < len(where) {
		v.Shared = where.Without(rest).Words()
	}
	side.Doubts = append(side.Doubts, otherCPUs.Of(v))
}

// A Remote is a server that was started on another machine. It need not answer yet.
type Remote struct {
	Addr  string // host:port of the service
	Admin string // host:port of the admin side, "" without one
	// Stop lets the server drain and end. It returns an error if the server had already ended.
	Stop func() error
	Kill func()        // ends the server at once, if it is still there
	Log  func() []byte // the end of its output
}

// startElsewhere has the server started on another machine, and waits until it replies.
func (l *Launcher) startElsewhere(ctx context.Context, argv []string, path string) (*Process, error) {
	r, err := l.Elsewhere(ctx, argv)
	if err != nil {
		return nil, err
	}
	p := l.process(r.Addr)
	p.Admin, p.remote = r.Admin, r
	if err := p.ready(ctx, path); err != nil {
		r.Kill()
		return nil, err
	}
	p.ShowsMetrics("")
	return p, nil
}
