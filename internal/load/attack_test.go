package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
)

// A pipeServer answers requests over net.Pipe, in virtual time.
type pipeServer struct {
	// answer gets each request as it was written, and the number of its
	// connection, from 0; "" closes the connection.
	answer func(conn int, request string) string

	serving sync.WaitGroup
	mu      sync.Mutex
	conns   int
}

// newPipeServer serves until its clients have closed; the bubble's end waits.
func newPipeServer(t *testing.T, answer func(conn int, request string) string) *pipeServer {
	s := &pipeServer{answer: answer}
	t.Cleanup(s.serving.Wait)
	return s
}

func (s *pipeServer) dial(context.Context, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client, server := net.Pipe()
	conn := s.conns
	s.conns++
	s.serving.Go(func() { s.serve(server, conn) })
	return client, nil
}

func (s *pipeServer) serve(nc net.Conn, conn int) {
	defer nc.Close()
	buf := make([]byte, 4096)
	for {
		n, err := nc.Read(buf) // a request is one write, so one read
		if err != nil {
			return
		}
		reply := s.answer(conn, string(buf[:n]))
		if reply == "" {
			return
		}
		if _, err := nc.Write([]byte(reply)); err != nil {
			return
		}
	}
}

const okReply = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"

// afterwards answers ok after d.
func afterwards(d time.Duration) func(int, string) string {
	return func(int, string) string {
		time.Sleep(d)
		return okReply
	}
}

// pipeOptions drives s in a bubble, with the engine that is made of goroutines.
func pipeOptions(s *pipeServer, at []time.Duration) Options {
	return Options{
		Engine:    EngineVegeta,
		Targets:   []Target{{Method: "GET", URL: "http://server/work"}},
		Trace:     arrivals.Trace{At: at},
		KeepAlive: true,
		Dial:      s.dial,
		Sleep:     time.Sleep,
	}
}

func attack(t *testing.T, o Options) *Result {
	t.Helper()
	res, err := Attack(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Requests) != len(o.Trace.At) {
		t.Fatalf("got %d requests, want %d", len(res.Requests), len(o.Trace.At))
	}
	return res
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestAttackSendsOnSchedule(t *testing.T) {
	t.Parallel()
	schedules := map[string][]time.Duration{
		"poisson":  arrivals.Poisson(2000, time.Second, seeded(1)),
		"constant": arrivals.Constant(500, time.Second),
		"burst":    {0, 0, 0, time.Millisecond, time.Millisecond},
		"late":     {time.Minute, time.Hour},
		"empty":    nil,
	}
	for name, at := range schedules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const service = 3 * time.Millisecond
				o := pipeOptions(newPipeServer(t, afterwards(service)), at)
				var began []time.Time
				o.Started = func(start time.Time) { began = append(began, start) }
				res := attack(t, o)
				for i, r := range res.Requests {
					due := int64(at[i])
					want := record.Request{Scheduled: due, Sent: due, Done: due + int64(service), Status: 200, Bytes: 3}
					if r != want {
						t.Fatalf("request %d: got %+v, want %+v", i, r, want)
					}
				}
				if len(began) != 1 || !began[0].Equal(res.Start) {
					t.Errorf("Started got %v, want one call with %v", began, res.Start)
				}
			})
		})
	}
}

// The response times of an open loop in front of a busy server meet queueing theory.
func TestAttackMeetsPollaczekKhinchine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rate, service = 600.0, time.Millisecond
		server := make(chan struct{}, 1)
		s := newPipeServer(t, func(int, string) string {
			server <- struct{}{}
			time.Sleep(service)
			<-server
			return okReply
		})
		at := arrivals.Poisson(rate, 90*time.Second, seeded(7))
		if len(at) < 50_000 {
			t.Fatalf("got %d arrivals, want at least 50,000", len(at))
		}
		res := attack(t, pipeOptions(s, at))
		var sum float64
		for _, r := range res.Requests {
			sum += float64(r.Done-r.Scheduled) / 1e9
		}
		got := sum / float64(len(res.Requests))
		want := queueing.MG1(rate, service.Seconds(), 0)
		if math.Abs(got/want-1) > 0.03 {
			t.Errorf("mean response %v s, want %v s within 3 %%", got, want)
		}
	})
}

func TestAttackWaitsForAConnectionInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPipeServer(t, afterwards(10*time.Millisecond))
		o := pipeOptions(s, arrivals.Constant(1000, 100*time.Millisecond))
		o.Connections = 2
		res := attack(t, o)
		for i, r := range res.Requests {
			// Two at a time, 10 ms each, the second of each pair 1 ms later.
			want := time.Duration(i/2)*10*time.Millisecond + time.Duration(i%2)*time.Millisecond + 10*time.Millisecond
			if got := time.Duration(r.Done); got != want || r.Sent != r.Scheduled {
				t.Fatalf("request %d: sent %v, done %v; want sent %v, done %v", i, r.Sent, got, r.Scheduled, want)
			}
		}
		if res.Dialled != 2 {
			t.Errorf("dialled %d, want 2", res.Dialled)
		}
	})
}

// inOrder is a request with its header's lines sorted: their order means nothing.
func inOrder(request string) string {
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

func TestAttackRendersRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[string]bool{}
		s := newPipeServer(t, func(_ int, request string) string {
			mu.Lock()
			defer mu.Unlock()
			got[inOrder(request)] = true
			return okReply
		})
		o := pipeOptions(s, []time.Duration{0, 1, 2, 3, 4})
		o.KeepAlive = false
		o.Trace.Demand = []arrivals.Demand{{}, {Iters: 7}, {Iters: 8, Sleep: time.Millisecond}, {Iters: 9}, {Sleep: 5}}
		o.Targets = []Target{
			{Method: "GET", URL: "http://server/work"},
			{Method: "PUT", URL: "http://server/kv/a%20b", Body: []byte("value")},
			{Method: "GET", URL: "http://server:80/work?seed=3#here", Header: map[string][]string{"host": {"other"}, "x-Odd": {"1", "2"}}},
		}
		res := attack(t, o)
		want := []string{
			"GET /work HTTP/1.1\r\nHost: server\r\nConnection: close\r\nX-Vegeta-Seq: 0\r\n\r\n",
			"PUT /kv/a%20b HTTP/1.1\r\nHost: server\r\nConnection: close\r\nContent-Length: 5\r\nX-Vegeta-Seq: 1\r\n\r\nvalue",
			"GET /work?seed=3&iters=8&sleep=1000000ns HTTP/1.1\r\nHost: other\r\nConnection: close\r\nX-Vegeta-Seq: 2\r\nx-Odd: 1\r\nx-Odd: 2\r\n\r\n",
			"GET /work?iters=9 HTTP/1.1\r\nHost: server\r\nConnection: close\r\nX-Vegeta-Seq: 3\r\n\r\n",
		}
		for _, w := range want {
			if !got[inOrder(w)] {
				t.Errorf("no request %q among %v", w, got)
			}
		}
		demands := []arrivals.Demand{{}, {}, {Iters: 8, Sleep: time.Millisecond}, {Iters: 9}, {}}
		for i, r := range res.Requests {
			if d := (arrivals.Demand{Iters: r.Iters, Sleep: time.Duration(r.Sleep)}); d != demands[i] {
				t.Errorf("request %d: recorded demand %+v, want %+v", i, d, demands[i])
			}
		}
		if res.Dialled != 5 || res.ConnAnswers != nil {
			t.Errorf("dialled %d, answers %v; want 5 and none", res.Dialled, res.ConnAnswers)
		}
	})
}

func TestAttackCountsAnswersPerConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPipeServer(t, func(conn int, _ string) string {
			if conn%2 == 1 {
				time.Sleep(time.Hour) // a pool's connection that no worker takes
			}
			time.Sleep(time.Millisecond)
			return okReply
		})
		o := pipeOptions(s, arrivals.Constant(100, time.Second))
		o.Connections, o.Timeout = 4, 2*time.Second
		res := attack(t, o)
		starved, sum := 0, uint32(0)
		for _, n := range res.ConnAnswers {
			if sum += n; n == 0 {
				starved++
			}
		}
		if len(res.ConnAnswers) != 4 || starved != 2 || res.Asked != 4 || res.Starved != 2 || sum != 98 {
			t.Errorf("answers per connection %v, want two starved of 4 and 98 in all", res.ConnAnswers)
		}
		if res.FirstReply != time.Millisecond {
			t.Errorf("slowest first reply %v, want 1ms", res.FirstReply)
		}
	})
}

func TestAttackStopsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const service, after = 30 * time.Millisecond, 505 * time.Millisecond
		for _, connections := range []int{0, 1} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			o := pipeOptions(newPipeServer(t, afterwards(service)), arrivals.Constant(100, time.Hour))
			o.Connections = connections
			res, err := Attack(ctx, o)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the context's", err)
			}
			if took := time.Since(res.Start); took > after+longestSleep {
				t.Errorf("stopped after %v, want at most %v more than %v", took, longestSleep, after)
			}
			sent, cut := 0, 0
			for i, r := range res.Requests {
				switch {
				case r.Done < r.Scheduled:
					t.Fatalf("request %d is done before it is due: %+v", i, r)
				case r.Sent < 0 && r.Outcome != record.Cut:
					t.Fatalf("request %d was never sent, yet %v", i, r.Outcome)
				case r.Sent >= 0:
					sent++
					if r.Outcome == record.Cut {
						cut++
					}
				}
			}
			answered, wantCut := 48, 3 // due at 0 … 470 ms; at 480, 490 and 500
			if connections == 1 {
				answered = int(after / service)
				wantCut = 51 - answered
			}
			if sent != answered+wantCut || cut != wantCut {
				t.Errorf("connections %d: sent %d, cut %d; want %d and %d", connections, sent, cut, answered+wantCut, wantCut)
			}
		}
	})
}

func TestAttackCutAfterTheLastRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		res, err := Attack(ctx, pipeOptions(newPipeServer(t, afterwards(time.Minute)), []time.Duration{0}))
		if r := res.Requests[0]; !errors.Is(err, context.DeadlineExceeded) || r.Outcome != record.Cut || r.Done != int64(50*time.Millisecond) {
			t.Errorf("got %+v, %v; want it cut off at 50 ms and the context's error", r, err)
		}
	})
}

func TestPacerBoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{ctx: t.Context(), at: make([]time.Duration, 10), sleep: time.Sleep, limit: 3}
		for hits, ended := range []uint64{0, 0, 0, 1, 2} {
			p.ended.Store(ended)
			if _, stop := p.Pace(0, uint64(hits)); stop {
				t.Fatalf("hit %d with %d ended: stopped, want go", hits, ended)
			}
		}
		if _, stop := p.Pace(0, 5); !stop || p.err == nil || !strings.Contains(p.err.Error(), "3 requests in flight") {
			t.Errorf("3 in flight: stop %v, error %v; want a stop that says so", stop, p.err)
		}
	})
}

func TestAttackRefusesBadOptions(t *testing.T) {
	t.Parallel()
	good := Target{Method: "GET", URL: "http://server/work"}
	for want, o := range map[string]Options{
		"no targets":     {},
		"one server":     {Targets: []Target{good, {Method: "GET", URL: "http://server:81/"}}},
		"2 demands for":  {Targets: []Target{good}, Trace: arrivals.Trace{At: make([]time.Duration, 1), Demand: make([]arrivals.Demand, 2)}},
		"sort the":       {Targets: []Target{good}, Trace: arrivals.Trace{At: []time.Duration{2, 1}}},
		"never negative": {Targets: []Target{good}, Trace: arrivals.Trace{At: []time.Duration{0}, Demand: []arrivals.Demand{{Sleep: -1}}}},
		"has its own":    {Targets: []Target{{Method: "GET", URL: "http://server/work?cpu=1ms"}}, Trace: arrivals.Trace{At: []time.Duration{0}, Demand: []arrivals.Demand{{}}}},
	} {
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}

// On real sockets lateness is the machine's, so it is printed and not judged.
func TestNanosleepLateness(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second of wall-clock time")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerAll(nc, plainReply) })
		}
	})
	res := attack(t, Options{
		Engine:      EngineVegeta,
		Targets:     []Target{{Method: "GET", URL: fmt.Sprintf("http://%v/", l.Addr())}},
		Trace:       arrivals.Trace{At: arrivals.Poisson(2000, time.Second, seeded(1))},
		Connections: 16, KeepAlive: true,
	})
	for i, r := range res.Requests {
		if r.Sent < r.Scheduled || !r.Good() {
			t.Errorf("request %d: %+v, want a good reply sent no earlier than due", i, r)
		}
	}
	t.Logf("lag at 2,000/s: p50 %v, p99 %v", time.Duration(lagQuantile(res.Requests, 0.5)), time.Duration(lagQuantile(res.Requests, 0.99)))
}

// lagQuantile returns the q-quantile of lag in nanoseconds, nearest rank; 0 for
// no requests.
func lagQuantile(reqs []record.Request, q float64) float64 {
	if len(reqs) == 0 {
		return 0
	}
	lags := make([]int64, len(reqs))
	for i, r := range reqs {
		lags[i] = r.Sent - r.Scheduled
	}
	slices.Sort(lags)
	return float64(lags[min(len(lags)-1, int(q*float64(len(lags))))])
}
