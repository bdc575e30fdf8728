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

// settle gives every flag that is not on the command line its value from the environment, or else
// from the file of --config. It runs before every command.
//
// The order decides who wins: a flag that has a value is marked as changed and left alone by the
// next source. Each source leaves its name with the flag (sourceKey), so that a later error can say who
// set it (sourced).
func settle(cmd *cobra.Command) error {
	warnOfStrays(cmd)
	if err := fromEnvironment(cmd); err != nil {
		return err
	}
	// A command without --config has no such flag.
	file := cmd.Flags().Lookup(configFlag)
	if file == nil || file.Value.String() == "" {
		return nil
	}
	return fromFile(cmd, file.Value.String())
}

// envPrefix begins the name of every variable. The servers that a comparison starts get an
// environment without them (package process), or the user's settings would reach the arms.
const envPrefix = "SCHEDLAB_"

// variable is the environment variable of a flag: SCHEDLAB_QUEUE_DEPTH for queue-depth.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that have a variable and are not on the command line. Hidden flags
// have none. It returns the first error.
func fromEnvironment(cmd *cobra.Command) (bad error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := os.LookupEnv(name)
		// Only the first mistake is reported.
		if !ok || f.Changed || f.Hidden || bad != nil {
			return
		}
		// Noted before it is set, so that an error about the value names the variable.
		_ = cmd.Flags().SetAnnotation(f.Name, sourceKey, []string{name})
		bad = usage(plainly(cmd.Flags().Set(f.Name, value)))
	})
	return bad
}

// warnOfStrays names the variables that no command takes: they are most likely misspelt. A warning
// is enough, as a variable may be meant for another version.
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

// flagOwners maps every flag to the commands that have it. Hidden flags, and --help, are left out.
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

// bare is the environment without this program's variables. It is for the processes of a prefork
// server, which get all flags on their command lines.
func bare() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, envPrefix) })
}

// closest returns the name that is nearest to s, or the first in the alphabet of equally near ones.
// cobra counts the letters to change, but only in the names of commands, so the names become commands
// that nobody runs. names must not be empty.
func closest(s string, names []string) string {
	var words cobra.Command
	for _, name := range slices.Sorted(slices.Values(names)) {
		words.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	for {
		words.SuggestionsMinimumDistance++
		if near := words.SuggestionsFor(s); len(near) > 0 {
			return near[0]
		}
	}
}

// sourceKey is the annotation of a flag that names the variable or the line of a file which set it.
// A flag of the command line has none.
const sourceKey = "source"

// flagName finds flags in an error's text.
var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// sourced adds to each flag in an error's text the variable or file that set it: a reader who did
// not write --workers will not find it on the command line. Only the first mention gets it.
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

// kinds tell people what a flag of a type takes. The keys are pflag's names of types.
var kinds = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a time like 10s or 250ms",
}

// plainly rewrites pflag's error for a bad value in plain words. Flags of our own types have
// theirs. Other errors, and nil, are returned as they are.
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

// A configFile is a mapping of a command's flags to values. Its methods turn one YAML file into
// flags; every error names the file and the line. The YAML is walked as a syntax tree and not
// decoded into a struct, because the flags are the schema, and because errors need places.
type configFile struct {
	name string
	cmd  *cobra.Command
}

// fromFile sets the flags that have no value yet. Every key in the file must be a flag of cmd: a
// key that is ignored would be a setting that the user believes in.
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
		// An empty document, or one that holds comments only, as after a --- at the end.
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		flags, ok := doc.Body.(ast.MapNode)
		switch {
		// Anything but a mapping, as a list or a single word.
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

// set gives one flag its value, or a list of values to a flag that takes several. A flag that has a
// value already keeps it, but the name and the kind of the value are checked all the same.
func (f configFile) set(name ast.MapKeyNode, value ast.Node) error {
	key := name.GetToken().Value
	flag := f.cmd.Flags().Lookup(key)
	// A file cannot name another file: the order of sources would be a riddle.
	if flag == nil || flag.Hidden || key == configFlag || key == "help" {
		return f.errorf(name, "%s", f.unknown(key))
	}
	// Checked even for a flag that keeps its value: a mistake in a file should not wait for the day
	// on which it counts.
	values, err := f.plain(value)
	if err != nil {
		return f.errorf(value, "%s %w", key, err)
	}
	list, isList := flag.Value.(pflag.SliceValue)
	_, several := value.(*ast.SequenceNode)
	switch {
	case several && !isList:
		return f.errorf(value, "%s takes one value, not a list", key)
	case flag.Changed: // the command line and the environment win
		return nil
	// Set takes one value, Replace the whole list.
	case several:
		flag.Changed = true
		err = list.Replace(values)
	default:
		err = f.cmd.Flags().Set(key, values[0])
	}
	if err != nil {
		return f.errorf(value, "%w", plainly(err))
	}
	return f.cmd.Flags().SetAnnotation(key, sourceKey, []string{f.place(value)})
}

// unknown returns what to write instead of a key that is no flag of the command: the commands that
// have such a flag, or the nearest flag of this one.
func (f configFile) unknown(key string) string {
	owners := flagOwners(f.cmd.Root())
	if of := owners[key]; len(of) > 0 && key != configFlag {
		return fmt.Sprintf("%q is no flag of %s, but of %s", key, f.cmd.Name(), strings.Join(of, ", "))
	}
	// Only this command's own flags can be meant.
	maps.DeleteFunc(owners, func(name string, of []string) bool {
		return !slices.Contains(of, f.cmd.Name()) || name == configFlag
	})
	return fmt.Sprintf("%q is no flag of %s; the nearest is %q", key, f.cmd.Name(), closest(key, slices.Collect(maps.Keys(owners))))
}

// plain returns a value as text, or the values of a list. It is the text of the file, so that 010
// or 1e3 is read by the flag and not by YAML. A mapping is refused, and so is an empty value.
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

// errorf is a mistake at a place in the file: exit code 2.
func (f configFile) errorf(n ast.Node, format string, args ...any) error {
	return usagef("%s: %w", f.place(n), fmt.Errorf(format, args...))
}

// place returns where a node stands, like "ci.yaml:3".
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
	// Take lines off the end until the rest parses: the last line taken off is to blame.
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
