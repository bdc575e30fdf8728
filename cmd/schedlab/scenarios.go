package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/loadtests"
)

const defaultScenario = "quick"

func newScenarios() *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios [NAME|FILE|DIR...]",
		Short: "List the embedded scenarios, print one, or check scenario files",
		Long: `Without an argument, list the embedded scenarios with their questions. With an
embedded scenario's name, print its YAML, to start your own from. With files, or
a directory of them, check them: every problem is named with line and column, and
the exit code is 2.
A scenario that needs more CPUs than are here is listed, printed and checked all
the same, and marked; only compare refuses it.`,
		Example: `  schedlab scenarios
  schedlab scenarios quick > mine.yaml
  schedlab scenarios mine.yaml
  schedlab scenarios ./mine`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listScenarios(cmd)
			}
			names, err := named(args)
			if err != nil {
				return err
			}
			for _, arg := range names {
				s, embedded, err := findScenario(arg)
				if err != nil {
					return err
				}
				lacks, err := checkScenario(s)
				if err != nil {
					return usagef("%s: %w", arg, err)
				}
				if embedded {
					fmt.Fprint(cmd.OutOrStdout(), s.Source)
				} else {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: ok: %s: %s\n", arg, s.Name, s.Question)
				}
				if lacks != nil { // beside the YAML, not in it
					fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: not on this machine: %v\n", lacks)
				}
			}
			return nil
		},
	}
}

// checkScenario plans s. lacks is why this machine cannot run what another could.
func checkScenario(s experiment.Scenario) (lacks, err error) {
	f := compareFlags{Options: experiment.Options{Modes: modeFacts()}}
	_, err = f.plan(s)
	if bad, ok := errors.AsType[*experiment.Impossible](err); ok && bad.Machine {
		return bad, nil
	}
	return nil, err
}

func listScenarios(cmd *cobra.Command) error {
	tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, name := range scenarioNames() {
		s, _, err := findScenario(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "%s\t%s\n", name, s.Question)
		lacks, err := checkScenario(s)
		if err != nil {
			return usagef("%s: %w", name, err)
		}
		if lacks != nil {
			fmt.Fprintf(tw, "\tnot on this machine: %v\n", lacks)
		}
	}
	return tw.Flush()
}

func scenarioNames() (names []string) {
	files, err := fs.Glob(loadtests.Scenarios, "*.yaml")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarioNames(), cobra.ShellCompDirectiveDefault
}

// readFile reads a scenario file, not more of it than is needed to refuse it.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, experiment.MaxScenario+1))
}

// findScenario reads an embedded scenario by name or one from a file.
func findScenario(arg string) (s experiment.Scenario, embedded bool, err error) {
	text, err := loadtests.Scenarios.ReadFile(arg + ".yaml")
	if err == nil {
		s, err = experiment.ParseScenario(arg, text)
		return s, true, usage(err)
	}
	if !strings.ContainsAny(arg, "./") {
		return s, false, usagef("unknown scenario %q (embedded are %s; a file needs its path, like ./%s.yaml)", arg, strings.Join(scenarioNames(), ", "), arg)
	}
	text, err = readFile(arg)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return s, false, usagef("reading scenario %q: %w", arg, err)
	}
	s, err = experiment.ParseScenario(arg, text)
	return s, false, usage(err)
}
