package load

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

func closedRun(t *testing.T, o ClosedOptions) ClosedResult {
	t.Helper()
	res, err := Closed(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The interactive law: throughput is N / (service + think time).
func TestClosedThinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		think  func(*rand.Rand) time.Duration
		within float64
	}{
		"fixed":       {func(*rand.Rand) time.Duration { return 7 * time.Millisecond }, 0.01},
		"exponential": {func(rng *rand.Rand) time.Duration { return time.Duration(rng.ExpFloat64() * 7e6) }, 0.05},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := closedOptions(newPipeServer(t, afterwards(3*time.Millisecond)))
			o.Connections, o.Think, o.Duration, o.Seed = 16, test.think, 5*time.Second, 1
			res := closedRun(t, o)
			if want := 16 / 0.010; math.Abs(res.Rate()/want-1) > test.within {
				t.Errorf("%s: rate %v, want %v within %v", name, res.Rate(), want, test.within)
			}
			if again := closedRun(t, o); again.Answered != res.Answered {
				t.Errorf("%s: %d answers, and %d with the same seed", name, res.Answered, again.Answered)
			}
		})
	}
}

// A session is n requests on one connection; it can end early.
func TestClosedSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, depth := range []int{1, 4} {
			s := newPipeServer(t, nil)
			perConn := map[int]int{}
			s.answer = func(conn int, requests string) string {
				n := strings.Count(requests, "\r\n\r\n")
				time.Sleep(time.Duration(n) * 10 * time.Millisecond)
				s.mu.Lock()
				defer s.mu.Unlock()
				if perConn[conn] += n; conn == 5 {
					return "" // this session breaks
				}
				return strings.Repeat(okReply, n)
			}
			o := closedOptions(s)
			o.Connections, o.Session, o.Pipeline, o.Record, o.Duration = 2, 5, depth, true, time.Second+time.Millisecond
			res := closedRun(t, o)
			s.serving.Wait()
			broken := 0
			for _, got := range res.Sessions {
				took := time.Duration(got.Ended - got.Began)
				switch {
				case got.Failed > 0 && got.Good == 0:
					broken++
				case got.Good != 5 || got.Failed != 0 || took != 50*time.Millisecond:
					t.Errorf("depth %d: session %+v of %v, want 5 good in 50ms", depth, got, took)
				}
			}
			if broken != 1 || len(res.Sessions) < 38 || int(res.Dialled) < len(res.Sessions) || int(res.Dialled) > len(res.Sessions)+2 {
				t.Errorf("depth %d: %d sessions, %d broken, %d connections; want about 40 with one broken, each on its own", depth, len(res.Sessions), broken, res.Dialled)
			}
			for conn, n := range perConn {
				if n > 5 {
					t.Errorf("depth %d: connection %d carried %d requests, want 5 at most", depth, conn, n)
				}
			}
		}
	})
}

// k requests are under way on each connection, answered in order, each timed
// from its own sending.
func TestClosedPipelines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPipeServer(t, nil)
		most := 0
		s.answer = func(_ int, requests string) string {
			n := strings.Count(requests, "\r\n\r\n")
			s.mu.Lock()
			defer s.mu.Unlock()
			most = max(most, n)
			time.Sleep(time.Duration(n) * time.Millisecond)
			return strings.Repeat(okReply, n)
		}
		o := closedOptions(s)
		o.Connections, o.Pipeline, o.Record, o.Duration = 1, 8, true, time.Second+time.Millisecond
		res := closedRun(t, o)
		s.serving.Wait()
		if most != 8 || res.Answered != 1000 || res.Cut.Requests != 8 || res.Failed != 0 || res.Dialled != 1 {
			t.Errorf("up to %d at a time, %d answered, %d cut, %d failed, %d dialled; want 8, 1000, 8, 0, 1", most, res.Answered, res.Cut.Requests, res.Failed, res.Dialled)
		}
		for _, r := range res.Requests {
			if r.Done-r.Sent != int64(8*time.Millisecond) {
				t.Fatalf("a request took %v, want the 8ms of all eight", time.Duration(r.Done-r.Sent))
			}
		}
		if res.FirstReply != 8*time.Millisecond || res.ConnAnswers[0] != 1000 {
			t.Errorf("first reply after %v, answers %v; want 8ms, 1000", res.FirstReply, res.ConnAnswers)
		}
	})
}

// When a connection breaks, what was under way on it is lost and counted.
func TestClosedPipelineBreaks(t *testing.T) {
	t.Parallel()
	const closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	for name, test := range map[string]struct {
		answer  string
		good    int
		outcome record.Outcome
	}{
		"closed":          {okReply, 1, record.Reset},
		"asked to close":  {okReply + closing, 2, record.Reset},
		"garbage":         {okReply + "SSH-2.0\r\n\r\n", 1, record.Reset},
		"silence":         {"silence", 0, record.TimedOut},
		"nothing at all":  {"", 0, record.Reset},
		"one too many":    {strings.Repeat(okReply, 5), 4, record.Answered},
		"answered though": {strings.Repeat(okReply, 4), 4, record.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var conns atomic.Int32
				var serving sync.WaitGroup
				defer serving.Wait()
				o := closedOptions(nil)
				o.Dial = func(context.Context, string) (net.Conn, error) {
					client, server := net.Pipe()
					conns.Add(1)
					serving.Go(func() {
						defer server.Close()
						server.Read(make([]byte, 4096))
						time.Sleep(10 * time.Millisecond)
						if test.answer == "silence" {
							io.Copy(io.Discard, server)
						}
						io.WriteString(server, test.answer)
					})
					return client, nil
				}
				o.Connections, o.Pipeline, o.Record, o.Timeout, o.Duration = 1, 4, true, 100*time.Millisecond, time.Second
				res := closedRun(t, o)
				rounds := int(conns.Load())
				if rounds < 5 || res.Answered < test.good*(rounds-2) || res.Answered > test.good*rounds || test.good < 4 && res.Failed < (4-test.good)*(rounds-2) {
					t.Errorf("%d answered, %d failed over %d connections; want %d and %d on each", res.Answered, res.Failed, rounds, test.good, 4-test.good)
				}
				for _, r := range res.Requests[:4] {
					if r.Outcome != record.Answered && r.Outcome != test.outcome {
						t.Errorf("got %v, want answered or %v", r.Outcome, test.outcome)
					}
				}
			})
		})
	}
}

// Paced clients keep to their due times, and a late one catches up: its lateness
// is in its response times, and the clients it starves are seen.
func TestClosedPaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		o := closedOptions(newPipeServer(t, func(conn int, _ string) string {
			if since := time.Since(begun); conn == 2 && since >= 500*time.Millisecond && since < 600*time.Millisecond {
				time.Sleep(600*time.Millisecond - since)
			}
			time.Sleep(time.Millisecond)
			return okReply
		}))
		o.Connections, o.Rate, o.Record, o.Duration = 8, 400, true, 2*time.Second
		res := closedRun(t, o)
		late := 0
		for i, r := range res.Requests {
			if i < 8 && r.Scheduled != int64(i)*int64(2500*time.Microsecond) {
				t.Errorf("request %d is due at %v, want every 2.5ms", i, time.Duration(r.Scheduled))
			}
			if r.Sent < r.Scheduled {
				t.Fatalf("sent before it was due: %+v", r)
			}
			if r.Sent > r.Scheduled {
				late++
			}
		}
		if res.Answered < 799 || res.Answered > 800 || res.Proof.Planned != 800 || late < 4 || late > 5 || res.Proof.LongestLag < 60*time.Millisecond {
			// A client asks every 20 ms; which one is stopped, and so when its next is due, the dialling decides.
			t.Errorf("%d answered of %d planned, %d late by up to %v; want 800 of 800, 4 or 5 late by 61 to 81ms", res.Answered, res.Proof.Planned, late, res.Proof.LongestLag)
		}
	})
}

// wrk2's trap: clients whose requests are dropped in silence are dead, and the
// rest keep their own pace, so the throughput counts the living.
func TestClosedSeesDeadClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := closedOptions(newPipeServer(t, func(conn int, _ string) string {
			if conn%4 != 0 {
				time.Sleep(time.Hour)
			}
			return okReply
		}))
		o.Connections, o.Rate, o.Duration, o.Timeout = 64, 4000, 2*time.Second, 10*time.Second
		res := closedRun(t, o)
		if res.Asked != 64 || res.Starved != 48 || math.Abs(res.Rate()-1000) > 10 || res.Cut.Requests < 48 || res.Cut.Requests > 64 || res.Proof.Planned != 8000 {
			t.Errorf("%d of %d starved, %v answers/s, %d cut off, %d planned; want 48 of 64, 1000, 48 and what the end cuts, 8000", res.Starved, res.Asked, res.Rate(), res.Cut.Requests, res.Proof.Planned)
		}
	})
}

func TestClosedRamps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var opened []time.Duration
		s := newPipeServer(t, afterwards(10*time.Millisecond))
		dial := func(ctx context.Context, addr string) (net.Conn, error) {
			nc, err := s.dial(ctx, addr)
			s.mu.Lock()
			defer s.mu.Unlock()
			opened = append(opened, time.Since(begun))
			return nc, err
		}
		o := closedOptions(s)
		o.Dial, o.Connections, o.Ramp, o.Warmup = dial, 10, time.Second, time.Second
		res := closedRun(t, o)
		for i, at := range opened {
			if want := time.Duration(i) * 100 * time.Millisecond; at != want {
				t.Errorf("connection %d opened at %v, want %v", i, at, want)
			}
		}
		if res.Answered != 10*100 && res.Answered != 10*99 {
			t.Errorf("%d answered in the second after the ramp, want 10 every 10ms", res.Answered)
		}
		begun, opened = time.Now(), nil
		o.Ramp, o.OpenRate, o.Warmup = 0, 20, 0
		if res = closedRun(t, o); opened[9] != 450*time.Millisecond || res.Start.Sub(begun) != 450*time.Millisecond {
			t.Errorf("the tenth connection opened at %v and the loop began at %v, want 450ms", opened[9], res.Start.Sub(begun))
		}
	})
}

func TestClosedRefusesNonsense(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*ClosedOptions){
		"holds 16384 at most":     func(o *ClosedOptions) { o.Connections = MaxConnections + 1 },
		"excludes think times":    func(o *ClosedOptions) { o.Pipeline, o.Rate = 2, 1 },
		"both say when to send":   func(o *ClosedOptions) { o.Rate, o.Think = 1, func(*rand.Rand) time.Duration { return 0 } },
		"set keep-alive":          func(o *ClosedOptions) { o.KeepAlive, o.Session = false, 3 },
		"opens its own sockets":   func(o *ClosedOptions) { o.Spin = true },
		"at most 1024":            func(o *ClosedOptions) { o.Pipeline = 1025 },
		"rates that are not nega": func(o *ClosedOptions) { o.Rate = math.NaN() },
		"ramp that are not negat": func(o *ClosedOptions) { o.Ramp = -1 },
	} {
		o := closedOptions(&pipeServer{})
		spoil(&o)
		if _, err := Closed(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
