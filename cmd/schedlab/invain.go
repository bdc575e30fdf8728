package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
)

// An inVain is a rule about flags that a command would ignore. That is an error, because the user expects an effect. Flags that a
// mode or a kind of load does not take are errors of server.Config and session.
//
// Only a flag on the command line with another value than its default is an error. Values in the environment or in a file are
// for many calls. A dry run takes all flags of a real run except the ones about its result.
type inVain struct {
	of    []string                  // the commands, as users type them
	flags string                    // with blanks between
	where func(*cobra.Command) bool // when they would be ignored
	why   string                    // the end of the message, which begins with the flag
}

var ofMeasuring = []string{"compare", "gate", "capacity"}

var flagsInVain = []inVain{
	// How to print something that is not printed.
	{ofMeasuring, "output verbose", is("dry-run", "true"), "is about a result, and --dry-run prints a plan as text"},
	{[]string{"compare", "attack", "audit", "doctor", "size"}, "verbose", isNot("output", "text"), "shows more of a text, and another --output has everything"},
	// Details of another flag that is not given.
	{[]string{"gate"}, "run", is("old-ref", ""), "starts what --build has made of commits, and no --old-ref names one"},
	{[]string{"attack"}, "timestamps", is("results", ""), "says what the times in the file of --results count from, and there is no --results"},
	{[]string{"scenarios"}, "output target", is("schema", "true"), "is about one scenario, and --schema prints what all may have"},
	// Settings of something that is not there.
	{[]string{"attack"}, "method body header", named, "is for a --target without a scenario, which says what is asked"},
	{[]string{"attack"}, "method body", isNot("targets", ""), "is for a --target, and the file of --targets says what is asked"},
	{[]string{"attack"}, "rest", is("engine", "vegeta"), "is how the engine spin waits, and --engine is vegeta"},
	{[]string{"attack"}, "open-rate", is("connections", "0"), "opens connections beforehand, and --connections 0 has none"},
	// Limits of work that is not done.
	{[]string{"explain"}, "budget seed wait-idle run-commands allow-remote", onlyReads, "is about tests, and --no-interventions makes none"},
	// Ways to choose something that is named already.
	{[]string{"runs show", "history show"}, "scenario", named, "chooses the newest run of a scenario, and a run is named"},
	{[]string{"runs diff", "history diff"}, "scenario", named, "chooses among runs, and two are named"},
	{[]string{"scenarios"}, "schema", named, "prints what all scenarios may have, and takes no names"},
}

// is returns the condition that a flag has this value, given or by default.
func is(flag, value string) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool {
		f := cmd.Flags().Lookup(flag)
		return f != nil && f.Value.String() == value
	}
}

// isNot returns the condition that a flag has another value than this one.
func isNot(flag, value string) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool { return cmd.Flags().Lookup(flag) != nil && !is(flag, value)(cmd) }
}

// onlyReads is the condition that explain starts nothing: no tests, also not by the old flag --profiles.
func onlyReads(cmd *cobra.Command) bool {
	return is("no-interventions", "true")(cmd) && !is("profiles", "true")(cmd)
}

// named is the condition that there are arguments.
func named(cmd *cobra.Command) bool { return cmd.Flags().NArg() > 0 }

// refuseInVain returns an error for the first flag on the command line that would be ignored.
func refuseInVain(cmd *cobra.Command) error {
	for _, v := range flagsInVain {
		if !slices.Contains(v.of, typedName(cmd)) || !v.where(cmd) {
			continue
		}
		for name := range strings.FieldsSeq(v.flags) {
			if f := cmd.Flags().Lookup(name); f != nil && inEarnest(f) {
				return session.Usagef("%s %s; leave one of them out", flagText(name, f.Value), v.why)
			}
		}
	}
	return nil
}

// inEarnest reports whether a flag is on the command line with another value than its default.
func inEarnest(f *pflag.Flag) bool {
	return f.Changed && sourceRank(f) == 3 && f.Value.String() != f.DefValue
}
