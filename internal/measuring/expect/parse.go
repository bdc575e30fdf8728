// Package expect is the language of a scenario's expectations. It parses them, and decides each
// over the blocks of a judged run. It sees the run only as a [Run].
package expect

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// A formula is a part of the language, as it was written and as a tree.
type formula struct {
	text string
	root ast.Node
}

// String returns the text, which parses as the same formula.
func (f formula) String() string { return f.text }

// An Expectation is one assertion of a scenario, written in the language of expr with the words of
// docs/reference/scenarios.md. It is split at "and", "or" and "not" into statements, and the blocks of a run decide each
// statement separately. The zero value has no text and is not valid. An Expectation does not change, and may be used by many
// goroutines.
type Expectation struct{ formula }

// An Error is a mistake in an expectation. At is its position, in runes from the start of the text as it was written.
//
// The user writes 10ms, which the library expr cannot read, so the text is rewritten before it is parsed, and positions
// are mapped back. What expr cannot check, such as the name of an arm, is checked in the tree.
type Error struct {
	At  int
	msg string
}

// Error returns the mistake without its position.
func (e *Error) Error() string { return e.msg }

// token matches a text in quotes, a name, or a number with a unit of time written against it, as in 10ms: then group 1 is
// the number and group 2 the unit. Texts and names are matched so that a digit in them, as in p50, begins no number. 250/s
// needs no rewriting: it is a quotient, since s is a second.
var token = regexp.MustCompile("\"[^\"]*\"?|'[^']*'?|`[^`]*`?|[A-Za-z_][A-Za-z0-9_]*|" + `(\d+(?:\.\d+)?)(ns|us|ms|s)\b`)

// rewrite turns 10ms into (10*ms), which the language can read, but not in quotes. from holds one entry for each character
// of code, and one for its end: the index of the character of text that it came from.
func rewrite(text string) (code string, from []int) {
	var b strings.Builder
	at, done := 0, 0 // characters and bytes of text that are copied
	// put appends s to the code: a copy of the text from at on, or without advance a part that belongs to the character at.
	put := func(s string, advance bool) {
		for range utf8.RuneCountInString(s) {
			from = append(from, at)
			if advance {
				at++
			}
		}
		b.WriteString(s)
	}
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		if m[2] < 0 {
			continue
		}
		put(text[done:m[2]], true)
		put("(", false)
		put(text[m[2]:m[3]], true)
		put("*", false)
		put(text[m[4]:m[5]], true)
		put(")", false)
		done = m[1]
	}
	put(text[done:], true)
	return b.String(), append(from, at)
}

// language returns the options that every expectation is compiled with. Of the library's own functions they keep only abs,
// min and max. So a statement has no loops and reads no clock. result is the option for the type of its value.
func language(words map[string]any, result expr.Option) []expr.Option {
	return []expr.Option{
		expr.Env(words), result,
		expr.DisableAllBuiltins(), expr.EnableBuiltin("abs"), expr.EnableBuiltin("min"), expr.EnableBuiltin("max"),
		expr.Optimize(false), // the optimizer may rewrite the tree, and the tree is what decide walks
	}
}

// Parse parses an assertion. It checks the grammar, the types, and that the metrics and phases it names exist; CheckArms
// checks the arms. The error is an [*Error]. Parse may be called by many goroutines.
func Parse(text string) (Expectation, error) {
	f, err := parse(text, expr.AsBool())
	return Expectation{f}, err
}

// UnmarshalText parses an assertion, as [Parse] does.
func (e *Expectation) UnmarshalText(text []byte) (err error) {
	*e, err = Parse(string(text))
	return err
}

// parse parses an assertion or a figure, with the same checks. result is the option for its type.
func parse(text string, result expr.Option) (f formula, err error) {
	code, from := rewrite(text)
	// Only the types of the words matter here.
	program, err := expr.Compile(code, language(values(vocabulary), result)...)
	if bad, ok := errors.AsType[*file.Error](err); ok {
		return f, &Error{from[bad.From], bad.Message} // expr counts positions in the rewritten code
	} else if err != nil {
		return f, &Error{0, prose.FirstLine(err.Error())}
	}
	read := formula{text, program.Node()}
	if err := read.checkNames(nil); err != nil {
		return f, err
	}
	for _, n := range plain(read.root) {
		if probes := probed(n); len(probes) > mostProbes {
			return f, &Error{from[n.Location().From], fmt.Sprintf("x_max of %d arms in one statement, and at most %d can be asked for: each is one figure, which may be off either way; split it with and", len(probes), mostProbes)}
		}
	}
	return read, nil
}

// CheckArms returns an [*Error] if the text names an arm that is none of these.
func (f formula) CheckArms(arms []string) error { return f.checkNames(arms) }

// CheckClasses returns an [*Error] if the text names a class of requests that is none of these.
func (f formula) CheckClasses(classes []string) error {
	for name, arg := range f.names() {
		if name == aClass && !slices.Contains(classes, arg.Value) {
			_, from := rewrite(f.text)
			said := "; the scenario has no classes"
			if classes != nil {
				said = " " + prose.Choice(arg.Value, classes)
			}
			return &Error{from[arg.Location().From], fmt.Sprintf("no class %q%s", arg.Value, said)}
		}
	}
	return nil
}

// checkNames returns an [*Error] if the formula names an arm, metric or phase that does not exist. If arms is nil, any arm
// does.
func (f formula) checkNames(arms []string) error {
	for name, arg := range f.names() {
		known := name.known(arms)
		if known != nil && !slices.Contains(known, arg.Value) {
			_, from := rewrite(f.text)
			return &Error{from[arg.Location().From], fmt.Sprintf("no %s %q %s", name, arg.Value, prose.Choice(arg.Value, known))}
		}
	}
	return nil
}

// calls returns the calls of words below a node, in the order of the text; those in arguments before the call around them.
func calls(n ast.Node) (all []*ast.CallNode) {
	ast.Find(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallNode); ok {
			all = append(all, c)
		}
		return false
	})
	return all
}

// names yields the names in a formula, in the order of its calls, each with its kind. A name that is computed, and not
// written as a text, is not among them: it is checked when it is used.
func (f formula) names() iter.Seq2[kind, *ast.StringNode] {
	return func(yield func(kind, *ast.StringNode) bool) {
		for _, c := range calls(f.root) {
			for i, arg := range c.Arguments {
				if name, ok := arg.(*ast.StringNode); ok && !yield(vocabulary[c.Callee.String()].kind(i), name) {
					return
				}
			}
		}
	}
}

// AsksFor reports whether the expectation asks for one of these figures of an arm.
func (e Expectation) AsksFor(figures ...stats.Figure) bool {
	return slices.ContainsFunc(calls(e.root), func(c *ast.CallNode) bool {
		word := c.Callee.String()
		return slices.ContainsFunc(figures, func(f stats.Figure) bool { return f.Row().Word == word })
	})
}

// Probes reports whether the expectation asks for the closed-loop throughput of an arm, x_max.
func (e Expectation) Probes() bool {
	return slices.ContainsFunc(calls(e.root), func(c *ast.CallNode) bool { return c.Callee.String() == "x_max" })
}

// Quantiles returns the quantiles that the expectation is about, ascending, without duplicates: those of an arm, as in
// p99("pool"), and those that a verdict or a ratio is on, as in same("p99").
func (e Expectation) Quantiles() (all []stats.Figure) {
	var metrics []string
	for kind, name := range e.names() {
		if kind == aMetric {
			metrics = append(metrics, name.Value)
		}
	}
	for _, q := range stats.Quantiles() {
		if e.AsksFor(q.Figure) || slices.Contains(metrics, q.Name) {
			all = append(all, q.Figure)
		}
	}
	slices.Sort(all)
	return all
}

// A Sentence is what a claim says, with figures in braces: its mean is {mean("pool")}. The zero value says nothing. A
// Sentence does not change, and may be used by many goroutines.
type Sentence struct {
	texts   []string  // between the figures: one more than figures
	figures []formula // numbers; Say writes their medians over the blocks
}

// ParseSentence parses the sentence of a claim. It checks the figures as [Parse] checks an assertion. The error is an
// [*Error].
func ParseSentence(text string) (s Sentence, err error) {
	for at, rest := 0, text; ; {
		before, inside, found := strings.Cut(rest, "{")
		s.texts = append(s.texts, before)
		if !found {
			return s, nil
		}
		// at is now the position of the figure. An error of the figure counts from its own start.
		at += utf8.RuneCountInString(before) + 1
		figure, after, closed := strings.Cut(inside, "}")
		if !closed {
			return s, &Error{at - 1, "a { without its }"}
		}
		f, err := parse(figure, expr.AsFloat64())
		if err != nil {
			return s, later(err, at)
		}
		s.figures = append(s.figures, f)
		at, rest = at+utf8.RuneCountInString(figure)+1, after
	}
}

// later returns an [*Error] about a figure as one about the sentence in which the figure begins at a position.
func later(err error, at int) error {
	if bad, ok := errors.AsType[*Error](err); ok {
		return &Error{at + bad.At, bad.msg}
	}
	return err
}

// UnmarshalText parses a sentence, as [ParseSentence] does.
func (s *Sentence) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSentence(string(text))
	return err
}

// CheckArms returns an [*Error] if the sentence names an arm that is none of these.
func (s Sentence) CheckArms(arms []string) error {
	return s.check(func(f formula) error { return f.CheckArms(arms) })
}

// CheckClasses returns an [*Error] if the text names a class of requests that is none of these.
func (s Sentence) CheckClasses(classes []string) error {
	return s.check(func(f formula) error { return f.CheckClasses(classes) })
}

// check returns the first error that a check of its figures finds, at its place in the sentence.
func (s Sentence) check(of func(formula) error) error {
	at := 0
	for i, f := range s.figures {
		at += utf8.RuneCountInString(s.texts[i]) + 1
		if err := of(f); err != nil {
			return later(err, at)
		}
		at += utf8.RuneCountInString(f.text) + 1
	}
	return nil
}

// String returns the sentence as it was written, with its figures in braces.
func (s Sentence) String() string {
	return s.with(func(f formula) string { return "{" + f.text + "}" })
}

// Say returns the sentence with the medians over a run's blocks: times as in 20.9 ms, rates as in 1,048/s, other numbers
// with three digits, and … for a figure that the run does not have. The units of the words tell times and rates.
func (s Sentence) Say(r Run) string {
	return s.with(func(f formula) string { return figureSaid(r, f.root) })
}

// with returns the sentence with a text in the place of each figure.
func (s Sentence) with(figure func(f formula) string) string {
	var said strings.Builder
	for i, text := range s.texts {
		said.WriteString(text)
		if i < len(s.figures) {
			said.WriteString(figure(s.figures[i]))
		}
	}
	return said.String()
}

// figureSaid writes the median of a figure.
func figureSaid(r Run, n ast.Node) string {
	v, ok := median(r, n)
	switch {
	case !ok || r.Blocks() == 0 || math.IsNaN(v):
		return "…"
	case power(n) == 1:
		return prose.Seconds(v)
	case power(n) == -1:
		return prose.PerSecond(v)
	}
	return prose.Digits(v)
}
