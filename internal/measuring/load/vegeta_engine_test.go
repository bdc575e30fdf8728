package load

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/selfsigned"
)

// inStampOrder checks that an answered request's stamps are in order.
func inStampOrder(r request.Request, s request.Stamps) bool {
	return slices.IsSorted([]int64{r.Scheduled, r.Sent, s.Ready, s.Wrote, s.First, r.Done}) && s.Ready > 0
}

func TestVegetaSpeaksTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("iters") || r.Header.Get("X-Vegeta-Seq") == "" || r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusTeapot)
		}
		w.Write([]byte("hello"))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	o := Options{
		Clients: record.Clients{Engine: EngineVegeta, Connections: 4, KeepAlive: true, Speaks: record.Speaks{TLS: record.TrustAny}},
		Targets: []Target{{Method: "GET", URL: s.URL + "/work#here"}},
		Trace:   arrivals.Trace{At: evenly(200, 100*time.Millisecond), Demand: slices.Repeat([]arrivals.Demand{{Iters: 1}}, 20)},
	}
	res := vegetaRun(t, o)
	for i, r := range res.Requests {
		if !r.Good() || r.Bytes != 5 || !inStampOrder(r, res.Stamps[i]) {
			t.Errorf("request %d: %+v with %+v; want 5 good bytes and stamps in order", i, r, res.Stamps[i])
		}
	}
	if res.Dialled < 1 || res.Dialled > 4 {
		t.Errorf("dialled %d; want up to 4", res.Dialled)
	}
	o.Speaks.TLS = ""
	for i, r := range vegetaRun(t, o).Requests {
		if r.Outcome != request.Untrusted {
			t.Errorf("request %d: %+v; want it to fail for the certificate", i, r)
		}
	}
	for _, engine := range []string{"", EngineSpin} {
		o.Engine = engine
		if _, err := Attack(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs the engine vegeta") {
			t.Errorf("engine %q: got %v; want https refused, with the engine that speaks it", engine, err)
		}
	}
	c := Options{Clients: record.Clients{Connections: 1}, Targets: o.Targets, Duration: time.Second}
	if _, err := Closed(t.Context(), c); err == nil || !strings.Contains(err.Error(), "needs the engine vegeta") {
		t.Errorf("closed loop: got %v; want https refused", err)
	}
}

func vegetaRun(t *testing.T, o Options) *Result {
	t.Helper()
	res, err := Attack(t.Context(), o)
	if err != nil || len(res.Requests) != len(o.Trace.At) {
		t.Fatalf("%v, %d requests; want %d", err, len(res.Requests), len(o.Trace.At))
	}
	return res
}

func TestVegetaRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"holds no idle connections": func(o *Options) { o.Idle = 1 },
		"opens none beforehand":     func(o *Options) { o.OpenRate = 1 },
	} {
		o := Options{Clients: record.Clients{Engine: EngineVegeta, KeepAlive: true}, Targets: []Target{{Method: "GET", URL: "http://server/work"}}, Trace: arrivals.Trace{At: []time.Duration{0}}}
		change(&o)
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}

// A slow Ended delays no request, and Moments come at their times, those after the last request
// too.
func TestVegetaCallsBack(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	var start time.Time
	var told, moments []int
	closing := false
	o := Options{
		Clients: record.Clients{Engine: EngineVegeta, KeepAlive: true},
		Targets: []Target{{Method: "GET", URL: s.URL}}, Trace: arrivals.Trace{At: evenly(500, 100*time.Millisecond)},
		Started: func(at time.Time) { start = at },
		Ended: func(seq int, _ request.Request, _ request.Stamps) {
			told = append(told, seq)
			time.Sleep(20 * time.Millisecond)
		},
		Moments: []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond},
		Closing: func() { closing = true },
	}
	o.Moment = func(i int) {
		if early := o.Moments[i] - time.Since(start); early > 0 {
			t.Errorf("moment %d came %v early", i, early)
		}
		moments = append(moments, i)
	}
	res := vegetaRun(t, o)
	for i, r := range res.Requests {
		if !r.Good() || r.Sent < r.Scheduled || r.Sent-r.Scheduled > int64(500*time.Millisecond) {
			t.Errorf("request %d: %+v; want it sent when it was due", i, r)
		}
	}
	if slices.Sort(told); len(slices.Compact(told)) != 50 || !slices.Equal(moments, []int{0, 1, 2}) || !closing || !start.Equal(res.Start) {
		t.Errorf("told of %d requests, moments %v, closing %v, start %v for %v; want 50, 0 to 2, and the start", len(told), moments, closing, start, res.Start)
	}
}

// On real sockets lateness is the machine's, so it is printed and not judged.
func TestVegetaLateness(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second of wall-clock time")
	}
	res := vegetaRun(t, Options{
		Clients: record.Clients{Engine: EngineVegeta, Connections: 16, KeepAlive: true},
		Targets: []Target{{Method: "GET", URL: startBareServer(t)}}, Trace: arrivals.Process{}.Draw(2000, time.Second, seeded(1)),
	})
	var lags []int64
	for i, r := range res.Requests {
		if r.Sent < r.Scheduled || !r.Good() {
			t.Errorf("request %d: %+v, want a good reply sent no earlier than due", i, r)
		}
		lags = append(lags, r.Sent-r.Scheduled)
	}
	slices.Sort(lags)
	t.Logf("lag at 2,000/s: p50 %v, p99 %v", time.Duration(lags[len(lags)/2]), time.Duration(lags[len(lags)*99/100]))
}

// A TLS handshake that fails says why.
func TestHandshakeFailures(t *testing.T) {
	t.Parallel()
	served := func(from, until time.Duration, name string) string {
		return watch(t, selfsigned.Valid(t, from, until, name).Server(), false, 0).URL
	}
	const here, elsewhere = "127.0.0.1", "192.0.2.1"
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	closing, dead := listen(), listen()
	dead.Close()
	go func() {
		for nc, err := closing.Accept(); err == nil; nc, err = closing.Accept() {
			_, _ = nc.Read(make([]byte, 4<<10)) // all that came, so that the close is no reset
			nc.Close()
		}
	}()
	for url, want := range map[string]request.End{
		served(-time.Hour, time.Hour, here):                  request.Untrusted,
		served(-2*time.Hour, -time.Hour, here):               request.Expired,
		served(time.Hour, 2*time.Hour, here):                 request.Expired,
		served(-time.Hour, time.Hour, elsewhere):             request.OtherHost,
		strings.Replace(plain.URL, "http://", "https://", 1): request.NoTLS,
		"https://" + closing.Addr().String():                 request.Closed,
		"http://no-such-name.invalid/":                       request.NoName,
		"https://" + dead.Addr().String():                    request.Refused,
	} {
		o := Options{
			Clients: record.Clients{Engine: EngineVegeta, Connections: 1, KeepAlive: true, Timeout: record.Lasting(5 * time.Second)},
			Targets: []Target{{Method: "GET", URL: url}}, Trace: arrivals.Trace{At: []time.Duration{0}},
		}
		if r := vegetaRun(t, o).Requests[0]; r.Outcome != want || r.Status != 0 {
			t.Errorf("%s: %v, want %v", url, r.Outcome, want)
		}
	}
}
