package arms_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Behind relay schedlab answers as without it, no sooner than the round trip, and the metrics tell of it. At SIGTERM it ends
// with its own exit code, and relay with it.
func TestRelay(t *testing.T) {
	t.Parallel()
	var url, admin string
	t.Run("answers", func(t *testing.T) {
		schedlab := " serve --mode nethttp --admin off --iters 100 --addr "
		direct := start(t, "schedlab"+schedlab+"{addr}")
		// relay is asked for its metrics at the port that start has found, and for all else at another.
		admin = start(t, "relay -delay 5ms -listen 127.0.0.1:{port} -admin 127.0.0.3:{port} -- "+filepath.Join(built, "schedlab")+schedlab+"{server}")
		url, admin = admin, strings.Replace(admin, "127.0.0.1", "127.0.0.3", 1)
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // relay listens before the server does
			res, err := http.Get(url + "/plaintext")
			if err == nil {
				res.Body.Close()
				break
			}
			if time.Since(began) > limit {
				t.Fatal(err)
			}
		}
		for _, request := range requests {
			want := ask(t, direct, request)
			began := time.Now()
			if got := ask(t, url, request); got != want {
				t.Errorf("%.60s: got %.200s\nwant %.200s", request, got, want)
			}
			if took := time.Since(began); took < 10*time.Millisecond {
				t.Errorf("%.60s: answered after %v, in less than a round trip", request, took)
			}
		}
		if got := ask(t, admin, "GET /metrics"); !strings.Contains(got, "\nrelay_late_seconds_count ") || !strings.Contains(got, "\nrelay_delay_seconds 0.005\n") {
			t.Errorf("the metrics are %s", got)
		}
	})
	// start has ended the server.
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := http.Get(admin + "/metrics")
		_, err2 := http.Get(url + "/plaintext")
		if err != nil && err2 != nil {
			return
		}
		if time.Since(began) > limit {
			t.Fatal("relay goes on without its server")
		}
	}
}
