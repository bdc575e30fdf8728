package record

import "slices"

// byWeight lists doubts in the order of what they do to the answer: first those that make or
// break it, then all others (""), last those of every run on such a machine.
var byWeight = []Code{
	StickyPool, StarvedConnections, GeneratorLimit, Overloaded, TooFewWorkers,
	RunNotComplete, BudgetTooShort, MissingTrials, BlocksLeftOut, WindowsRefused, LoadTookCPU, UnsentRequests,
	IdleWorkers, QueueNeverFull, QueueUnused, OneCPUShared, OnePShared,
	"",
	RunsAlready, OtherProgram, SharedCPUs, OneCPU, Virtualised, OneHost,
}

func weight(c Code) int {
	if i := slices.Index(byWeight, c); i >= 0 {
		return i
	}
	return slices.Index(byWeight, "")
}

// Decides reports whether a doubt of this kind makes or breaks the answer.
func (c Code) Decides() bool { return weight(c) < weight("") }

// ByWeight sorts doubts in place, the weightiest first, and returns them.
func ByWeight(doubts []Fact) []Fact {
	slices.SortStableFunc(doubts, func(a, b Fact) int { return weight(a.Code) - weight(b.Code) })
	return doubts
}
