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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/prose"
)

// settle gives every flag that is not on the command line its value from the environment, or else
// from the file of --config. It runs before every command.
//
// The order decides who wins: a flag that has a value is marked as changed and left alone by the
// next source. Each source leaves its name with the flag (sourceKey), so that a later error can say who
// set it (sourced).
func settle(cmd *cobra.Command) error {
	warnOfStrays(cmd)
	return sources(cmd)
}

// sources sets the flags that are not on the command line: from the environment, and then from the file of --config.
func sources(cmd *cobra.Command) error {
	if err := fromEnvironment(cmd); err != nil {
		return err
	}
	return fromFile(cmd)
}

// fromFile sets the flags that have no value yet from the file of --config, if there is one, and then the flags that have
// replaced an old one that is set. It refuses flags that the command would ignore.
func fromFile(cmd *cobra.Command) error {
	// Empty, too, for a command that has no --config.
	if name, _ := cmd.Flags().GetString(configFlag); name != "" {
		if err := readConfig(cmd, name); err != nil {
			return err
		}
	}
	if err := takeOld(cmd); err != nil {
		return err
	}
	return refuseInVain(cmd)
}

// envPrefix begins the name of every variable. The servers that a comparison starts get an
// environment without them (package process), or the user's settings would reach the arms.
const envPrefix = "SCHEDLAB_"

// variable is the environment variable of a flag: SCHEDLAB_QUEUE_DEPTH for queue-depth.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that have a variable and are not on the command line. Hidden flags
// have none, but for old spellings. It returns the first error.
func fromEnvironment(cmd *cobra.Command) (bad error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || f.Hidden && !isOld(f) || bad != nil {
			return
		}
		// Noted before it is set, so that an error about the value names the variable.
		_ = cmd.Flags().SetAnnotation(f.Name, sourceKey, []string{name})
		bad = session.Usage(plainly(cmd.Flags().Set(f.Name, value)))
	})
	return bad
}

// warnOfStrays names the variables that no command takes: they are most likely misspelt. A warning
// is enough, as a variable may be meant for another version.
func warnOfStrays(cmd *cobra.Command) {
	var known []string
	for _, flag := range slices.Sorted(maps.Keys(flagOwners(cmd.Root()))) {
		known = append(known, variable(flag))
	}
	var old []string
	for _, o := range oldFlags {
		for _, flag := range o.old {
			old = append(old, variable(flag))
		}
	}
	for _, v := range slices.Sorted(slices.Values(os.Environ())) {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) && !slices.Contains(old, name) {
			fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: warning: %s is ignored, it is no flag's variable%s\n", name, prose.DidYouMean(name, known))
		}
	}
}

// flagOwners maps every flag to the commands that have it, like runs show. Hidden flags and commands, and
// --help, are left out.
func flagOwners(root *cobra.Command) map[string][]string {
	owners := map[string][]string{}
	for _, cmd := range commandsBelow(root) {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				owners[f.Name] = append(owners[f.Name], typedName(cmd))
			}
		})
	}
	return owners
}

// commandsBelow returns the commands below cmd and theirs, without hidden ones.
func commandsBelow(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			all = append(append(all, c), commandsBelow(c)...)
		}
	}
	return all
}

// typedName is a command as users type it after the program's name.
func typedName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
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

const configFlag = "config"

// bindConfig declares --config, by which a command takes flags from a file.
func bindConfig(cmd *cobra.Command) {
	cmd.Flags().String(configFlag, "", "YAML file of this command's flags, like 'workers: 8'; the command line and the environment win")
	must(cmd.MarkFlagFilename(configFlag, "yaml", "yml"))
}

// readConfig sets the flags that have no value yet. Every key in the file must be a flag of cmd: a
// key that is ignored would be a setting that the user believes in. Errors name the file and the
// line.
func readConfig(cmd *cobra.Command, name string) error {
	text, err := scenario.ReadFile(name)
	if err != nil {
		return session.Usagef("--config: %w", err)
	}
	settings, err := scenario.ParseSettings(text)
	if err != nil {
		return session.Usagef("%s:%w; write one 'flag: value' on each line", name, err)
	}
	for _, s := range settings {
		place := fmt.Sprintf("%s:%d:%d", name, s.Line, s.Column)
		flag := cmd.Flags().Lookup(s.Key)
		// A file cannot name another file: it would be unclear which of the two wins.
		if flag == nil || flag.Hidden && !isOld(flag) || s.Key == configFlag || s.Key == "help" {
			return session.Usagef("%s: %s", place, unknown(cmd, s.Key))
		}
		list, isList := flag.Value.(pflag.SliceValue)
		switch {
		case s.List && !isList:
			return session.Usagef("%s: %s takes one value, not a list", place, s.Key)
		case flag.Changed: // the command line and the environment win
			continue
		case s.List:
			flag.Changed = true
			err = list.Replace(s.Values)
		default:
			err = cmd.Flags().Set(s.Key, s.Values[0])
		}
		if err != nil {
			return session.Usagef("%s: %w", place, plainly(err))
		}
		_ = cmd.Flags().SetAnnotation(s.Key, sourceKey, []string{place})
	}
	return nil
}

// unknown is the error of a key in a file that is no flag of the command. It names the commands that have such a flag, or the flag
// that the user may have meant.
func unknown(cmd *cobra.Command, key string) string {
	owners := flagOwners(cmd.Root())
	if of := owners[key]; len(of) > 0 && key != configFlag {
		return fmt.Sprintf("%q is no flag of %s, but of %s", key, typedName(cmd), strings.Join(slices.Sorted(slices.Values(of)), ", "))
	}
	known := slices.DeleteFunc(flagNames(cmd), func(name string) bool { return name == configFlag || name == "help" })
	return fmt.Sprintf("%q is no flag of %s%s; see %s --help", key, typedName(cmd), prose.DidYouMean(key, known), cmd.CommandPath())
}
