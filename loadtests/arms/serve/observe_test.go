package main

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"schedlab/internal/shared/workload"
)

func nothing(*workload.Exchange) {}

// Every kind of counter counts each request once.
func TestCounted(t *testing.T) {
	const clients, each = 8, 1000
	for name, kind := range counters {
		c := kind()
		serve := counted(nothing, c)
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					serve(new(workload.Exchange))
				}
			})
		}
		all.Wait()
		if got := c.sum(); got != clients*each {
			t.Errorf("%s: got %d, want %d", name, got, clients*each)
		}
	}
}

// Every kind of log has a whole line for each request once it has ended.
func TestLogged(t *testing.T) {
	const clients, each = 8, 100
	for name, kind := range logs {
		var out bytes.Buffer
		l := kind(&out)
		serve := logged(func(x *workload.Exchange) { x.Status = 200 }, l)
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					serve(&workload.Exchange{Method: "GET", Path: "/plaintext"})
				}
			})
		}
		all.Wait()
		if err := l.end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != clients*each {
			t.Errorf("%s: got %d lines, want %d", name, len(lines), clients*each)
		}
		for _, line := range lines {
			if !strings.HasSuffix(line, " GET /plaintext 200") {
				t.Errorf("%s: got the line %q", name, line)
				break
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// A log that cannot be written says so at its end, and requests are answered all the same.
func TestLogThatCannotBeWritten(t *testing.T) {
	for name, kind := range logs {
		l := kind(full{})
		x := workload.Exchange{Method: "GET", Path: "/plaintext"}
		logged(func(x *workload.Exchange) { x.Status = 200 }, l)(&x)
		if err := l.end(); err == nil || x.Status != 200 {
			t.Errorf("%s: got error %v and status %d, want an error and 200", name, err, x.Status)
		}
	}
}
