package queueing

import (
	"errors"
	"fmt"
)

// An Ask describes the load and the goal for which a pool of workers is to be sized.
type Ask struct {
	// Load is the load of the pool: Rate, Service and Block, and a trace with these moments and
	// Poisson arrivals. The trace is replayed if no formula applies, also at other rates and with
	// other demands. With 50,000 jobs a p99 is within a few per cent.
	Load

	// Exponential says that the time a worker is held is exponential. Erlang's formulas then hold
	// as long as requests do not wait for cores.
	Exponential bool
	Cores       int // shared by all workers, 1 or more

	// Margin is a ratio: the advice must also hold at Rate·(1+Margin). It allows for the effects
	// that theory leaves out, and for chance in a window of finite length.
	Margin float64

	// Keep reports whether an outcome is good enough. More workers must never turn its answer from
	// true to false.
	Keep func(Outcome) bool
}

// Advice tells how large a pool should be.
type Advice struct {
	Workers int // fewest workers that Keep accepts; 0: no number does, and Hopeless says why
	Queue   int // smallest queue that Keep accepts with them, 0 or more

	Hopeless Hopeless // "" if there is advice
	Tried    int      // with NoQueue: the number of workers for which no queue is long enough
	// MostRate is about the highest rate at which some number of workers is enough, the margin
	// included. It is 0 if even an idle server is not good enough. It is set only without advice.
	MostRate float64

	Expected Outcome // at the rate asked for; without advice, with a worker for each request
	Strained Outcome // at the rate with its margin
	Least    int     // fewest workers without the margin
	Wrong    []Case  // effect of an error of 20 % in each input; of about 20 % in the workers
}

// Hopeless is the reason why no number of workers is enough.
type Hopeless string

// The reasons.
const (
	TooLong     Hopeless = "size-alone"      // a request alone on an idle server is not good enough
	TooFewCores Hopeless = "size-cores"      // the requests need more cores than there are
	CoresWait   Hopeless = "size-cores-wait" // the wait for cores is too long even with a worker for each request
	ByAHair     Hopeless = "size-by-a-hair"  // a worker for each request is enough, but no number that was tried is
	NoQueue     Hopeless = "size-loss"       // Keep allows so little loss that even a queue of MostTried loses more
)

// A Case is the outcome of the advice if one assumption is wrong.
type Case struct {
	What string  // "rate", "time held" or "workers"
	By   float64 // its error, a ratio: -0.2 is 20 % less
	Outcome
	Kept bool // Keep still accepts the outcome
}

// MostTried limits a search for the smallest number, counted from its start.
const MostTried = 1 << 20

// Size returns the fewest workers, and for them the shortest queue, that Keep accepts at the rate
// with its margin. It replays the trace some dozens of times. It returns an error that says which
// argument is impossible.
func Size(a Ask) (Advice, error) {
	if err := a.check(); err != nil {
		return Advice{}, err
	}
	if adv := a.hopeless(); adv.Hopeless != "" {
		return adv, nil
	}
	strained := 1 + a.Margin
	none := func(why Hopeless, tried int) (Advice, error) {
		return Advice{Expected: a.outcome(setting{0, Unbounded, 1, 1}), Hopeless: why, Tried: tried}, nil
	}
	workers, ok := a.fewest(strained)
	if !ok {
		return none(ByAHair, 0)
	}
	adv := Advice{Workers: workers}
	adv.Least, _ = a.fewest(1) // found because enough workers for more load are enough for less
	adv.Queue, ok = least(0, func(queue int) bool {
		return a.Keep(a.outcome(setting{workers, queue, strained, 1}))
	})
	if !ok {
		return none(NoQueue, workers)
	}
	adv.Expected = a.outcome(setting{adv.Workers, adv.Queue, 1, 1})
	adv.Strained = a.outcome(setting{adv.Workers, adv.Queue, strained, 1})
	fewer, more := Fewer(adv.Workers), More(adv.Workers)
	for _, c := range []struct {
		what string
		by   float64
		setting
	}{
		{"rate", -0.2, setting{adv.Workers, adv.Queue, 0.8, 1}},
		{"rate", 0.2, setting{adv.Workers, adv.Queue, 1.2, 1}},
		{"time held", -0.2, setting{adv.Workers, adv.Queue, 1, 0.8}},
		{"time held", 0.2, setting{adv.Workers, adv.Queue, 1, 1.2}},
		{"workers", float64(fewer)/float64(adv.Workers) - 1, setting{fewer, adv.Queue, 1, 1}},
		{"workers", float64(more)/float64(adv.Workers) - 1, setting{more, adv.Queue, 1, 1}},
	} {
		if c.workers == 0 { // one worker less than one
			continue
		}
		o := a.outcome(c.setting)
		adv.Wrong = append(adv.Wrong, Case{c.what, c.by, o, a.Keep(o)})
	}
	return adv, nil
}

// Fewer returns 20 % fewer workers, rounded to the nearest whole number, and at least one fewer.
func Fewer(workers int) int { return min((8*workers+5)/10, workers-1) }

// More returns 20 % more workers, rounded to the nearest whole number, and at least one more.
func More(workers int) int { return max((12*workers+5)/10, workers+1) }

// check returns an error if an argument is impossible.
func (a *Ask) check() error {
	switch {
	case !meaningful(a.Rate, a.Service+a.Block) || a.Rate == 0 || !(min(a.Service, a.Block) >= 0):
		return fmt.Errorf("sizing a pool: %g requests per second of %g s on a core and %g s blocked; give a rate and a time held above 0", a.Rate, a.Service, a.Block)
	case a.Cores < 1:
		return fmt.Errorf("sizing a pool: %d cores; give 1 or more", a.Cores)
	case !(a.Margin >= 0 && a.Margin <= 1):
		return fmt.Errorf("sizing a pool: a margin of %g; give a ratio from 0 to 1", a.Margin)
	case a.Keep == nil:
		return errors.New("sizing a pool: nothing says what is good enough; give Keep")
	case len(a.Trace) < settling:
		return fmt.Errorf("sizing a pool: a trace of %d jobs; give %d or more", len(a.Trace), settling)
	}
	_, err := Replay(Station{Kind: Goroutines, Cores: a.Cores, Turn: GoTurn}, a.Trace)
	return err
}

// hopeless returns the advice if workers cannot help, with the reason. Hopeless is empty if they
// can.
func (a *Ask) hopeless() Advice {
	all := func(rate float64) Outcome { return a.outcome(setting{0, Unbounded, rate, 1}) }
	load := a.Rate * a.Service / float64(a.Cores)
	full := load*(1+a.Margin) >= 1
	adv := Advice{Expected: all(1)}
	if !full && a.Keep(all(1+a.Margin)) {
		return adv
	}
	idle := min(1e-3, 1e-3/load)
	switch {
	case !a.Keep(all(idle)):
		adv.Hopeless = TooLong
		return adv
	case full:
		adv.Hopeless = TooFewCores
	default:
		adv.Hopeless = CoresWait
	}
	low, high := idle, min(1+a.Margin, 1/load)
	for high-low > 0.005*high {
		if mid := (low + high) / 2; a.Keep(all(mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	adv.MostRate = a.Rate * low / (1 + a.Margin)
	return adv
}

// fewest returns the fewest workers that Keep accepts at a multiple of the rate, with a queue that
// loses nothing. ok is false if it finds none.
func (a *Ask) fewest(rate float64) (workers int, ok bool) {
	enough := Workers(a.Rate*rate, a.Service+a.Block)
	return least(enough, func(workers int) bool {
		return a.Keep(a.outcome(setting{workers, Unbounded, rate, 1}))
	})
}

// least returns the smallest number from low on that is good; all larger numbers must be good as
// well. If it finds none, ok is false and n is the highest number tried.
func least(low int, good func(int) bool) (n int, ok bool) {
	if good(low) {
		return low, true
	}
	bad, step := low, 1
	for !good(bad + step) {
		if bad += step; bad >= low+MostTried {
			return bad, false
		}
		step *= 2
	}
	best := bad + step
	for best-bad > 1 {
		if mid := (bad + best) / 2; good(mid) {
			best = mid
		} else {
			bad = mid
		}
	}
	return best, true
}

// Waits shows how waits shrink with more workers, with an unbounded queue at the rate asked for.
// It returns at most 12 outcomes, from the fewest workers that keep up to the number at which
// requests hardly wait. knee is the index of the first outcome with a mean wait of at most a tenth
// of the time held. The slice is empty, and knee 0, if the cores cannot keep up.
func Waits(a Ask) (all []Outcome, knee int, err error) {
	a.Keep = func(Outcome) bool { return true }
	if err := a.check(); err != nil {
		return nil, 0, err
	}
	if a.Rate*a.Service >= float64(a.Cores) {
		return nil, 0, nil
	}
	below := func(share float64) func(int) bool {
		return func(workers int) bool {
			o := a.outcome(setting{workers, Unbounded, 1, 1})
			return o.Wait <= share*o.Held
		}
	}
	low := Workers(a.Rate, a.Service+a.Block)
	turn, _ := least(low, below(0.1)) // exists: with a worker for each request there is no wait
	high, _ := least(turn, below(0.001))
	step := max(1, (high-low+9)/10)
	knee = -1
	for workers := low; ; workers += step {
		if knee < 0 && workers >= turn {
			workers, knee = turn, len(all)
		}
		all = append(all, a.outcome(setting{workers, Unbounded, 1, 1}))
		if workers >= high {
			return all, knee, nil
		}
	}
}
