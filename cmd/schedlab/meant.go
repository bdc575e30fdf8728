package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/prose"
)

// This file writes the errors of commands and flags that do not exist. They end with what the user may have meant.

// shownCommands returns the names of the commands below cmd that help lists.
func shownCommands(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagNames returns the names of the flags that the help of cmd shows, with the flags that it has from the commands above it.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// unknownCommand is the error of a word that is no command below cmd.
func unknownCommand(cmd *cobra.Command, word string) error {
	typed := word
	if cmd.HasParent() {
		typed = typedName(cmd) + " " + word
	}
	return session.Usagef("unknown command %q%s; see %s --help", typed, prose.DidYouMean(word, shownCommands(cmd)), cmd.CommandPath())
}

// noFlag ends the error of a flag that cmd does not have: with the flag that was meant, or the command that has it.
func noFlag(cmd *cobra.Command, bad *pflag.NotExistError) string {
	name, see := bad.GetSpecifiedName(), "; see "+cmd.CommandPath()+" --help"
	// pflag reads a long flag with one dash as several short ones.
	if short, _, _ := strings.Cut(bad.GetSpecifiedShortnames(), "="); len(short) > 1 {
		name = short
	}
	switch owners := flagOwners(cmd.Root())[name]; {
	case cmd.Flags().Lookup("vary") != nil && slices.Contains(scenario.VaryFactors(), name):
		return fmt.Sprintf("; for all arms it is --vary %s=VALUE", name)
	case 0 < len(owners) && len(owners) <= 3 && !slices.Contains(owners, typedName(cmd)):
		return fmt.Sprintf(", which %s has%s", strings.Join(owners, " and "), see)
	}
	var dashed []string
	for _, flag := range flagNames(cmd) {
		dashed = append(dashed, "--"+flag)
	}
	return prose.DidYouMean("--"+name, dashed) + see
}
