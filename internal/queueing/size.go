package queueing

import (
	"errors"
	"fmt"
)

// An Ask is what a pool of workers is to be sized for.
type Ask struct {
	// Load is what will reach the pool: Rate, Service and Block with the trace that has
	// them, Poisson arrivals. The trace is replayed, at other rates and with other
	// demands too, where no formula reaches; 50,000 jobs give a p99 within a few per
	// cent.
	Load

	// Exponential says that the time a worker is held is exponential, so that Erlang's
	// formulas hold as long as cores are not what requests wait for.
	Exponential bool
	Cores       int // that all workers share, 1 or more

	// Margin is a ratio: the advice is to hold at Rate·(1+Margin) as well. It stands
	// for what theory leaves out and for what a window of finite length may meet.
	Margin float64

	// Keep says whether an outcome is good enough. More workers must not spoil it.
	Keep func(Outcome) bool
}

// Advice is how large a pool should be.
type Advice struct {
	Workers int // fewest that keep what is asked; 0: no number does, and Hopeless says why
	Queue   int // least depth that does, 0 or more

	Hopeless Hopeless // "" if there is advice
	Tried    int      // workers for which no queue would do, with NoQueue
	// MostRate is the highest rate, about, that any number of workers would do for, the
	// margin included; 0 when an idle server breaks what is asked as well. Only
	// without advice.
	MostRate float64

	Expected Outcome // at the rate asked for; without advice of a worker for each request
	Strained Outcome // at the rate with its margin
	Least    int     // workers that would do without a margin
	Wrong    []Case  // what being wrong by 20 % does, of workers by about as much
}

// Hopeless is why no number of workers will do.
type Hopeless string

// The reasons.
const (
	TooLong     Hopeless = "size-alone"      // a request alone on an idle server breaks what is asked
	TooFewCores Hopeless = "size-cores"      // the requests ask for more cores than there are
	CoresWait   Hopeless = "size-cores-wait" // waiting for the cores breaks it, with a worker for each request
	ByAHair     Hopeless = "size-by-a-hair"  // a worker for each request would do, and no number that was tried
	NoQueue     Hopeless = "size-loss"       // it allows so little loss that a queue of MostTried loses more
)

// A Case is the advice where something is not as assumed.
type Case struct {
	What string  // "rate", "time held" or "workers"
	By   float64 // how far that is off, a ratio: -0.2 is 20 % less
	Outcome
	Kept bool // what is asked is kept all the same
}

// MostTried bounds a search for the fewest, counted from where it begins.
const MostTried = 1 << 20

// Size returns the fewest workers, and for them the least queue, that keep what is
// asked at the rate with its margin. It replays the trace some dozens of times. An
// error says which argument is impossible.
func Size(a Ask) (Advice, error) {
	if err := a.check(); err != nil {
		return Advice{}, err
	}
	if adv := a.hopeless(); adv.Hopeless != "" {
		return adv, nil
	}
	strained := 1 + a.Margin
	workers, ok := a.fewest(strained)
	if !ok {
		return Advice{
			Expected: a.outcome(setting{0, Unbounded, 1, 1}),
			Hopeless: ByAHair,
		}, nil
	}
	adv := Advice{Workers: workers}
	adv.Least, _ = a.fewest(1) // those that do for more do for less
	adv.Queue, ok = least(0, func(queue int) bool {
		return a.Keep(a.outcome(setting{workers, queue, strained, 1}))
	})
	if !ok {
		return Advice{
			Expected: a.outcome(setting{0, Unbounded, 1, 1}),
			Hopeless: NoQueue, Tried: workers,
		}, nil
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
		if c.workers == 0 { // one worker less is none
			continue
		}
		o := a.outcome(c.setting)
		adv.Wrong = append(adv.Wrong, Case{c.what, c.by, o, a.Keep(o)})
	}
	return adv, nil
}

// Fewer is 20 % fewer workers, to the nearest whole number, and one fewer at least.
func Fewer(workers int) int { return min((8*workers+5)/10, workers-1) }

// More is 20 % more workers, to the nearest whole number, and one more at least.
func More(workers int) int { return max((12*workers+5)/10, workers+1) }

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
	}
	return a.checkTrace()
}

func (a *Ask) checkTrace() error {
	if len(a.Trace) < settling {
		return fmt.Errorf("sizing a pool: a trace of %d jobs; give %d or more", len(a.Trace), settling)
	}
	_, err := Replay(Station{Kind: Goroutines, Cores: a.Cores, Turn: GoTurn}, a.Trace)
	return err
}

// hopeless is the advice when workers cannot help, with the reason; without one they can.
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

// fewest is how many workers keep what is asked at a multiple of the rate, with a
// queue that loses nothing; not ok when none is found that does.
func (a *Ask) fewest(rate float64) (workers int, ok bool) {
	enough := Workers(a.Rate*rate, a.Service+a.Block)
	return least(enough, func(workers int) bool {
		return a.Keep(a.outcome(setting{workers, Unbounded, rate, 1}))
	})
}

// least is the smallest number from low on that is good, where all above it are; not
// ok, and the highest that was tried, when none is found.
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

// Waits returns what waits come of ever more workers with an unbounded queue, at the
// rate asked for: from the fewest that keep up on to where next to nobody waits, 12
// outcomes at most; and the index of the knee, the first at which the mean wait is below a
// tenth of the time held. The slice is empty, and the knee 0, where the cores cannot
// keep up.
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
	turn, _ := least(low, below(0.1)) // with a worker for each request nobody waits
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
