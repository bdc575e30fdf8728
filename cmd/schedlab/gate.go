package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/cmdline"
)

// newGate declares the flags of gate. --arm and --close come with bind and are hidden: a gate
// has two arms. The arms' names are fixed, so only their commands are flags.
func newGate() measuring {
	var f runFlags
	var r session.Gate
	cmd := &cobra.Command{
		Use:   "gate --old 'CMD {addr}' --new 'CMD {addr}'",
		Short: "Fail a CI job when a new build of your service is worse than the old one",
		Long: `Compare two builds of a service, and say whether the new one is worse. Both run in
fresh processes, in interleaved blocks of the same load, beside a second copy of the old
one. The run ends as soon as the answer is sure.

A metric is worse when its whole interval is worse than no change and its median by more
than half of what is allowed. It is fine when the whole interval lies within what is
allowed. The build fails when one metric is worse. It passes when all of --metric are
fine; what --watch names may be open then, and the answer says so.
Of a hundred gates of equal builds one at most says worse, all metrics and looks together.

Capacity is how many good replies a second a build gives to 64 clients that ask again at
once, for 150ms after each window; time that other programs took of its CPUs does not count.

A quantile needs requests: p99 1,100 in each window. With fewer p99 is not judged, and the
answer says which --window and --budget would do. Named by --metric, it makes windows and
budget longer, unless --window or --budget is given.

With --old-ref and --new-ref it builds two commits of the git repository here, each in
a worktree of its own that is removed afterwards: --build makes the program {out}, and
--run starts it.

The exit code is 0 when the build may pass, 3 when it is worse, and 4 when that is open or refused.`,
		Example: `  schedlab gate --old './old -listen {addr}' --new './new -listen {addr}' --rate 2000/s
  schedlab gate --old './old {addr}' --new './new {addr}' --targets requests.txt --rate 500/s --allow p99=30%
  schedlab gate --old './old {addr}' --new './new {addr}' --metric p50,cpu --output markdown
  schedlab gate --old-ref main --new-ref HEAD --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'`,
		Args: cobra.NoArgs,
	}
	f.bind(cmd, &r.Common)
	fl := cmd.Flags()
	words, defaults := session.GateWords()
	// bind declares these, but a gate has no use for them.
	fl.Lookup("arm").Hidden, fl.Lookup("close").Hidden = true, true
	fl.StringVar(&r.Old, "old", "", "the old build: a command that listens on {addr}, VARIABLE=VALUE words before it, or http://HOST:PORT")
	fl.StringVar(&r.New, "new", "", "the new build, likewise")
	fl.StringVar(&r.OldRef, "old-ref", "", "the old build is this commit, branch or tag of the git repository here")
	fl.StringVar(&r.NewRef, "new-ref", "HEAD", "with --old-ref: the new build is this one")
	fl.StringVar(&r.Build, "build", "", "with --old-ref: the shell command that builds {out}, in the repository's top folder")
	fl.StringVar(&r.Start, "run", "{out} {addr}", "with --old-ref: the command that starts {out}, as for --old")
	fl.StringSliceVar(&r.Metrics, "metric", []string{"p50", "goodput", "cpu", "memory", "capacity"}, "what must be fine for the build to pass: some of "+strings.Join(words, ", "))
	fl.StringSliceVar(&r.Watched, "watch", []string{"p90", "p99"}, "what fails the build if it is worse, but need not be fine for it to pass, because tails are noisy (with --metric: nothing, unless --watch is given)")
	fl.StringSliceVar(&r.Allow, "allow", nil, "how much worse a metric may be, like p99=20% (default "+strings.Join(defaults, ",")+")")
	bindAsked(fl, &r.Adhoc, true)
	fl.Var(&r.Rate, "rate", "requests a second, like 3000/s, or a share of what the slower build can do (default 0.25x)")
	fl.Lookup("warmup").Usage = "how long each server is loaded before it is measured (default 60ms, without capacity 200ms)"
	fl.DurationVar(&r.Window, "window", 0, "how long each build is measured in a block (default 0.15s, without capacity 0.5s; longer for a quantile of --metric and a small --allow)")
	fl.DurationVar(&r.Budget, "budget", 0, "longest it may take (default 75s, and longer for a small --allow, and where p99 needs long windows at a low rate)")
	bindProfiles(fl, &r.Profiles)
	oneOf(fl, &f.output, "output", "text", "text, json, or markdown for a comment on a pull request", "text", "json", "markdown")
	complete(cmd, "metric", words...)
	complete(cmd, "watch", words...)
	bindConfig(cmd)
	inSections(cmd,
		helpSection{whatToCompare, "old new old-ref new-ref build run path targets log"},
		helpSection{theLoad, "rate warmup seed"},
		helpSection{"What counts as worse, and how sure", "metric watch allow budget window"},
		helpSection{theOutput, "output profiles dry-run progress note out config help"},
		helpSection{theMachine, "wait-idle cpus allow-remote"},
	)
	return measuring{cmd, func([]string) (session.Order, error) {
		o, err := f.order(fl, &r.Common)
		// A user who chooses --metric wants nothing else watched, unless --watch is given too.
		if fl.Changed("metric") && !fl.Changed("watch") {
			r.Watched = nil
		}
		// The record tells which builds it compared, since their paths may be temporary.
		r.Note = cmp.Or(r.Note, cmdline.Join(invocation(cmd)))
		if o.Output == "markdown" {
			o.Output = "summary" // of a gate, the comment on a pull request
		}
		o.Gate = &r
		return o, err
	}}
}
