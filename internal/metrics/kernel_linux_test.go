package metrics

import (
	"net"
	"testing"
	"time"

	"schedlab/internal/model"
)

func TestParseOverflows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       uint64
		ok         bool
	}{
		{"usual", "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 42 43\nIpExt: InNoRoutes\nIpExt: 0\n", 42, true},
		{"short", "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 1\n", 0, false},
		{"no such counter", "TcpExt: SyncookiesSent\nTcpExt: 1\n", 0, false},
		{"no number", "TcpExt: ListenOverflows\nTcpExt: x\n", 0, false},
		{"empty", "", 0, false},
	} {
		if got, ok := parseOverflows([]byte(tc.text)); got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %d %v, want %d %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
	if _, ok := listenOverflows(); !ok {
		t.Error("the kernel's own file: got nothing")
	}
}

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
