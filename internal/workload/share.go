package workload

import (
	"errors"
	"fmt"
)

// WithShare returns d made over so that share of the draws, in [0, 1], come from
// its parts above zero, in their old proportions, and the rest are zero:
// "0.8*0s+0.2*10ms" with share 0.5 is "0.5*0s+0.5*10ms", and so is "10ms". It is
// an error when d has no part above zero, or no term left for the zeros.
func (d Dist) WithShare(share float64) (Dist, error) {
	if !(share >= 0 && share <= 1) {
		return d, fmt.Errorf("%v is not a share from 0 to 1", share)
	}
	if share == 0 {
		return Dist{}, nil
	}
	var made Dist
	above := 0.0
	for _, t := range d.terms[:d.n] {
		if t.mean > 0 {
			above += t.weight
		}
	}
	if above == 0 {
		return d, errors.New("no part of the demand is above zero, so it has no share")
	}
	if share < 1 {
		made.terms[0], made.n = term{weight: 1 - share}, 1
	}
	for _, t := range d.terms[:d.n] {
		if t.mean == 0 {
			continue
		}
		if made.n == maxTerms {
			return d, fmt.Errorf("more than %d terms", maxTerms)
		}
		t.weight *= share / above
		made.terms[made.n] = t
		made.n++
	}
	if made.n == 1 {
		made.terms[0].weight = 1
	}
	return made, nil
}
