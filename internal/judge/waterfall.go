package judge

import (
	"math"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Block holds the phases of two arms' good requests in one block. Both have the same phases in
// the same order.
type Block struct {
	From, To []record.Phase
}

// Waterfall divides the difference of two arms' means over one or more blocks by stretch and
// phase. of is [MeanOf] or [TailOf]. Each piece is the mean over the blocks of how much longer the
// arm takes there. The pieces add up to the difference, because the phases add up to a response
// time (docs/reference/timeline.md). Times are seconds.
func Waterfall(blocks []Block, stretches []record.Stretch, of func(record.Phase) float64) (w record.Waterfall) {
	w.Step = step(blocks, func(phases []record.Phase) (sum float64) {
		for _, p := range phases {
			sum += of(p)
		}
		return sum
	})
	for _, st := range stretches {
		piece := record.Piece{Stretch: st.Name, Step: step(blocks, func(phases []record.Phase) float64 { return st.In(phases, of) })}
		if len(st.Phases) > 1 {
			for _, name := range st.Phases {
				one := record.Stretch{Phases: []string{name}}
				piece.Phases = append(piece.Phases, record.PhaseStep{Phase: name, Step: step(blocks, func(phases []record.Phase) float64 { return one.In(phases, of) })})
			}
		}
		w.Pieces = append(w.Pieces, piece)
	}
	return w
}

// step compares a figure of the two arms over the blocks.
func step(blocks []Block, figure func([]record.Phase) float64) record.Step {
	from, to := make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		from[i], to[i] = figure(b.From), figure(b.To)
	}
	return Paired(from, to)
}

// Paired returns the mean difference to - from over the blocks, with Student's 95 % interval. The
// interval of a single block is infinite. The slices have one length, 1 or more. The interval
// assumes that the differences are about normal, which means over many requests are (Student, "The
// Probable Error of a Mean", Biometrika 6, 1908).
func Paired(from, to []float64) (s record.Step) {
	n := float64(len(from))
	for i := range from {
		s.From += from[i] / n
		s.To += to[i] / n
	}
	s.By = s.To - s.From
	squares := 0.0
	for i := range from {
		d := to[i] - from[i] - s.By
		squares += d * d
	}
	half := math.Inf(1)
	if n > 1 {
		half = stats.StudentT(len(from)-1) * math.Sqrt(squares/(n-1)/n)
	}
	s.Low, s.High = s.By-half, s.By+half
	return s
}

// MeanOf is a phase's mean over all requests of a window.
func MeanOf(p record.Phase) float64 { return p.Mean }

// TailOf is a phase's mean over the slowest 1 % of a window's requests.
func TailOf(p record.Phase) float64 { return p.Tail }

// Noise is the largest difference of means, in seconds, that needs no explanation: the far end of
// the interval of A/A, or the load engine's own p50, if that is larger. floor is nil if it was not
// measured. Both are in seconds.
func Noise(copied record.Step, floor *record.Floor) float64 {
	least := max(math.Abs(copied.Low), math.Abs(copied.High))
	if floor != nil {
		least = max(least, floor.P50)
	}
	return least
}

// The smallest difference of means that a result reports, and the smallest piece of it.
const (
	// leastSeconds is 20 µs. A difference or piece below these sizes is not worth explaining.
	leastShare   = .05 // of the mean of the arm that is compared with
	leastSeconds = 20e-6
	leastPiece   = .02 // of the difference
)

// differences returns a waterfall for each challenger with a mean, or a slowest 1 %, that surely
// differs from its reference. Both arms need stamps.
func (b blocks) differences(arms []record.Arm) (all []record.Difference) {
	for i, a := range arms {
		base := arms[reference(b.run.Plan.Arms, i)]
		if a.Role != record.Challenger || a.Joined == 0 || base.Joined == 0 {
			continue
		}
		for _, tail := range []bool{false, true} {
			of := MeanOf
			if tail {
				of = TailOf
			}
			w := b.waterfall(base.Name, a.Name, of)
			noise := Noise(b.waterfall(arms[0].Name, arms[1].Name, of).Step, b.run.Env.Floor)
			// The difference must be sure, larger than the noise, and large enough to matter.
			if !w.Sure() || math.Abs(w.By) < max(leastShare*w.From, leastSeconds, noise) {
				continue
			}
			w.Pieces = slices.DeleteFunc(w.Pieces, func(p record.Piece) bool { return !p.Sure() || math.Abs(p.By) < leastPiece*math.Abs(w.By) })
			all = append(all, record.Difference{Arm: a.Name, Baseline: base.Name, Tail: tail, Waterfall: w})
		}
	}
	return all
}

// waterfall returns the waterfall from one arm to another over the valid blocks. It pairs the
// windows of each block.
func (b blocks) waterfall(from, to string, of func(record.Phase) float64) record.Waterfall {
	var all []Block
	for _, block := range b.valid {
		f, t := b.windows[block][from], b.windows[block][to]
		all = append(all, Block{f.Phases.List(), t.Phases.List()})
	}
	return Waterfall(all, record.Stretches(), of)
}
