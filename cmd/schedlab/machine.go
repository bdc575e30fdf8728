package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/doctor"
	"schedlab/internal/experiment"
)

// briefWatch is how long a comparison waits to see what other programs do.
const briefWatch = 150 * time.Millisecond

// sayMachine says in a line whether this machine is fit to compare anything on, as
// far as that can be read, and keeps what is not as a doubt in every record.
func (f *compareFlags) sayMachine(cmd *cobra.Command) error {
	survey, err := experiment.NewSurvey(f.Options)
	if err != nil {
		return usageIfImpossible(err)
	}
	m := machine(survey, f.out)
	clock := doctor.WatchClock(doctor.SystemClock(), briefWatch)
	watch(cmd.Context(), m, briefWatch)
	m.Clock = clock()
	report := doctor.Examine(m)
	if report.Verdict != doctor.Fit {
		f.Machine = report.Summary(len(report.Findings))
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "machine: %s; `schedlab doctor` says more\n", report.Sentence)
	return err
}
