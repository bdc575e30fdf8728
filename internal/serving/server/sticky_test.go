package server

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// A mode whose workers keep their connections says at the start how many
// keep-alive clients it can serve; no other mode does.
func TestStickyModesWarn(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			var log syncBuffer
			cfg := testConfig(mode.Name)
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			if mode.Has("workers") {
				cfg.Workers = 3
			}
			s := run(t, cfg)
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			const warning = "of more than 3 keep-alive clients the rest get no answer while those stay busy (one is cut off when it has been idle for 30s)"
			if warned := strings.Contains(log.String(), warning); warned != mode.Sticky {
				t.Errorf("got a warning: %v, want %v:\n%s", warned, mode.Sticky, log.String())
			}
		})
	}
}

// What a scrape tells of a sticky pool with one worker and three clients that keep
// their connections: while two starve, and after one of these has given up.
func TestStarvedClientsShow(t *testing.T) {
	t.Parallel()
	cfg := testConfig("pool")
	cfg.Workers = 1
	s := run(t, cfg)
	value := func(name string) float64 {
		t.Helper()
		_, text := s.fetch(t, "GET", "/metrics")
		_, rest, ok := strings.Cut(text, "\nschedlab_"+name+`{mode="pool"} `)
		line, _, _ := strings.Cut(rest, "\n")
		v, err := strconv.ParseFloat(line, 64)
		if !ok || err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	check := func(when string, want map[string]float64) {
		t.Helper()
		for name, v := range want {
			if got := value(name); got != v {
				t.Errorf("%s: %s: got %g, want %g", when, name, got, v)
			}
		}
	}
	check("before anybody came", map[string]float64{"queue_oldest_wait_seconds": 0, "queue_longest_wait_seconds": 0,
		"connections_gave_up_total": 0, "requests_gave_up_total": 0})

	var kept []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(soon))
		io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHost: test\r\n\r\n")
		kept = append(kept, c)
		eventually(t, "it is accepted", func() bool { return s.ln.Counts().Accepted == uint64(len(kept)) })
	}
	answered := func(c net.Conn) {
		t.Helper()
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
			t.Fatalf("got %v %v, want 200", res, err)
		}
	}
	answered(kept[0])
	eventually(t, "the starved have waited", func() bool { return value("queue_oldest_wait_seconds") > 0.05 })
	kept[1].Close()
	check("while two starve", map[string]float64{"queue_depth": 2, "connections_open": 3, "connections_done_total": 0,
		"connections_gave_up_total": 0})

	kept[0].Close()
	answered(kept[2])
	kept[2].Close()
	eventually(t, "all are closed", func() bool { return s.ln.Counts().Open == 0 })
	check("afterwards", map[string]float64{"queue_depth": 0, "queue_oldest_wait_seconds": 0, "connections_accepted_total": 3,
		"connections_done_total": 3, "connections_gave_up_total": 1, "requests_gave_up_total": 0})
	if got := value("queue_longest_wait_seconds"); got < 0.05 || got > soon.Seconds() {
		t.Errorf("afterwards: got a longest wait of %g s, want that of the starved", got)
	}
}
