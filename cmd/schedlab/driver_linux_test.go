package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// A driver is a closed loop that never sleeps: while a server is faster or
// slower, the driver is always running, so no answer pays for waking it (and the
// server is not flattered by pauses). It speaks raw system calls on one thread,
// about 5 µs a request, and checks no more of an answer than its length: dial
// compares the whole of the first one.
type driver struct {
	traffic
	addr    unix.SockaddrInet4
	request []byte // what is sent at a time: depth requests
	reply   int    // bytes of the answers to it
	epoll   int
	all     []*driven
	byFD    []*driven
	buf     []byte
	polls   int // looks for events
	idle    int // of those, that found none: the server is what is waited for
}

// Traffic is what a driver does to a server.
type traffic struct {
	conns int  // open at a time
	depth int  // requests sent together on each, whose answers are awaited together
	fresh bool // a connection for every request, which the server closes; depth is 1
}

// driven is one connection and what is still to come of its answers.
type driven struct{ fd, left int }

// localAddrs is how many addresses of the loopback network the connections come
// from, so that no port is wanted twice.
const localAddrs = 16

// dial opens the connections and asks on each once. It returns the first
// answer, its Date removed.
func dial(addr string, t traffic) (d *driver, answer string, err error) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, "", err
	}
	header := ""
	if t.fresh {
		header = "Connection: close\r\n"
	}
	one := []byte("GET /plaintext HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")
	d = &driver{traffic: t, request: one, buf: make([]byte, 64<<10),
		addr: unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}}
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, "", err
	}
	for i := range t.conns {
		c := &driven{fd: -1}
		d.all = append(d.all, c)
		if err = d.connect(c, i); err == nil {
			answer, err = d.first(c)
		}
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("opening connection %d of %d: %w", i+1, t.conns, err), d.close())
		}
	}
	d.request = bytes.Repeat(one, t.depth)
	d.reply *= t.depth
	return d, answer, nil
}

// connect opens c's socket, from the i-th address.
func (d *driver) connect(c *driven, i int) (err error) {
	if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if d.conns > 1000 { // the port only when it is known where to
		from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(1 + i%localAddrs)}}
		err = errors.Join(unix.SetsockoptInt(c.fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1), unix.Bind(c.fd, from))
	}
	if err = errors.Join(err, unix.Connect(c.fd, &d.addr)); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	for c.fd >= len(d.byFD) {
		d.byFD = append(d.byFD, make([]*driven, len(d.byFD)+64)...)
	}
	d.byFD[c.fd] = c
	if d.fresh {
		// Once the server has closed, closing resets: no port waits for a minute.
		err = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	} else {
		err = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return errors.Join(err,
		unix.EpollCtl(d.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}))
}

// first asks on c and looks at all of the answer.
func (d *driver) first(c *driven) (string, error) {
	if _, err := unix.Write(c.fd, d.request); err != nil {
		return "", err
	}
	n, err := unix.Read(c.fd, d.buf)
	if err != nil {
		return "", err
	}
	d.reply = n
	reply, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(d.buf[:n])), nil)
	if err != nil {
		return "", fmt.Errorf("parsing %q: %w", d.buf[:n], err)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		return "", fmt.Errorf("answered %q: %v", d.buf[:n], err)
	}
	if d.fresh {
		if n, err := unix.Read(c.fd, d.buf); n != 0 || err != nil {
			return "", fmt.Errorf("reading past the last answer: got %d bytes, %v, want the end", n, err)
		}
		err = d.hangUp(c)
	}
	reply.Header.Del("Date")
	return fmt.Sprint(reply.Proto, reply.Header, string(body)), err
}

// run drives every connection for a time and returns the answers. It leaves
// nothing in flight. The caller has pinned its thread.
func (d *driver) run(length time.Duration) (answers int, err error) {
	d.polls, d.idle = 0, 0
	for i, c := range d.all {
		if err := d.ask(c, i); err != nil {
			return 0, err
		}
	}
	var events [512]unix.EpollEvent
	end := time.Now().Add(length)
	for inFlight := len(d.all); inFlight > 0; {
		n, err := unix.EpollWait(d.epoll, events[:], 0)
		if err != nil && err != unix.EINTR {
			return answers, err
		}
		d.polls++
		if n <= 0 {
			d.idle++
		}
		more := time.Now().Before(end)
		for _, e := range events[:max(n, 0)] {
			c := d.byFD[e.Fd]
			done, err := d.take(c)
			if err != nil {
				return answers, err
			}
			if !done {
				continue
			}
			answers += d.depth
			if !more {
				inFlight--
			} else if err := d.ask(c, answers); err != nil {
				return answers, err
			}
		}
		if n <= 0 && time.Now().After(end.Add(answerLimit)) {
			return answers, fmt.Errorf("%d connections have no answer %v after the end", inFlight, answerLimit)
		}
	}
	return answers, nil
}

// answerLimit is how long a server may take to finish what is in flight.
const answerLimit = 10 * time.Second

// take reads what has come on c and reports whether that was the last of it.
func (d *driver) take(c *driven) (done bool, err error) {
	n, err := unix.Read(c.fd, d.buf)
	if d.fresh && c.left == 0 && n == 0 && err == nil {
		return true, d.hangUp(c)
	}
	if err != nil || n == 0 || n > c.left {
		return false, fmt.Errorf("reading the last %d bytes of an answer: got %d, %v", c.left, n, err)
	}
	c.left -= n
	return c.left == 0 && !d.fresh, nil
}

func (d *driver) hangUp(c *driven) error {
	fd := c.fd
	c.fd = -1
	return unix.Close(fd)
}

// ask sends the next requests on c, the i-th of all.
func (d *driver) ask(c *driven, i int) error {
	if d.fresh {
		if err := d.connect(c, i); err != nil {
			return err
		}
	}
	c.left = d.reply
	if n, err := unix.Write(c.fd, d.request); n != len(d.request) {
		return fmt.Errorf("sending a request: %d bytes, %v", n, err)
	}
	return nil
}

func (d *driver) close() error {
	var errs []error
	for _, c := range d.all {
		if c.fd >= 0 {
			errs = append(errs, unix.Close(c.fd))
		}
	}
	return errors.Join(append(errs, unix.Close(d.epoll))...)
}
