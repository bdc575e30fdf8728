package metrics

import (
	"net"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/model"
)

// listen opens two sockets of one address, with a short accept queue.
func listen(t *testing.T) *model.Listener {
	t.Helper()
	ln, err := model.Socket{Addr: "127.0.0.1:0", Backlog: 7, MaxConns: 10, Sockets: 2}.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// byLabel returns a family's values by one of its labels.
func byLabel(f *dto.MetricFamily, label string) map[string]float64 {
	values := map[string]float64{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				values[l.GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return values
}

// Every socket's accept queue and connections are told, from the first number on.
func TestSockets(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	m := New(Options{Mode: "reuseport"})
	m.WatchSockets(ln, 3)
	const clients = 6
	for range clients {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		waiting := byLabel(gather(t, m)["schedlab_accept_queue_depth"], "listener")
		if len(waiting) == 2 && waiting["3"]+waiting["4"] == clients {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("got %v waiting, want %d over listeners 3 and 4", waiting, clients)
		}
	}
	if limits := byLabel(gather(t, m)["schedlab_accept_queue_limit"], "listener"); limits["3"] != 7 || limits["4"] != 7 {
		t.Errorf("got limits %v, want 7", limits)
	}
	ln.Close()
	all := gather(t, m)
	if all["schedlab_accept_queue_depth"] != nil || len(byLabel(all["schedlab_listener_connections_open"], "listener")) != 2 {
		t.Errorf("of closed sockets: got %v, want counts without queues", all["schedlab_accept_queue_depth"])
	}
}

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
