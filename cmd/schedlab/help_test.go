package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// visibleFlags are the flags that a command's help shows, --help included.
func visibleFlags(cmd *cobra.Command) (all []*pflag.Flag) {
	cmd.InitDefaultHelpFlag()
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	})
	return all
}

// A command with more than nine flags has them in sections, and then each flag is in one.
func TestEveryFlagIsInASection(t *testing.T) {
	t.Parallel()
	for cmd := range commandsBelow(newRoot(io.Discard, io.Discard)) {
		var without []string
		flags := visibleFlags(cmd)
		for _, f := range flags {
			if sectionOf(f) == "" {
				without = append(without, "--"+f.Name)
			}
		}
		few := len(without) == len(flags) && len(flags) <= 9
		if len(without) > 0 && !few && !slices.Contains([]string{"size", "choose", "map"}, cmd.Name()) { // those are about to change
			t.Errorf("%s: %s: in no section of the help; name them in the command's inSections", cmd.CommandPath(), strings.Join(without, ", "))
		}
	}
}

// Every command of the help is in one of its four groups.
func TestHelpHasFourGroups(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	if n := len(root.Groups()); n != 4 {
		t.Errorf("got %d groups", n)
	}
	for _, cmd := range root.Commands() {
		if (cmd.GroupID == "") != cmd.Hidden {
			t.Errorf("%s: group %q, hidden: %v", cmd.Name(), cmd.GroupID, cmd.Hidden)
		}
	}
}

// The commands that measure have few flags. A new one there takes the place of another.
func TestCommandsHaveFewFlags(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	for name, most := range map[string]int{"compare": 34, "gate": 28, "capacity": 21} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(visibleFlags(cmd)); n > most {
			t.Errorf("%s has %d flags, --help included, and %d at most are agreed", name, n, most)
		}
	}
}
