package fact

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"text/template/parse"
)

// A checker checks the types in every branch of a sentence, also in branches that a fact would not take. It knows only
// those parts of the template language that sentences use, and refuses all others.
type checker struct {
	vars  map[string]reflect.Type // by name, with its "$"
	of    reflect.Type            // the dot of the sentence
	names map[string]bool         // the fields of that dot which the sentence names
}

// A checker panics with a mistake, and check recovers.
type mistake struct{ error }

func wrong(format string, args ...any) { panic(mistake{fmt.Errorf(format, args...)}) }

// check returns the fields of a dot that a sentence names. It returns an error if the sentence does not fit the dot's type.
func check(name string, dot reflect.Type) (names map[string]bool, err error) {
	defer func() {
		if m, is := recover().(mistake); is {
			err = m.error
		}
	}()
	names = map[string]bool{}
	(&checker{of: dot, names: names}).template(name, dot)
	return names, nil
}

func (c *checker) template(name string, dot reflect.Type) {
	t := sentences.Lookup(name)
	if t == nil {
		wrong("there is no part %q: register it first", name)
	}
	(&checker{vars: map[string]reflect.Type{"$": dot}, of: c.of, names: c.names}).list(t.Root, dot)
}

func (c *checker) list(l *parse.ListNode, dot reflect.Type) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			c.pipe(n.Pipe, dot)
		case *parse.TemplateNode:
			c.template(n.Name, c.pipe(n.Pipe, dot))
		case *parse.IfNode:
			c.branch(n.BranchNode, dot, func(reflect.Type) reflect.Type { return dot })
		case *parse.WithNode:
			c.branch(n.BranchNode, dot, func(of reflect.Type) reflect.Type { return of })
		case *parse.RangeNode:
			c.branch(n.BranchNode, dot, func(of reflect.Type) reflect.Type {
				if of == nil || of.Kind() != reflect.Slice {
					wrong("%s is no list", n.Pipe)
				}
				return of.Elem()
			})
		default:
			wrong("%s: sentences use no such thing", n)
		}
	}
}

// branch checks both lists of an if, a with or a range. within returns the dot of the first list, given the type of the
// pipeline.
func (c *checker) branch(b parse.BranchNode, dot reflect.Type, within func(reflect.Type) reflect.Type) {
	inner := &checker{vars: maps.Clone(c.vars), of: c.of, names: c.names}
	asked := inner.pipe(b.Pipe, dot)
	for i, v := range b.Pipe.Decl {
		inner.vars[v.Ident[0]] = asked
		if b.NodeType == parse.NodeRange {
			inner.vars[v.Ident[0]] = within(asked)
			if i == 0 && len(b.Pipe.Decl) > 1 {
				inner.vars[v.Ident[0]] = reflect.TypeFor[int]()
			}
		}
	}
	inner.list(b.List, within(asked))
	c.list(b.ElseList, dot)
}

// pipe returns the type of a pipeline.
func (c *checker) pipe(p *parse.PipeNode, dot reflect.Type) reflect.Type {
	if len(p.Cmds) != 1 {
		wrong("%s: write it without |", p)
	}
	return c.command(p.Cmds[0].Args, dot)
}

// command returns the type of an operand, or of the result of a function called with operands.
func (c *checker) command(args []parse.Node, dot reflect.Type) reflect.Type {
	function, is := args[0].(*parse.IdentifierNode)
	if !is {
		if len(args) > 1 {
			wrong("%s takes no arguments", args[0])
		}
		return c.operand(args[0], dot)
	}
	var given []reflect.Type
	for _, a := range args[1:] {
		given = append(given, c.operand(a, dot))
	}
	if f := reflect.ValueOf(functions[function.Ident]); f.IsValid() {
		takes(function.Ident, f.Type(), given)
		return f.Type().Out(0)
	}
	return builtin(function.Ident, given)
}

// builtin returns the type of the result of one of the template language's own functions.
func builtin(name string, given []reflect.Type) reflect.Type {
	first := func(kinds ...reflect.Kind) reflect.Type {
		if len(given) < 2 {
			wrong("%s needs more", name)
		}
		for _, k := range kinds {
			if given[0].Kind() == k {
				return given[0]
			}
		}
		wrong("%s takes no %s", name, given[0])
		return nil
	}
	switch name {
	case "and", "or", "not":
		return reflect.TypeFor[bool]()
	case "eq", "ne", "lt", "le", "gt", "ge":
		a := first(reflect.String, reflect.Int, reflect.Float64)
		for _, b := range given {
			if b.Kind() != a.Kind() {
				wrong("%s compares %s with %s", name, a, b)
			}
		}
		return reflect.TypeFor[bool]()
	case "printf":
		return first(reflect.String)
	case "slice":
		return first(reflect.Slice)
	case "index":
		return first(reflect.Slice).Elem()
	}
	wrong("sentences do not use %s", name)
	return nil
}

// takes checks the arguments of one of our functions.
func takes(name string, f reflect.Type, given []reflect.Type) {
	if len(given) != f.NumIn() {
		wrong("%s takes %d arguments, not %d", name, f.NumIn(), len(given))
	}
	for i, of := range given {
		want := f.In(i)
		switch {
		case want == reflect.TypeFor[reflect.Value]() && !isNumber(of):
			wrong("%s takes a number, not %s", name, of)
		case want != reflect.TypeFor[reflect.Value]() && !of.AssignableTo(want):
			wrong("%s takes %s, not %s", name, want, of)
		}
	}
}

// operand returns the type of an operand.
func (c *checker) operand(n parse.Node, dot reflect.Type) reflect.Type {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return c.chain(dot, n.Ident)
	case *parse.VariableNode:
		return c.chain(c.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.ChainNode:
		return c.chain(c.operand(n.Node, dot), n.Field)
	case *parse.StringNode:
		return reflect.TypeFor[string]()
	case *parse.NumberNode: // templates take a number like this where its context allows several types
		if strings.ContainsAny(n.Text, ".e") {
			return reflect.TypeFor[float64]()
		}
		return reflect.TypeFor[int]()
	}
	wrong("%s: sentences use no such thing", n)
	return nil
}

// chain returns the type of a field of a field of a type.
func (c *checker) chain(of reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		if of == c.of {
			c.names[name] = true
		}
		if of.Kind() != reflect.Struct {
			wrong("%s has no .%s", of, name)
		}
		f, has := of.FieldByName(name)
		if !has {
			wrong("there is no .%s in %s", name, of)
		}
		of = f.Type
	}
	return of
}
