package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settle gives every flag that is not on the command line its value from the
// environment, or else from the file of --config.
func settle(cmd *cobra.Command, _ []string) error {
	warnOfStrays(cmd)
	if err := fromEnvironment(cmd); err != nil {
		return err
	}
	file := cmd.Flags().Lookup(configFlag)
	if file == nil || file.Value.String() == "" {
		return nil
	}
	return fromFile(cmd, file.Value.String())
}

const envPrefix = "SCHEDLAB_"

// variable is the environment variable of a flag.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(cmd *cobra.Command) (bad error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || f.Hidden || bad != nil {
			return
		}
		from(f, name)
		bad = usage(plainly(cmd.Flags().Set(f.Name, value)))
	})
	return bad
}

// warnOfStrays names the variables that no command would take, which are most
// likely misspelt.
func warnOfStrays(cmd *cobra.Command) {
	var known []string
	for flag := range flagOwners(cmd.Root()) {
		known = append(known, variable(flag))
	}
	var strays []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			strays = append(strays, name)
		}
	}
	slices.Sort(strays)
	for _, name := range strays {
		fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: warning: %s is ignored, it is no flag's variable; the nearest is %s\n", name, closest(name, known))
	}
}

// flagOwners maps every flag to the commands that have it.
func flagOwners(root *cobra.Command) map[string][]string {
	owners := map[string][]string{}
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				owners[f.Name] = append(owners[f.Name], cmd.Name())
			}
		})
	}
	return owners
}

// bare is the environment without this program's variables.
func bare() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, envPrefix) })
}

// closest is the name that takes the fewest changes of a letter to get to from s,
// the first in the alphabet among equals.
func closest(s string, names []string) string {
	names = slices.Sorted(slices.Values(names))
	return slices.MinFunc(names, func(a, b string) int { return distance(s, a) - distance(s, b) })
}

// distance is how many letters must be put in, taken out or replaced to get from a
// to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the table: from a's beginning so far to each of b's
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// sourceKey is where a flag keeps what gave it its value, if that was not the
// command line.
const sourceKey = "source"

func from(f *pflag.Flag, source string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[sourceKey] = []string{source}
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// sourced adds to an error's text where the flags it names have their values from:
// a reader who did not write --workers will not find it on the command line.
func sourced(cmd *cobra.Command, text string) string {
	said := map[string]bool{}
	return flagName.ReplaceAllStringFunc(text, func(name string) string {
		f := cmd.Flags().Lookup(name[2:])
		if f == nil || said[name] || f.Annotations[sourceKey] == nil {
			return name
		}
		said[name] = true
		return fmt.Sprintf("%s (from %s)", name, f.Annotations[sourceKey][0])
	})
}

// kinds are what a flag of a type takes, for people.
var kinds = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a time like 10s or 250ms",
}

// plainly says in a user's words what a flag makes of a bad value, where the
// flag's type does not.
func plainly(err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	name, value := bad.GetFlag().Name, bad.GetValue()
	kind, known := kinds[bad.GetFlag().Value.Type()]
	among, isChoice := errors.AsType[notAmong](err)
	switch {
	case isChoice:
		return fmt.Errorf("--%s %q is %w", name, value, among)
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s %s is too large a number", name, value)
	case known:
		return fmt.Errorf("--%s %q is not %s", name, value, kind)
	}
	return err
}

const (
	configFlag = "config"
	maxConfig  = 64 << 10 // bytes of a file: the parser's time grows with the square
	maxTried   = 200      // lines of a file among which a mistake is looked for by trying
)

// addConfig gives cmd the flag --config.
func addConfig(cmd *cobra.Command) {
	cmd.Flags().String(configFlag, "", "YAML file of this command's flags, like 'workers: 8'; the command line and the environment win")
	if err := cmd.MarkFlagFilename(configFlag, "yaml", "yml"); err != nil {
		panic(err) // the flag does not exist: a bug here
	}
}

// A configFile is a mapping of a command's flags to values.
type configFile struct {
	name string
	cmd  *cobra.Command
}

// fromFile sets the flags that have no value yet. Every key of the file must be a
// flag of cmd.
func fromFile(cmd *cobra.Command, name string) error {
	f := configFile{name, cmd}
	text, err := f.read()
	if err != nil {
		return usagef("--config: %w", err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return f.syntax(string(text), err)
	}
	for i, doc := range file.Docs {
		var values []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
			continue
		case *ast.MappingNode:
			values = body.Values
		case *ast.MappingValueNode:
			values = []*ast.MappingValueNode{body}
		default:
			return f.errorf(body, "not a list of flags; write one 'flag: value' on each line")
		}
		if i > 0 {
			return f.errorf(doc.Body, "a second document begins here; a file holds one")
		}
		for _, v := range values {
			if err := f.set(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f configFile) read() ([]byte, error) {
	file, err := os.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s is larger than %d bytes", f.name, maxConfig)
	}
	return text, err
}

// set gives one flag its value.
func (f configFile) set(v *ast.MappingValueNode) error {
	key := v.Key.GetToken().Value
	flag := f.cmd.Flags().Lookup(key)
	if flag == nil || flag.Hidden || key == configFlag || key == "help" {
		return f.errorf(v.Key, "%s", f.unknown(key))
	}
	values, err := f.plain(v.Value)
	if err != nil {
		return f.errorf(v.Value, "%s %w", key, err)
	}
	list, isList := flag.Value.(pflag.SliceValue)
	_, given := v.Value.(*ast.SequenceNode)
	switch {
	case given && !isList:
		return f.errorf(v.Value, "%s takes one value, not a list", key)
	case flag.Changed: // the command line and the environment win
		return nil
	case given:
		flag.Changed = true
		err = list.Replace(values)
	default:
		err = f.cmd.Flags().Set(key, values[0])
	}
	if err != nil {
		return f.errorf(v.Value, "%w", plainly(err))
	}
	from(flag, f.place(v.Value))
	return nil
}

// unknown says what to write instead of a key that is no flag of the command.
func (f configFile) unknown(key string) string {
	owners := flagOwners(f.cmd.Root())
	if of := owners[key]; len(of) > 0 && key != configFlag {
		return fmt.Sprintf("%q is no flag of %s, but of %s", key, f.cmd.Name(), strings.Join(of, ", "))
	}
	maps.DeleteFunc(owners, func(name string, of []string) bool {
		return !slices.Contains(of, f.cmd.Name()) || name == configFlag
	})
	return fmt.Sprintf("%q is no flag of %s; the nearest is %q", key, f.cmd.Name(), closest(key, slices.Collect(maps.Keys(owners))))
}

// plain returns a value as text, or the values of a list.
func (f configFile) plain(n ast.Node) ([]string, error) {
	switch n := n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return []string{n.GetToken().Value}, nil
	case *ast.SequenceNode:
		var all []string
		for _, item := range n.Values {
			one, err := f.plain(item)
			if err != nil || len(one) != 1 {
				return nil, errors.New("must be a list of plain values")
			}
			all = append(all, one[0])
		}
		return all, nil
	case *ast.NullNode:
		return nil, errors.New("has no value; give it one or remove the line")
	}
	return nil, errors.New("is no plain value; write a word, a number, or a list of them")
}

// errorf is a mistake at a place in the file.
func (f configFile) errorf(n ast.Node, format string, args ...any) error {
	return usagef("%s: %w", f.place(n), fmt.Errorf(format, args...))
}

func (f configFile) place(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, n.GetToken().Position.Line)
}

// syntax is the parser's complaint, with the line that caused it: the one after the
// longest beginning of the file that is right. The parser's own is often one beside.
func (f configFile) syntax(text string, err error) error {
	line := 1
	if bad, ok := errors.AsType[yaml.Error](err); ok && bad.GetToken() != nil {
		line = bad.GetToken().Position.Line
	}
	lines := strings.SplitAfter(text, "\n")
	for i := min(len(lines), maxTried); i > 0; i-- {
		_, bad := parser.ParseBytes([]byte(strings.Join(lines[:i], "")), 0)
		if bad == nil {
			break
		}
		line, err = i, bad
	}
	msg := err.Error()
	if bad, ok := errors.AsType[yaml.Error](err); ok {
		msg = bad.GetMessage()
	}
	msg, _, _ = strings.Cut(msg, "\n")
	return usagef("%s:%d: %s; write one 'flag: value' on each line", f.name, line, msg)
}
