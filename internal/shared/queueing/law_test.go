package queueing

import (
	"testing"
	"time"
)

// The queue stands when even the shortest wait of an interval was above the target, or when
// what was refused in it would take more than twice the target to run.
func TestCodelStands(t *testing.T) {
	t.Parallel()
	type turn struct {
		at, waited float64 // ms
		old        bool    // too old to run
	}
	for _, c := range []struct {
		what     string
		turns    []turn
		standing bool
	}{
		{"the first turn opens an interval", []turn{{0, 90, false}}, false},
		{"all waited for longer", []turn{{0, 5.1, false}, {19, 50, false}, {20, 1, false}}, true},
		{"one just for the target", []turn{{0, 50, false}, {5, 5, false}, {10, 50, false}, {20, 1, false}}, false},
		{"the interval is not over", []turn{{0, 50, false}, {19.9, 50, false}}, false},
		{"the next is judged on its own", []turn{{0, 50, false}, {20, 1, false}, {40, 50, false}}, false},
		{"twice the target is not too old", []turn{{0, 50, false}, {20, 10, false}, {21, 10.1, true}}, true},
		// One refused would run for the 20 ms of an interval where one ran, 10 where two did.
		{"one refused and one run", []turn{{0, 50, false}, {20, 50, true}, {21, 1, false}, {40, 1, false}}, true},
		{"one refused and two run", []turn{{0, 50, false}, {20, 50, true}, {21, 1, false}, {22, 1, false}, {40, 1, false}}, false},
		{"two refused and three run", []turn{{0, 50, false}, {20, 50, true}, {21, 50, true}, {22, 1, false}, {23, 1, false}, {24, 1, false}, {40, 1, false}}, true},
		{"as soon as none is refused it ends", []turn{{0, 50, false}, {20, 50, true}, {21, 1, false}, {40, 1, false}, {60, 1, false}}, false},
	} {
		law := codel{target: 5 * ms, interval: 20 * ms}
		for _, turn := range c.turns {
			if old := law.turn(ofMs(turn.at), ofMs(turn.waited)); old != turn.old {
				t.Errorf("%s: at %v ms one that waited for %v ms is too old: %v", c.what, turn.at, turn.waited, old)
			}
		}
		if law.standing != c.standing {
			t.Errorf("%s: it stands: %v, want %v", c.what, law.standing, c.standing)
		}
	}
}

func TestCodelTakesTheSettingsOfServers(t *testing.T) {
	t.Parallel()
	s := Station{Workers: 1, Cores: 1, Target: Span(CoDelTarget), Interval: Span(CoDelInterval)}
	if err := checkStation(s); err != nil {
		t.Error(err)
	}
}

// A heap is a stable sort.
func TestHeap(t *testing.T) {
	t.Parallel()
	for n := range 60 {
		var h heap
		for job := range n {
			h.push(time.Duration(job*job*7%11), job)
		}
		last := event{at: -1}
		for range n {
			at := h.next()
			job := h.pop()
			if at != time.Duration(job*job*7%11) || at < last.at || at == last.at && job < last.job {
				t.Fatalf("job %d at %d after job %d at %d", job, at, last.job, last.at)
			}
			last = event{at: at, job: job}
		}
		if got := h.next(); got != never {
			t.Fatalf("the next of none is at %d", got)
		}
	}
}

// Every formula is homogeneous: requests four times as long, a quarter as often.
func TestFormulasAreHomogeneous(t *testing.T) {
	t.Parallel()
	const k = 4.0
	for what, f := range map[string]func(lambda, service float64) float64{
		"MMc":              func(l, s float64) float64 { return MMc(l, s, 3) },
		"MMcK":             func(l, s float64) float64 { return MMcK(l, s, 3, 7).Response },
		"its throughput":   func(l, s float64) float64 { return 1 / MMcK(l, s, 3, 7).Throughput },
		"AllenCunneen":     func(l, s float64) float64 { return AllenCunneen(l, s, 3, 2, 3) },
		"RoundRobin":       func(l, s float64) float64 { return roundRobin(l, s, 3) },
		"MMcWait":          func(l, s float64) float64 { return s * MMcWait(l, s, 3, s/2) },
		"MMcTail":          func(l, s float64) float64 { return s * mmcTail(l, s, 3, s/2) },
		"MMcQuantile":      func(l, s float64) float64 { return MMcQuantile(l, s, 3, .9) },
		"MMcKQuantile":     func(l, s float64) float64 { return mmckQuantile(l, s, 3, 7, .9) },
		"MMcWaitQuantile":  func(l, s float64) float64 { return mmcWaitQuantile(l, s, 3, .99) },
		"MMcKWaitQuantile": func(l, s float64) float64 { return mmckWaitQuantile(l, s, 3, 7, .99) },
		"Little":           func(l, s float64) float64 { return s * Little(l, s) },
		"saturation":       func(l, s float64) float64 { return s * mmcTail(8*l, s, 3, s) },
	} {
		one := f(.9, 1)
		if !(one > 0) {
			t.Errorf("%s: %v, want more than 0", what, one)
		}
		near(t, what, f(.9/k, k), k*one, 1e-9)
	}
}
