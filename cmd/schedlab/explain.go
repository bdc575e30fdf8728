package main

import (
	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

// newExplain declares the flags of explain. The shell completes the run, and then the run's arms.
func newExplain() *cobra.Command {
	var f shownFlags
	var r session.Explain
	var seed uint64
	cmd := &cobra.Command{
		Use:   "explain [RUN [ARM ARM]]",
		Short: "Find out why one server of a run was slower, from its record and a minute of tests",
		Long: `Say in which part of a request the slower of two arms spends its time, and why. The
parts are measured in client and server, and their differences add up to the whole.
RUN is a run's name below --out, a path, or 'latest' (the default). Without two ARMs
they are the baseline and the challenger that differs from it most.

A table of rules (docs/guide/explain.md) suspects causes by what else is known: queue
waits, mutexes, context switches, the garbage collector, overflows, CPU time. Each
cause that has a setting is then tested in short extra blocks: the slower arm, the
same with the cause taken away, and the same with a setting changed that must not
matter. "Because" is said of a cause that was confirmed so: the part fell, and the
control did not move; and of a late load, which is measured directly. The explanation
is kept in the run's record (why.json, why.html); of the same arms, tests that are
there already stay until they run again. The tests have a record of their own.`,
		Example: `  schedlab explain
  schedlab explain latest nethttp pool
  schedlab explain 20261121-081500-quick-ab12 --no-interventions
  schedlab explain --output html > why.html`,
		Args: cobra.MaximumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			fl := cmd.Flags()
			if err := checkValues(fl, "wait-idle"); err != nil {
				return err
			}
			if fl.Changed("seed") {
				r.Seed = &seed
			}
			r.Fixed = fl.Changed("budget")
			if len(args) == 0 {
				args = []string{"latest"}
			}
			r.RunName, r.Arms = args[0], args[1:]
			x, err := r.Run(cmd.Context(), thisProgram(), newProgress(cmd.ErrOrStderr(), f.progress))
			if x == nil {
				return err
			}
			// The explanation holds even where its tests failed.
			w := cmd.OutOrStdout()
			if f.output == "text" {
				return alsoPrinted(err, explain.Text(w, x, textOptions(w)))
			}
			return alsoPrinted(err, explain.Formats().Render(w, f.output, x))
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&r.NoTests, "no-interventions", false, "test no cause: read the record only")
	bindProfiles(fl, &r.Profiles) // an old spelling, see oldFlags
	fl.DurationVar(&r.Budget, "budget", session.TestBudget, "longest the tests may take; without the flag, a little longer if many causes need it")
	bindWaitIdle(fl, &r.Where)
	fl.BoolVar(&r.RunCommands, "run-commands", false, "trust a record that somebody else made: run its commands, set its environment variables, send load to its addresses")
	fl.BoolVar(&r.AllowRemote, "allow-remote", false, "allow an arm that runs on another machine")
	fl.Uint64Var(&seed, "seed", 0, "seed of the tests (default random)")
	fl.StringVar(&r.Out, "out", record.DefaultRoot, "directory of run records")
	f.bindProgress(fl)
	oneOf(fl, &f.output, "output", "text", "text, json, markdown or html", explain.Formats().Names()...)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return completeRuns(cmd, args, typed)
		}
		_, run, _ := record.Open(args[0], r.Out) // a run that cannot be read has no arms
		for _, a := range run.Plan.Arms {
			names = append(names, a.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	inSections(cmd,
		helpSection{"How to explain", "no-interventions budget seed"},
		helpSection{theOutput, "output progress out help"},
		helpSection{theMachine, "wait-idle run-commands allow-remote"},
	)
	return cmd
}
