package model_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/timeline"
)

// traced is a request with a number in its trace.
func traced(seq int, line, rest string) string {
	return fmt.Sprintf("%s HTTP/1.1\r\nHost: test\r\nX-Vegeta-Seq: %d\r\n%s", line, seq, rest)
}

// Every answered request has its stamps, in their order, within the time in
// which its client waited, and its parts add up to that: in every mode, new and
// kept connections, with bodies, in pipelines, with and without the kernel's
// stamps.
func TestStamps(t *testing.T) {
	const each = 20
	for _, level := range []string{"basic", "full"} {
		if level == "full" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(level, func(t *testing.T) {
			eachMode(t, func(t *testing.T, mode model.Mode) {
				ring := timeline.NewRing(100_000)
				s := start(t, mode, func(with *setup) {
					with.Socket.Timeline, with.Socket.KernelStamps = ring, level == "full"
				})
				var asked []timeline.Client
				ask := func(c *client, request string, answers int) {
					sent := timeline.Now()
					if _, err := io.WriteString(c, request); err != nil {
						t.Fatal(err)
					}
					for range answers {
						if _, err := c.in.Peek(1); err != nil {
							t.Fatal(err)
						}
						first := timeline.Now()
						if a, err := c.read("GET"); err != nil || a.Status != 200 {
							t.Fatalf("answered %d, %v", a.Status, err)
						}
						asked = append(asked, timeline.Client{Scheduled: sent, Sent: sent, Ready: sent, Wrote: sent, First: first, Done: timeline.Now()})
					}
				}
				kept := s.dial()
				if level == "full" { // the kernel begins to stamp some time after it was asked
					eventually(t, "a stamp of the kernel's", func() bool {
						if _, err := kept.ask(get("/plaintext")); err != nil {
							t.Fatal(err)
						}
						all, _, _ := ring.Since(0)
						return len(all) > 0 && all[len(all)-1].Received != 0
					})
				}
				for range each {
					ask(kept, traced(len(asked), "GET /work?sleep=100us", "\r\n"), 1)
				}
				for range each {
					ask(kept, traced(len(asked), "POST /echo", "Content-Length: 5\r\n\r\nhello"), 1)
				}
				var pipeline strings.Builder
				for i := range each {
					pipeline.WriteString(traced(len(asked)+i, "GET /plaintext", "\r\n"))
				}
				ask(kept, pipeline.String(), each)
				kept.Close()
				for range each {
					c := s.dial()
					ask(c, traced(len(asked), "GET /json", "Connection: close\r\n\r\n"), 1)
					c.Close()
				}

				stamps := map[uint64]timeline.Server{}
				eventually(t, "the stamps of every request", func() bool {
					all, _, lost := ring.Since(0)
					numbered := 0
					for _, st := range all {
						if st.Seq != timeline.Unnumbered {
							stamps[st.Seq] = st
							numbered++
						}
					}
					if numbered > len(stamps) || lost > 0 {
						t.Fatalf("%d stamps of %d requests, %d lost", numbered, len(stamps), lost)
					}
					return len(stamps) == len(asked)
				})
				accepted := 0
				for i, c := range asked {
					st := stamps[uint64(i)]
					p := timeline.Split(c, st)
					if part, negative := p.Negative(); negative {
						t.Fatalf("request %d: %v is %d: %+v %+v", i, part, p[part], c, st)
					}
					if i < each && p[timeline.Service] < int64(100*time.Microsecond) {
						t.Errorf("request %d: the handler slept 100 µs and took %d ns", i, p[timeline.Service])
					}
					if st.Accept != 0 {
						accepted++
					}
					if (st.Received != 0) != (level == "full") {
						t.Errorf("request %d: the kernel's stamp is %d", i, st.Received)
					}
					if mode.Axes.Unit == "request" && (st.Enqueue == 0 || st.Dequeue == 0) {
						t.Errorf("request %d went through the queue unstamped: %+v", i, st)
					}
				}
				want := each
				if level == "basic" { // or somebody else was the first on the kept one
					want++
				}
				if accepted != want {
					t.Errorf("%d requests say when their connection was accepted, want the first of each of %d", accepted, want)
				}
			})
		})
	}
}

// Requests carry no number without their client's saying so, and answers no
// timing; with stamps on, and asked, they do.
func TestServerTiming(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) { with.Socket.Timeline = timeline.NewRing(10) })
		c := s.dial()
		a, err := c.ask("GET /work?sleep=2ms HTTP/1.1\r\nHost: test\r\nX-Server-Timing: 1\r\n\r\n")
		var queue, service float64
		if n, _ := fmt.Sscanf(a.field("Server-Timing"), "queue;dur=%f, service;dur=%f", &queue, &service); err != nil || n != 2 || queue < 0 || service < 2 {
			t.Errorf("asked for timing of 2 ms: got %q, %v", a.field("Server-Timing"), err)
		}
		if a, err := c.ask(get("/plaintext")); err != nil || a.field("Server-Timing") != "" {
			t.Errorf("not asked for timing: got %q, %v", a.field("Server-Timing"), err)
		}
	})
}

// Stamps leave a read as it is: Go's scheduler is told of the system call of every read with
// stamps and without, or, by an event loop, of none.
func TestSchedulerSeesReads(t *testing.T) { // not parallel: a trace is of the whole process
	const requests = 10
	for _, mode := range model.Variants() {
		for _, level := range []string{"off", "basic", "full"} {
			if level == "full" && runtime.GOOS != "linux" {
				continue
			}
			t.Run(mode.Name+"/"+level, func(t *testing.T) {
				s := start(t, mode, func(with *setup) {
					if level != "off" {
						with.Socket.Timeline, with.Socket.KernelStamps = timeline.NewRing(requests), level == "full"
					}
				})
				c := s.dial()
				defer c.Close()
				var recorded bytes.Buffer
				if err := trace.Start(&recorded); err != nil {
					t.Fatal(err)
				}
				for range requests {
					if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
						t.Errorf("answered %d, %v", a.Status, err)
					}
				}
				trace.Stop()
				seen := seenReads(t, &recorded)
				if mode.Loops && seen > 0 || !mode.Loops && seen < requests {
					t.Errorf("the scheduler saw %d system calls of reads for %d requests", seen, requests)
				}
			})
		}
	}
}

// seenReads counts the system calls of connections' reads in an execution trace.
func seenReads(t *testing.T, recorded io.Reader) (n int) {
	r, err := exptrace.NewReader(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.ReadEvent()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() != exptrace.EventStateTransition || e.StateTransition().Resource.Kind != exptrace.ResourceGoroutine {
			continue
		}
		if _, to := e.StateTransition().Goroutine(); to != exptrace.GoSyscall {
			continue
		}
		for f := range e.Stack().Frames() {
			if strings.HasSuffix(f.Func, "onn).Read") && strings.Contains(f.Func, "/model.(*") {
				n++
				break
			}
		}
	}
}
