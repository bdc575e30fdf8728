package explain

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// mostCauses is how many causes are reported and tested at once. Each adds two arms to the test.
const mostCauses = 3

// suspect checks every rule against a difference and adds the causes that fit to x.Causes. It keeps
// mostCauses of them. With tailOnly it checks only the rules of the tail.
func (c *Case) suspect(x *Explanation, about difference, s *side, tailOnly bool) {
	fast := x.faster()
	slow, quick := s.figures(), c.arms[fast].figures()
	for _, r := range rules {
		if about.lost != (len(r.part.Phases) == 0) || !about.tail && r.tail || tailOnly && !r.tail || !r.applies(s) {
			continue
		}
		// The part must surely be longer, and must explain enough of the difference.
		part := c.step(fast, x.Slower, r.figure(about.tail))
		share := part.By / math.Abs(about.step.By)
		if !(part.Low > 0) || share < leastPart {
			continue
		}
		heard, agree := hear(r.witnesses, quick, slow)
		if !agree {
			continue
		}
		cause := Suspect{
			Code: r.cause.Code, Stretch: r.part.Name, Share: share, Tail: about.tail, Witnesses: heard,
			Fact:    r.cause.Of(cluesOf(r.part.Name, s, slow, quick)).On(x.Slower).Against(fast),
			Outcome: outcome.Refused,
		}
		if r.shown {
			cause.Outcome, cause.Shown = outcome.Yes, true
		}
		if r.knob != nil {
			knob, ok := r.knob(s)
			control, also := r.controlOf(s)
			if ok && also {
				cause.Outcome, cause.Shown, cause.Knob, cause.Control = outcome.Open, false, knob.Name, control.Name
			}
		}
		cause.Answer = outcome.Cause.Phrase(cause.Outcome)
		x.Causes = append(x.Causes, cause)
	}
	// Among equals, the cause that explains more goes first.
	slices.SortStableFunc(x.Causes, func(a, b Suspect) int {
		return cmp.Or(order(a)-order(b), cmp.Compare(b.Share, a.Share))
	})
	x.Causes = x.Causes[:min(len(x.Causes), mostCauses)]
}

// figure returns the function that reads the rule's figure in one block: seconds in the rule's part
// of the time, of the mean or of the slowest 1 %, or the ratio of requests lost.
func (r rule) figure(tail bool) func(*arm, int) float64 {
	if len(r.part.Phases) == 0 {
		return valued(stats.Errors)
	}
	of := judge.MeanOf
	if tail {
		of = judge.TailOf
	}
	return func(a *arm, i int) float64 { return r.part.In(a.windows[i].Phases.List(), of) }
}

// hear checks a rule's witnesses, given both arms' figures, and reports whether all that must agree
// do. heard has the witnesses with a figure for the slower arm.
func hear(all []condition, quick, slow testified) (heard []Testimony, agree bool) {
	heard, agree = []Testimony{}, true
	for _, w := range all {
		s, known := slow[w.witness].Get()
		if !known {
			agree = agree && !(w.must && w.least > 0) // a figure that the cause requires is missing
			continue
		}
		ok := s >= w.least && (w.most == 0 || s <= w.most)
		// A figure that the faster arm lacks, as of a program without metrics, is no comparison.
		if q, known := quick[w.witness].Get(); w.times > 0 && known {
			ok = ok && s >= w.times*q
		}
		heard = append(heard, Testimony{Witness: w.witness.name, Unit: w.witness.unit, Slower: s, Faster: quick[w.witness].Pointer(), Agrees: ok})
		agree = agree && (ok || !w.must)
	}
	return heard, agree
}

// cluesOf returns the figures that a cause's sentence can use.
func cluesOf(part string, s *side, slow, quick testified) clues {
	of := func(w *witness) (slower, faster stats.Opt) { return slow[w], quick[w] }
	c := clues{Part: part, Workers: s.workers()}
	c.CPU, c.CPUFaster = of(cpuUse)
	c.Cost, c.CostFaster = of(cpuCost)
	c.Used, c.UsedFaster = of(workersInUse)
	c.Mutex, c.MutexFaster = of(mutexWait)
	c.GC, c.GCFaster = of(gcShare)
	c.Switches, c.SwitchesFaster = of(switches)
	c.Overflows, c.OverflowsFaster = of(overflows)
	c.Away, c.AwayFaster = of(turnedAwayRatio)
	c.Uneven, c.UnevenFaster = of(unevenSockets)
	c.Overtaken, c.OvertakenFaster = of(overtaken)
	c.Lag, c.LagFaster = of(loopLag)
	c.Late, c.LateFaster = of(lateLoad)
	return c
}
