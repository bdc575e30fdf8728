package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/outcome"
)

// newAudit makes the command that judges another tool's output. It sends nothing: the flags only
// tell facts about the test that the output leaves out. Impossible figures have exit code 3, other
// findings 0. The steps: readInput opens the file, audit.Read finds the runs in it, audit.Judge
// holds them to the laws, and report prints the findings.
func newAudit() *cobra.Command {
	var given audit.Given
	var service time.Duration
	var output string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "audit FILE|-",
		Short: "Check what another load tool printed for figures that cannot be true",
		Long: `Read what a load tool printed and say which of its figures are impossible, which
are not what they look like, and what they cannot tell, each with its numbers and
the law: flow (rate x time = requests), Little (rate x response time = requests in
flight), utilisation (rate x CPU time = busy cores), the closed loop (response time
= connections / rate), arithmetic, and survivors (times of what was answered).

It reads wrk, wrk2, httperf, ab, hey, oha, vegeta, k6, fortio, bombardier and h2load
as text, and the JSON of vegeta, k6, fortio, bombardier and oha; lines of key=value,
and tables; in UTF-8 or UTF-16, with colours, in quotes, lists and logs. Several runs
and prose may stand in one file: the first sentence says how many lines are not read,
and --verbose which. Where a tool's own habit breaks a law, the finding names the habit.`,
		Example: `  wrk -t2 -c64 -d10s --latency http://127.0.0.1:8080/ | schedlab audit -
  schedlab audit bench.log --verbose
  schedlab audit hey.txt --connections 50 --cores 2 --service 400us
  schedlab audit results.md --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// The message of cobra.ExactArgs would not mention "-".
			if len(args) != 1 {
				return session.Usagef("%d files are given; audit reads one, or standard input as '-': schedlab audit bench.log", len(args))
			}
			given.Service = service.Seconds()
			if given.Cores < 0 || given.Connections < 0 || service < 0 {
				return session.Usagef("--cores, --service and --connections must not be negative")
			}
			a, err := readInput(cmd, args[0], func(in io.Reader, shown string) (*audit.Report, error) {
				text, err := audit.Read(in)
				if syntax, ok := errors.AsType[*audit.SyntaxError](err); ok {
					return nil, fmt.Errorf("%s:%d: %w", shown, syntax.Line, syntax.Err)
				}
				if err != nil {
					return nil, fmt.Errorf("reading %s: %w", shown, err)
				}
				a := audit.Judge(text, given)
				a.File = shown // as the user named it
				return a, nil
			})
			if err != nil {
				return session.Usage(err)
			}
			w := cmd.OutOrStdout()
			if err := audit.Write(w, output, a, verbose, textOptions(w)); err != nil {
				return fmt.Errorf("writing the report: %w", err)
			}
			// Other findings do not prove that a figure is wrong.
			if slices.ContainsFunc(a.Findings, func(f audit.Finding) bool { return f.Outcome == outcome.No }) {
				return session.Exit(session.NotKept)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	// Facts about the test; 0 means not known, and the laws that need them are left out.
	fl.Float64Var(&given.Cores, "cores", 0, "cores that the server had")
	fl.DurationVar(&service, "service", 0, "the server's CPU time for a request, like 400us")
	fl.Float64Var(&given.Connections, "connections", 0, "requests that could be in flight at once, where the tool does not print its connections")
	oneOf(fl, &output, "output", "text", "text, json, markdown", "text", "json", "markdown")
	fl.BoolVarP(&verbose, "verbose", "v", false, "print every finding, and what was read and what not, line by line")
	return cmd
}
