package model_test

import (
	"io"
	"os"
	"sync/atomic"
	"testing"

	"schedlab/internal/serving/model"
)

// descriptors is the number of this process's.
func descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Clients that connect and leave, most of them by reset or in the middle of a request, are all
// counted, and every descriptor is closed again. It is not parallel: descriptors are the process's.
func TestHostileChurn(t *testing.T) {
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			serve := func() *subject {
				return start(t, mode, func(with *setup) { with.Depth = max(with.Depth, 64) })
			}
			serve().drain() // the process has what it keeps
			before := descriptors(t)
			s := serve()
			var turn atomic.Uint64
			churn := sized(2000, 20_000)
			crowd(8, churn/8, func() {
				c, err := s.tryDial()
				if err != nil {
					t.Error(err)
					return
				}
				switch turn.Add(1) % 6 {
				case 0:
					c.reset()
				case 1:
					c.Close()
				case 2:
					io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHo")
					c.reset()
				case 3:
					io.WriteString(c, get("/bytes/500000"))
					c.reset()
				case 4:
					io.WriteString(c, "\x00\x01\r\n\r\n")
					c.Close()
				default:
					if a, err := c.ask(getClose("/plaintext")); err != nil || a.Status != 200 {
						t.Errorf("got %d %v, want 200", a.Status, err)
					}
					c.Close()
				}
			})
			eventually(t, "all connects are accepted", func() bool { return s.ln.Counts().Accepted == s.dialled.Load() })
			s.open(0)
			if c := s.ln.Counts(); c.Done != uint64(churn) || c.Turned() != 0 {
				t.Errorf("got %+v, want %d done and none turned away", c, churn)
			}
			s.visit(1, getClose("/plaintext"))
			if _, err := s.drain(); err != nil {
				t.Error(err)
			}
			eventually(t, "the descriptors are back", func() bool { return descriptors(t) <= before })
		})
	}
}
