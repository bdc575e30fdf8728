package capacity

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

func TestAServerThatComesBackAndOneThatDoesNot(t *testing.T) {
	t.Parallel()
	for _, breaks := range []bool{false, true} {
		s := newSimulated(t, 2000, "p99<=20ms", 7)
		s.breaks = breaks
		f, _ := s.search(t, 2000, 24, 7)
		if f.Outcome != outcome.Yes || f.High == 0 || f.Recovers != map[bool]outcome.Outcome{false: outcome.Yes, true: outcome.No}[breaks] {
			t.Errorf("a server that breaks (%v) is found to recover: %q, %+v", breaks, f.Recovers, f)
		}
	}
}

func TestAServerThatRejectsNeverBreaksALatencyTermAlone(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "p99<=50ms", 3)
	s.places = 10
	f, windows := s.search(t, 2000, 24, 3)
	if f.Outcome != outcome.Yes || f.Low < 2*2000 || f.High != 0 || f.Stopped != stoppedAtBudget {
		t.Errorf("ended in %+v, want beyond every rate that the budget allowed", f)
	}
	if last := windows[len(windows)-1]; last.Errors < .3 {
		t.Errorf("errors %.2f at %.0f/s, too few for a server that rejects", last.Errors, last.Rate)
	}

	// With a term of errors that one binds, and it has no line.
	s = newSimulated(t, 2000, "p99<=50ms,errors<=1%", 3)
	s.places = 10
	f, _ = s.search(t, 2000, 24, 3)
	// M/M/1/10 loses 1 % at rho 0.69.
	if f.Outcome != outcome.Yes || f.High == 0 || f.Term != "errors<=1%" || f.Line != nil || f.Low > 1400 || f.High < 1350 || f.High > 1.4*f.Low {
		t.Errorf("ended in %+v, want about 1,390/s, bound by errors", f)
	}
}

func TestWhyNothingHigherWasOffered(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]func(*simulated){
		stoppedAtBudget:  func(*simulated) {},
		stoppedAtCeiling: func(s *simulated) { s.ceiling = 5000 },
		stoppedAtBench:   func(s *simulated) { s.refusesFrom = 5000 },
	} {
		s := newSimulated(t, 2000, "p99<=50ms", 3)
		s.places = 10
		limit(s)
		f, windows := s.search(t, 2000, 24, 3)
		if f.Outcome != outcome.Yes || f.Stopped != want || f.Low < 3000 {
			t.Errorf("ended in %+v, want beyond for %q", f, want)
		}
		// Before its end the search has not stopped yet.
		cut := slices.Clone(windows[:looks+1])
		for range trials {
			cut = append(cut, RateWindow{Purpose: purposeVerify, Rate: cut[looks].Rate, Values: map[stats.Measure]float64{{Quantile: .99}: .001}})
		}
		if f = findingOf(options{SLO: s.slo, Windows: 24}, cut); f.Outcome != outcome.Yes || f.Stopped != "" {
			t.Errorf("a search cut short ended in %+v, want beyond without a reason", f)
		}
	}
}

// A refused window is the reason why nothing higher was offered only if it was to reach further, and is above the rate
// that is verified.
func TestWhatTheBenchRefused(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "p99<=50ms", 3)
	window := func(purpose string, rate float64, refused fact.Code) RateWindow {
		return RateWindow{Purpose: purpose, Rate: rate, Values: map[stats.Measure]float64{{Quantile: .99}: .005}, Refused: fact.Fact{Code: refused}}
	}
	for _, c := range []struct {
		w    RateWindow
		want string
	}{
		{window(purposeReach, 1001, "refused"), stoppedAtBench}, {window(purposeReach, 1000, "refused"), ""},
		{window(purposeVerify, 1001, "refused"), ""}, {window(purposeReach, 1001, ""), ""},
	} {
		windows := append(slices.Repeat([]RateWindow{window(purposeVerify, 1000, "")}, trials), c.w)
		f := findingOf(options{SLO: s.slo, Windows: 24}, windows)
		if f.Outcome != outcome.Yes || f.Low != 1000 || f.Stopped != c.want || (f.Unoffered.Rate == c.w.Rate) != (c.want != "") {
			t.Errorf("%+v: ended in %+v, want it stopped by %q", c.w, f, c.want)
		}
	}
}

func TestAnObjectiveThatNoRateKeeps(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "p99<=1ms", 5) // p99 of the demand alone is 2.3 ms
	f, windows := s.search(t, 2000, 24, 5)
	least := math.Inf(1)
	for _, w := range windows {
		least = min(least, w.Rate)
	}
	if f.Outcome != outcome.No || f.Never || f.Stopped != stoppedAtFloor || f.High != least || f.Least != least || least > 400 {
		t.Errorf("ended in %+v after %.0f/s at the least, want below the lowest rate that can be judged", f, least)
	}
	if f, _ = s.search(t, 60_000, leastWindows, 5); f.Outcome != outcome.No || f.Never || f.Stopped != stoppedAtBudget || f.High < 1000 {
		t.Errorf("without windows to go down ended in %+v, want below, for the budget", f)
	}

	s = newSimulated(t, 2000, "p99<=20ms,goodput>=5000/s", 5) // more than it can do
	if f, _ = s.search(t, 2000, 24, 5); !f.Never {
		t.Errorf("ended in %+v, want never: 2000/s is all there is", f)
	}
}

func TestAGoodputBelowItsLimitIsNoPromise(t *testing.T) {
	t.Parallel()
	window := func(why string, rate, p99 float64) RateWindow {
		return RateWindow{Purpose: why, Rate: rate, Values: map[stats.Measure]float64{{Quantile: .99}: p99, {Figure: stats.Goodput}: rate}}
	}
	slo, err := stats.ParseSLO("p99<=10ms,goodput>=500/s")
	if err != nil {
		t.Fatal(err)
	}
	var windows []RateWindow
	for range trials {
		windows = append(windows, window(purposeVerify, 490, .005), window(purposeRefute, 545, .020))
	}
	if f := findingOf(options{SLO: slo}, windows); f.Outcome != outcome.Open || f.Low != 0 || f.High != 545 {
		t.Errorf("from 490/s and 545/s alone: %+v, want it open at 500/s", f)
	}
	for range trials {
		windows = append(windows, window(purposeVerify, 500, .006))
	}
	if f := findingOf(options{SLO: slo}, windows); f.Outcome != outcome.Yes || f.High == 0 || f.Low != 500 {
		t.Errorf("with windows at 500/s: %+v, want an interval from there", f)
	}

	// M/M/1 keeps 20 ms up to 1,770/s: a promise just above it is kept at no rate, and
	// one just below is verified at no lower rate.
	s := newSimulated(t, 2000, "p99<=20ms,goodput>=1950/s", 5)
	if f, _ := s.search(t, 2000, 24, 5); !f.Never || f.High != 1950 {
		t.Errorf("ended in %+v, want never: 1,950/s breaks p99", f)
	}
	for seed := range uint64(10) {
		s := newSimulated(t, 2000, "p99<=20ms,goodput>=1700/s", seed)
		if f, _ := s.search(t, 2000, 24, seed); f.Low > 0 && f.Low < 1700 || f.Never && f.High > 1700 {
			t.Errorf("seed %d ended in %+v, with less goodput than is promised", seed, f)
		}
	}
}

func TestErrorsNeedOneOverTheirLimit(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "errors<=0.0166%", 17) // 6,024 requests, and windows of 2000/s have about as many
	f, windows := s.search(t, 1000, 20, 17)
	if f.Outcome != outcome.Open || f.Used != 0 || len(windows) == 0 {
		t.Errorf("ended in %+v, want no window that counts", f)
	}
}

func TestAServerWithoutAKnee(t *testing.T) {
	t.Parallel()
	// M/D/1 keeps 3 ms until very near its end, where one window is not like another.
	s := newSimulated(t, 2000, "p99<=5ms", 11)
	s.constant = true
	f, _ := s.search(t, 2000, 30, 11)
	if f.Outcome != outcome.Yes || f.High == 0 || f.Low < 1500 || f.High > 2200 {
		t.Errorf("ended in %+v, want an interval between 1500/s and 2200/s", f)
	}
}

func TestRefusedWindowsAreRepeatedAndBounded(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "p99<=20ms", 13)
	s.refuses = .2
	f, windows := s.search(t, 2000, 40, 13)
	overloads := 0
	for _, w := range windows {
		overloads += stats.Count(w.Purpose == purposeOverload && !w.Refused.None())
	}
	if f.Outcome != outcome.Yes || f.High == 0 || f.Refused == 0 || f.Used+f.Refused+overloads != len(windows) {
		t.Errorf("ended in %+v of %d windows, want an interval in spite of refused ones", f, len(windows))
	}

	s.refuses = 1
	f, windows = s.search(t, 2000, 40, 13)
	if f.Outcome != outcome.Open || f.Used != 0 || len(windows) > 40 {
		t.Errorf("ended in %+v of %d windows, all refused", f, len(windows))
	}
}

func TestTooFewRequestsForTheQuantileAreNoEvidence(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, 2000, "p99.9<=20ms", 17) // 10,000 requests a window, and 2000/s give 6000
	if f, _ := s.search(t, 2000, 20, 17); f.Outcome != outcome.Open || f.Used != 0 {
		t.Errorf("ended in %+v, want no window that counts", f)
	}
}

// A spying bench notes whose turn it is.
type spying struct {
	*simulated
	all   [][]RateWindow
	turns []int
	fail  int   // the turn that fails, from 1
	with  error // how
}

var errFailed = errors.New("the disk is full")

// search runs a search of several arms.
func (s *spying) search(t *testing.T, o options, xmax ...float64) error {
	s.all = make([][]RateWindow, len(xmax))
	return searchAll(t.Context(), func(ctx context.Context, arm int, step runner.Step, took func(RateWindow) (runner.Step, bool)) error {
		s.turns = append(s.turns, arm)
		if len(s.turns) == s.fail {
			return s.with
		}
		return s.bench(s.all)(ctx, arm, step, took)
	}, xmax, o)
}

func TestArmsTakeTurns(t *testing.T) {
	t.Parallel()
	measure := func() *spying {
		b := &spying{simulated: newSimulated(t, 2000, "p99<=20ms", 19)}
		if err := b.search(t, options{SLO: b.slo, Seed: 4, Windows: 18, Floor: 370}, 2000, 2000, 2000); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b, again := measure(), measure()
	for round := range looks {
		var seen [3]int
		for _, arm := range b.turns[3*round : 3*round+3] {
			seen[arm]++
		}
		if seen != [3]int{1, 1, 1} {
			t.Errorf("round %d has the arms %v", round+1, b.turns[3*round:3*round+3])
		}
	}
	if diff := cmp.Diff(b.turns, again.turns) + cmp.Diff(b.all, again.all); diff != "" {
		t.Errorf("the same seed and bench measure differently: %s", diff)
	}
}

// A lost arm ends no other, and any other error ends the search.
func TestAnErrorOfTheBench(t *testing.T) {
	t.Parallel()
	b := &spying{simulated: newSimulated(t, 2000, "p99<=20ms", 23), fail: 6, with: errFailed}
	o := options{SLO: b.slo, Seed: 1, Windows: 18, Floor: 370}
	if err := b.search(t, o, 2000, 2000); !errors.Is(err, errFailed) || len(b.turns) != 6 {
		t.Errorf("%d turns, error %v; want 6 and the error of the last", len(b.turns), err)
	}

	b = &spying{simulated: newSimulated(t, 2000, "p99<=20ms", 23), fail: 6, with: runner.ErrLost}
	err := b.search(t, o, 2000, 2000)
	lost := b.turns[5]
	if err != nil || len(b.all[lost]) > 3 {
		t.Errorf("%d windows of the lost arm, error %v; want 3 at most and none", len(b.all[lost]), err)
	}
	if f := findingOf(o, b.all[1-lost]); f.Outcome != outcome.Yes || f.High == 0 {
		t.Errorf("the other arm ended in %+v, want an interval", f)
	}
}

func TestTheilSenShrugsOffAThird(t *testing.T) {
	t.Parallel()
	var x, y []float64
	for i := range 12 {
		x = append(x, 1000+50*float64(i))
		y = append(y, 300-.15*x[i])
		if i%4 == 1 {
			y[i] = 5 // a window with a pause
		}
	}
	l, ok := robustLine(x, y)
	if end := meets(l, math.Inf(1)); !ok || math.Abs(end/2000-1) > .02 || math.Abs(meets(l, .01)/(200/.15)-1) > .02 {
		t.Errorf("line %+v ends at %.0f and meets 10 ms at %.0f, want 2000 and 1333", l, end, meets(l, .01))
	}
	if l, ok := robustLine([]float64{1, 2, 3}, []float64{1, 2, 3}); ok {
		t.Errorf("a rising line %+v is taken", l)
	}
	if _, ok := robustLine([]float64{1000, 1001, 1002}, []float64{3, 2, 1}); ok {
		t.Error("a line through what is one rate")
	}
}

func TestBracket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		windows      string // by rate, k kept, b broken
		kept, broken float64
	}{
		{"", 0, math.Inf(1)},
		{"kkkk", 4, math.Inf(1)},
		{"bbb", 0, 1},
		{"kkbb", 2, 3},
		{"kbkkbbb", 4, 5},
		{"kkbkbb", 2, 5}, // 2|3 and 4|5 have one exception each
		{"kkkb", 3, 4},
		{"bk", 0, math.Inf(1)},
	} {
		var at []place
		for i, r := range c.windows {
			at = append(at, place{float64(i + 1), r == 'k'})
		}
		if b := bracket(at); b.kept != c.kept || b.broken != c.broken {
			t.Errorf("%q: between %v and %v, want %v and %v", c.windows, b.kept, b.broken, c.kept, c.broken)
		}
	}
}

func TestKeepsHoldsEveryTerm(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=10ms,errors<=1%,goodput>=500/s")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rate, p99, errors, goodput float64
		want                       bool
	}{
		{600, .009, .01, 550, true},
		{600, .011, .01, 550, false},
		{600, .009, .02, 550, false},
		{600, .009, 0, 450, false},
		{400, .009, 0, 400, true}, // 500/s cannot be had of 400/s
	} {
		w := RateWindow{Rate: c.rate, Values: map[stats.Measure]float64{{Quantile: .99}: c.p99, {Figure: stats.Errors}: c.errors, {Figure: stats.Goodput}: c.goodput}}
		if got := keeps(w, slo); got != c.want {
			t.Errorf("%+v keeps %v: %v", w, slo, got)
		}
	}
	if keeps(RateWindow{Rate: 600, Values: map[stats.Measure]float64{{Figure: stats.Errors}: 0, {Figure: stats.Goodput}: 550}}, slo) {
		t.Error("a window without a p99 keeps it")
	}
}
