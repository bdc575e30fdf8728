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
const ProbeDoubt = .10

// mostProbes limits the arms that one statement may ask the x_max of: each arm doubles how often
// the statement is evaluated per block.
const mostProbes = 8

// overprobed returns the first statement that asks for the x_max of more than mostProbes arms; nil
// if there is none.
func overprobed(n ast.Node) ast.Node {
	_, parts := joint(n)
	for _, part := range parts {
		if found := overprobed(part); found != nil {
			return found
		}
	}
	if parts == nil && len(probed(n)) > mostProbes {
		return n
	}
	return nil
}

// probed returns the names of the arms that a statement asks the x_max of.
func probed(n ast.Node) []string {
	var p probeNames
	ast.Walk(&n, &p)
	return p
}

// probeNames collects these names while it visits a statement.
type probeNames []string

// Visit implements ast.Visitor.
func (p *probeNames) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok || len(call.Arguments) != 1 {
		return
	}
	word, _ := call.Callee.(*ast.IdentifierNode)
	arm, _ := call.Arguments[0].(*ast.StringNode)
	if word != nil && arm != nil && word.Value == "x_max" && !slices.Contains(*p, arm.Value) {
		*p = append(*p, arm.Value)
	}
}

// settled returns the answer of a statement in the block. It tries every combination of probes
// that are too high or too low by ProbeDoubt. sure is false if the answer is not the same for all.
func (s *scope) settled(program *vm.Program, words map[string]any, probes []string) (answer any, sure bool, err error) {
	defer func() { s.off = nil }()
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
