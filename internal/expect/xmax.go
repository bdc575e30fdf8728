package expect

import (
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// ProbeDoubt is the ratio by which two measurements of X_max may differ. An arm has one X_max and
// not one per block. Five measured in a row on one server came out up to 9 % from their mean (the
// searches in docs/guide/capacity.md). It is a doubt if probes of one arm are further apart.
//
// This file treats X_max as uncertain. Blocks cannot average the error out, since there is one
// figure for the run. So a statement is asked with X_max too high and too low by ProbeDoubt, and a
// block in which the answers differ says nothing.
const ProbeDoubt = .10

// mostProbes limits the arms that one statement may ask the x_max of: each arm doubles how often
// the statement is evaluated per block. 8 arms make 256 evaluations.
const mostProbes = 8

// probed returns the names of the arms that a statement asks the x_max of. Each name is there
// once, in the order of the text. A name that is not written as a text is left out.
func probed(n ast.Node) (arms []string) {
	for _, c := range calls(n) {
		if c.Callee.String() != "x_max" {
			continue
		}
		if arm, ok := c.Arguments[0].(*ast.StringNode); ok && !slices.Contains(arms, arm.Value) {
			arms = append(arms, arm.Value)
		}
	}
	return arms
}

// settled returns the answer of a statement in the block. It tries every combination of probes
// that are too high or too low by ProbeDoubt. sure is false if the answer is not the same for all.
// The corners are enough for a comparison that rises or falls with each X_max.
func (s *scope) settled(program *vm.Program, words map[string]any, probes []string) (answer any, sure bool, err error) {
	defer func() { s.off = nil }()
	// Bit i of corner tells in which direction the i-th probe is off.
	for corner := range 1 << len(probes) {
		s.off = map[string]float64{}
		for i, arm := range probes {
			s.off[arm] = ProbeDoubt
			if corner>>i&1 == 1 {
				s.off[arm] = -ProbeDoubt
			}
		}
		v, err := expr.Run(program, words)
		switch {
		case err != nil:
			return nil, false, err
		case corner > 0 && v != answer:
			return nil, false, nil
		}
		answer = v
	}
	return answer, true, nil
}
