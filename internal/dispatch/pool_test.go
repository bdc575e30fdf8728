package dispatch

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A ledger notes what a pool did with its jobs. A job is how long it runs.
type ledger struct {
	mu     sync.Mutex
	order  []time.Duration
	waits  []time.Duration
	busy   int
	mostly int // the most workers busy at once
}

func (l *ledger) run(job time.Duration) {
	l.mu.Lock()
	l.order = append(l.order, job)
	l.busy++
	l.mostly = max(l.mostly, l.busy)
	l.mu.Unlock()
	time.Sleep(job)
	l.mu.Lock()
	l.busy--
	l.mu.Unlock()
}

func (l *ledger) waited(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, d)
}

// in runs f on a started pool in virtual time, and closes the pool.
func in(t *testing.T, workers, depth int, f func(*testing.T, *Pool[time.Duration], *ledger)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		p := New(workers, depth, l.run, l.waited)
		p.Start()
		f(t, p, l)
		p.Close()
		if p.Busy() != 0 || p.Depth() != 0 {
			t.Errorf("after Close: got %d busy and %d waiting, want none", p.Busy(), p.Depth())
		}
	})
}

func TestPoolIsFirstComeFirstServed(t *testing.T) {
	in(t, 1, 100, func(t *testing.T, p *Pool[time.Duration], l *ledger) {
		var want []time.Duration
		for i := range 20 {
			job := time.Duration(20-i) * time.Millisecond
			want = append(want, job)
			p.Submit(job)
		}
		time.Sleep(time.Minute) // all have run
		synctest.Wait()
		if !slices.Equal(l.order, want) {
			t.Errorf("got order %v, want %v", l.order, want)
		}
	})
}

func TestPoolReportsEveryWaitExactly(t *testing.T) {
	in(t, 1, 1, func(t *testing.T, p *Pool[time.Duration], l *ledger) {
		p.Submit(3 * time.Second) // runs at once
		synctest.Wait()
		p.Submit(time.Second) // waits 3 s in the queue
		p.Submit(time.Second) // 3 s for a place, then 1 s in the queue
		time.Sleep(10 * time.Second)
		p.Submit(0)
		synctest.Wait()
		if want := []time.Duration{0, 3 * time.Second, 4 * time.Second, 0}; !slices.Equal(l.waits, want) {
			t.Errorf("got waits %v, want %v", l.waits, want)
		}
	})
}

func TestPoolRunsAsManyJobsAsWorkers(t *testing.T) {
	in(t, 3, 10, func(t *testing.T, p *Pool[time.Duration], l *ledger) {
		began := time.Now()
		for range 7 {
			p.Submit(time.Second)
		}
		synctest.Wait()
		if p.Busy() != 3 || p.Depth() != 4 || p.Workers() != 3 || p.Capacity() != 10 {
			t.Errorf("got %d of %d busy and %d of %d waiting, want 3 of 3 and 4 of 10",
				p.Busy(), p.Workers(), p.Depth(), p.Capacity())
		}
		for p.Busy() > 0 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(began); took != 3*time.Second || l.mostly != 3 {
			t.Errorf("7 jobs of 1 s took %v on at most %d workers, want 3 s on 3", took, l.mostly)
		}
	})
}

func TestTrySubmit(t *testing.T) {
	in(t, 1, 2, func(t *testing.T, p *Pool[time.Duration], _ *ledger) {
		p.Submit(time.Second)
		synctest.Wait()
		for i, want := range []bool{true, true, false, false} {
			if got := p.TrySubmit(time.Second); got != want {
				t.Errorf("job %d behind a busy worker and 2 places: got %v, want %v", i, got, want)
			}
		}
		time.Sleep(1500 * time.Millisecond) // one job further
		if !p.TrySubmit(0) {
			t.Error("a place came free and is not given")
		}
	})
}

func TestDepthZeroHandsOver(t *testing.T) {
	in(t, 2, 0, func(t *testing.T, p *Pool[time.Duration], _ *ledger) {
		synctest.Wait() // the workers are ready
		for i, want := range []bool{true, true, false} {
			if got := p.TrySubmit(time.Second); got != want {
				t.Errorf("job %d on 2 workers: got %v, want %v", i, got, want)
			}
			synctest.Wait()
		}
		began := time.Now()
		p.Submit(0)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("Submit returned after %v, want 1 s, when a worker came free", waited)
		}
	})
}

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		p := New(2, 10, l.run, nil)
		for range 6 {
			p.Submit(time.Second) // before Start: nothing runs yet
		}
		synctest.Wait()
		if len(l.order) != 0 {
			t.Errorf("got %d jobs begun before Start, want none", len(l.order))
		}
		p.Start()
		began := time.Now()
		p.Close()
		if took := time.Since(began); took != 3*time.Second || len(l.order) != 6 {
			t.Errorf("Close took %v and %d jobs ran, want 3 s and 6", took, len(l.order))
		}
	})
}

// A hand-off and its reply allocate nothing. Not parallel: allocations are
// counted in the whole process.
func TestPoolAllocatesNothing(t *testing.T) {
	p := New(2, 2, func(reply chan struct{}) { reply <- struct{}{} }, func(time.Duration) {})
	p.Start()
	defer p.Close()
	reply := make(chan struct{}, 1)
	for name, submit := range map[string]func(){
		"Submit": func() { p.Submit(reply) },
		"TrySubmit": func() {
			for !p.TrySubmit(reply) {
			}
		},
	} {
		if got := testing.AllocsPerRun(1000, func() { submit(); <-reply }); got != 0 {
			t.Errorf("%s: got %g allocations, want 0", name, got)
		}
	}
}

func TestOverflowIsAFlag(t *testing.T) {
	t.Parallel()
	for _, want := range []Overflow{Block, Reject} {
		var o Overflow
		if err := o.Set(want.String()); err != nil || o != want {
			t.Errorf("%v: got %v %v", want, o, err)
		}
	}
	var o Overflow
	err := o.Set("drop")
	if want := `unknown overflow policy "drop" (want block or reject)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
