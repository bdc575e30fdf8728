package main

import (
	"errors"
	"fmt"
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

	"schedlab/internal/scenario"
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

// warnOfStrays names the variables that no command takes: they are most likely misspelt.
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

// closest returns the name with the smallest distance from s. Of equals it is the first in the
// alphabet.
func closest(s string, names []string) string {
	names = slices.Sorted(slices.Values(names))
	return slices.MinFunc(names, func(a, b string) int { return distance(s, a) - distance(s, b) })
}

// distance is the number of letters to insert, delete or replace to turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance from the letters of a so far to the first j of b
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

// sourceKey is the annotation of a flag that names the variable or the line of a file which set it.
const sourceKey = "source"

func from(f *pflag.Flag, source string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[sourceKey] = []string{source}
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// sourced adds to each flag in an error's text the variable or file that set it: a reader who did
// not write --workers will not find it on the command line.
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

// kinds tell people what a flag of a type takes.
var kinds = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a time like 10s or 250ms",
}

// plainly rewrites pflag's error for a bad value in plain words. Flags of our own types have theirs.
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
	maxConfig  = 64 << 10 // bytes: the parser's time grows with the square of the file's size
	maxTried   = 200      // lines in which syntax looks for a mistake
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

// fromFile sets the flags that have no value yet. Every key in the file must be a flag of cmd.
func fromFile(cmd *cobra.Command, name string) error {
	f := configFile{name, cmd}
	text, err := scenario.ReadFile(name, maxConfig)
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxConfig)
	}
	if err != nil {
		return usagef("--config: %w", err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return f.syntax(string(text), err)
	}
	for i, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		flags, ok := doc.Body.(ast.MapNode)
		switch {
		case !ok:
			return f.errorf(doc.Body, "not a list of flags; write one 'flag: value' on each line")
		case i > 0:
			return f.errorf(doc.Body, "a second document begins here; a file holds one")
		}
		for pair := flags.MapRange(); pair.Next(); {
			if err := f.set(pair.Key(), pair.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// set gives one flag its value.
func (f configFile) set(name ast.MapKeyNode, value ast.Node) error {
	key := name.GetToken().Value
	flag := f.cmd.Flags().Lookup(key)
	if flag == nil || flag.Hidden || key == configFlag || key == "help" {
		return f.errorf(name, "%s", f.unknown(key))
	}
	values, err := f.plain(value)
	if err != nil {
		return f.errorf(value, "%s %w", key, err)
	}
	list, isList := flag.Value.(pflag.SliceValue)
	_, given := value.(*ast.SequenceNode)
	switch {
	case given && !isList:
		return f.errorf(value, "%s takes one value, not a list", key)
	case flag.Changed: // the command line and the environment win
		return nil
	case given:
		flag.Changed = true
		err = list.Replace(values)
	default:
		err = f.cmd.Flags().Set(key, values[0])
	}
	if err != nil {
		return f.errorf(value, "%w", plainly(err))
	}
	from(flag, f.place(value))
	return nil
}

// unknown returns what to write instead of a key that is no flag of the command.
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

// syntax returns the parser's complaint with the line that caused it: the first line with which the
// file no longer parses. The line that the parser names is often the one before or after.
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
