// Package model holds the scheduling models: how connections and requests are assigned to
// goroutines. Every model serves the same handlers, over the same sockets, with the same
// timeouts and the same counters; only the scheduling differs. The package keeps no metrics:
// it calls the functions that it is given.
package model

import (
	"log/slog"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// A Model serves connections under one scheduling discipline. Serve accepts
// from l until Accept returns [net.ErrClosed] and returns nil when every
// connection it took is closed and every goroutine it started has ended.
// Another error means that l failed. It is called once. Use [Serve] to run a
// model with a graceful drain.
type Model interface {
	Serve(l *Listener) error
	// Queue is the model's own queue, nil if it has none.
	Queue() dispatch.Queue
	// Requests counts what reached the model; safe at any time.
	Requests() RequestCounts
}

// A Config is what every model is given.
type Config struct {
	Handle  func(*workload.Exchange)                               // runs one request; called concurrently
	Observe func(r workload.Route, status int, took time.Duration) // called once per answered request; nil: not called
	Waited  func(time.Duration)                                    // called with each wait in the model's queue; nil: not called
	Lagged  func(time.Duration)                                    // called with the longest turn of an event loop in each 50 ms; nil: not called
	Worked  func(time.Duration)                                    // called now and then with the CPU time of an event loop since the last call, estimated; concurrently; nil: not called
	Limits
	dispatch.Settings               // of workers and their queue, where the mode has them
	Executor          dispatch.Kind // Ring, or the mode's own
	Reverse           bool          // loops serve the newest of a batch of ready connections first
	Wait              time.Duration // longest wait for a turn, where the mode bounds it; 0: none
	CloseAfter        int           // answers on one connection, the last of which says Connection: close; 0: no limit
	Silently          bool          // the last answer says nothing, and the connection closes once what was read by then is answered
	Log               *slog.Logger  // rare events only, never requests
}

// Limits bound the time and memory that a client can use, in every mode.
type Limits struct {
	HeaderTimeout time.Duration // for the whole head, from accept or from its first byte
	BodyTimeout   time.Duration // for the whole body, from the end of the head
	WriteTimeout  time.Duration // for the whole answer
	IdleTimeout   time.Duration // between two requests
	MaxHead       int           // bytes of a request head; more is answered 431
	MaxBody       int           // bytes of a request body; more is answered 413
}

// DefaultLimits are the values of every mode unless told otherwise.
func DefaultLimits() Limits {
	return Limits{
		HeaderTimeout: 5 * time.Second,
		BodyTimeout:   10 * time.Second,
		WriteTimeout:  15 * time.Second,
		IdleTimeout:   30 * time.Second,
		MaxHead:       16 << 10,
		MaxBody:       1 << 20,
	}
}

// serverName is the Server header of every mode.
const serverName = "schedlab"

// retryAfter is what a refusal asks its client to wait, in seconds.
const retryAfter = "1"
