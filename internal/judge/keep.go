package judge

import (
	"math"

	"schedlab/internal/expect"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Keeping tells how well an arm kept an SLO. It is part of the JSON of a size test (package
// advise).
type Keeping struct {
	Arm    string        `json:"arm"`
	Blocks int           `json:"blocks"`          // valid blocks
	Kept   int           `json:"kept"`            // valid blocks in which every term held
	Answer record.Answer `json:"answer"`          // Passed: it keeps the SLO; Failed: it breaks it
	Reason record.Fact   `json:"reason,omitzero"` // why the answer is neither Passed nor Failed
	// Figures holds the spread of each term's metric over the blocks, by metric, in the term's
	// unit.
	Figures map[string]*record.Spread `json:"figures"`
}

// Keep decides whether the baseline and each challenger keep an SLO, in plan order. It reads the
// record again, and uses the blocks with right data. At each look an arm passes if it kept all
// terms together in enough blocks to be sure that it keeps them in most, with 95 % confidence over
// all looks. It fails if it broke a term in enough blocks. In between it is undecided. The answer
// is refused if a window is too short for a quantile. A growing backlog refuses nothing, because
// it is a way to break an SLO. Keep returns an error if the record cannot be read.
//
// It counts blocks, as a sign test does: an arm that keeps the SLO in only half of all blocks
// keeps it in nearly all blocks of a run with a small and known probability, whatever the
// distribution of the times.
func Keep(dir *record.Dir, run record.Run, slo stats.SLO) ([]Keeping, error) {
	g, err := read(dir, run, Aim{SLO: slo}, func(record.TrialRecord) {})
	if err != nil {
		return nil, err
	}
	return g.keepings(slo), nil
}

// keepings returns the keeping of every arm but the baseline's copy, in plan order.
func (g judgement) keepings(slo stats.SLO) (all []Keeping) {
	for _, a := range g.run.Plan.Arms {
		if a.Role != record.Copy {
			all = append(all, g.keeping(a.Name, slo))
		}
	}
	return all
}

// quantiles returns the quantiles of a trial that an SLO asks for, in seconds, by metric. It
// leaves out those for which the window has too few requests. It returns nil without an SLO. An
// SLO may ask for quantiles that a run does not compare, so they are taken from the requests.
func quantiles(t record.TrialRecord, slo stats.SLO) map[string]float64 {
	if slo == nil {
		return nil
	}
	figures := map[string]float64{}
	took := t.Responses()
	for _, term := range slo {
		if term.Quantile > 0 && len(took) >= stats.MinRequests(term.Quantile) {
			figures[term.Metric] = stats.Quantile(took, term.Quantile)
		}
	}
	return figures
}

// keeping decides whether one arm keeps the SLO.
func (g judgement) keeping(arm string, slo stats.SLO) Keeping {
	k := Keeping{Arm: arm, Blocks: len(g.valid), Answer: record.Undecided, Figures: map[string]*record.Spread{}}
	if !g.verdicts.refusal.None() {
		k.Answer, k.Reason = record.NoAnswer, g.verdicts.refusal
		return k
	}
	values := map[string][]float64{}
	for i, block := range g.valid {
		// All terms together: a block that breaks one term breaks the SLO.
		kept := true
		for _, term := range slo {
			w := g.windows[block][arm]
			v, ok := w.quantiles[term.Metric]
			if term.Quantile == 0 {
				v, ok = w.Values[term.Metric]
			}
			if !ok || math.IsNaN(v) {
				k.Answer, k.Reason = record.NoAnswer, record.Fact{Code: windowTooShort, Arm: arm, Metric: term.Metric, Values: record.Values{"block": float64(block)}}
				return k
			}
			values[term.Metric] = append(values[term.Metric], v)
			kept = kept && term.Holds(v)
		}
		k.Kept += stats.Count(kept)
		// The first look that decides counts. Go on only to complete the counts and figures.
		if k.Answer == record.Undecided {
			k.Answer = answer(i+1, k.Kept)
		}
	}
	for metric, v := range values {
		k.Figures[metric] = spread(v)
	}
	switch {
	case k.Answer != record.Undecided:
	case !expect.Looked(k.Blocks, stats.Alpha):
		k.Reason = record.Fact{Code: record.TooFewBlocks, Values: record.Values{"blocks": float64(k.Blocks)}}
	default:
		k.Reason = record.Fact{Code: keptInSome, Values: record.Values{"kept": float64(k.Kept), "blocks": float64(k.Blocks)}}
	}
	return k
}

// answer decides after a number of blocks: the SLO was kept in kept blocks and broken in the rest.
// It is undecided between looks. With rank k of the look, fewer than k blocks on one side decide
// for the other.
func answer(blocks, kept int) record.Answer {
	rank := stats.LookRank(blocks, stats.Alpha)
	switch {
	case rank == 0:
	case blocks-kept < rank:
		return record.Passed
	case kept < rank:
		return record.Failed
	}
	return record.Undecided
}
