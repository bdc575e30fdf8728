package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var all = []Kind{Shared, PerWorker, Ring, Adaptive}

func (k Kind) String() string {
	return [...]string{"shared", "perworker", "ring", "adaptive"}[k]
}

// A ledger notes what a dispatcher did with its jobs. A job is how long it runs.
type ledger struct {
	mu    sync.Mutex
	notes notes
	busy  int
}

// notes are a ledger's at some moment, each in the order it happened.
type notes struct {
	ran, waits, sojourns []time.Duration
	waited               []time.Duration // whose the waits are
	refused              map[Why][]time.Duration
	mostly               int // the most workers busy at once
}

func (l *ledger) read() notes {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.notes
	n.refused = maps.Clone(n.refused)
	return n
}

func (l *ledger) run(job time.Duration) {
	l.mu.Lock()
	l.notes.ran = append(l.notes.ran, job)
	l.busy++
	l.notes.mostly = max(l.notes.mostly, l.busy)
	l.mu.Unlock()
	time.Sleep(job)
	l.mu.Lock()
	l.busy--
	l.mu.Unlock()
}

func (l *ledger) refuse(job time.Duration, why Why) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.refused[why] = append(l.notes.refused[why], job)
}

func (l *ledger) waited(job, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.waits = append(l.notes.waits, d)
	l.notes.waited = append(l.notes.waited, job)
}

func (l *ledger) sojourned(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.sojourns = append(l.notes.sojourns, d)
}

// watch makes o tell l everything.
func (l *ledger) watch(o Options[time.Duration]) Options[time.Duration] {
	l.notes.refused = map[Why][]time.Duration{}
	o.Run, o.Refuse, o.Waited, o.Sojourned = l.run, l.refuse, l.waited, l.sojourned
	o.Target, o.Interval = cmp.Or(o.Target, DefaultTarget), cmp.Or(o.Interval, DefaultInterval)
	return o
}

// in runs f on a started dispatcher in virtual time, and closes it.
func in(t *testing.T, kind Kind, o Options[time.Duration], f func(*testing.T, Dispatcher[time.Duration], *ledger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		d := New(kind, l.watch(o))
		d.Start()
		synctest.Wait() // the workers are ready
		f(t, d, l)
		d.Close()
		if d.Busy() != 0 || d.Depth() != 0 {
			t.Errorf("after Close: got %d busy and %d waiting, want none", d.Busy(), d.Depth())
		}
	})
}

// each runs f for every kind, with jobs as pointers and as closures.
func each(t *testing.T, kinds []Kind, f func(t *testing.T, kind Kind, o Options[time.Duration])) {
	t.Parallel()
	for _, kind := range kinds {
		for _, job := range []string{"func", Closure} {
			t.Run(fmt.Sprintf("kind=%v/job=%s", kind, job), func(t *testing.T) {
				t.Parallel()
				f(t, kind, Options[time.Duration]{Settings: Settings{Job: job}})
			})
		}
	}
}

const second = time.Second

// sleep lets time pass, and whatever happens then be over.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// put puts jobs one after the other, each when the ones before have settled.
func put(d Dispatcher[time.Duration], jobs ...time.Duration) {
	for _, job := range jobs {
		d.Put(job)
		synctest.Wait()
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth = 1, 32
		in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			var want []time.Duration
			for i := range 20 {
				want = append(want, time.Duration(20-i)*time.Microsecond) // below the target: nothing stands
			}
			put(d, want...)
			sleep(time.Minute)
			if !slices.Equal(l.read().ran, want) {
				t.Errorf("got order %v, want %v", l.read().ran, want)
			}
		})
	})
}

func TestWaitsAndSojournsAreExact(t *testing.T) {
	each(t, []Kind{Shared, PerWorker, Ring}, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth = 1, 1
		in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			put(d, 3*second, second) // the first runs at once, the second waits 3 s in the queue
			d.Put(second)            // 3 s for a place, then 1 s in the queue
			sleep(10 * second)
			put(d, 0)
			if want := []time.Duration{0, 3 * second, 4 * second, 0}; !slices.Equal(l.read().waits, want) {
				t.Errorf("got waits %v, want %v", l.read().waits, want)
			}
			if got := l.read(); !slices.Equal(got.waited, got.ran) {
				t.Errorf("got the waits of %v, want those of the jobs run, %v", got.waited, got.ran)
			}
			if want := []time.Duration{3 * second, 4 * second, 5 * second, 0}; !slices.Equal(l.read().sojourns, want) {
				t.Errorf("got sojourns %v, want %v", l.read().sojourns, want)
			}
		})
	})
}

func TestRunsAsManyJobsAsWorkers(t *testing.T) {
	each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth, o.Target = 4, 8, time.Hour
		in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			began := time.Now()
			put(d, slices.Repeat([]time.Duration{second}, 12)...)
			if d.Busy() != 4 || d.Depth() != 8 || d.Workers() != 4 || d.Capacity() != 8 {
				t.Errorf("got %d of %d busy and %d of %d waiting, want 4 of 4 and 8 of 8",
					d.Busy(), d.Workers(), d.Depth(), d.Capacity())
			}
			for d.Busy() > 0 {
				sleep(100 * time.Millisecond)
			}
			if took := time.Since(began); took != 3*second || l.read().mostly != 4 {
				t.Errorf("12 jobs of 1 s took %v on at most %d workers, want 3 s on 4", took, l.read().mostly)
			}
		})
	})
}

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth = 2, 8
		o.Target = time.Hour // nothing ages
		synctest.Test(t, func(t *testing.T) {
			l := new(ledger)
			d := New(kind, l.watch(o))
			for range 6 {
				d.Put(second) // before Start: nothing runs yet
			}
			synctest.Wait()
			if len(l.read().ran) != 0 {
				t.Errorf("got %d jobs begun before Start, want none", len(l.read().ran))
			}
			d.Start()
			began := time.Now()
			d.Close()
			if took := time.Since(began); took != 3*second || len(l.read().ran) != 6 {
				t.Errorf("Close took %v and %d jobs ran, want 3 s and 6", took, len(l.read().ran))
			}
		})
	})
}

// Depth 0 hands a job over to a worker that is free.
func TestDepthZeroHandsOver(t *testing.T) {
	for _, kind := range []Kind{Shared, PerWorker} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			in(t, kind, Options[time.Duration]{Settings: Settings{Workers: 2, Overflow: Reject}}, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
				put(d, second, second, second)
				if len(l.read().ran) != 2 || len(l.read().refused[Full]) != 1 {
					t.Errorf("got %d run and %d refused on 2 workers, want 2 and 1", len(l.read().ran), len(l.read().refused[Full]))
				}
			})
			in(t, kind, Options[time.Duration]{Settings: Settings{Workers: 2}}, func(t *testing.T, d Dispatcher[time.Duration], _ *ledger) {
				put(d, second, second)
				began := time.Now()
				d.Put(0)
				if waited := time.Since(began); waited != second {
					t.Errorf("Put returned after %v, want 1 s, when a worker came free", waited)
				}
			})
		})
	}
}

// Whatever the kind and the policy, every job is run or refused, and once. In
// real time, for the race detector.
func TestEveryJobOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range all {
		for _, overflow := range []string{Block, Reject, Drop, DropOldest, CoDel} {
			t.Run(fmt.Sprintf("kind=%v/overflow=%v", kind, overflow), func(t *testing.T) {
				t.Parallel()
				const submitters, jobs = 8, 2000
				var settled [submitters * jobs]atomic.Int32
				var refused atomic.Int64
				d := New(kind, Options[int]{
					Settings: Settings{Workers: 4, Depth: 8, Overflow: overflow, Steal: kind == PerWorker, Spin: 10, Target: time.Microsecond, Interval: 50 * time.Microsecond},
					Run:      func(job int) { settled[job].Add(1) },
					Refuse: func(job int, _ Why) {
						settled[job].Add(1)
						refused.Add(1)
					},
				})
				d.Start()
				var all sync.WaitGroup
				for s := range submitters {
					all.Go(func() {
						for j := range jobs {
							d.Put(s*jobs + j)
						}
					})
				}
				all.Wait()
				d.Close()
				for job := range settled {
					if n := settled[job].Load(); n != 1 {
						t.Fatalf("job %d was settled %d times, want once", job, n)
					}
				}
				if overflow == Block && kind != Adaptive && refused.Load() > 0 {
					t.Errorf("got %d jobs refused, want none: Put blocks", refused.Load())
				}
			})
		}
	}
}

// A hand-off and its reply allocate nothing. Not parallel: allocations are
// counted in the whole process.
func TestHandoffAllocatesNothing(t *testing.T) {
	for _, kind := range all {
		for _, steal := range []bool{false, kind == PerWorker} {
			d := New(kind, Options[chan struct{}]{
				Settings: Settings{Workers: 2, Depth: 2, Overflow: CoDel, Steal: steal, Target: time.Hour, Interval: time.Hour, Sojourned: func(time.Duration) {}},
				Run:      func(reply chan struct{}) { reply <- struct{}{} },
				Waited:   func(chan struct{}, time.Duration) {},
			})
			d.Start()
			reply := make(chan struct{}, 1)
			if got := testing.AllocsPerRun(1000, func() { d.Put(reply); <-reply }); got != 0 {
				t.Errorf("%v: got %g allocations, want 0", kind, got)
			}
			d.Close()
		}
	}
}

func TestLockedWorkersRun(t *testing.T) {
	each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth, o.Locked = 2, 4, true
		in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			put(d, 0, 0, 0)
			if len(l.read().ran) != 3 {
				t.Errorf("got %d jobs run, want 3", len(l.read().ran))
			}
		})
	})
}

// A planted lock of the shared queue keeps each job for so long before it runs.
func TestPlantedLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 3 * time.Millisecond
		var waits []time.Duration
		d := New(Shared, Options[int]{Settings: Settings{Workers: 1, Depth: 2, Held: held}, Run: func(int) {}, Waited: func(_ int, wait time.Duration) { waits = append(waits, wait) }})
		d.Start()
		d.Put(1)
		d.Put(2)
		d.Close()
		if want := []time.Duration{held, 2 * held}; !slices.Equal(waits, want) {
			t.Errorf("got waits of %v, want %v", waits, want)
		}
	})
}
