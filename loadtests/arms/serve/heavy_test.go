package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/shared/workload"
)

// Heavy requests wait for their places, and light ones for nothing.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int64
		serve := bounded(func(x *workload.Exchange) {
			if x.Query != "iters=1000" {
				most.Store(max(most.Load(), at.Add(1)))
				defer at.Add(-1)
			}
			time.Sleep(time.Second)
		}, 2)
		began := time.Now()
		var light time.Duration
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { serve(&workload.Exchange{Query: "iters=5000000"}) })
		}
		all.Go(func() { serve(&workload.Exchange{Query: "iters=1000"}); light = time.Since(began) })
		all.Wait()
		if most.Load() != 2 || light != time.Second || time.Since(began) != 3*time.Second {
			t.Errorf("%d heavy at once, light ended after %v and all after %v; want 2, 1s and 3s", most.Load(), light, time.Since(began))
		}
	})
}

// A request that yields computes as many iterations as it was asked for, and the last answer is its own.
func TestYielding(t *testing.T) {
	for query, want := range map[string][]string{
		"iters=250000&sleep=1ms": {"iters=100000", "iters=100000", "iters=50000&sleep=1ms"},
		"iters=100000":           {"iters=100000"},
		"sleep=1ms":              {"sleep=1ms"},
		"":                       {""},
	} {
		var asked []string
		yielding(func(x *workload.Exchange) { asked = append(asked, x.Query) })(&workload.Exchange{Query: query})
		if !slices.Equal(asked, want) {
			t.Errorf("%s: asked for %q, want %q", query, asked, want)
		}
	}
}
