package metrics

import (
	"net"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/serving/model"
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

// Every socket's accept queue and connections are told, by its number.
func TestSockets(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	m := New(Options{Mode: "reuseport"})
	m.WatchSockets(ln)
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
		if len(waiting) == 2 && waiting["0"]+waiting["1"] == clients {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("got %v waiting, want %d over listeners 0 and 1", waiting, clients)
		}
	}
	if limits := byLabel(gather(t, m)["schedlab_accept_queue_limit"], "listener"); limits["0"] != 7 || limits["1"] != 7 {
		t.Errorf("got limits %v, want 7", limits)
	}
	ln.Close()
	all := gather(t, m)
	if all["schedlab_accept_queue_depth"] != nil || len(byLabel(all["schedlab_listener_connections_open"], "listener")) != 2 {
		t.Errorf("of closed sockets: got %v, want counts without queues", all["schedlab_accept_queue_depth"])
	}
}
