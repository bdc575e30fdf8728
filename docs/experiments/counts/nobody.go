package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/host"
	"schedlab/internal/shared/workload"
)

// A nobodyRecord is nobody.json.
type nobodyRecord struct {
	Origin origin
	Cells  []nobodyCell
	Costs  []costCell
}

// A nobodyCell is a service that asks another, which hangs once in each round.
type nobodyCell struct {
	Server, Way, Clients, Method string
	Flags                        string `json:"-"` // of loadtests/arms/caller
	Rounds                       []nobodyRound
}

// A nobodyRound is what came of a round's requests: Taken were answered with 200, Refused with another status, Left have
// a client that gave up, and Lost have no answer for another reason.
type nobodyRound struct {
	Seed                                 uint64
	Requests, Taken, Refused, Left, Lost int
	Worked                               int     // requests that the service did its work for
	CPU                                  float64 // CPU time of the service, in seconds
	Goroutines                           int     // most
	P99                                  float64 // seconds until a request was answered, with whatever status, or its client left
	Normal                               float64 // seconds from the end of the stall until response times were normal again
	Never                                bool    // they were not, and Normal is the time that was measured
}

// nobody returns how many requests the service worked for without a client that took the answer.
func (r nobodyRound) nobody() int { return r.Worked - r.Taken }

// A costCell is a service that asks nobody and does no work, so that all of its CPU time is the library's.
type costCell struct {
	Server, Way string
	Flags       string `json:"-"` // of loadtests/arms/caller
	Taken       []cost
}

// A cost is what one request takes.
type cost struct {
	CPU            float64 // seconds
	Bytes, Objects float64 // allocated
}

// A round is a calm time, then the stall of the service that is asked, then the time after it.
const (
	nobodyRate  = 300 // requests a second, at random times (Poisson)
	calmTime    = 400 * time.Millisecond
	stallTime   = 2 * time.Second
	afterTime   = 2600 * time.Millisecond
	roundTime   = calmTime + stallTime + afterTime
	askedTime   = 2 * time.Millisecond // of the service that is asked, for an answer while it does not hang
	workTime    = time.Millisecond     // CPU time of a request's work
	patience    = 500 * time.Millisecond
	serverLimit = 400 * time.Millisecond // of deadlines and TimeoutHandlers
)

const (
	costRequests, costClients = 10_000, 16
	costsOfRound              = 2 // of each cell
)

// What clients do when an answer takes long.
const (
	clientsLeave = "leave after 500 ms"
	clientsStay  = "stay"
)

// Two ways of a service against a call that takes long, which have costs as well.
const (
	doNothing = "nothing"
	timeout   = "TimeoutHandler"
)

// nobodyCells returns all cells. A deadline is of the call of the other service; passed on is the request's own context, to
// that call; checked is a second look at the context, before the work.
func nobodyCells() []nobodyCell {
	const get, post = http.MethodGet, http.MethodPost
	return []nobodyCell{
		{standard, doNothing, clientsStay, get, "", nil},
		{standard, doNothing, clientsLeave, get, "", nil},
		{standard, "context passed on", clientsLeave, get, "-passed", nil},
		{standard, "context passed on, body unread", clientsLeave, post, "-passed", nil},
		{standard, "deadline", clientsLeave, get, "-deadline", nil},
		{standard, "context passed on with a deadline, checked", clientsLeave, get, "-passed -deadline -checked", nil},
		{standard, timeout, clientsLeave, get, "-timeouthandler", nil},
		{standard, "TimeoutHandler, context passed on", clientsLeave, get, "-timeouthandler -passed", nil},
		{fasthttp, doNothing, clientsLeave, get, "", nil},
		{fasthttp, "context passed on", clientsLeave, get, "-passed", nil},
		{fasthttp, "deadline", clientsLeave, get, "-deadline", nil},
		{fasthttp, "deadline, checked", clientsLeave, get, "-deadline -checked", nil},
		{fasthttp, timeout, clientsLeave, get, "-timeouthandler", nil},
	}
}

// costCells returns the cells that tell what a TimeoutHandler costs.
func costCells() []costCell {
	return []costCell{
		{standard, doNothing, "", nil}, {standard, timeout, "-timeouthandler", nil},
		{fasthttp, doNothing, "", nil}, {fasthttp, timeout, "-timeouthandler", nil},
	}
}

// startCaller starts loadtests/arms/caller with these flags on the server's CPUs. Go takes GOMAXPROCS from their number.
func startCaller(ctx context.Context, sides host.Sides, library, flags string) (*server, error) {
	return start(ctx, fmt.Sprintf("taskset -c %s bin/arms/caller -listen {addr} -admin {admin} -server %s -limit %v %s",
		sides.Server, strings.ReplaceAll(library, "/", ""), serverLimit, flags))
}

// measureNobody measures all cells once a round, each in a fresh process and in an order of the round's own, and writes the
// record after each round. Rounds have the two seeds by turns.
func measureNobody(ctx context.Context, rounds int, out io.Writer) error {
	from, err := newOrigin(ctx)
	if err != nil {
		return err
	}
	sides, err := twoSides()
	if err != nil {
		return err
	}
	undo, err := sides.BindLoad()
	defer undo()
	if err != nil {
		return err
	}
	r := nobodyRecord{Origin: from, Cells: nobodyCells(), Costs: costCells()}
	iters := workload.Calibrate() // once, so that a request's work is the same everywhere
	for round := range rounds {
		seed := uint64(round%2) + 1
		type job struct {
			server, way string
			measure     func() error
		}
		var jobs []job
		for i := range r.Cells {
			c := &r.Cells[i]
			jobs = append(jobs, job{c.Server, c.Way, func() error { return c.measure(ctx, sides, iters, seed, round, out) }})
		}
		for range costsOfRound {
			for i := range r.Costs {
				c := &r.Costs[i]
				jobs = append(jobs, job{c.Server, c.Way, func() error { return c.measure(ctx, sides, out) }})
			}
		}
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		for _, job := range jobs {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := job.measure(); err != nil {
				return fmt.Errorf("%s, %s: %w", job.server, job.way, err)
			}
		}
		if err := save("nobody.json", r); err != nil {
			return err
		}
		fmt.Fprintln(out, round+1, "rounds")
	}
	return nil
}

// measure adds a round: a fresh service, the load, and what came of it when the last handler has ended.
func (c *nobodyCell) measure(ctx context.Context, sides host.Sides, iters float64, seed uint64, round int, out io.Writer) (err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close() // again, where it is served
	s, err := startCaller(ctx, sides, c.Server, fmt.Sprintf("%s -work %v -iters %g -downstream %s", c.Flags, workTime, iters, l.Addr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.kill()) }()
	before, err := s.counts(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	stop := serveStall(l, began.Add(calmTime), began.Add(calmTime+stallTime))
	due := arrivals.Process{}.Times(nobodyRate, roundTime, rand.New(rand.NewPCG(seed, uint64(round))))
	replies := c.load(ctx, s.addr, began, due)
	after, err := s.idle(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	if lost := slices.IndexFunc(replies, func(r reply) bool { return r.how == lostAnswer }); lost >= 0 {
		fmt.Fprintf(out, "%s, %s: the first lost request: %v\n", c.Server, c.Way, replies[lost].err)
	}
	got := reduce(replies)
	got.Seed, got.Worked, got.Goroutines, got.CPU = seed, after.Worked-before.Worked, after.Goroutines, after.cpu-before.cpu
	if tooMany := got.Requests/100 + 1; got.Lost > tooMany {
		return fmt.Errorf("%d of %d requests lost, at most %d may be", got.Lost, got.Requests, tooMany)
	}
	c.Rounds = append(c.Rounds, got)
	fmt.Fprintf(out, "%s, %s, clients %s: %+v\n", c.Server, c.Way, c.Clients, got)
	return nil
}

// measure adds a cost: a fresh service, and requests in a closed loop.
func (c *costCell) measure(ctx context.Context, sides host.Sides, out io.Writer) (err error) {
	s, err := startCaller(ctx, sides, c.Server, c.Flags+" -work 0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.kill()) }()
	clients := make([]*raw, costClients)
	for i := range clients {
		clients[i] = newRaw(s.addr, http.MethodGet, "/")
		defer clients[i].close()
	}
	if err := sendAll(clients, costRequests/10); err != nil { // its first requests fill pools
		return err
	}
	before, err := s.counts(ctx)
	if err != nil {
		return err
	}
	if err := sendAll(clients, costRequests); err != nil {
		return err
	}
	after, err := s.counts(ctx)
	if err != nil {
		return err
	}
	n := float64(after.Worked - before.Worked)
	got := cost{(after.cpu - before.cpu) / n, float64(after.Bytes-before.Bytes) / n, float64(after.Objects-before.Objects) / n}
	c.Taken = append(c.Taken, got)
	fmt.Fprintf(out, "cost of %s, %s: %.1f µs, %.0f bytes, %.1f objects\n", c.Server, c.Way, 1e6*got.CPU, got.Bytes, got.Objects)
	return nil
}

// sendAll sends n requests, each client its part one after the other.
func sendAll(clients []*raw, n int) error {
	var all sync.WaitGroup
	failed := make([]error, len(clients))
	for i, c := range clients {
		all.Go(func() {
			for range n / len(clients) {
				if failed[i] = c.send(); failed[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// callerCounts are what loadtests/arms/caller has at /counts, and its CPU time.
type callerCounts struct {
	Running, Worked, Goroutines int
	Bytes, Objects              uint64
	cpu                         float64 // CPU time of the process, in seconds
}

func (s *server) counts(ctx context.Context) (c callerCounts, err error) {
	text, err := s.fetch(ctx, "/counts")
	if err != nil {
		return c, err
	}
	if c.cpu = host.ProcessCPU(s.cmd.Process.Pid); c.cpu < 0 {
		return c, errors.New("the CPU time of the service is not known")
	}
	return c, json.Unmarshal([]byte(text), &c)
}

// idle returns the counts of a caller when none of its handlers runs any more.
func (s *server) idle(ctx context.Context) (callerCounts, error) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := s.counts(ctx)
		if err != nil || c.Running == 0 {
			return c, err
		}
		if time.Since(began) > stopLimit {
			return c, fmt.Errorf("%d handlers still run after %v", c.Running, stopLimit)
		}
	}
}
