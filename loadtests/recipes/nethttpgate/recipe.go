// Package nethttpgate serves with net/http, at most a number of connections at a time. The others wait in
// the kernel, and their clients see a connection that nobody answers.
//
// It wins where net/http does, when what connections hold (memory, a database) must be bounded. It
// starves keep-alive clients beyond the places until the idle timeout frees one: so IdleTimeout is
// short, and there should be as many places as kept connections.
package nethttpgate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Accepted counts the connections that were accepted. The ones that are not Done are open. Publish both,
// with expvar or your metrics.
var Accepted atomic.Int64

// Done counts the connections that have ended.
var Done atomic.Int64

// drainTime is how long requests under way may take to end once ctx has ended.
const drainTime = 10 * time.Second

// ListenAndServe serves h on addr, places connections at a time, until ctx ends. It then lets requests
// under way end and returns nil, or an error if some of them took longer than drainTime.
func ListenAndServe(ctx context.Context, addr string, h http.Handler, places int) error {
	if places < 1 {
		return fmt.Errorf("%d places; give 1 or more", places)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	g := gate{ln, make(chan struct{}, places), make(chan struct{})}
	var running sync.WaitGroup // the acceptor and the connections
	server := &http.Server{
		Handler:           http.MaxBytesHandler(h, 1<<20),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second, // from the end of the head, so the handler's time is in it
		IdleTimeout:       5 * time.Second,  // a place that an idle client keeps from others
		MaxHeaderBytes:    8 << 10,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				Accepted.Add(1)
				running.Add(1)
			case http.StateClosed, http.StateHijacked:
				Done.Add(1)
				running.Done()
				<-g.places
			}
		},
	}
	failed := make(chan error, 1)
	running.Go(func() { failed <- server.Serve(g) })
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	return errors.Join(err, drain(server, &running))
}

// A gate accepts a connection when a place is free.
type gate struct {
	net.Listener
	places, closed chan struct{}
}

func (g gate) Accept() (net.Conn, error) {
	select {
	case g.places <- struct{}{}:
	case <-g.closed:
		return nil, net.ErrClosed
	}
	c, err := g.Listener.Accept()
	if err != nil {
		<-g.places
	}
	return c, err
}

// Close is called once, by net/http.
func (g gate) Close() error {
	close(g.closed)
	return g.Listener.Close()
}

// drain stops accepting, ends idle connections, and waits for the others.
func drain(server *http.Server, running *sync.WaitGroup) error {
	limit, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.Shutdown(limit)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	ended := make(chan struct{})
	go func() {
		running.Wait() // Shutdown does not wait for the goroutines of the connections that it closed
		close(ended)
	}()
	select {
	case <-ended:
		return err
	case <-limit.Done():
		return errors.New("requests were still under way when drainTime had passed")
	}
}
