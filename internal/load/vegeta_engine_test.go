package load

import (
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// inStampOrder checks that an answered request's stamps are in order.
func inStampOrder(r record.Request, s record.Stamps) bool {
	return slices.IsSorted([]int64{r.Scheduled, r.Sent, s.Ready, s.Wrote, s.First, r.Done}) && s.Ready > 0
}

// Over https the connections are made beforehand, handshakes included, and kept.
func TestVegetaSpeaksTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("iters") || r.Header.Get("X-Vegeta-Seq") == "" {
			w.WriteHeader(http.StatusTeapot)
		}
		w.Write([]byte("hello"))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	s.StartTLS()
	t.Cleanup(s.Close)
	o := Options{
		Engine: EngineVegeta, Targets: []Target{{Method: "GET", URL: s.URL + "/work"}}, SkipVerify: true,
		Trace: arrivals.Trace{At: arrivals.Constant(200, 100*time.Millisecond), Demand: slices.Repeat([]arrivals.Demand{{Iters: 1}}, 20)}, Connections: 4, KeepAlive: true,
	}
	res := attack(t, o)
	for i, r := range res.Requests {
		if !r.Good() || r.Bytes != 5 || !inStampOrder(r, res.Stamps[i]) {
			t.Errorf("request %d: %+v with %+v; want 5 good bytes and stamps in order", i, r, res.Stamps[i])
		}
	}
	if res.Dialled != 4 || len(res.ConnAnswers) != 4 {
		t.Errorf("dialled %d, answers %v; want all on 4 connections", res.Dialled, res.ConnAnswers)
	}
	o.SkipVerify = false
	for i, r := range attack(t, o).Requests {
		if r.Outcome != record.Refused {
			t.Errorf("request %d: %+v; want it refused for the certificate", i, r)
		}
	}
	for _, engine := range []string{"", EngineSpin} {
		o.Engine = engine
		if _, err := Attack(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs the engine vegeta") {
			t.Errorf("engine %q: got %v; want https refused, with the engine that speaks it", engine, err)
		}
	}
	c := ClosedOptions{Targets: o.Targets, Connections: 1, Duration: time.Second}
	if _, err := Closed(t.Context(), c); err == nil || !strings.Contains(err.Error(), "needs the engine vegeta") {
		t.Errorf("closed loop: got %v; want https refused", err)
	}
}

func TestVegetaRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"holds no idle connections": func(o *Options) { o.Idle = 1 },
	} {
		o := pipeOptions(nil, []time.Duration{0})
		change(&o)
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}

// A request is in flight until its reply is read, however long Ended takes.
func TestSlowEndedIsNotInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const service = time.Millisecond
		o := pipeOptions(newPipeServer(t, afterwards(service)), arrivals.Constant(100, time.Second))
		var told []int
		o.Ended = func(seq int, r record.Request) {
			if r.Outcome != record.Answered {
				t.Errorf("told of %+v, want it answered", r)
			}
			told = append(told, seq)
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h, err := newTransport(ctx, &o)
		if err != nil {
			t.Fatal(err)
		}
		h.pacer.limit = 2
		res, err := h.attack(&o, cancel)
		if err != nil {
			t.Fatalf("%v; want slow calls not to count", err)
		}
		for i, r := range res.Requests {
			if r.Sent != r.Scheduled || r.Done-r.Sent != int64(service) {
				t.Fatalf("request %d: %+v; want it on time", i, r)
			}
		}
		if len(told) != 100 || !slices.IsSorted(told) || res.Proof.Elapsed > 2*time.Second {
			t.Errorf("told of %d in %v; want 100 in order, which the load does not wait for", len(told), res.Proof.Elapsed)
		}
	})
}

// Replies of every form are read to their end, and the connection kept where it
// can be.
func TestVegetaReadsReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, reply string
		status        uint16
		bytes         uint32
		dialled       uint64 // for two requests
	}{
		"chunked":        {reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", status: 200, bytes: 2, dialled: 1},
		"no content":     {reply: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, dialled: 1},
		"head":           {method: "HEAD", reply: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", status: 200, dialled: 1},
		"interim":        {reply: "HTTP/1.1 103 Early Hints\r\n\r\n" + okReply, status: 200, bytes: 3, dialled: 1},
		"other protocol": {reply: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", status: 101, dialled: 2},
		"HTTP/1.0":       {reply: "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n", status: 200, bytes: 3, dialled: 2},
		"gzip, unasked":  {reply: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", status: 200, bytes: 3, dialled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := pipeOptions(newPipeServer(t, func(int, string) string { return test.reply }), []time.Duration{time.Millisecond, time.Second})
				o.Targets[0].Method = cmp.Or(test.method, "GET")
				res := attack(t, o)
				for i, r := range res.Requests {
					if r.Outcome != record.Answered || r.Status != test.status || r.Bytes != test.bytes || !inStampOrder(r, res.Stamps[i]) {
						t.Errorf("request %d: %+v with %+v; want status %d, %d bytes", i, r, res.Stamps[i], test.status, test.bytes)
					}
				}
				if res.Dialled != test.dialled {
					t.Errorf("dialled %d, want %d", res.Dialled, test.dialled)
				}
			})
		})
	}
}

// A server may answer before it is asked; the stamps are in order all the same.
func TestEarlyReplyIsStampedInOrder(t *testing.T) {
	t.Parallel()
	var x exchange
	x.ready.Store(110)
	x.first.Store(120)
	if got := x.stamps(100); got != (record.Stamps{Ready: 10}) {
		t.Errorf("got %+v before the write, want Ready alone", got)
	}
	x.wrote.Store(130)
	if got := x.stamps(100); got != (record.Stamps{Ready: 10, Wrote: 30, First: 30}) {
		t.Errorf("got %+v, want First not before Wrote", got)
	}
}
