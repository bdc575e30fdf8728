package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
)

// This file tells the shell what to offer at the TAB key. A completion function gets the command with the flags typed so far, the
// arguments, and the word that is being typed. The shell drops offers that do not begin with that word.

// goesOn tells the shell to add no space, since the word may go on, and to offer no files.
const goesOn = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace

// complete offers fixed values for a flag. The flag must exist. After "workers=" the shell adds no space, since a value
// follows.
func complete(cmd *cobra.Command, flag string, values ...string) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if strings.HasSuffix(values[0], "=") {
		directive = goesOn
	}
	completeBy(cmd, flag, cobra.FixedCompletions(values, directive))
}

// completeBy completes a flag by a function. The flag must exist.
func completeBy(cmd *cobra.Command, flag string, offers cobra.CompletionFunc) {
	must(cmd.RegisterFlagCompletionFunc(flag, offers))
}

// completeChoices completes the choices of cmd and of the commands below it.
func completeChoices(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if c, ok := f.Value.(choice); ok {
				complete(cmd, f.Name, c.of...)
			}
		})
	}
	for _, c := range cmd.Commands() {
		completeChoices(c)
	}
}

// listOf completes a list with commas: behind each comma the names that are not in it yet.
func listOf(names func(cmd *cobra.Command, args []string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (offers []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, name := range names(cmd, args) {
			if !slices.Contains(strings.Split(before, ","), name) {
				offers = append(offers, before+name)
			}
		}
		return offers, goesOn
	}
}

// ofWords is listOf for fixed words.
func ofWords(words ...string) cobra.CompletionFunc {
	return listOf(func(*cobra.Command, []string) []string { return words })
}

// knownArms returns the arms that --arms can name: of the scenario and of --arm, and the modes.
func knownArms(cmd *cobra.Command, args []string) (names []string) {
	s, err := session.Find(append(args, session.DefaultScenario)[0])
	if err == nil {
		for _, a := range s.Arms {
			names = append(names, a.Name)
		}
	}
	added, _ := cmd.Flags().GetStringArray("arm") // an error: a command without the flag
	for _, text := range added {
		if a, err := scenario.ParseArm(text); err == nil {
			names = append(names, a.Name)
		}
	}
	for _, m := range modeNames() {
		if !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}

// completeArm completes MODE,flag=value,...: the modes, then the settings that the mode takes, then the words of one.
func completeArm(_ *cobra.Command, _ []string, typed string) (offers []string, _ cobra.ShellCompDirective) {
	name, _, goes := strings.Cut(typed, ",")
	if !goes {
		return modeNames(), goesOn
	}
	m, err := model.Lookup(name)
	if err != nil {
		return nil, goesOn
	}
	settable := scenario.VaryFactors()
	for _, other := range model.Modes() {
		settable = slices.DeleteFunc(settable, func(flag string) bool { return other.Has(flag) && !m.Has(flag) })
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	for _, offer := range settingsOf(settable, typed[len(before):]) {
		offers = append(offers, before+offer)
	}
	return offers, goesOn
}

// completeFactor completes FACTOR=V1,V2 of --vary and --grid: the factors, then the words of one.
func completeFactor(factors ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return settingsOf(factors, typed), goesOn
	}
}

// settingsOf completes name=V1,V2: before the = with the names, and behind it with the words that the setting takes.
func settingsOf(names []string, typed string) (offers []string) {
	name, _, valued := strings.Cut(typed, "=")
	if !valued {
		for _, name := range names {
			offers = append(offers, name+"=")
		}
		return offers
	}
	before := typed[:strings.LastIndexAny(typed, "=,")+1]
	for _, word := range mode.Words(name) {
		offers = append(offers, before+word)
	}
	return offers
}

// completeScenarios offers the embedded scenarios' names, and then files. It serves every command that takes a
// scenario.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return session.Scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// completeRuns offers the runs below the directory of --out, with the link to the newest one, and then files, since a run may be a
// path. Names that begin with a dot are no runs.
func completeRuns(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, err := cmd.Flags().GetString("out")
	if err != nil {
		root = record.DefaultRoot
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "[^.]*")) // an error: nothing to offer
	for _, dir := range dirs {
		names = append(names, filepath.Base(dir))
	}
	return names, cobra.ShellCompDirectiveDefault
}
