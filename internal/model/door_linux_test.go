package model_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"schedlab/internal/model"
)

// A crowd that comes at once and asks again as soon as it is answered is let in while
// it is served: nobody waits outside for many rounds of those within. The limit is in
// answers, so a slow machine changes nothing: letting in one batch a round takes five
// for each of the crowd.
func TestLoopLetsACrowdIn(t *testing.T) {
	loops(t, func(t *testing.T, mode model.Mode) {
		const crowd, most = 1000, 3.5
		s := start(t, mode)
		clients := make([]*client, crowd)
		for i := range clients {
			clients[i] = s.dial()
		}
		var answers, served atomic.Int64
		var group sync.WaitGroup
		for _, c := range clients {
			group.Go(func() {
				for first := true; served.Load() < crowd; first = false {
					if _, err := c.ask(get("/work?iters=100000")); err != nil { // 503 is an answer
						t.Error(err)
						return
					}
					answers.Add(1)
					if first {
						served.Add(1)
					}
				}
			})
		}
		group.Wait()
		if n := float64(answers.Load()) / crowd; n > most {
			t.Errorf("%.1f answers for each of the crowd before the last one had its first", n)
		}
	})
}
