// Package expect is the language of a scenario's expectations. It parses them, and decides each
// over the blocks of a judged run. It sees the run only as a [Run].
package expect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"schedlab/internal/prose"
	"schedlab/internal/stats"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// An Expectation is one assertion of a scenario that blocks can decide. It is written in the
// language of expr with the words of docs/reference/scenarios.md. It is split at and, or and not
// into statements, and the blocks of a run decide each statement separately. The zero value is not
// valid. An Expectation does not change, and may be used by many goroutines.
type Expectation struct{ root ast.Node }

// An Error is a mistake in an expectation. At is its position, in characters from the start. A
// character is a rune.
//
// This file turns text into a checked syntax tree. The user writes 10ms, which the library expr
// cannot read, so the text is rewritten first; every position in an error is then mapped back to
// the text as it was written. What expr cannot check, such as the name of an arm, is checked in
// the tree.
type Error struct {
	At  int
	msg string
}

// Error returns the mistake without its position.
func (e *Error) Error() string { return e.msg }

// quantity matches a number with a unit of time written against it, as in 10ms. 250/s needs no
// rewriting: it is a quotient, since s is a second.
var quantity = regexp.MustCompile(`\b(\d+(?:\.\d+)?)(ns|us|ms|s)\b`)

// rewrite turns 10ms into (10*ms), which the language can read. from holds one entry for each
// character of code, and one for its end: the index of the character of text that it came from.
// Text in quotes stays as it is.
func rewrite(text string) (code string, from []int) {
	var b strings.Builder
	at, quoted := 0, rune(0)
	// put appends s to the code. With advance, s is a copy of the text from at on; without it, s
	// was added here and belongs to the character at at.
	put := func(s string, advance bool) {
		for range utf8.RuneCountInString(s) {
			from = append(from, at)
			if advance {
				at++
			}
		}
		b.WriteString(s)
	}
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if m := quantity.FindStringSubmatchIndex(rest); quoted == 0 && m != nil && m[0] == 0 {
			put("(", false)
			put(rest[m[2]:m[3]], true)
			put("*", false)
			put(rest[m[4]:m[5]], true)
			put(")", false)
			rest = rest[m[1]:]
			continue
		}
		switch {
		case quoted == 0 && (r == '"' || r == '\'' || r == '`'):
			quoted = r
		case r == quoted:
			quoted = 0
		}
		// Skip a whole name, because a digit in it, as in p50, begins no number.
		whole := size
		if isLetter(r) && quoted == 0 {
			for whole < len(rest) && (isLetter(rune(rest[whole])) || rest[whole] >= '0' && rest[whole] <= '9') {
				whole++
			}
		}
		put(rest[:whole], true)
		rest = rest[whole:]
	}
	return b.String(), append(from, at)
}

// isLetter reports whether r can begin a name.
func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }

// language returns the options that every expectation is compiled with. Of the library's own
// functions they keep only abs, min and max. So a statement has no loops and reads no clock.
func language(words map[string]any, more ...expr.Option) []expr.Option {
	// The optimizer may rewrite the tree, and the tree is what decide walks. So it stays off.
	kept := []expr.Option{expr.Env(words), expr.DisableAllBuiltins(), expr.Optimize(false)}
	for _, name := range []string{"abs", "min", "max"} {
		kept = append(kept, expr.EnableBuiltin(name))
	}
	return append(kept, more...)
}

// Parse parses an assertion. It checks the grammar, the types, and that the arms, metrics and
// phases it names exist. If arms is nil, it does not check arms. The error is an [*Error]. Parse
// may be called by many goroutines.
func Parse(text string, arms []string) (Expectation, error) {
	root, err := parse(text, arms, expr.AsBool())
	if err != nil {
		return Expectation{}, err
	}
	return Expectation{root}, nil
}

// parse parses an assertion or a figure, with the same checks. result is the option for its type.
func parse(text string, arms []string, result expr.Option) (ast.Node, error) {
	code, from := rewrite(text)
	// expr counts positions in the rewritten code.
	fault := func(err error) error {
		bad, ok := errors.AsType[*file.Error](err)
		if !ok {
			return &Error{0, prose.FirstLine(err.Error())}
		}
		return &Error{from[bad.From], bad.Message}
	}
	// Compile with a scope without a run: only the types of the words matter here.
	program, err := expr.Compile(code, language((&scope{}).words(), result)...)
	if err != nil {
		return nil, fault(err)
	}
	root, names := program.Node(), &nameCheck{arms: arms}
	ast.Walk(&root, names)
	if names.bad != nil {
		names.bad.At = from[names.bad.At]
		return nil, names.bad
	}
	if n := overprobed(root); n != nil {
		return nil, &Error{from[n.Location().From], fmt.Sprintf("x_max of %d arms in one statement, and at most %d can be asked for: each is one figure, which may be off either way; split it with and", len(probed(n)), mostProbes)}
	}
	return root, nil
}

// A nameCheck visits the calls of an expectation and looks up the names in them. It keeps the
// first unknown name in bad.
type nameCheck struct {
	arms []string
	bad  *Error
}

// Visit implements ast.Visitor. A name that is computed, and not written as a text, is checked
// when it is used.
func (n *nameCheck) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok || n.bad != nil {
		return
	}
	word, ok := call.Callee.(*ast.IdentifierNode)
	if !ok {
		return
	}
	for i, arg := range call.Arguments {
		name, ok := arg.(*ast.StringNode)
		if !ok {
			continue
		}
		kind, known := n.known(word.Value, i)
		if known != nil && !slices.Contains(known, name.Value) {
			n.bad = &Error{arg.Location().From, fmt.Sprintf("no %s %q (want one of %s)", kind, name.Value, strings.Join(known, ", "))}
		}
	}
}

// known returns the kind and the allowed values of the i-th argument of a word. nil names allow
// any value. i counts from 0. The last kind of a word applies to all further arguments.
func (n *nameCheck) known(word string, i int) (kind string, names []string) {
	kinds, ok := map[string][]string{
		"same": {"metric"}, "faster": {"metric", "arm"}, "slower": {"metric", "arm"},
		"verdict": {"metric", "arm"}, "ratio": {"metric", "arm"}, "interval": {"metric", "arm"},
		"explained": {"phase", "arm"}, "phase": {"arm", "phase"}, "predicted": {"arm", "prediction"},
	}[word]
	kind = "arm" // for every word that reads a figure
	if ok {
		kind = kinds[min(i, len(kinds)-1)] // explained takes any number of arms
	}
	switch kind {
	case "arm":
		return kind, n.arms
	case "metric":
		return kind, stats.Names(stats.Metrics())
	case "prediction":
		return kind, PredictedMetrics
	case "phase":
		return kind, PhaseNames()
	}
	return kind, nil
}

// UsesAny reports whether one of the expectations calls one of the words. It only searches the
// text. A word in quotes counts, too, which costs a measurement that nobody needs, and gives no
// wrong answer.
func UsesAny(texts []string, words ...string) bool {
	called := regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)\(`)
	return slices.ContainsFunc(texts, called.MatchString)
}
