package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/shared/workload"
)

// Heavy requests wait for their places, and light ones for nothing.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := bounded(func(*workload.Exchange) { time.Sleep(time.Second) }, 2)
		began := time.Now()
		var light time.Duration
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { serve(&workload.Exchange{Path: "/work", Query: "iters=5000000"}) })
		}
		all.Go(func() { serve(&workload.Exchange{Path: "/work", Query: "iters=1000"}); light = time.Since(began) })
		all.Wait()
		if light != time.Second || time.Since(began) != 3*time.Second {
			t.Errorf("light ended after %v and all after %v; want 1s and 3s", light, time.Since(began))
		}
	})
}

// A request that yields computes as many iterations as it was asked for, and the last answer is its own. What computes
// nothing, or more than /work allows, is answered at once.
func TestYielding(t *testing.T) {
	for target, want := range map[string][]string{
		"/work?iters=250000&sleep=1ms": {"iters=100000", "iters=100000", "iters=50000&sleep=1ms"},
		"/work?iters=100000":           {"iters=100000"},
		"/work?iters=2000000000":       {"iters=2000000000"},
		"/work?sleep=1ms":              {"sleep=1ms"},
		"/work":                        {""},
		"/plaintext?iters=250000":      {"iters=250000"},
	} {
		path, query, _ := strings.Cut(target, "?")
		var asked []string
		yielding(func(x *workload.Exchange) { asked = append(asked, x.Query) })(&workload.Exchange{Path: path, Query: query})
		if !slices.Equal(asked, want) {
			t.Errorf("%s: asked for %q, want %q", target, asked, want)
		}
	}
}
