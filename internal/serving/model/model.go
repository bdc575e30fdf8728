// Package model holds the scheduling models: how connections and requests are assigned to
// goroutines. Every model serves the same handlers, over the same sockets, with the same
// timeouts and the same counters; only the scheduling differs. The package keeps no metrics:
// it calls the functions that it is given.
//
// A [Listener] accepts a connection, counts it and gives it to the model. The model
// reads requests with an HTTP library, and passes each to requests.serve, which runs the handler,
// at once or by way of a queue. A drain closes the connections that the model still has. The files:
//
//	model.go        Model, and the settings of all models
//	modes.go        every mode with the constructor of its model
//	listener.go     sockets, accepting, the cap on connections
//	secure.go       TLS within a connection
//	conn.go         a connection, how it ends, and the counts of all
//	drain.go        the end of a server
//	requests.go     one request, from the HTTP library to the handler and back
//	stamps.go       the timeline of a connection's requests
//	nethttp.go      net/http, the gate before it, and what net/http overlooks
//	fasthttp.go     fasthttp, and what fasthttp overlooks
//	goroutine.go    a goroutine for each connection; handlers there or on workers
//	pool.go         fixed workers for connections and bursts
//	*loop_linux.go  event loops; loopconn_linux.go is a connection of one
//	kernel_*.go     what only Linux can tell or do
package model

import (
	"log"
	"log/slog"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/workload"
)

// A Model serves connections under one scheduling discipline. Its method Serve accepts from l
// until Accept returns [net.ErrClosed]. It returns nil when every connection that it accepted
// is closed and every goroutine that it started has ended. Another error means that l failed.
// It is called once. Use the function [Serve] to run a model with a graceful drain.
type Model interface {
	Serve(l *Listener) error
	// Queue returns the model's own queue, nil if it has none.
	Queue() dispatch.Queue
	// Requests returns the counts of requests so far. It is safe for concurrent use.
	Requests() RequestCounts
}

// A Config holds the settings and the callbacks of a model.
//
// Handle and Log are required. The settings that a mode does not have are ignored. The callbacks
// may be called by several goroutines at a time. Only Handle may block. A tag names the flag of serve
// that sets a field.
type Config struct {
	Handle  func(*workload.Exchange)                               // runs one request; called concurrently
	Observe func(r workload.Route, status int, took time.Duration) // called once per answered request; nil: not called
	Waited  func(time.Duration)                                    // called with each wait in the model's queue; nil: not called
	Lagged  func(time.Duration)                                    // called with the longest turn of an event loop in each 50 ms; nil: not called
	Worked  func(time.Duration)                                    // called now and then, concurrently, with the estimated CPU time of an event loop since the last call; nil: not called
	Limits
	dispatch.Settings              // settings of the workers and their queue, if the mode has them
	MaxConns          int          `flag:"max-conns"`      // largest number of open connections
	Batch             string       `flag:"batch"`          // order in which a loop serves connections that are ready together: NewestFirst, or in order
	CloseAfter        int          `flag:"close-after"`    // number of answers on one connection, the last with Connection: close; 0: no limit
	Silently          bool         `flag:"close-silently"` // the last answer does not announce the close, which comes once all bytes read are answered
	HTTP2             bool         // speak HTTP/2 as well, where the mode can: net/http's, over TLS
	Log               *slog.Logger // rare events only, never requests
}

// NewestFirst is the Batch of a loop that serves the newest connection first.
const NewestFirst = "newest-first"

// Limits bound the time and memory that a client can use, in every mode.
//
// Every limit must be above 0. A stack enforces a time limit as it can: an event loop notices its
// deadlines up to 50 ms late.
type Limits struct {
	HeaderTimeout time.Duration `flag:"header-timeout"` // for the whole head, from accept or from its first byte
	BodyTimeout   time.Duration `flag:"body-timeout"`   // for the whole body, from the end of the head
	WriteTimeout  time.Duration `flag:"write-timeout"`  // for the whole answer
	IdleTimeout   time.Duration `flag:"idle-timeout"`   // between two requests
	MaxHead       int           `flag:"max-head"`       // bytes of a request head; more is answered 431
	MaxBody       int           `flag:"max-body"`       // bytes of a request body; more is answered 413
}

// DefaultLimits returns the limits that every mode has by default. WriteTimeout is above the
// longest sleep of /work, because net/http's runs while the handler does.
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

// DebugLog returns a logger for the messages of an HTTP library about broken clients, at level debug.
// They are seldom of use, and clients must not be able to fill a disk with them.
func DebugLog(to *slog.Logger) *log.Logger { return slog.NewLogLogger(to.Handler(), slog.LevelDebug) }

// serverName is the value of the Server header in every mode.
const serverName = "schedlab"

// retryAfter is the wait, in seconds, that a refusal asks of its client.
const retryAfter = "1"
