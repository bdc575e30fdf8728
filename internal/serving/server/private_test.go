package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schedlab/internal/serving/model"
)

// In every mode the public side shows nothing private, the admin side is on
// loopback, and no client can make a series, whatever it asks for.
func TestClientsSeeAndMakeNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			s := run(t, testConfig(mode.Name))
			if addr := s.admin.ln.Addr().String(); !strings.HasPrefix(addr, "127.0.0.1:") {
				t.Errorf("got the admin side on %s, want it on loopback", addr)
			}
			client := browser(t)
			ask := func(method, path string, want int) {
				t.Helper()
				r, err := http.NewRequest(method, s.url(path), nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-"+method, path)
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("%s %s: got %d, want %d", method, path, res.StatusCode, want)
				}
			}
			for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/", "/debug/vars"} {
				ask("GET", path, 404)
			}
			ask("GET", "/plaintext", 200)
			before := s.series(t)
			for i := range 200 {
				ask(fmt.Sprintf("METHOD%d", i), fmt.Sprintf("/path/%d?query=%d", i, i), 404)
			}
			if after := s.series(t); after != before {
				t.Errorf("got the series\n%s\nafter hundreds of paths and methods, want those of before\n%s", after, before)
			}
		})
	}
}

// series are the names and labels of the server's own series in a scrape.
func (r *running) series(t *testing.T) string {
	t.Helper()
	_, scrape := r.fetch(t, "GET", "/metrics")
	var b strings.Builder
	for line := range strings.Lines(scrape) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(line, "schedlab_") {
			fmt.Fprintln(&b, name)
		}
	}
	return b.String()
}
