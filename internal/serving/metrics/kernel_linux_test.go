package metrics

import (
	"net"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// An accept queue that overflows is counted.
func TestOverflowsAreCounted(t *testing.T) {
	t.Parallel()
	ln, err := model.Socket{Addr: "127.0.0.1:0", Backlog: 1, MaxConns: 1}.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	m := New(Options{Mode: "nethttp"})
	m.WatchOverflows()
	for range 6 { // two fit; the others' handshakes are dropped
		c, err := net.DialTimeout("tcp", ln.Addr().String(), 50*time.Millisecond)
		if err == nil {
			defer c.Close()
		}
	}
	if got := gather(t, m)["schedlab_listen_overflows_total"].GetMetric()[0].GetCounter().GetValue(); got < 1 {
		t.Errorf("got %g overflows, want some", got)
	}
}
