package server

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/serving/model"
)

// Readings are a tick apart, add up, and only the newest of them are kept; the counters'
// reader ends with its context.
func TestHistoryKeepsTheNewestReadings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h history
		var asked uint64
		ctx, quit := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.record(ctx, func() model.Counts {
				asked++
				c := model.Counts{Accepted: 4 * asked, Done: asked, Open: asked}
				c.Rejected[model.QueueFull], c.Dropped[model.Stale] = asked, asked
				return c
			}, false)
		}()
		time.Sleep((keptReadings + 50) * tick)
		quit()
		<-ended
		all := h.all()
		if len(all) != keptReadings || asked < keptReadings+49 {
			t.Fatalf("%d readings of %d are kept, want %d of one a tick", len(all), asked, keptReadings)
		}
		for i, r := range all {
			if want := asked - keptReadings + uint64(i) + 1; r.Done != want || r.Accepted != r.Done+r.Rejected+r.Dropped+r.Open {
				t.Fatalf("reading %d is %+v, want the newest, that add up: done %d", i, r, want)
			}
			if i > 0 && r.At-all[i-1].At != int64(tick) || r.At%int64(tick) != 0 {
				t.Fatalf("reading %d is at %d after %d, want every tick", i, r.At, all[max(i-1, 0)].At)
			}
		}
	})
}

// A reading that comes late is timed as it was taken, and the next is no nearer than half a tick.
func TestLateReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h history
		ctx, quit := context.WithCancel(t.Context())
		defer quit()
		go h.record(ctx, func() model.Counts {
			if len(h.all()) == 1 { // the first one after a tick
				time.Sleep(80 * time.Millisecond)
			}
			return model.Counts{}
		}, true)
		time.Sleep(10 * tick)
		quit()
		synctest.Wait()
		all := h.all()
		if first, second := all[2].At-all[1].At, all[3].At-all[2].At; first != int64(2*tick) || second != int64(tick) {
			t.Errorf("after a reading of 80 ms the next come %v and %v later, want two ticks and one", time.Duration(first), time.Duration(second))
		}
	})
}

// The page shows every connection once in each reading, also those of several processes.
func TestConnectionsPage(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"nethttp", "loop", "prefork"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(mode)
			if mode == "prefork" {
				cfg.Processes = 2
			}
			r := run(t, cfg)
			const held, closed = 3, 5
			for range held {
				c, err := net.Dial("tcp", r.ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			for range closed {
				req, err := http.NewRequest(http.MethodGet, r.url("/plaintext"), nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Close = true
				res, err := browser(t).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			var last reading
			eventually(t, "the readings have all connections", func() bool {
				_, page := r.fetch(t, http.MethodGet, "/debug/connections")
				before := reading{}
				for line := range strings.Lines(page) {
					last = reading{}
					if err := json.Unmarshal([]byte(line), &last); err != nil {
						t.Fatalf("line %q: %v", line, err)
					}
					if last.Accepted != last.Done+last.Rejected+last.Dropped+last.Open || last.At <= before.At || last.Accepted < before.Accepted || last.Done < before.Done {
						t.Fatalf("%+v follows %+v", last, before)
					}
					before = last
				}
				return last.Open == held && last.Done == closed
			})
			if last.Accepted != held+closed {
				t.Errorf("got %+v, want %d accepted", last, held+closed)
			}
		})
	}
}
