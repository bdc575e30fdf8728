package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"

	"schedlab/internal/measuring/host"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/request"
)

// Attach returns the server that is already running at address. It sends one GET of path and looks
// for the server's process. It starts, stops and pins nothing.
//
// An attached server is the user's. Stop and Kill leave it alone, and it keeps its state from one trial to the
// next. Without its process, CPU time, memory and CPUs are unknown, which becomes a doubt and not an error. An
// error tells the user what to do: most often the server is not running.
func (l *Launcher) Attach(ctx context.Context, address, path string) (*Process, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the server at %s: %w", address, err)
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	p := l.process(net.JoinHostPort(u.Hostname(), port))
	ctx, cancel := context.WithTimeoutCause(ctx, p.readyLimit, fmt.Errorf("no answer within %v", p.readyLimit))
	defer cancel()
	switch status, err := p.askOnce(ctx, path); {
	// The context's cause names the time limit, or the user's interrupt.
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("the server at %s does not answer GET %s: %w", address, path, context.Cause(ctx))
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("the server at %s does not answer GET %s: %s; start it first, or give its command instead", address, path, prose.FirstLine(err.Error()))
	case request.OfCertificate(err) != 0:
		return nil, fmt.Errorf("the server at %s does not answer GET %s: %s", address, path, failure(err))
	case err != nil:
		return nil, fmt.Errorf("the server at %s does not answer GET %s: %s; try it with curl first", address, path, failure(err))
	case status >= http.StatusInternalServerError:
		return nil, fmt.Errorf("the server at %s answers GET %s with %d", address, path, status)
	}
	if p.Found = Listener(ctx, u.Hostname(), port); p.Found == 0 {
		p.Doubts = append(p.Doubts, noListenerFound.Of(listener{p.Addr}))
	}
	return p, nil
}

// failure tells why a server that listens gave no reply.
func failure(err error) string {
	text := prose.FirstLine(err.Error())
	if end := request.OfCertificate(err); end != 0 {
		return fmt.Sprintf("%s%s (%s)", end.Means(), mends[end], text)
	}
	for cause, out := range map[error]request.End{
		syscall.ECONNRESET: request.Reset, io.EOF: request.Closed, io.ErrUnexpectedEOF: request.Short,
	} {
		if errors.Is(err, cause) {
			return fmt.Sprintf("%s (%s)", out.Means(), text)
		}
	}
	return text
}

// mends is how to mend what client and server do not agree on, in the settings of an arm.
var mends = map[request.End]string{
	request.Untrusted:    "; tls=insecure before its URL or command takes any, and tls=FILE those that FILE has",
	request.Expired:      "; tls=insecure before its URL or command takes any",
	request.OtherHost:    "; host=NAME before its URL or command asks for that NAME, and tls=insecure takes any certificate",
	request.NoHTTP2:      "; leave out http=2",
	request.NoClientCert: "; give one with cert=FILE and key=FILE before its URL or command",
}

// Listener returns the pid of the process that listens at name:port on this machine. If a process
// and its descendants share the socket, it returns the topmost. It returns 0 when there is no such
// process, when unrelated ones listen there, or when the process is hidden from this one. It looks
// on loopback addresses only, because any other address may be another machine's.
func Listener(ctx context.Context, name, port string) int {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return 0
	}
	var pids []int
	for _, a := range addrs {
		if a = a.Unmap(); !a.IsLoopback() {
			return 0
		}
		pids = append(pids, host.Listening(netip.AddrPortFrom(a, uint16(number)), nil)...)
	}
	// A name may have an IPv4 and an IPv6 address with one process behind both.
	slices.Sort(pids)
	return eldest(slices.Compact(pids))
}

// eldest returns the process of pids from which all others descend, 0 when there is none.
// An init (pid 1) that opened the socket for its service does not count.
func eldest(pids []int) int {
	if len(pids) > 1 {
		pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == 1 })
	}
	for _, pid := range pids {
		family := host.Family(pid)
		if !slices.ContainsFunc(pids, func(other int) bool { return !slices.Contains(family, other) }) {
			return pid
		}
	}
	return 0
}

// A listener is where a server was found, host:port.
type listener struct{ Addr string }

// A moved tells where a server sends the clients that ask it for a path without TLS.
type moved struct {
	Path   string
	Status int
	To     string
}

// An affinity tells on which CPUs a server may run, and on which servers should.
type affinity struct {
	CPUs, Servers string
	Attached      string `json:"attached,omitempty"` // "yes" of a server that was not started here
	Shared        string `json:"shared,omitempty"`   // CPUs that it shares with the load
}

// Doubts about a server, the load or the machine.
var (
	noListenerFound = fact.New[listener]("no-listener-found", 0, `CPU time, memory and CPUs are not known: no process that listens on {{.Addr}} can be found (it is another user's, in another network namespace, or on another machine)`)
	movedToTLS      = fact.New[moved]("moved-to-tls", 0, `GET {{.Path}} is answered with a redirect (status {{count .Status}}) to {{.To}}, which clients do not follow: give the arm as https://HOST:PORT, or tls= before its command`)
	otherCPUs       = fact.New[affinity]("other-cpus", 0, `may run on {{.CPUs}}, not on the servers' {{.Servers}} alone: it {{if .Attached}}was not started here{{else}}set its own affinity{{end}}`+
		`{{with .Shared}}; it shares {{.}} with the load, and they disturb each other{{end}}`)
)
