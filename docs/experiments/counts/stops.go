package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"schedlab/internal/shared/stats"
)

// A stopsRecord is shutdown.json.
type stopsRecord struct {
	Origin origin
	Cells  []stopsCell
}

// A stopsCell is a server with a way to stop.
type stopsCell struct {
	Server, Way, Client string
	Seeds               []stops
}

// stops are what came of the stops with one seed.
type stops struct {
	Seed      uint64
	Stops     int
	GET, POST sum
}

// A sum has requests by their outcome, from the first to the last of each stop.
type sum struct {
	Answered  int
	Kept, New losses // on connections that had answered before, and on those that had not
}

// Losses are lost requests, and the stops that lost one.
type losses struct {
	Stops int
	Seen  map[string]int // by what the client saw
}

func (l losses) requests() (n int) {
	for _, k := range l.Seen {
		n += k
	}
	return n
}

func (l *losses) count(seen map[string]int) {
	for how, n := range seen {
		if l.Seen == nil {
			l.Seen = map[string]int{}
		}
		l.Seen[how] += n
	}
}

// How the clients send: by themselves on a connection each, or by Go's http.Transport, which sends again what it may.
const (
	rawClient  = "raw"
	goClient   = "Go"
	goHTTP2    = "Go, HTTP/2"
	clients    = 64
	meanThink  = 20 * time.Millisecond
	bodyLength = 4 << 10
)

// A stoppable is a server's command, the targets of GET and POST, and the signal that ends it.
type stoppable struct {
	command, get, post string
	signal             syscall.Signal
}

const (
	exitAtOnce    = "exit"
	shutdownAlone = "Shutdown"
)

// stopCells returns all cells.
func stopCells() (cells []stopsCell) {
	add := func(server, client string, ways ...string) {
		for _, way := range ways {
			cells = append(cells, stopsCell{Server: server, Way: way, Client: client, Seeds: []stops{{Seed: 1}, {Seed: 2}}})
		}
	}
	add("net/http", rawClient, exitAtOnce, shutdownAlone, "keep-alives off, 250 ms, Shutdown", "250 ms, Shutdown", "close in answers for 250 ms, Shutdown")
	add("fasthttp", rawClient, exitAtOnce, shutdownAlone, "250 ms, Shutdown", "close in answers for 250 ms, Shutdown")
	add("loop", rawClient, exitAtOnce, "its drain, grace 1 ms", "its drain, grace 250 ms")
	for _, recipe := range []string{"nethttp", "fasthttp", "pool"} {
		add("recipe "+recipe, rawClient, "its drain, grace 250 ms")
	}
	add("net/http", goClient, exitAtOnce, shutdownAlone, "close in answers for 250 ms, Shutdown")
	add("net/http", goHTTP2, exitAtOnce, shutdownAlone)
	return cells
}

// plainWays are the ways to stop of loadtests/arms/plain.
var plainWays = map[string]string{
	exitAtOnce: "exit", shutdownAlone: "shutdown", "keep-alives off, 250 ms, Shutdown": "off",
	"250 ms, Shutdown": "wait", "close in answers for 250 ms, Shutdown": "tell",
}

// target returns the cell's server. Requests take 2 ms, but for POST to the recipes and all to the loop, whose handlers
// must not wait.
func (c stopsCell) target() stoppable {
	switch c.Server {
	case "loop":
		s := stoppable{"bin/schedlab serve --mode loop --addr {addr} --admin off --iters 100 --log-level error", "/plaintext", "/echo", syscall.SIGTERM}
		switch c.Way {
		case exitAtOnce:
			s.signal = syscall.SIGKILL
		case "its drain, grace 1 ms":
			s.command += " --drain-grace 1ms"
		}
		return s
	case "net/http", "fasthttp":
		s := stoppable{"bin/arms/plain -work 2ms -listen {addr} -server nethttp -stop " + plainWays[c.Way], "/small", "/small", syscall.SIGTERM}
		if c.Server == "fasthttp" {
			s.command += " -server fasthttp"
		}
		if c.Client == goHTTP2 {
			s.command += " -tls h2"
		}
		return s
	default:
		return stoppable{"bin/arms/serve -listen {addr} -workers 64 -" + c.Server, "/work?sleep=2ms", "/echo", syscall.SIGTERM}
	}
}

// measureStops stops each server n times, half of them with another seed, a stop of each by turns, and writes the record
// after each twenty.
func measureStops(ctx context.Context, n int, out io.Writer) error {
	from, err := newOrigin(ctx)
	if err != nil {
		return err
	}
	r := stopsRecord{Origin: from, Cells: stopCells()}
	for i := range n {
		for c := range r.Cells {
			cell := &r.Cells[c]
			seed := &cell.Seeds[i%len(cell.Seeds)]
			got, err := cell.stop(ctx, rand.New(rand.NewPCG(seed.Seed, uint64(i))))
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", cell.Server, cell.Way, cell.Client, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			seed.add(got)
		}
		if (i+1)%20 == 0 || i+1 == n {
			if err := save("shutdown.json", r); err != nil {
				return err
			}
			fmt.Fprintln(out, i+1, "stops of each")
		}
	}
	return nil
}

// add counts what came of one more stop.
func (s *stops) add(all []sent) {
	s.Stops++
	for _, group := range []struct {
		method string
		to     *sum
	}{{http.MethodGet, &s.GET}, {http.MethodPost, &s.POST}} {
		kept, fresh := group.to.Kept.requests(), group.to.New.requests()
		for _, r := range all {
			if r.method == group.method {
				group.to.Answered += r.answered
				group.to.Kept.count(r.kept)
				group.to.New.count(r.fresh)
			}
		}
		group.to.Kept.Stops += stats.Count(group.to.Kept.requests() > kept)
		group.to.New.Stops += stats.Count(group.to.New.requests() > fresh)
	}
}

// A sent is what came of one client's requests.
type sent struct {
	method      string
	answered    int
	kept, fresh map[string]int // lost, on connections that had answered before and on new ones, by what the client saw
}

// errGone says that nobody accepts connections any more.
var errGone = errors.New("no connection")

// An errLost is a request without a whole answer, of which the kernel had taken some.
type errLost struct {
	seen string // what the client saw
	kept bool   // its connection had answered before
}

func (e errLost) Error() string { return "lost: " + e.seen }

// A sender sends one request after the other.
type sender interface {
	// send sends a request and waits for its answer. errGone and errLost are outcomes, others end the measurement.
	send() error
	close()
}

// stop starts the server, loads it, stops it, and returns what came of the requests of each client. Half of the clients
// send GET and half POST.
func (c stopsCell) stop(ctx context.Context, random *rand.Rand) (all []sent, err error) {
	target := c.target()
	s, err := start(ctx, target.command)
	if err != nil {
		return nil, err
	}
	newSender := senders(c.Client, s.addr)
	all = make([]sent, clients)
	failed := make([]error, clients)
	var warm, running sync.WaitGroup
	for i := range all {
		method, path := http.MethodGet, target.get
		if i%2 == 1 {
			method, path = http.MethodPost, target.post
		}
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
		warm.Add(1)
		running.Go(func() {
			all[i] = sent{method: method, kept: map[string]int{}, fresh: map[string]int{}}
			failed[i] = all[i].run(newSender(method, path), own, warm.Done)
		})
	}
	warm.Wait()
	time.Sleep(50*time.Millisecond + time.Duration(random.Int64N(int64(100*time.Millisecond))))
	signalled := s.cmd.Process.Signal(target.signal)
	running.Wait()
	err = errors.Join(append(failed, signalled)...)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, errors.Join(err, s.kill())
	}
	return all, s.wait()
}

// run sends requests until nobody accepts connections. It calls warm after the first.
func (s *sent) run(to sender, random *rand.Rand, warm func()) error {
	defer to.close()
	first := sync.OnceFunc(warm)
	defer first()
	for {
		var lost errLost
		switch err := to.send(); {
		case err == nil:
			s.answered++
		case errors.As(err, &lost):
			if lost.kept {
				s.kept[lost.seen]++
			} else {
				s.fresh[lost.seen]++
			}
		case errors.Is(err, errGone):
			return nil
		default:
			return err
		}
		first()
		time.Sleep(time.Duration(random.ExpFloat64() * float64(meanThink)))
	}
}

// total adds up the seeds.
func (c stopsCell) total() (t stops) {
	plus := func(a *losses, b losses) {
		a.Stops += b.Stops
		a.count(b.Seen)
	}
	for _, s := range c.Seeds {
		t.Stops += s.Stops
		t.GET.Answered += s.GET.Answered
		t.POST.Answered += s.POST.Answered
		plus(&t.GET.Kept, s.GET.Kept)
		plus(&t.GET.New, s.GET.New)
		plus(&t.POST.Kept, s.POST.Kept)
		plus(&t.POST.New, s.POST.New)
	}
	return t
}
