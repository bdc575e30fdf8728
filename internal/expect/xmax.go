package expect

import (
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// ProbeDoubt is how far X_max, of which there is one an arm and not one a block, may be
// from the next: five in a row of one server came out up to 9 % from their mean (those
// of the searches in docs/capacity.md). Probes of one arm further apart are a doubt.
const ProbeDoubt = .10

// mostProbes bounds the arms whose x_max one statement asks for: every one of them
// doubles how often it is put to a block.
const mostProbes = 8

// overprobed finds the first statement that asks for more; nil for none.
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

// probed lists the arms whose x_max a statement asks for.
func probed(n ast.Node) []string {
	var p probeNames
	ast.Walk(&n, &p)
	return p
}

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

// settled is a statement's answer in the block. sure is false when it is another
// somewhere within the doubt of the probes.
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
