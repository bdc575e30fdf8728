package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// newScenarios makes the command that lists, prints and checks scenarios. A faulty scenario is
// wrong usage. One that needs a larger machine is not: it may be meant for another.
func newScenarios() *cobra.Command {
	var output, target string
	var schema bool
	cmd := &cobra.Command{
		Use:   "scenarios [NAME|FILE|DIR...]",
		Short: "List the ready scenarios, print one, or check your own",
		Long: `Without an argument, list the embedded scenarios with their questions. With an
embedded scenario's name, print its YAML, to start your own from. Its first line
tells editors (by the YAML language server) of the file that --schema prints: with
it they complete keys, explain them and mark mistakes. With files, or
a directory of them, check them: every problem is named with line and column, and
the exit code is 2.

--output vegeta prints one scenario as a shell script: its requests as a vegeta
targets file, and vegeta's command line for each load that arms have, to run
against --target; comments say what of the load vegeta cannot say.

A scenario that needs more CPUs than are here is listed, printed and checked all
the same, and marked; only compare refuses it.`,
		Example: `  schedlab scenarios
  schedlab scenarios quick > mine.yaml
  schedlab scenarios --schema > ` + scenario.SchemaFile + `
  schedlab scenarios mine.yaml
  schedlab scenarios ./mine
  schedlab scenarios quick --output vegeta > quick.sh`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case schema:
				return record.WriteJSON(cmd.OutOrStdout(), scenario.Schema(modeNames()))
			case output == "vegeta":
				return printVegeta(cmd, args, target)
			case cmd.Flags().Changed("target"):
				return session.Usagef("--target belongs to --output vegeta")
			case len(args) == 0:
				return listScenarios(cmd)
			}
			names, err := session.Scenarios.Expand(args)
			if err != nil {
				return session.Usage(err)
			}
			for _, arg := range names {
				p, err := checkScenario(arg)
				if err != nil {
					return err
				}
				// A user has the text of a file, but not of an embedded scenario.
				if slices.Contains(session.Scenarios.Names(), arg) {
					fmt.Fprint(cmd.OutOrStdout(), scenario.Modeline, p.Scenario.Source)
				} else {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: ok: %s: %s\n", arg, p.Scenario.Name, p.Scenario.Question)
				}
				if p.Lacks != nil { // on stderr, so that stdout is the YAML alone
					fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: not on this machine: %v\n", p.Lacks)
				}
			}
			return nil
		},
	}
	oneOf(cmd.Flags(), &output, "output", "yaml", "yaml or vegeta", "yaml", "vegeta")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of scenario files, for editors")
	cmd.Flags().StringVar(&target, "target", "http://127.0.0.1:8080", "of --output vegeta: the server to ask")
	return cmd
}

// printVegeta prints one scenario as a script of vegeta's command lines. target is the server to
// ask, without a path, since the scenario has the paths. Faults of the scenario or of the target
// are wrong usage.
func printVegeta(cmd *cobra.Command, args []string, target string) error {
	if len(args) != 1 {
		return session.Usagef("--output vegeta prints one scenario; name it")
	}
	// A target is a server alone: the scenario has the paths, and vegeta's files http URLs.
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return session.Usagef("--target %q is not a server like http://127.0.0.1:8080", target)
	}
	// A scenario with faults would make a script with faults.
	p, err := checkScenario(args[0])
	if err != nil {
		return err
	}
	if err := p.Scenario.Open(); err != nil {
		return session.Usage(err)
	}
	return p.Scenario.WriteVegeta(cmd.OutOrStdout(), u.Host)
}

// checkScenario finds a scenario and plans it, which finds all faults that parsing does not. It
// starts nothing. A machine that is too small for it is no fault.
func checkScenario(name string) (p runner.Packed, err error) {
	s, err := session.Find(name)
	if err != nil {
		return p, err
	}
	p, err = runner.PlanPacked(s, runner.Options{Modes: modeFacts()})
	if bad, ok := errors.AsType[*runner.Impossible](err); err != nil && !(ok && bad.Place != "") {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return p, session.Usage(err)
}

// listScenarios prints the embedded scenarios with their questions, and marks those for larger
// machines. Every one is planned for that.
func listScenarios(cmd *cobra.Command) error {
	var rows [][]string
	for _, name := range session.Scenarios.Names() {
		p, err := checkScenario(name)
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, p.Scenario.Question})
		if p.Lacks != nil {
			rows = append(rows, []string{"", fmt.Sprintf("not on this machine: %v", p.Lacks)})
		}
	}
	return writeTable(cmd, document.Table{Rows: rows, Words: true})
}
