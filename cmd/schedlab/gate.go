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
		Long: `Compare two builds of a service, and say whether the new one is worse. The commands are
started anew for each measurement, with an address to listen on in place of {addr}. They are
measured in blocks: each has old, a second copy of old and new, in random order, under the
same load. The run ends as soon as the answer is sure, after ten blocks at the earliest.

For each metric it estimates the change, and the interval in which the true change surely
lies. The metric is then one of these:
  fine     the interval is within what --allow allows
  worse    the whole interval is on the bad side of no change, and the change is more than
           half of what is allowed: with 10 %, a sure +6 % that may be +12 %
  open     neither is sure; more blocks, by a larger --budget, may tell
  refused  it cannot be judged, and the reason stands beside it
The build fails when a metric is worse, and passes when all of --metric are fine; what
--watch names may then be open or refused, and the answer says so. Of a hundred gates of
equal builds one at most says worse, and of twenty gates of a build that is worse than
allowed one at most lets it pass.

p50, p90 and p99 are response times, goodput is replies of status 2xx and 3xx a second, cpu is
the server's CPU time a request, and memory is what it holds, all at --rate. capacity is good
replies a second without a rate: after each window 64 clients send, each as soon as it has its
reply, for as long as the window lasted, 100 to 400ms (longer below 500/s). That shows a change
of CPU time soonest; 'schedlab capacity' instead seeks the highest rate that keeps an objective.
The time in which other programs had the server's CPUs is taken out. A service that mostly waits
does not keep them busy, and its capacity is just what 64 clients get. Over TLS and HTTP/2 the
load is slower: where it is at its limit before the server, capacity is worked out from the
server's CPU time a reply, if it used half of its CPU.

A window, in which one build is measured in a block, needs 22 requests for p50, 110 for p90 and 1,100 for p99, else that is not judged:
p90 by default only from 1,100 requests a second on, p99 from 11,000. Windows and budget grow for what --metric
names, so --metric p50,p99,cpu judges p99 at any rate where the time allows.

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
	fl.StringVar(&r.Old, "old", "", "the old build: a command that listens on {addr}, VARIABLE=VALUE words before it (tls=insecure if it speaks https), or http://HOST:PORT")
	fl.StringVar(&r.New, "new", "", "the new build, likewise")
	fl.StringVar(&r.OldRef, "old-ref", "", "the old build is this commit, branch or tag of the git repository here")
	fl.StringVar(&r.NewRef, "new-ref", "HEAD", "with --old-ref: the new build is this one")
	fl.StringVar(&r.Build, "build", "", "with --old-ref: the shell command that builds {out}, in the repository's top folder")
	fl.StringVar(&r.Start, "run", "{out} {addr}", "with --old-ref: the command that starts {out}, as for --old")
	fl.StringSliceVar(&r.Metrics, "metric", session.UsualMetrics(false), "what must be fine for the build to pass: some of "+strings.Join(words, ", ")+"; capacity by default only over HTTP/1.1 without TLS")
	fl.StringSliceVar(&r.Watched, "watch", []string{"p90", "p99"}, "what fails the build if it is worse, but need not be fine for it to pass, because tails are noisy (with --metric: nothing, unless --watch is given)")
	fl.StringSliceVar(&r.Allow, "allow", nil, "how much worse a metric may be, like p99=20% (default "+strings.Join(defaults, ", ")+")")
	bindAsked(fl, &r.Adhoc, true)
	fl.Var(&r.Rate, "rate", "requests a second, like 3000/s, or a share of what the slower build can do (default 0.25x)")
	fl.Lookup("dry-run").Usage = "print the plan, its time and its commands, and run nothing; two commits are built all the same"
	fl.Lookup("warmup").Usage = "how long each server is loaded before it is measured; from 500ms on all but the last 200ms of it as fast as 64 clients can ask, for programs that compile while they run (default 60ms, without capacity in --metric 200ms)"
	fl.DurationVar(&r.Window, "window", 0, "how long each build is measured in a block (default 0.15s, without capacity in --metric 0.5s; longer for a quantile of --metric and a small --allow)")
	fl.DurationVar(&r.Budget, "budget", 0, "longest it may take (default 75s, and longer for a small --allow, a long --window or --warmup, and where a quantile of --metric needs long windows)")
	bindProfiles(fl, &r.Profiles)
	oneOf(fl, &f.output, "output", "text", "text, json, or markdown for a comment on a pull request", "text", "json", "markdown")
	completeBy(cmd, "metric", ofWords(words...))
	completeBy(cmd, "watch", ofWords(words...))
	var allowed []string
	for _, word := range words {
		allowed = append(allowed, word+"=")
	}
	completeBy(cmd, "allow", ofWords(allowed...))
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
		if !fl.Changed("metric") {
			r.Metrics = nil // the usual ones depend on what the builds speak
		}
		// A user who chooses --metric wants nothing else watched, unless --watch is given too.
		if fl.Changed("metric") && !fl.Changed("watch") {
			r.Watched = nil
		}
		// The record tells which builds it compared, since their paths may be temporary.
		r.Note = cmp.Or(r.Note, cmdline.Join(invocation(cmd)))
		r.Command = again(cmd, nil)
		if o.Output == "markdown" {
			o.Output = "summary" // of a gate, the comment on a pull request
		}
		o.Gate = &r
		return o, err
	}}
}
