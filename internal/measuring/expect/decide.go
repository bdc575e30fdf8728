package expect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// A Finding is the answer of a run to an expectation or to a part of it, with the reason. Outcome is Yes, No,
// Open if more blocks may decide, or Refused if they cannot. Reason is never empty, and tells in how many blocks
// the statement was true, or why there is no answer.
//
// An expectation is decided in two layers. The upper layer (decide) joins the findings on statements by and, or and not.
// The lower layer (state) asks one statement in every block, and takes the blocks as votes in a sign test, which needs no
// model of the noise, only that blocks are independent.
type Finding struct {
	Outcome outcome.Outcome
	Reason  fact.Fact
}

// The reasons of findings.
type (
	nearby struct {
		Within float64
		Sides  string
	}
	decided struct{ Blocks int }
)

var (
	_ = fact.Part("sides", `{{with .Sides}}{{.}} in the median; {{end}}`)

	tally        = fact.New[Tally]("tally", 0, `{{template "sides" .}}{{if .Outside}}{{count .Outside}} of {{plural .Blocks "block"}} outside: {{count .Below}} below, {{count .Above}} above{{else}}true in {{count .Yes}} of {{plural .Blocks "block"}}{{end}}`)
	oneProbe     = fact.New[nearby]("one-probe", 0, `{{template "sides" .}}x_max is one figure, and within {{percent .Within}} of it the answer changes`)
	borderOpen   = fact.Plain("border-open", 0, `{{template "because" .}}: the blocks do not tell on which side of the limit it lies`)
	bothFact     = fact.Plain("both", 0, `{{template "list" .}}`)
	tooFewBlocks = fact.New[decided]("too-few-blocks", 0, `{{plural .Blocks "block"}}: too few to decide`)
	// Unreadable is a statement that cannot be read or run.
	Unreadable = fact.New[NotRead]("unreadable", 0, `{{.Error}}`)
)

// NotRead tells why a statement is [Unreadable].
type NotRead struct{ Error string }

// A Tally tells in how many blocks a statement was true.
type Tally struct {
	Blocks, Yes  int
	Outside      int    `json:"outside,omitempty"` // of a band, Below it and Above
	Below, Above *int   // nil if none is outside
	Sides        string // the two sides of the statement in the median, "" if it has no numbers
}

// TallyOf returns the tally that a reason has, of several the one with the fewest blocks. ok is false where no blocks were
// asked.
func TallyOf(reason fact.Fact) (least Tally, ok bool) {
	if t, is := fact.In(tally, reason); is {
		return t, true
	}
	for _, of := range reason.Because {
		if t, is := TallyOf(of); is && (!ok || t.Yes < least.Yes) {
			least, ok = t, true
		}
	}
	return least, ok
}

// Decide decides the expectation over the blocks of a run. The answers to all expectations of the run are right together
// with probability 1 - [stats.Alpha]. statements is the sum of Statements over all of them; each statement gets an
// equal part of the error (Bonferroni). Below 1, statements counts as 1.
func (e Expectation) Decide(r Run, statements int) Finding {
	return decide(r, e.root, stats.Alpha/float64(max(statements, 1)), false)
}

// Statements returns the number of statements in the expectation that blocks decide; verdicts have their own error.
func (e Expectation) Statements() (n int) {
	for _, statement := range plain(e.root) {
		n += stats.Count(!ofVerdicts(statement))
	}
	return n
}

// joint returns the operator, "and", "or" or "not", however it was written, and its operands; nil for a plain statement.
func joint(n ast.Node) (op string, parts []ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and":
			return "and", []ast.Node{n.Left, n.Right}
		case "||", "or":
			return "or", []ast.Node{n.Left, n.Right}
		}
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			return "not", []ast.Node{n.Node}
		}
	}
	return "", nil
}

// plain returns the plain statements below a node: the parts without and, or and not.
func plain(n ast.Node) (all []ast.Node) {
	_, parts := joint(n)
	if parts == nil {
		return []ast.Node{n}
	}
	for _, p := range parts {
		all = append(all, plain(p)...)
	}
	return all
}

// ofVerdicts reports whether a statement asks about verdicts and nothing else, and so nothing of single blocks.
func ofVerdicts(n ast.Node) bool {
	all := calls(n)
	return len(all) > 0 && !slices.ContainsFunc(all, func(c *ast.CallNode) bool { return !vocabulary[c.Callee.String()].ofVerdicts })
}

// decide decides a node. It joins the findings on its parts by Kleene's strong three-valued logic (Introduction to
// Metamathematics, 1952, section 64): a part that is open or refused matters only if the other part does not settle
// the whole. alpha is the error of each statement. denied says that the node stands under a not: the reason then speaks
// of its contrary.
func decide(r Run, n ast.Node, alpha float64, denied bool) Finding {
	op, parts := joint(n)
	if parts == nil {
		return state(r, n, alpha, denied)
	}
	first := decide(r, parts[0], alpha, denied != (op == "not"))
	if op == "not" {
		first.Outcome = first.Outcome.Not()
		return first
	}
	second := decide(r, parts[1], alpha, denied)
	// One part with this outcome settles the whole, whatever the other part is.
	final := outcome.No // one such part settles an and
	if op == "or" {
		final = outcome.Yes
	}
	both := []Finding{first, second}
	// The first of these outcomes is the answer. More blocks do not lift a refusal, so it comes before an open part.
	for _, of := range []outcome.Outcome{final, outcome.Refused, outcome.Open} {
		i := slices.IndexFunc(both, func(f Finding) bool { return f.Outcome == of })
		if i < 0 {
			continue
		}
		if of == outcome.Open && first.Outcome == second.Outcome && !first.Reason.Alike(second.Reason) {
			break // each part is open by its own blocks
		}
		return both[i]
	}
	// Both parts are open, or passed an and, or failed an or: both reasons are needed.
	return Finding{first.Outcome, bothFact.Since(first.Reason, second.Reason)}
}

// state decides one statement over the valid blocks, in order, at the looks of the verdicts. At a look it passes if it is
// true in enough blocks to be sure that the median is on its side of the limit, with confidence 1-alpha over all looks,
// and fails if it is false in enough. The first look that says either decides. A statement about verdicts is the same in
// every block, and as sure as the verdicts.
func state(r Run, n ast.Node, alpha float64, denied bool) Finding {
	s := &scope{run: r}
	words := values(s.words())
	words["side"] = side
	code, result := n.String(), expr.AsBool()
	// A value outside a band may be below or above it, so ask for the side and not only for yes or no.
	if args := withinOf(n); args != nil {
		code, result = fmt.Sprintf("side(%s, %s, %s)", args[0], args[1], args[2]), expr.AsInt()
	}
	program, err := expr.Compile(code, language(words, result)...)
	if err != nil {
		return Finding{outcome.Refused, unreadable(err)}
	}
	// unsure counts blocks in which the answer depends on the error of X_max.
	yes, low, high, unsure := 0, 0, 0, 0 // low is false, or below a band; high is above a band
	probes, verdict, verdicts := probed(n), outcome.Open, ofVerdicts(n)
	// Go through all blocks even after the verdict, so that the tally is about the whole run.
	for s.block = range r.Blocks() {
		v, sure, err := s.settled(program, words, probes)
		if err != nil {
			return without(err)
		}
		unsure += stats.Count(!sure)
		switch v := v.(type) {
		case bool:
			yes, low = yes+stats.Count(v), low+stats.Count(!v)
		case int:
			yes, low, high = yes+stats.Count(v == 0), low+stats.Count(v < 0), high+stats.Count(v > 0)
		}
		had := s.block + 1
		// k is 0 between looks. At a look the median is surely inside if fewer than k blocks are outside on either
		// side, and surely outside if all but k-1 blocks or more are outside on one side. An unsure block counts
		// against passing and never for failing.
		switch k := stats.LookRank(had, alpha); {
		case verdicts:
			verdict = outcome.Yes
			if yes == 0 {
				verdict = outcome.No
			}
		case k == 0 || verdict != outcome.Open:
		case max(low, high)+unsure < k:
			verdict = outcome.Yes
		case max(low, high) >= had+1-k:
			verdict = outcome.No
		}
	}
	blocks := r.Blocks()
	of := Tally{Blocks: blocks, Yes: yes, Sides: sidesOf(r, n, denied)}
	switch {
	case withinOf(n) != nil && low+high > 0: // only blocks on one side of a band decide that the median is outside
		of.Outside, of.Below, of.Above = low+high, &low, &high
	case denied: // the contrary is true in these
		of.Yes = low
	}
	evidence := tally.Of(of)
	switch {
	case verdict != outcome.Open:
		return Finding{verdict, evidence}
	case unsure > 0:
		return Finding{outcome.Open, oneProbe.Of(nearby{ProbeDoubt, of.Sides})}
	// The run ended before any look that can decide with so small an error.
	case !looked(blocks, alpha):
		return Finding{outcome.Open, tooFewBlocks.Of(decided{blocks})}
	}
	return Finding{outcome.Open, borderOpen.Since(evidence)}
}

// ProbeDoubt is the ratio by which two measurements of X_max may differ; it is a doubt if probes of one arm are further
// apart. Five measured in a row on one server came out up to 9 % from their mean (the searches in
// docs/guide/capacity.md).
//
// Blocks cannot average the error out, since there is one figure for the run. So a statement is asked with X_max too high
// and too low by ProbeDoubt, and a block in which the answers differ says nothing.
const ProbeDoubt = .10

// mostProbes limits the arms that one statement may ask the x_max of: each doubles its evaluations per block, to 256.
const mostProbes = 8

// probed returns the names of the arms that a statement asks the x_max of, each once, in the order of the text. A name
// that is not written as a text is left out.
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

// settled returns the answer of a statement in the block. It tries every combination of probes that are too high or too
// low by ProbeDoubt, which is enough for a comparison that rises or falls with each X_max. sure is false if the answers
// differ.
func (s *scope) settled(program *vm.Program, words map[string]any, probes []string) (answer any, sure bool, err error) {
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

// without returns the finding if a word has no figure: Open if more blocks may bring one, else Refused. err is a
// [fact.Fact] if it is from a [Run].
func without(err error) Finding {
	why, ok := errors.AsType[fact.Fact](err)
	if !ok {
		why = unreadable(err)
	}
	if verdictOpen.Code.Is(why) || noInterval.Code.Is(why) || neitherSide.Code.Is(why) || intervalOpen.Code.Is(why) {
		return Finding{outcome.Open, why}
	}
	return Finding{outcome.Refused, why}
}

// looked reports whether a look at this number of blocks or fewer can decide with error alpha: a smaller one needs more.
func looked(blocks int, alpha float64) bool {
	return slices.ContainsFunc(stats.Looks(), func(n int) bool { return n <= blocks && stats.LookRank(n, alpha) > 0 })
}

// unreadable returns the fact that a statement cannot be read or run. Further lines of the error show the text, and are
// left out.
func unreadable(err error) fact.Fact {
	return Unreadable.Of(NotRead{prose.FirstLine(err.Error())})
}

// withinOf returns the arguments of within; nil for any other statement.
func withinOf(n ast.Node) []ast.Node {
	if call, ok := n.(*ast.CallNode); ok && call.Callee.String() == "within" {
		return call.Arguments
	}
	return nil
}

// side returns on which side of within's band a value lies: -1 below, 0 inside, 1 above.
func side(value, target, share float64) int {
	switch {
	case within(value, target, share):
		return 0
	case value < target:
		return -1
	}
	return 1
}

// sidesOf writes the medians of both sides of a comparison or of within, from which a reader sees by how much it holds;
// "" for any other statement. If the statement is denied, it leaves out the operator.
func sidesOf(r Run, n ast.Node, denied bool) string {
	var sides []ast.Node
	join := "against"
	if c, ok := n.(*ast.BinaryNode); ok && slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, c.Operator) {
		sides = []ast.Node{c.Left, c.Right}
		if !denied {
			join = c.Operator
		}
	} else if args := withinOf(n); args != nil {
		sides = args[:2]
	}
	// If one side is a time, the other is compared with it, so it is a time as well.
	seconds := slices.ContainsFunc(sides, func(n ast.Node) bool { return power(n) == 1 })
	var texts []string
	for _, side := range sides {
		v, ok := median(r, side)
		switch {
		case !ok:
			return ""
		case seconds:
			texts = append(texts, prose.Digits(v*1e3)+" ms")
		default:
			texts = append(texts, prose.Digits(v))
		}
	}
	return strings.Join(texts, " "+join+" ")
}

// median returns the median of a number over the valid blocks, NaN without any. ok is false if the node is no number.
func median(r Run, n ast.Node) (v float64, ok bool) {
	s := &scope{run: r}
	words := values(s.words())
	program, err := expr.Compile(n.String(), language(words, expr.AsFloat64())...)
	if err != nil {
		return 0, false // it is a statement or a text
	}
	figures := make([]float64, r.Blocks())
	for s.block = range r.Blocks() {
		got, err := expr.Run(program, words)
		if err != nil {
			return 0, false
		}
		figures[s.block], _ = got.(float64)
	}
	return stats.Median(figures), true
}

// power returns the power of the second in a number's unit: 1 for a time, -1 for a rate, 0 for a plain number and if it is
// not known.
func power(n ast.Node) int {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		unit := vocabulary[n.Value].unit
		return stats.Count(unit == "s") - stats.Count(unit == "1/s")
	case *ast.CallNode:
		return power(n.Callee)
	case *ast.BuiltinNode: // abs, min, max: the arguments have one unit, which some may not show
		for _, argument := range n.Arguments {
			if p := power(argument); p != 0 {
				return p
			}
		}
	case *ast.UnaryNode:
		return power(n.Node)
	case *ast.BinaryNode:
		switch n.Operator {
		case "*":
			return power(n.Left) + power(n.Right)
		case "/":
			return power(n.Left) - power(n.Right)
		}
		return cmp.Or(power(n.Left), power(n.Right))
	}
	return 0
}
