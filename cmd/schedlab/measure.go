package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/record"
)

// A measuring is one of the commands that start servers and load them: compare, gate and capacity. order turns its
// flags and arguments into a request, once they are parsed. Errors are wrong usage.
type measuring struct {
	cmd   *cobra.Command
	order func(args []string) (session.Order, error)
}

// command makes a command that carries out its own request.
func (m measuring) command() *cobra.Command {
	m.cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := m.order(args)
		if err != nil {
			return err
		}
		return carryOut(cmd, o)
	}
	return m.cmd
}

// parse makes a request of the command's words, which were given to another command, by. settle sets the flags that are not
// among the words. Errors are wrong usage.
func (m measuring) parse(by *cobra.Command, words []string, settle func(*cobra.Command) error) (o session.Order, err error) {
	declareOld(m.cmd)
	root := &cobra.Command{Use: by.Root().Name()} // the name in front of the command's
	root.AddCommand(m.cmd)
	root.SetErr(by.ErrOrStderr())
	if err = m.cmd.ParseFlags(words); err == nil {
		err = m.cmd.ValidateArgs(m.cmd.Flags().Args())
	}
	if err != nil {
		return o, session.Usage(err)
	}
	if err := settle(m.cmd); err != nil {
		return o, err
	}
	return m.order(m.cmd.Flags().Args())
}

// carryOut carries out a request and prints its answer: the plans of a dry run, each scenario of several when it has
// ended, or the result.
func carryOut(cmd *cobra.Command, o session.Order) error {
	w := cmd.OutOrStdout()
	show := newProgress(cmd.ErrOrStderr(), o.Progress)
	show.entry = func(e report.PackEntry) error {
		switch {
		case o.Output == "text":
			return report.PackScenario(w, e, textOptions(w))
		case e.Result != nil:
			return render(cmd, o.Output, e.Result, false)
		}
		return nil
	}
	a, err := o.Request().Run(cmd.Context(), thisProgram(), show)
	var printed error
	switch {
	case a.Plans != nil:
		printed = writePlans(w, a)
	case a.Entries != nil && o.Output == "text":
		printed = report.PackSummary(w, a.Entries, textOptions(w))
		if a.Page != "" {
			fmt.Fprintf(w, "\nPage    %s\n", a.Page)
		}
	case a.Result != nil:
		printed = render(cmd, o.Output, a.Result, !o.Verbose)
	}
	if why := unanswered(a, err); why != nil {
		printed = writeUnanswered(w, o.Output, why)
	}
	return alsoPrinted(err, printed)
}

// unanswered returns why a request ended before there was a result; nil if it has one, or failed.
func unanswered(a session.Answer, err error) error {
	ended, is := errors.AsType[*session.Error](err)
	if !is || ended.Code != session.NoAnswer || a.Result != nil || a.Entries != nil {
		return nil
	}
	return ended.Err
}

// writeUnanswered prints that nothing was decided, and why, where an answer is read that people read. On a terminal the
// error stands there already.
func writeUnanswered(w io.Writer, output string, why error) error {
	if is, _, _ := terminalSize(w); is || output != "text" && output != "summary" {
		return nil
	}
	_, err := fmt.Fprintf(w, "Nothing was decided: %s.\n", document.Harmless(why.Error()))
	return err
}

// orderCommand is the name of newOrder.
const orderCommand = "order"

// newOrder makes the command that reads a request as JSON from standard input and carries it out as compare, gate or
// capacity does: pages of the ui and a cluster's collector start it. People do not call it.
func newOrder() *cobra.Command {
	return &cobra.Command{
		Use:    orderCommand,
		Short:  "Carry out a request that standard input has as JSON",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return err
			}
			o, err := session.ReadOrder(text)
			if err != nil {
				return err
			}
			return carryOut(cmd, o)
		},
	}
}

// alsoPrinted returns the error of a request and the error of printing its answer as one.
func alsoPrinted(err, printed error) error {
	if ended, ok := err.(*session.Error); printed == nil || err != nil && !(ok && ended.Err == nil) {
		return errors.Join(err, printed)
	}
	return printed // the answer was not seen, so it sets no exit code
}

// shownFlags say how a command shows what happens, and what came of it.
type shownFlags struct {
	output, progress string
	verbose          bool
}

func (f *shownFlags) bindProgress(fl *pflag.FlagSet) {
	oneOf(fl, &f.progress, "progress", "auto", "progress"+progressHelp, progressKinds...)
}

// runFlags are the flags of compare, gate and capacity that are no field of their requests.
type runFlags struct {
	shownFlags
	seed uint64
}

// bind declares the flags that the three commands have in common. Each adds others, also --budget, which means
// something else to each.
func (f *runFlags) bind(cmd *cobra.Command, r *session.Common) {
	fl := cmd.Flags()
	fl.StringArrayVar(&r.Added, "arm", nil, "one more arm: MODE[,flag=value...], name='[VAR=VALUE...] CMD {addr}' or name=http://HOST:PORT (repeatable)")
	fl.BoolVar(&r.AllowRemote, "allow-remote", false, "allow an arm that runs on another machine")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of all random choices; the seed of an earlier run repeats its requests (default random, printed)")
	bindCPUs(fl, &r.CPUs)
	fl.BoolVar(&r.Close, "close", false, "open a connection for each request, whatever the scenario says")
	fl.StringVar(&r.Note, "note", "", "a remark to keep in the record")
	fl.StringVar(&r.Out, "out", record.DefaultRoot, "directory of run records")
	f.bindProgress(fl)
	fl.DurationVar(&r.Warmup, "warmup", 0, "how long each server is loaded before it is measured (default "+scenario.Quick.Warmup.String()+", or the scenario's); from 500ms on, if all arms are commands, all but the last 200ms of it as fast as 64 clients can ask")
	bindWaitIdle(fl, &r.Where)
	fl.BoolVar(&r.DryRun, "dry-run", false, "print the plan, its time and its commands, and run nothing")
	completeBy(cmd, "arm", completeArm)
}

// order checks the flags that all have in common, and returns the order with how to show it. The request gets its seed.
func (f *runFlags) order(fl *pflag.FlagSet, r *session.Common) (session.Order, error) {
	if fl.Changed("seed") {
		r.Seed = &f.seed
	}
	return session.Order{Output: f.output, Verbose: f.verbose, Progress: f.progress},
		checkValues(fl, "blocks", "window", "warmup", "budget", "cpus", "out", "path", "targets", "log", "workload", "wait-idle")
}

func bindCPUs(fl *pflag.FlagSet, value *string) {
	fl.StringVar(value, "cpus", "", "CPUs of the servers, a slash, and CPUs of the load, like 0-1,4/2; none binds neither to CPUs (default the lower half for the servers, or as many as they need, and the rest for the load)")
}

func bindWaitIdle(fl *pflag.FlagSet, w *session.Where) {
	fl.DurationVar(&w.WaitIdle, "wait-idle", 0, fmt.Sprintf("start as soon as other programs have left the CPUs alone for %v; if that takes longer than this, start nothing: exit code 4 (default: start at once)", session.QuietFor))
}

func bindProfiles(fl *pflag.FlagSet, value *bool) {
	fl.BoolVar(value, "profiles", false, "then start each arm once more, for "+runner.ProfileTakes.String()+" or more, and capture its profiles under the same load (docs/guide/profiles.md)")
}

// bindAsked declares --path and --targets, and with logs also --log.
func bindAsked(fl *pflag.FlagSet, a *session.Adhoc, logs bool) {
	fl.StringVar(&a.Path, "path", "", "ask for GET of this path, in place of a scenario")
	fl.StringVar(&a.Targets, "targets", "", "ask for the requests in this file (vegeta's http format), in place of a scenario; the hosts in it do not matter")
	if logs {
		fl.StringVar(&a.Log, "log", "", "replay this access log, or FILE@10x ten times as fast, in place of a scenario; each block takes the next stretch")
	}
}

func bindWorkload(cmd *cobra.Command, a *session.Adhoc) {
	cmd.Flags().StringVar(&a.Workload, "workload", "", "what a request costs, like cpu=200us,sleep=exp(10ms), in place of a scenario: of the modes that you name, or of the default scenario's arms")
	completeBy(cmd, "workload", ofWords("cpu=", "sleep="))
}

// again returns the line of a shell that asks the same as this command with these arguments. It leaves out flags
// on how an answer is shown, and those for one run only, such as --resume.
func again(cmd *cobra.Command, args []string) string {
	return cmdline.Join(append(invocation(cmd, "output", "progress", "verbose", "dry-run", "resume", "total", configFlag), args...))
}

// invocation returns the command line of a command without arguments, with the values that its flags
// have now, wherever they came from. It leaves out the flags named.
func invocation(cmd *cobra.Command, without ...string) []string {
	words := strings.Fields(cmd.CommandPath())
	eachGiven(cmd.Flags(), func(f *pflag.Flag) {
		value := f.Value.String()
		list, isList := f.Value.(pflag.SliceValue)
		if isList {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case isOld(f), slices.Contains(without, f.Name):
		case isList && f.Value.Type() == "stringArray": // given once for each value, which may have commas
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name, value)
			}
		case f.NoOptDefVal != "": // the next word would not be its value
			words = append(words, "--"+f.Name+"="+value)
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return words
}
