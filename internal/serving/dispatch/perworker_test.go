package dispatch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A short job behind a long one waits for it, though another worker has nothing
// to do, unless that may steal.
func TestStealingRemovesHeadOfLineBlocking(t *testing.T) {
	t.Parallel()
	for _, steal := range []bool{false, true} {
		in(t, PerWorker, Options[time.Duration]{Settings: Settings{Workers: 2, Depth: 8, Steal: steal}}, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			put(d, time.Minute, 0, 0) // the second goes to the idle worker, the third behind the first
			steals := d.(*perWorker[time.Duration]).Steals()
			if steal && (len(l.read().ran) != 3 || steals != 1) {
				t.Errorf("with stealing: got %d jobs run and %d steals, want 3 and 1", len(l.read().ran), steals)
			}
			if !steal && (len(l.read().ran) != 2 || steals != 0) {
				t.Errorf("without stealing: got %d jobs run and %d steals, want 2 and none", len(l.read().ran), steals)
			}
			sleep(time.Hour)
			want := []time.Duration{0, 0, time.Minute}
			if steal {
				want[2] = 0
			}
			if got := slices.Sorted(slices.Values(l.read().waits)); !slices.Equal(got, want) {
				t.Errorf("stealing %v: got waits %v, want %v", steal, got, want)
			}
		})
	}
}

// However jobs are thrown in, thieves leave none waiting while one of them idles.
func TestStealingLeavesNobodyIdle(t *testing.T) {
	t.Parallel()
	in(t, PerWorker, Options[time.Duration]{Settings: Settings{Workers: 4, Depth: 64, Steal: true}}, func(t *testing.T, d Dispatcher[time.Duration], _ *ledger) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			d.Put(time.Duration(random.IntN(10)) * time.Millisecond)
			if random.IntN(2) == 0 {
				sleep(time.Duration(random.IntN(4)) * time.Millisecond)
			}
			synctest.Wait()
			if d.Depth() > 0 && d.Busy() < d.Workers() {
				t.Fatalf("got %d jobs waiting and %d of %d workers busy", d.Depth(), d.Busy(), d.Workers())
			}
		}
	})
}

// With a skewed load two choices, and more so the least loaded, wait less than
// round robin, which does not look.
func TestLookingBeatsRoundRobinUnderSkew(t *testing.T) {
	t.Parallel()
	mean := map[string]time.Duration{}
	for _, pick := range []string{RoundRobin, TwoChoices, Least} {
		in(t, PerWorker, Options[time.Duration]{Settings: Settings{Workers: 8, Depth: 8 << 10, Queue: pick}}, func(_ *testing.T, d Dispatcher[time.Duration], l *ledger) {
			random := rand.New(rand.NewPCG(3, 4))
			for range 20_000 { // 70 % busy; one job in ten takes 50 times as long
				job := time.Millisecond
				if random.IntN(10) == 0 {
					job = 50 * time.Millisecond
				}
				d.Put(job)
				sleep(time.Duration(random.ExpFloat64() * float64(5900*time.Microsecond) / 8 / 0.7))
			}
			sleep(time.Hour)
			var sum time.Duration
			for _, w := range l.read().waits {
				sum += w
			}
			mean[pick] = sum / time.Duration(len(l.read().waits))
		})
	}
	t.Logf("mean waits: %v", mean)
	if mean[TwoChoices]*2 > mean[RoundRobin] || mean[Least] > mean[TwoChoices] {
		t.Errorf("got mean waits %v, want p2c at most half of rr, and least at most p2c", mean)
	}
}

// All the places are dealt out, whatever the number of workers.
func TestPerWorkerDealsOutItsDepth(t *testing.T) {
	t.Parallel()
	d := newPerWorker(Options[int]{Settings: Settings{Workers: 3, Depth: 8}})
	var depths []int
	for _, l := range d.lanes {
		depths = append(depths, cap(l.lane))
	}
	if want := []int{3, 3, 2}; !slices.Equal(depths, want) {
		t.Errorf("got depths %v, want %v", depths, want)
	}
}
