package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// closedTo runs four clients on kept connections against a server.
func closedTo(s *rawServer) Options {
	return Options{
		Clients: record.Clients{Connections: 4, KeepAlive: true, Timeout: record.Lasting(20 * time.Second)},
		Targets: []Target{{Method: "GET", URL: s.url + "/work"}}, Duration: 300 * time.Millisecond,
	}
}

// closedRun runs a closed loop and checks what holds for every result.
func closedRun(t *testing.T, o Options) ClosedResult {
	t.Helper()
	res, err := Closed(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Requests) != res.Answered+res.Failed || len(res.Seqs) != len(res.Requests) || res.Proof.Sent != len(res.Requests) || res.Elapsed != o.Duration {
		t.Fatalf("%d requests, %d numbers, %d sent, %d answered, %d failed in %v", len(res.Requests), len(res.Seqs), res.Proof.Sent, res.Answered, res.Failed, res.Elapsed)
	}
	seen := map[uint64]bool{}
	for i, r := range res.Requests {
		seq := res.Seqs[i]
		if seen[seq] || i > 0 && r.Sent < res.Requests[i-1].Sent {
			t.Fatalf("request %d has a number that another has, or is not in the order they were sent", i)
		}
		seen[seq] = true
		if done := time.Duration(r.Done); done < o.Warmup || done >= o.Warmup+o.Duration || o.Rate == 0 && r.Scheduled != r.Sent {
			t.Fatalf("request %+v was counted in %v after %v", r, o.Duration, o.Warmup)
		}
		checkStamps(t, r, res.Stamps[i])
	}
	answers := 0
	for _, n := range res.ConnAnswers {
		answers += int(n)
	}
	for _, r := range res.Requests {
		if r.Outcome == request.Answered {
			answers--
		}
	}
	if answers != 0 || res.Starved > res.Asked || res.Asked > o.Connections {
		t.Fatalf("%d answers by connection more than there are; %d of %d clients starved", answers, res.Starved, res.Asked)
	}
	return res
}

// The counts are those of net/http's server, for every pipeline depth and both kinds of rest.
func TestSpinClosedCountsWhatTheServerServes(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for _, test := range []struct {
			depth int
			keep  bool
		}{{1, true}, {16, true}, {1, false}} {
			var served, bad atomic.Int64
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := served.Add(1)
				body, _ := io.ReadAll(r.Body)
				work := r.URL.Path == "/work"
				if r.Header.Get("X-Vegeta-Seq") == "" || (r.Method == http.MethodPost) != (string(body) == "body") || work != (r.URL.Query().Get("iters") == "7") {
					bad.Add(1)
				}
				fmt.Fprint(w, strings.Repeat("x", 1+int(n%5000))) // above 2,048 chunked
			}))
			o := closedTo(&rawServer{url: h.URL})
			o.Targets = append(o.Targets, Target{Method: "HEAD", URL: h.URL + "/"}, Target{Method: "POST", URL: h.URL + "/", Body: []byte("body")})
			o.Shared, o.Pipeline, o.KeepAlive, o.Trace.Demand = shared, test.depth, test.keep, []arrivals.Demand{{Iters: 7}}
			o.Warmup = 50 * time.Millisecond
			early := 0
			res := closedRun(t, o)
			h.Close()
			for _, seq := range res.Seqs { // numbers below the first counted are of the warm-up
				early = max(early, int(seq)+1-len(res.Seqs))
			}
			// Those cut off may or may not have been served.
			if n := int(served.Load()); res.Answered == 0 || res.Failed != 0 || n < res.Answered || n > res.Answered+early+res.Cut.Requests || res.Cut.Requests > 4*test.depth || bad.Load() > 0 {
				t.Errorf("%+v: the server served %d, %d badly; %d answered, %d failed, %d cut, about %d early", test, n, bad.Load(), res.Answered, res.Failed, res.Cut.Requests, early)
			}
			if len(res.ConnAnswers) != 4 || res.Asked != 4 || res.Starved != 0 || res.FirstReply <= 0 || test.keep != (res.Dialled == 4) || !test.keep && int(res.Dialled) < res.Answered {
				t.Errorf("%+v: answers %v, %d of %d starved, %d dialled, first reply %v", test, res.ConnAnswers, res.Starved, res.Asked, res.Dialled, res.FirstReply)
			}
			for i, r := range res.Requests {
				if work := res.Seqs[i]%3 == 0; r.Status != 200 || work != (r.Iters == 7) {
					t.Fatalf("%+v: %+v, want a good reply, and the demand with its target", test, r)
				}
			}
			if p := res.Proof; p.CPU <= 0 || p.Busy <= 0 || p.Busy > 1 {
				t.Errorf("%+v: proof %+v", test, p)
			}
		}
	})
}

// Requests in flight at the end are counted with the time they had taken by then.
func TestSpinClosedTimesWhatItCutsOff(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for _, depth := range []int{1, 3} {
			s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) { io.Copy(io.Discard, nc) })
			o := closedTo(s)
			o.Shared, o.Pipeline, o.Duration = shared, depth, 100*time.Millisecond
			res := closedRun(t, o)
			if c := res.Cut; c.Requests != 4*depth || c.Early != 0 || c.Time > 0.1*float64(c.Requests) || c.Time <= 0 || c.Squares > 0.01*float64(c.Requests) || res.Answered+res.Failed != 0 || res.Starved != 4 {
				t.Errorf("depth %d: %+v, %d of %d starved", depth, c, res.Starved, res.Asked)
			}
			o.Warmup = 100 * time.Millisecond
			if c := closedRun(t, o).Cut; c != (record.Pending{Requests: 4 * depth, Early: 4 * depth}) {
				t.Errorf("depth %d: %+v, want all of them early", depth, c)
			}
		}
	})
}

// Paced clients keep to their due times, also with a server that refuses, and a late one
// catches up.
func TestSpinClosedPaces(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		s := answering(t, func(conn, n int, _ *http.Request) string {
			if conn == 2 && n == 3 {
				time.Sleep(100 * time.Millisecond)
			}
			return spinOK
		})
		for name, url := range map[string]string{"answering": s.url, "refusing": deadPort(t)} {
			o := closedTo(&rawServer{url: url})
			o.Shared, o.Connections, o.Rate, o.Duration = shared, 8, 400, 400*time.Millisecond
			res := closedRun(t, o)
			due := make([]int64, 0, len(res.Requests))
			for _, r := range res.Requests {
				due = append(due, r.Scheduled)
			}
			slices.Sort(due)
			missing := 0
			for k := range 160 {
				if at := int64(float64(k) / 400 * 1e9); !slices.Contains(due, at) {
					missing++
				}
			}
			// The last may be under way at the end.
			if len(due) > 160 || missing != 160-len(due) || missing > 40 || res.Proof.Planned != 160 {
				t.Errorf("%s: %d requests, %d due times without one, %d planned; want 160 due 2.5ms apart", name, len(due), missing, res.Proof.Planned)
			}
			if name == "answering" && (res.Proof.LongestLag < .07 || res.Failed > 0 || res.Dialled != 8) {
				t.Errorf("late by up to %v s, %d failed, %d dialled; want 80ms at least, 0, 8", res.Proof.LongestLag, res.Failed, res.Dialled)
			}
		}
	})
}

// A client thinks between a reply and its next request; one seed gives the same times.
func TestSpinClosedThinks(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		const think = 10 * time.Millisecond
		var thoughts [2][]time.Duration
		for run := range thoughts {
			s := answering(t, func(int, int, *http.Request) string { return spinOK })
			o := closedTo(s)
			o.Connections, o.Shared, o.Seed = 1, shared, 5
			o.Pause = func(rng *rand.Rand) time.Duration {
				d := think + time.Duration(rng.IntN(1000))*time.Microsecond
				thoughts[run] = append(thoughts[run], d)
				return d
			}
			res := closedRun(t, o)
			for i, r := range res.Requests[1:] {
				if gap := time.Duration(r.Sent - res.Requests[i].Done); gap < thoughts[run][i] {
					t.Errorf("sent %v after a reply, want %v thought about first", gap, thoughts[run][i])
				}
			}
			if res.Answered < 5 || res.Answered > 30 {
				t.Errorf("%d answered, want 25 or so", res.Answered)
			}
		}
		if n := min(len(thoughts[0]), len(thoughts[1])); !slices.Equal(thoughts[0][:n], thoughts[1][:n]) {
			t.Error("the same seed made other thoughts")
		}
	})
}

// A session is so many requests on one connection, whatever the depth and however the
// replies come together; a server's close ends it early, also between two requests.
func TestSpinClosedSessions(t *testing.T) {
	const size = 4
	ok := func(int, int) string { return spinOK }
	whole := Session{Good: size}
	for name, test := range map[string]struct {
		method string
		depth  int
		think  time.Duration
		answer func(conn, n int) string
		want   Session
	}{
		"one at a time":        {depth: 1, answer: ok, want: whole},
		"with thought":         {depth: 1, think: time.Millisecond, answer: ok, want: whole},
		"a pipeline":           {depth: size, answer: ok, want: whole},
		"a shorter pipeline":   {depth: 3, answer: ok, want: whole},
		"a longer pipeline":    {depth: 9, answer: ok, want: whole},
		"not found is a reply": {depth: 1, answer: func(int, int) string { return "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" }, want: Session{Failed: size}},
		"all replies at once": {depth: size, answer: func(_, n int) string {
			if n < size-1 {
				return later
			}
			return strings.Repeat(spinOK, size)
		}, want: whole},
		"closed, as told, after two": {depth: 1, answer: func(_, n int) string {
			if n == 1 {
				return spinBusy
			}
			return spinOK
		}, want: Session{Good: 1, Failed: 1, Broken: true}},
		"closed instead of the third reply": {method: "POST", depth: 1, answer: func(_, n int) string {
			if n == 2 {
				return ""
			}
			return spinOK
		}, want: Session{Good: 2, Failed: 1, Broken: true}},
		"a pipeline closed after two replies": {depth: size, answer: func(_, n int) string {
			switch n {
			case 0, 1, 2: // the fourth was read too: closing does not reset
				return later
			case 3:
				return spinOK + spinBusy
			}
			return ""
		}, want: Session{Good: 1, Failed: 3, Broken: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bothForms(t, func(t *testing.T, shared bool) {
				var most atomic.Int64
				s := answering(t, func(conn, n int, _ *http.Request) string {
					for was := most.Load(); int64(n) >= was && !most.CompareAndSwap(was, int64(n)+1); was = most.Load() {
					}
					return test.answer(conn, n)
				})
				o := closedTo(s)
				o.Shared, o.Session, o.Pipeline, o.Connections, o.Duration = shared, size, test.depth, 2, 400*time.Millisecond
				if test.method != "" {
					o.Targets[0].Method = test.method
				}
				if test.think > 0 {
					o.Pause = func(*rand.Rand) time.Duration { return test.think }
					o.Duration = time.Second // on a busy machine too there are ten sessions in it
				}
				res := closedRun(t, o)
				for i, got := range res.Sessions {
					if got.Began < 0 || got.Ended <= got.Began || got.Client < 0 || got.Client > 1 || i > 0 && got.Ended < res.Sessions[i-1].Ended {
						t.Fatalf("session %d: %+v, after %+v", i, got, res.Sessions[max(0, i-1)])
					}
					if got.Began, got.Ended, got.Client = 0, 0, 0; got != test.want {
						t.Fatalf("session %d: %+v, want %+v", i, got, test.want)
					}
				}
				if d := int(res.Dialled); len(res.Sessions) < 10 || d < len(res.Sessions) || d > len(res.Sessions)+4 || most.Load() > size {
					t.Errorf("%d sessions on %d connections, up to %d requests on one; want ten at least, one each, %d", len(res.Sessions), d, most.Load(), size)
				}
			})
		})
	}
}

// A server that closes while a client thinks ends its session.
func TestSpinClosedSessionEndsWhileItsClientThinks(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
			each(nc, func(n int, _ *http.Request) string {
				if n == 0 {
					return spinOK
				}
				io.WriteString(nc, spinOK)
				return "" // the client finds out while it thinks
			})
		})
		o := closedTo(s)
		o.Shared, o.Session, o.Pause = shared, 3, func(*rand.Rand) time.Duration { return 10 * time.Millisecond }
		res := closedRun(t, o)
		for _, got := range res.Sessions {
			if got.Good != 2 || got.Failed != 0 || !got.Broken {
				t.Errorf("session %+v, want two good replies, and it broken", got)
			}
		}
		if len(res.Sessions) < 4 || res.Failed != 0 {
			t.Errorf("%d sessions, %d failed", len(res.Sessions), res.Failed)
		}
	})
}

// A connection has the pipeline's number of requests in flight, answered in order; when it
// breaks each of them fails once.
func TestSpinClosedPipelines(t *testing.T) {
	const depth = 4
	for name, test := range map[string]struct {
		answer  string // to all four
		good    int    // of four
		outcome request.End
	}{
		"answered":       {strings.Repeat(spinOK, depth), depth, request.Answered},
		"closed":         {spinOK, 1, request.Closed},
		"asked to close": {spinOK + spinOK[:15] + "\r\nConnection: close" + spinOK[15:], 2, request.Closed},
		"garbage":        {spinOK + "SSH-2.0\r\n\r\n", 1, request.Malformed},
		"silence":        {"silence", 0, request.TimedOut},
		"silence later":  {"silence" + spinOK, 1, request.TimedOut},
		"nothing at all": {"", 0, request.Closed},
		"one too many":   {strings.Repeat(spinOK, depth+1), depth, request.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			bothForms(t, func(t *testing.T, shared bool) {
				s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
					each(nc, func(n int, _ *http.Request) string {
						answer, silent := strings.CutPrefix(test.answer, "silence")
						switch {
						case n%depth < depth-1:
							return later
						case silent:
							io.WriteString(nc, answer)
							io.Copy(io.Discard, nc)
						case test.good == depth:
							return answer
						default:
							io.WriteString(nc, answer)
						}
						return ""
					})
				})
				o := closedTo(s)
				o.Shared, o.Connections, o.Pipeline = shared, 1, depth
				if test.outcome == request.TimedOut {
					o.Timeout, o.Duration = record.Lasting(250*time.Millisecond), 1200*time.Millisecond // a busy machine may answer late
				}
				res := closedRun(t, o)
				got := [4]int{}
				for _, r := range res.Requests {
					if r.Good() {
						got[0]++
					} else if r.Outcome == test.outcome || test.outcome == request.Closed && r.Outcome == request.Reset { // a close with requests unread resets
						got[1]++
					} else {
						got[2]++
					}
				}
				// What was refilled after a good reply is lost too. The last connection may be
				// under way.
				rounds, good := len(res.Requests)/depth, test.good
				lost := depth - good
				if res.Dialled > 1 {
					rounds = int(res.Dialled)
				}
				if rounds < 3 || got[0] < good*(rounds-1) || got[0] > good*rounds || got[1] < lost*(rounds-1) || lost == 0 && got[1] > 0 || got[1] > depth*rounds || got[2] > 0 || res.Cut.Requests > depth {
					t.Errorf("%d good, %d %v, %d otherwise, %d cut in %d rounds; want %d of 4 good in each", got[0], got[1], test.outcome, got[2], res.Cut.Requests, rounds, good)
				}
				if name == "answered" && (res.Dialled != 1 || res.ConnAnswers[0] != uint32(res.Answered)) {
					t.Errorf("%d dialled, answers %v", res.Dialled, res.ConnAnswers)
				}
			})
		})
	}
}

// Clients start one after another over the ramp, each opening its connection then.
func TestSpinClosedRamps(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		s := answering(t, func(int, int, *http.Request) string { return spinOK })
		o := closedTo(s)
		o.Shared, o.Connections, o.Ramp = shared, 10, record.Lasting(200*time.Millisecond)
		o.Pause = func(*rand.Rand) time.Duration { return 5 * time.Millisecond }
		res := closedRun(t, o)
		began := map[uint64]int64{}
		for i, seq := range res.Seqs {
			began[seq] = res.Requests[i].Sent
		}
		early := 0 // within the first half of the ramp only five clients have begun
		for i, r := range res.Requests {
			if r.Sent < int64(20*time.Millisecond) && res.Seqs[i] >= 5 {
				early++
			}
		}
		if early > 0 || res.Dialled != 10 || res.Asked != 10 || len(res.ConnAnswers) != 10 {
			t.Fatalf("%d requests of one client within 20ms, %d dialled, %d asked, %d clients", early, res.Dialled, res.Asked, len(res.ConnAnswers))
		}
		paced := o
		paced.Pause, paced.Rate = nil, 400
		for _, r := range closedRun(t, paced).Requests {
			turn := int64(math.Round(float64(r.Scheduled) * 400 / 1e9))
			if r.Scheduled < turn%10*int64(20*time.Millisecond) || r.Scheduled != int64(float64(turn)/400*1e9) {
				t.Fatalf("paced: turn %d is due at %v, before its client starts or off its pace", turn, time.Duration(r.Scheduled))
			}
		}
		if first, last := res.ConnAnswers[0], res.ConnAnswers[9]; first <= last {
			t.Errorf("answers %v, want more on those that began earlier", res.ConnAnswers)
		}
	})
}

// Clients that get no connection try again and again, but not without end.
func TestSpinClosedIsRefused(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for _, keep := range []bool{true, false} {
			// TCP has no way to a multicast address.
			for url, want := range map[string]request.End{deadPort(t): request.Refused, "http://224.0.0.1:80": request.Unreachable} {
				o := closedTo(&rawServer{url: url})
				o.Shared, o.KeepAlive = shared, keep
				res := closedRun(t, o)
				if res.Answered != 0 || res.Failed < 4*2 || res.Failed > 4*31 || res.Dialled != 0 {
					t.Errorf("%s: %d answered, %d failed, %d dialled; want up to 30 failed of each of four", url, res.Answered, res.Failed, res.Dialled)
				}
				for _, r := range res.Requests {
					if r.Outcome != want {
						t.Fatalf("%s: got %+v", url, r)
					}
				}
			}
		}
	})
}

// wrk2's trap: clients whose requests are dropped in silence are dead, and the rest keep
// their own pace, so the throughput counts the living.
func TestSpinClosedSeesDeadClients(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		s := answering(t, func(conn, _ int, _ *http.Request) string {
			if conn%4 != 0 {
				return later
			}
			return spinOK
		})
		o := closedTo(s)
		o.Shared, o.Connections, o.Rate, o.Duration = shared, 32, 640, 500*time.Millisecond
		res := closedRun(t, o)
		if res.Asked != 32 || res.Starved != 24 || res.Answered > 80 || res.Answered < 40 || res.Cut.Requests < 24 || res.Proof.Planned != 320 {
			t.Errorf("%d of %d starved, %d answered, %d cut, %d planned; want 24 of 32, 80, 24, 320", res.Starved, res.Asked, res.Answered, res.Cut.Requests, res.Proof.Planned)
		}
	})
}

// A client that never gets room to write its next request would be lost: here each reply
// comes before the request is read.
func TestSpinClosedAnsweredBeforeTheBodyIsRead(t *testing.T) {
	s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
		nc.Read(make([]byte, 100))
		io.WriteString(nc, spinOK)
		time.Sleep(5 * time.Millisecond)
		each(nc, func(int, *http.Request) string { return spinOK })
	})
	o := closedTo(s)
	o.Targets[0].Method, o.Targets[0].Body, o.Connections = "POST", make([]byte, 16<<20), 1
	o.Duration = 1500 * time.Millisecond // the race detector reads a body in some 100 ms
	if res := closedRun(t, o); res.Answered < 3 || res.Failed != 0 {
		t.Errorf("%d answered, %d failed; want the client to go on", res.Answered, res.Failed)
	}
}

// With a server that does everything at random each request has one outcome and nothing
// hangs.
func TestSpinClosedAmongChaos(t *testing.T) {
	for _, depth := range []int{1, 5} {
		t.Run(fmt.Sprintf("depth=%d", depth), func(t *testing.T) {
			t.Parallel() // they mostly wait
			bothForms(t, func(t *testing.T, shared bool) {
				s := newRawServer(t, func(_ *rawServer, conn int, nc *net.TCPConn) {
					rng := seeded(uint64(conn))
					each(nc, func(int, *http.Request) string {
						switch rng.IntN(12) {
						case 0:
							return ""
						case 1:
							hangUp(nc)
							return ""
						case 2:
							io.Copy(io.Discard, nc)
							return ""
						case 3:
							return spinOK[:1+rng.IntN(len(spinOK)-1)]
						case 4:
							return spinBusy
						case 5:
							return spinOK + spinOK
						}
						return spinOK
					})
				})
				o := closedTo(s)
				o.Shared, o.Connections, o.Pipeline, o.Session, o.Timeout, o.Duration = shared, 16, depth, 7, record.Lasting(20*time.Millisecond), 1500*time.Millisecond
				res := closedRun(t, o)
				live := 0
				for _, n := range res.ConnAnswers {
					if n > 5 {
						live++
					}
				}
				if live != 16 || res.Failed == 0 || len(res.Sessions) < 16 || res.Cut.Requests > 16*depth {
					t.Errorf("answers %v, %d failed, %d sessions, %d cut", res.ConnAnswers, res.Failed, len(res.Sessions), res.Cut.Requests)
				}
			})
		})
	}
}

func TestSpinClosedStopsWithItsContext(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for name, reply := range map[string]string{"answering": spinOK, "silent": later} {
			s := answering(t, func(int, int, *http.Request) string { return reply })
			o := closedTo(s)
			o.Shared, o.Duration, o.Rate, o.Timeout = shared, time.Hour, 1000, record.Lasting(7200*time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			var cancelled time.Time
			o.Started = func(time.Time) {
				time.AfterFunc(50*time.Millisecond, func() { cancelled = time.Now(); cancel() })
			}
			res, err := Closed(ctx, o)
			if took := time.Since(cancelled); !errors.Is(err, context.Canceled) || took > 2*time.Second {
				t.Errorf("%s: %v %v after the stop; want the context's error within 100ms", name, err, took)
			}
			if (res.Answered > 0) != (name == "answering") || res.Failed != 0 || res.Elapsed < 40*time.Millisecond || res.Elapsed > 10*time.Second {
				t.Errorf("%s: %d answered, %d failed in %v", name, res.Answered, res.Failed, res.Elapsed)
			}
		}
	})
}

// Started is called once, when the connections are open and before a request.
func TestSpinClosedTellsItsStart(t *testing.T) {
	var asked atomic.Int64
	s := answering(t, func(int, int, *http.Request) string { asked.Add(1); return spinOK })
	o := closedTo(s)
	o.OpenRate = 40 // the fourth is opened after 75 ms
	begun := time.Now()
	var told []time.Time
	o.Started = func(at time.Time) {
		if told = append(told, at); asked.Load() > 0 {
			t.Error("asked before the start was told")
		}
	}
	res := closedRun(t, o)
	if len(told) != 1 || !told[0].Equal(res.Start) || told[0].Sub(begun) < 75*time.Millisecond || res.Dialled != 4 {
		t.Errorf("told %v, %v after the beginning, %d dialled; want once, after 75ms, 4", told, told[0].Sub(begun), res.Dialled)
	}
}

func TestSpinClosedRefusesNonsense(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*Options){
		"give at least 1":         func(o *Options) { o.Connections = 0 },
		"give a positive durati":  func(o *Options) { o.Duration = 0 },
		"warm-up and ramp that":   func(o *Options) { o.Warmup = -1 },
		"no targets":              func(o *Options) { o.Targets = nil },
		"holds 16384 at most":     func(o *Options) { o.Connections = MaxConnections + 1 },
		"excludes think times":    func(o *Options) { o.Pipeline, o.Rate = 2, 1 },
		"both say when to send":   func(o *Options) { o.Rate, o.Pause = 1, func(*rand.Rand) time.Duration { return 0 } },
		"set keep-alive":          func(o *Options) { o.KeepAlive, o.Session = false, 3 },
		"at most 1024":            func(o *Options) { o.Pipeline = 1025 },
		"rates that are not nega": func(o *Options) { o.Rate = math.NaN() },
	} {
		o := closedTo(&rawServer{url: "http://127.0.0.1:1"})
		spoil(&o)
		if _, err := Closed(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
