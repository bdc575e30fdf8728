package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/command"
	"schedlab/internal/judge"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// gateFlags are the flags of gate.
//
// A gate is a comparison of two arms, old and new, with its own question: is new worse? run turns the
// flags into that comparison; the judging is judge's (judge/gate.go). With --old-ref, buildBoth makes
// the two programs first. metrics, watched and allowances are --metric, --watch and --allow as given;
// asked turns them into ratios.
type gateFlags struct {
	compareFlags
	before, after                string // --old and --new: commands, or addresses of servers that run
	oldRef, newRef               string
	build, start                 string // --build and --start: commands that build a commit and start the result
	metrics, watched, allowances []string
}

// newGate declares the flags of gate. --arm and --close come with bindRun and are hidden: a gate
// has two arms. The arms' names are fixed, so only their commands are flags.
func newGate() *cobra.Command {
	var f gateFlags
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

A quantile needs requests: p99 1,100 in each window, which are 2,200/s in half a second.
At a lower rate windows grow for it as far as the budget has room; below that p99 is not
judged, and the answer says which --window and --budget would do. Named by --metric, it
lengthens the budget too, unless --window or --budget is given.

With --old-ref and --new-ref it builds two commits of the git repository here, each in
a worktree of its own that is removed afterwards: --build makes the program {out}, and
--run starts it.

The exit code is 0 when the build may pass, 3 when it is worse, and 4 when that is open or refused.`,
		Example: `  schedlab gate --old './old -listen {addr}' --new './new -listen {addr}' --rate 2000/s
  schedlab gate --old './old {addr}' --new './new {addr}' --targets requests.txt --rate 500/s --allow p99=30%
  schedlab gate --old './old {addr}' --new './new {addr}' --metric p50,cpu --output markdown
  schedlab gate --old-ref main --new-ref HEAD --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	f.bindRun(cmd)
	fl := cmd.Flags()
	words, defaults := gateWords()
	// bindRun declares these for comparisons of any arms.
	fl.Lookup("arm").Hidden, fl.Lookup("close").Hidden = true, true
	// Two builds, as programs or as commits.
	fl.StringVar(&f.before, "old", "", "the old build: a command that listens on {addr}, VARIABLE=VALUE words before it, or http://HOST:PORT")
	fl.StringVar(&f.after, "new", "", "the new build, likewise")
	fl.StringVar(&f.oldRef, "old-ref", "", "the old build is this commit, branch or tag of the git repository here")
	fl.StringVar(&f.newRef, "new-ref", "HEAD", "with --old-ref: the new build is this one")
	fl.StringVar(&f.build, "build", "", "with --old-ref: the shell command that builds {out}, in the repository's top folder")
	fl.StringVar(&f.start, "run", "{out} {addr}", "with --old-ref: the command that starts {out}, as for --old")
	// What must not get worse, and by how much it may.
	fl.StringSliceVar(&f.metrics, "metric", []string{"p50", "goodput", "cpu", "memory"}, "what must be fine for the build to pass: some of "+strings.Join(words, ", "))
	fl.StringSliceVar(&f.watched, "watch", []string{"p90", "p99"}, "what fails the build if it is worse, and need not be fine, as tails are noisy; with --metric nothing, unless it is given")
	fl.StringSliceVar(&f.allowances, "allow", nil, "how much worse a metric may be, like p99=20% (default "+strings.Join(defaults, ",")+")")
	f.adhoc.bind(fl, true)
	fl.Var(&f.Rate, "rate", "requests a second, like 3000/s, or a share of what the slower build can do (default 0.25x)")
	fl.DurationVar(&f.Window, "window", 0, "how long each build is measured in a block (default 0.5s, and longer where p99 or a small --allow needs it)")
	fl.DurationVar(&f.Budget, "budget", 0, "longest it may take (default 75s, and longer for a small --allow, and where p99 needs long windows at a low rate)")
	f.bindProfiles(fl)
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
	return cmd
}

// gateWords returns the words for all metrics of a gate on the command line, like cpu for
// cpu_per_request, in the order of judge.GateMetrics. defaults are what a gate allows of each, as
// --allow takes it.
func gateWords() (words, defaults []string) {
	for _, m := range judge.GateMetrics() {
		word := cmp.Or(m.Word, m.Name)
		words = append(words, word)
		defaults = append(defaults, fmt.Sprintf("%s=%.0f%%", word, 100*m.Allow))
	}
	return words, defaults
}

// asked returns what the gate allows of each metric that the flags ask for. --metric and --watch
// choose the metrics and --allow changes the share of chosen ones. Errors are
// wrong usage: a word that is no metric, a share that is no percentage, or no metric at all.
func (f *gateFlags) asked(fl *pflag.FlagSet) (judge.Gate, error) {
	// Who chooses what must be fine wants nothing else, unless it is named as well.
	if fl.Changed("metric") && !fl.Changed("watch") {
		f.watched = nil
	}
	words, _ := gateWords()
	if len(f.metrics) == 0 {
		return nil, usagef("--metric is empty; name one of %s, or leave it out", strings.Join(words, ", "))
	}
	// Users write words, like cpu; results have the metrics' names.
	named := func(flag, word string) (stats.Metric, error) {
		if i := slices.Index(words, word); i >= 0 {
			return judge.GateMetrics()[i], nil
		}
		return stats.Metric{}, usagef("--%s: %q is %w", flag, word, notAmong(words))
	}
	asked := judge.Gate{}
	// What must be fine is not only watched, so --metric comes after --watch; --allow is about both.
	for i, word := range slices.Concat(f.watched, f.metrics) {
		flag := "metric"
		if i < len(f.watched) {
			flag = "watch"
		}
		m, err := named(flag, word)
		if err != nil {
			return nil, err
		}
		asked[m.Figure] = record.Allowance{Share: m.Allow, Watched: flag == "watch"}
	}
	for _, text := range f.allowances {
		word, size, _ := strings.Cut(text, "=")
		m, err := named("allow", word)
		if err != nil {
			return nil, err
		}
		// An allowance for a metric that is not judged would be believed and have no effect.
		a, ok := asked[m.Figure]
		if !ok {
			return nil, usagef("--allow %s: --metric leaves %s out", text, word)
		}
		// The % must be there: 20 might be meant as a factor.
		number, percent := strings.CutSuffix(size, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !percent || !(v > 0 && v <= 1000) {
			return nil, usagef("--allow %s: want METRIC=SHARE, like %s=20%%, up to 1000%%", text, word)
		}
		a.Share = v / 100
		asked[m.Figure] = a
	}
	return asked, nil
}

// run checks the flags, builds what must be built, runs the comparison and prints its answer. The
// exit code is the answer, for a CI job: 0 fine, 3 worse, 4 open or refused; verdicts and expectations
// have no part in it. Without --path, --targets or --log it asks for the path /.
func (f *gateFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if err = f.checkGiven(cmd.Flags(), nil); err == nil {
		err = f.checkBuilds()
	}
	if err == nil {
		f.Aim, err = f.asked(cmd.Flags())
	}
	if err != nil {
		return err
	}
	if !f.adhoc.given() {
		f.adhoc.path = "/"
	}
	// At a quarter of its throughput a server queues little. Queueing makes both a small difference and the
	// noise large.
	if f.Rate == (scenario.Rate{}) && f.adhoc.log == "" {
		f.Rate.OfSlowest = .25
	}
	show := f.prepare(cmd)
	if f.oldRef != "" {
		if err := begin(cmd.Context()); err != nil {
			return err
		}
		// The programs have to stay until the last trial.
		dir, err := os.MkdirTemp("", "schedlab-gate-")
		if err != nil {
			return fmt.Errorf("making a folder for the builds: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := f.buildBoth(cmd.Context(), dir, show); err != nil {
			return err
		}
	}
	// The record tells which builds it compared, since their paths may be temporary.
	f.Note = cmp.Or(f.Note, command.Join(invocation(cmd)))
	// The old build is the first arm, so it is the baseline and has the copy. Reports name the arms.
	f.addArms = []string{"old=" + f.before, "new=" + f.after}
	asked, err := f.questions(nil)
	if err != nil {
		return err
	}
	if f.output == "markdown" {
		f.output = "summary" // of a gate, the comment on a pull request
	}
	return f.conduct(cmd, asked, show, func(r *record.Result) int {
		switch r.GateOutcome() {
		case outcome.Yes:
			return exitDone
		case outcome.No:
			return exitExpectation
		}
		return exitPartial
	})
}

// invocation returns the command line of a command without arguments, with the values that its flags
// have now, wherever they came from. It leaves out the flags named.
func invocation(cmd *cobra.Command, without ...string) []string {
	words := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case isOld(f), slices.Contains(without, f.Name):
		case f.NoOptDefVal != "": // the next word would not be its value
			words = append(words, "--"+f.Name+"="+value)
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return words
}

// checkBuilds refuses a gate without two builds, or with builds given in both ways. It finds out
// before anything is built.
func (f *gateFlags) checkBuilds() error {
	commits := f.oldRef != ""
	return mistakes{
		{!commits && (f.build != "" || f.newRef != "HEAD"), "--build and --new-ref belong to --old-ref, which names the old commit"},
		{!commits && (f.before == "" || f.after == ""), "a gate needs two builds: --old 'CMD {addr}' --new 'CMD {addr}', " +
			"or --old-ref COMMIT --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'"},
		// Two ways to name builds, and no way to tell which one is meant.
		{commits && f.before+f.after != "", "--old and --new name two programs, and --old-ref two commits to build; give one or the other"},
		{commits && !strings.Contains(f.build, outMark),
			fmt.Sprintf("--build %q does not say where {out} is written; give one like 'go build -o {out} ./cmd/app'", f.build)},
		{commits && !strings.Contains(f.start, outMark),
			fmt.Sprintf("--run %q does not start {out}; give one like '{out} -listen {addr}'", f.start)},
	}.first()
}

// outMark stands for the built program in --build and --run. The path that replaces it is quoted
// for the shell.
const outMark = "{out}"

// buildBoth builds both commits into dir, each from a git worktree, and sets the two commands. The
// user's own working tree is not touched, and changes that are not committed are not built. A commit
// that git does not know is wrong usage, and so is a build command that leaves no program; a build
// that fails is a failure of the job.
func (f *gateFlags) buildBoth(ctx context.Context, dir string, show *progress) error {
	for _, b := range []struct {
		flag, ref string
		to        *string
	}{{"old-ref", f.oldRef, &f.before}, {"new-ref", f.newRef, &f.after}} {
		// A build may take minutes.
		show.say("building " + b.ref)
		out := filepath.Join(dir, b.flag)
		tree := out + "-tree"
		if err := said(exec.CommandContext(ctx, "git", "worktree", "add", "--quiet", "--detach", tree, b.ref)); err != nil {
			return usagef("--%s %s: %w", b.flag, b.ref, err)
		}
		if err := buildIn(ctx, tree, strings.ReplaceAll(f.build, outMark, command.Quote(out))); err != nil {
			return fmt.Errorf("--%s %s: %w", b.flag, b.ref, err)
		}
		// A build command that ignores {out} succeeds and leaves nothing there.
		if info, err := os.Stat(out); err != nil || info.Mode()&0o111 == 0 {
			return usagef("--build %q left no program at {out} for --%s %s", f.build, b.flag, b.ref)
		}
		*b.to = strings.ReplaceAll(f.start, outMark, command.Quote(out))
	}
	return nil
}

// buildIn runs a shell command in a git worktree, and then removes the worktree: also after an
// interrupt, or git would go on listing it.
func buildIn(ctx context.Context, tree, build string) error {
	defer func() {
		_ = exec.CommandContext(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", tree).Run()
	}()
	// The shell, because a build command may have several steps.
	cmd := exec.CommandContext(ctx, "sh", "-c", build)
	cmd.Dir = tree
	return said(cmd)
}

// said runs a command, and adds the end of its output to its error: the last five lines, where
// compilers and git name the mistake. The command is quoted, so that a reader can run it again.
func said(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", command.Join(cmd.Args), err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}
