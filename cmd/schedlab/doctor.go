package main

import (
	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/doctor"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// newDoctor declares the flags of doctor.
func newDoctor() *cobra.Command {
	var f shownFlags
	var r session.Doctor
	cmd := &cobra.Command{
		Use:   "doctor [SCENARIO]",
		Short: "Check whether this machine is fit to measure, and say what to mend",
		Long: `Look for what would spoil a comparison on this machine: too few descriptors,
local ports or places in the listen backlog, CPUs that server and load share,
quotas, other programs, steal, late timers, pauses, a clock that steps, a
directory that cannot be written. Every finding says what it spoils and the fix.

Then compare the baseline of a SCENARIO (default quick) with itself, at the rate
that a comparison of all its arms would offer: two copies of one program differ by
noise, so a smaller difference cannot be told here. A table says which differences a
quick comparison (the default) and a full one (--window 3.6s --budget 10m) can judge,
and how long they take. For that it starts servers on this machine and loads them for about
15 seconds; --quick starts none. It changes nothing and keeps no record.`,
		Example: `  schedlab doctor
  schedlab doctor --quick --out /var/tmp/runs
  schedlab doctor pool-cpu
  schedlab doctor --full --output markdown
  schedlab doctor --cpus 0-1/2-3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			// An empty --out would skip the check of the directory.
			if err := checkValues(cmd.Flags(), "out"); err != nil {
				return err
			}
			r.Scenario = append(args, session.DefaultScenario)[0]
			d, err := r.Run(cmd.Context(), thisProgram(), newProgress(cmd.ErrOrStderr(), f.progress))
			if err == nil {
				err = doctor.Formats(f.verbose, textOptions(cmd.OutOrStdout())).Render(cmd.OutOrStdout(), f.output, d)
			}
			switch {
			case err != nil:
				return err
			case d.Outcome == outcome.No:
				return session.Exit(session.NotKept)
			case d.Outcome == outcome.Open:
				return session.Exit(session.NoAnswer)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&r.Quick, "quick", false, "read and time, but start no server: 2 seconds")
	fl.BoolVar(&r.Full, "full", false, "measure what a full comparison can judge as well: 2 minutes")
	// compare has the same flags, so that doctor checks the machine as a comparison would use it.
	bindCPUs(fl, &r.CPUs)
	fl.BoolVar(&r.AllowRemote, "allow-remote", false, "allow a scenario with an arm that runs on another machine")
	fl.StringVar(&r.Out, "out", record.DefaultRoot, "directory that run records will be kept in")
	oneOf(fl, &f.output, "output", "text", "text, json or markdown", doctor.Formats(false, document.Options{}).Names()...)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every finding and what it spoils, and not only the answer")
	f.bindProgress(fl)
	inSections(cmd,
		helpSection{"What to check", "quick full out"},
		helpSection{theMachine, "cpus allow-remote"},
		helpSection{theOutput, "output verbose progress help"},
	)
	return cmd
}
