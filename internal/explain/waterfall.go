package explain

import (
	"math"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Block is where the time of two arms' good requests went in one block.
type Block struct {
	From, To []record.Phase
}

// Waterfall divides the difference of two arms' means over the blocks, of which there is one
// or more, by stretch and phase. of says of which mean: of all requests, or of the slowest.
// Its pieces add up to the difference, because each is the mean over the blocks of what the
// phase takes longer, and phases add up to a response time (docs/timeline.md).
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

// step is a figure of the blocks' two arms.
func step(blocks []Block, figure func([]record.Phase) float64) record.Step {
	from, to := make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		from[i], to[i] = figure(b.From), figure(b.To)
	}
	return Paired(from, to)
}

// Paired is what to differs by from from, block by block. Its interval is Student's for the
// mean of the differences; of one block it is everything.
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

// Mean and Tail choose what a waterfall is of.
func Mean(p record.Phase) float64 { return p.Mean }

// Tail is the mean over the slowest 1 % of each window.
func Tail(p record.Phase) float64 { return p.Tail }
