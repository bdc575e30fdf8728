package arms_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What is done for a client that left, or that was told to go, depends on what ends the call of the other service,
// which here answers nobody before the client has its answer or has left.
func TestCaller(t *testing.T) {
	t.Parallel()
	const left = 0
	for name, tc := range map[string]struct {
		flags  string
		posts  bool // a body, which the handler does not read
		leaves bool
		status int // of the answer, or left
		works  bool
	}{
		"nethttp, nothing":                        {flags: "-server nethttp", leaves: true, status: left, works: true},
		"nethttp, context":                        {flags: "-server nethttp -passed", leaves: true, status: left},
		"nethttp, context, body unread":           {flags: "-server nethttp -passed", posts: true, leaves: true, status: left, works: true},
		"nethttp, context, body unread, checked":  {flags: "-server nethttp -passed -checked", posts: true, leaves: true, status: left, works: true},
		"nethttp, deadline":                       {flags: "-server nethttp -deadline", status: http.StatusGatewayTimeout},
		"nethttp, TimeoutHandler":                 {flags: "-server nethttp -timeouthandler", status: http.StatusServiceUnavailable, works: true},
		"nethttp, TimeoutHandler, checked":        {flags: "-server nethttp -timeouthandler -checked", status: http.StatusServiceUnavailable, works: true},
		"nethttp, TimeoutHandler and its context": {flags: "-server nethttp -timeouthandler -passed", status: http.StatusServiceUnavailable},
		"fasthttp, nothing":                       {flags: "-server fasthttp", leaves: true, status: left, works: true},
		"fasthttp, context":                       {flags: "-server fasthttp -passed -checked", leaves: true, status: left, works: true},
		"fasthttp, deadline":                      {flags: "-server fasthttp -deadline", status: http.StatusGatewayTimeout},
		"fasthttp, TimeoutHandler":                {flags: "-server fasthttp -timeouthandler", status: http.StatusRequestTimeout, works: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached, release := make(chan struct{}, 2), make(chan struct{}) // two: a client may send again what it may
			downstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				reached <- struct{}{}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(downstream.Close)
			url, admin := startAdmin(t, "caller -listen {addr} -admin {admin} -limit 50ms -iters 100 -downstream "+strings.TrimPrefix(downstream.URL, "http://")+" "+tc.flags)

			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			method, body := http.MethodGet, ""
			if tc.posts {
				method, body = http.MethodPost, "body"
			}
			req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			status := make(chan int, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					status <- left
					return
				}
				res.Body.Close()
				status <- res.StatusCode
			}()
			if tc.leaves {
				<-reached
				leave()
			}
			if got := <-status; got != tc.status {
				t.Errorf("got status %d, want %d", got, tc.status)
			}
			if tc.works {
				close(release)
			}
			counts := ended(t, admin, tc.works)
			if works := counts.Worked == 1; works != tc.works || counts.Worked > 1 {
				t.Errorf("worked %d times, want work: %v", counts.Worked, tc.works)
			}
			if counts.Goroutines < 1 || counts.Objects == 0 || counts.Bytes == 0 {
				t.Errorf("got %+v, want all but Running and Worked above 0", counts)
			}
		})
	}
}

type callerCounts struct {
	Running, Worked, Goroutines int64
	Bytes, Objects              uint64
}

// ended returns the counts of a caller when none of its handlers runs, and one has worked if it works at all.
func ended(t *testing.T, admin string, works bool) (counts callerCounts) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		res, err := http.Get(admin + "/counts")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(res.Body).Decode(&counts)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if counts.Running == 0 && (counts.Worked > 0 || !works) {
			return counts
		}
		if time.Since(began) > limit {
			t.Fatalf("after %v: %+v", limit, counts)
		}
	}
}
