package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands and flags stand in help in the order in which they are declared, the common ones first, and
// not by the alphabet. cobra knows this as a setting of the whole program.
func init() { cobra.EnableCommandSorting = false }

// A helpSection is a heading in a command's help with its flags, the common ones first. A command with
// many flags declares its sections below its flags.
type helpSection struct{ title, flags string }

// Titles of sections that several commands have.
const (
	whatToCompare = "What to compare"
	theLoad       = "Load"
	howSure       = "How sure"
	theMachine    = "Machine"
	theOutput     = "Output"
)

// sectionKey is the annotation of a flag that names its section and its place in the command's help.
const sectionKey = "section"

// inSections puts the flags of a command into sections of its help. Every flag that is named must exist,
// and TestEveryFlagIsInASection finds one that is not named.
func inSections(cmd *cobra.Command, sections ...helpSection) {
	cmd.InitDefaultHelpFlag()
	place := 0
	for _, s := range sections {
		for name := range strings.FieldsSeq(s.flags) {
			must(cmd.Flags().SetAnnotation(name, sectionKey, []string{s.title, fmt.Sprintf("%03d", place)}))
			place++
		}
	}
}

// inHelp returns a flag's section and its place in the help; "" for none.
func inHelp(f *pflag.Flag) (section, place string) {
	if at := f.Annotations[sectionKey]; at != nil {
		section, place = at[0], at[1]
	}
	return section, place
}

// takes maps pflag's names of types, which only programmers know, to plain words for help.
var takes = map[string]string{
	"string": "text", "stringArray": "text", "stringSlice": "list", "stringToString": "list",
	"int": "number", "uint64": "number", "float64": "number", "duration": "time",
}

// inWords is a flag's value that shows word as the name of its type.
type inWords struct {
	pflag.Value
	word string
}

func (v inWords) Type() string { return v.word }

// flagsHelp returns the flags of a command for its help: by sections, or in one list where it has none.
func flagsHelp(cmd *cobra.Command) string {
	var shown []*pflag.Flag
	cmd.InheritedFlags() // adds them to Flags
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown = append(shown, f)
		}
	})
	slices.SortStableFunc(shown, func(a, b *pflag.Flag) int {
		_, first := inHelp(a)
		_, second := inHelp(b)
		return cmp.Compare(first, second)
	})
	// One set for all sections, so that their columns stand below each other.
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SortFlags = false
	for _, f := range shown {
		word := takes[f.Value.Type()]
		if word != "" {
			again := *f
			again.Value = inWords{f.Value, word}
			// pflag leaves out a zero default, but does not recognise the zero of this type.
			if slices.Contains([]string{"0s", "[]"}, f.DefValue) {
				again.DefValue = ""
			}
			f = &again
		}
		all.AddFlag(f)
	}
	var b strings.Builder
	last := "none"
	lines := strings.SplitAfter(all.FlagUsages(), "\n")
	for i, f := range shown {
		if title, _ := inHelp(f); title != last {
			last = title
			fmt.Fprintf(&b, "\n%s:\n", cmp.Or(title, "Flags"))
		}
		b.WriteString(lines[i]) // a flag is one line
	}
	return b.String()
}

// commandsHelp lists the commands below cmd: by groups, or in one list where it has none.
func commandsHelp(cmd *cobra.Command) string {
	var b strings.Builder
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		listed := false
		for _, c := range cmd.Commands() {
			if c.GroupID != g.ID || !c.IsAvailableCommand() && c.Name() != "help" {
				continue
			}
			if !listed {
				fmt.Fprintf(&b, "\n%s:\n", g.Title)
				listed = true
			}
			fmt.Fprintf(&b, "  %-*s  %s\n", cmd.Commands()[0].NamePadding(), c.Name(), c.Short)
		}
	}
	return b.String()
}

// usageText is what help prints below a command's description.
func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintln(&b, "Usage:")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	b.WriteString(commandsHelp(cmd))
	b.WriteString(flagsHelp(cmd))
	if !cmd.HasParent() {
		fmt.Fprintf(&b, "\n%s", rootNotes())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "\nExit codes, and flags from the environment: '%s --help'.\n", cmd.Root().Name())
	}
	return b.String()
}

// rootNotes is what all commands have in common: how flags are set, and the exit codes.
func rootNotes() string {
	var b strings.Builder
	b.WriteString(`A flag can also be set in the environment: --queue-depth is SCHEDLAB_QUEUE_DEPTH. Commands with
--config take flags from a YAML file as well, with lines like 'queue-depth: 64'. The command
line wins over the environment, and that over the file.

Exit codes:
`)
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.means)
	}
	return b.String()
}
