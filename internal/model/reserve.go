package model

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// A Reservation holds an address without listening on it, for other processes of
// this user to listen on ([Socket.Shared]) and for nobody else. It gets no
// connections. It is closed with Close.
type Reservation struct {
	ln      *net.TCPListener
	addr    net.Addr
	backlog int
}

// Reserve takes the address, after it has checked that nobody else has it, and finds out what
// length of accept queue the kernel allows.
func (s Socket) Reserve(ctx context.Context) (*Reservation, error) {
	return onFreePort(s.Addr, func() (*Reservation, error) { return s.reserve(ctx) })
}

// portChoices is how often the kernel is asked for a port that stays free.
const portChoices = 10

// onFreePort tries again when the kernel was to choose the port and another process took it
// before it was listened on.
func onFreePort[T any](addr string, try func() (T, error)) (got T, err error) {
	for range portChoices {
		got, err = try()
		if _, port, bad := net.SplitHostPort(addr); bad != nil || port != "0" || !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return got, err
}

func (s Socket) reserve(ctx context.Context) (*Reservation, error) {
	addr, err := s.probe(ctx)
	if err != nil {
		return nil, err
	}
	s.Addr, s.Shared, s.Sockets = addr, true, 1
	l, err := s.Listen(ctx, nil)
	if err != nil {
		return nil, err
	}
	r := &Reservation{ln: l.sockets[0].tcp, addr: l.Addr(), backlog: l.Backlog()}
	// A listening socket that is shut down listens no more, but keeps an address that
	// was asked for by its port (tcp_disconnect in net/ipv4/tcp.c, SOCK_BINDPORT_LOCK).
	if err := control(r.ln, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RD) }); err != nil {
		return nil, errors.Join(fmt.Errorf("reserving %s: %w", addr, err), l.Close())
	}
	return r, nil
}

// probe returns the address with its port when nobody listens on it. A socket with
// SO_REUSEPORT shares its address with any other such socket of this user: only one without
// it finds out that the address is taken.
func (s Socket) probe(ctx context.Context) (addr string, err error) {
	free, err := s.listen(ctx, false)
	if err != nil {
		return "", err
	}
	defer free.Close()
	return free.Addr().String(), nil
}

// Addr is the address held, with the port the kernel chose.
func (r *Reservation) Addr() net.Addr { return r.addr }

// Backlog is the length the accept queue of a socket on the address will have.
func (r *Reservation) Backlog() int { return r.backlog }

// Close gives the address up.
func (r *Reservation) Close() error { return r.ln.Close() }
