package model_test

import (
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"schedlab/internal/shared/workload"
)

// Every connection runs on a thread of its own, which ends with it.
func TestThreadsHaveOneEach(t *testing.T) {
	t.Parallel()
	const clients = 20
	var mu sync.Mutex
	seen := map[int]bool{}
	s := start(t, lookup(t, "threads"), func(with *setup) {
		serve := with.Handle
		with.Handle = func(x *workload.Exchange) {
			mu.Lock()
			seen[syscall.Gettid()] = true
			mu.Unlock()
			serve(x)
		}
	})
	var all []*client
	for range clients {
		c := s.dial()
		all = append(all, c)
		for range 2 { // the second on the same thread
			if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("got %d %v, want 200", a.Status, err)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != clients {
		t.Errorf("got %d threads, want %d", len(seen), clients)
	}
	for _, c := range all {
		c.Close()
	}
	eventually(t, "the end of the threads", func() bool {
		left := 0
		for id := range seen {
			if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(id)); err == nil {
				left++
			}
		}
		return left <= 1 // a number may have been given out again
	})
}
