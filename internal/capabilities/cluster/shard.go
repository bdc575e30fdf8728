package cluster

import (
	"context"
	"crypto/subtle"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/workload"
)

// A job is a part of a load as it is sent to a shard.
type job struct {
	Options load.Options
	Think   string // of a closed loop
	Begin   int64  // the load's start, in the shard's clock: nanoseconds since 1970
}

// A shard is a Pod that sends parts of loads. It serves, on port 7070:
//
//	GET  /clock  its clock, as nanoseconds since 1970
//	POST /load   a job; the reply comes when the load is over, and is an answer
//
// The clock is text, a job and its answer are gob. A shard sends one load at a time. A caller needs the
// run's token, because a shard sends requests to any address.
type shard struct {
	token  string
	shared bool // it sleeps between requests instead of polling
	busy   sync.Mutex
}

// ServeShard serves as a shard at addr until ctx ends. rest is "spin", "wait", or "auto", which spins on a node with four CPUs or
// more.
func ServeShard(ctx context.Context, addr, token, rest string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := &shard{token: token, shared: rest == "wait" || rest != "spin" && runtime.NumCPU() < 4}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *shard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch asked := r.Method + " " + r.URL.Path; {
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) != 1:
		http.Error(w, "this shard belongs to another run: wrong token", http.StatusForbidden)
	case asked == "GET /clock":
		fmt.Fprint(w, time.Now().UnixNano())
	case asked == "POST /load":
		var j job
		if err := gob.NewDecoder(r.Body).Decode(&j); err != nil {
			http.Error(w, "reading the job: "+err.Error(), http.StatusBadRequest)
			return
		}
		if !s.busy.TryLock() {
			http.Error(w, "this shard already sends a load", http.StatusConflict)
			return
		}
		defer s.busy.Unlock()
		// An error of the connection is the collector's to see.
		_ = gob.NewEncoder(w).Encode(s.send(r.Context(), j))
	default:
		http.NotFound(w, r)
	}
}

// send sends a job's load when it is time.
func (s *shard) send(ctx context.Context, j job) *answer {
	o, a := j.Options, &answer{}
	if j.Think != "" {
		think, err := workload.ParseDist(j.Think)
		if err != nil {
			a.Error = err.Error()
			return a
		}
		o.Pause = func(rng *rand.Rand) time.Duration { return think.Sample(workload.NewRand(rng.Uint64())) }
	}
	o.Shared = s.shared
	o.Begin = time.Now().Add(time.Duration(j.Begin - time.Now().UnixNano()))
	window := o.Duration
	if n := len(o.Trace.At); !o.Closed() && n > 0 {
		window = max(o.Trace.At[n-1]-o.Warmup, time.Millisecond)
	}
	clocks := host.Watch(ctx, os.Getpid(), host.Sides{}, o.Warmup, window)
	o.Moments, o.Moment, o.Closing = clocks.Moments(), clocks.Moment, clocks.Closing
	o.Started = func(start time.Time) {
		a.Late = max(0, time.Since(start))
		clocks.Begin(start)
	}
	percent := debug.SetGCPercent(-1)
	var err error
	var open *load.Result
	if o.Closed() {
		a.Load, err = load.Closed(ctx, o)
	} else if open, err = load.Attack(ctx, o); open != nil {
		a.Load.Result = *open
	}
	debug.SetGCPercent(percent)
	if err != nil {
		a.Error = err.Error()
		clocks.End()
		return a
	}
	used := clocks.End()
	a.CPU, a.Steal, a.Throttled = used.Load, used.Steal, used.Throttled
	return a
}

// A remoteShard is a shard as the collector knows it.
type remoteShard struct {
	Index int
	Pod   string
	Node  string
	addr  string // host:port
	token string
	// offset is how far the shard's clock is ahead of this one. It is wrong by doubt at most, half of the
	// round trip.
	offset, doubt time.Duration
}

// clockTries is how often a shard is asked for its clock. The quickest reply counts.
const clockTries = 8

func (s *remoteShard) ask(ctx context.Context, client *http.Client, r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+s.token)
	reply, err := client.Do(r.WithContext(ctx))
	if err == nil && reply.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(reply.Body, 200)) // without it the status stands for it
		reply.Body.Close()
		err = fmt.Errorf("%s %s is answered %s: %s", r.Method, r.URL.Path, reply.Status, strings.TrimSpace(string(why)))
	}
	return reply, err
}

// setClock measures the offset of the shard's clock, as NTP does: the shard's time is taken for the
// middle of a request's way there and back.
func (s *remoteShard) setClock(ctx context.Context, client *http.Client) error {
	ctx, cancel := context.WithTimeout(ctx, clockLimit)
	defer cancel()
	s.doubt = time.Hour
	for range clockTries {
		r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+"/clock", nil)
		if err != nil {
			return err
		}
		// Opening the connection is no part of the way, which has to be as long there as back.
		var sent time.Time
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = time.Now() }}
		reply, err := s.ask(httptrace.WithClientTrace(ctx, trace), client, r)
		if err != nil {
			return err
		}
		var there int64
		_, err = fmt.Fscan(reply.Body, &there)
		reply.Body.Close()
		way := time.Since(sent)
		if err != nil {
			return fmt.Errorf("reading its clock: %w", err)
		}
		if way/2 < s.doubt {
			s.doubt, s.offset = way/2, time.Duration(there-sent.Add(way/2).UnixNano())
		}
	}
	return nil
}
