package main

import (
	"context"
	"fmt"
	"maps"
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
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// gateFlags are the flags of gate.
//
// A gate is a comparison of two arms, old and new, with its own question: is new worse by more than
// is allowed? gate turns the flags into that comparison; the judging is judge's (judge/gate.go).
// With --old-ref, buildBoth makes the two programs first. metrics, watched and allowances are --metric, --watch and
// --allow as given; asked turns them into ratios.
type gateFlags struct {
	compareFlags
	before, after                string // --old and --new: commands, or addresses of servers that run
	oldRef, newRef               string
	build, run                   string // how to build a commit, and to run what was built
	metrics, watched, allowances []string
}

// Names of a gate's arms.
const (
	// Reports name the builds so.
	oldArm = "old"
	newArm = "new"
)

// newGate declares the flags of gate. --arm and --close come with bindRun and are hidden: a gate
// has two arms. The arms' names are fixed, so only their commands are flags.
func newGate() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate --old 'CMD {addr}' --new 'CMD {addr}'",
		Short: "Fail a CI job when a new build of a service is worse than the old one",
		Long: `Compare two builds of a service, and say whether the new one is worse by more than
is allowed. Both run in fresh processes, in interleaved blocks of the same load, beside
a second copy of the old one. The run ends as soon as the answer is sure.

A metric is worse when its interval excludes that the new build is as good and the
median shows more than half of what is allowed. It is fine when the whole interval
lies within what is allowed. The build fails when one metric is worse. It passes when
all of --metric are fine; what --watch names may be open then, and the answer says so. Of a hundred gates of equal builds one at most says worse,
all metrics and looks together.

With --old-ref and --new-ref it builds two commits of the git repository here, each in
a worktree of its own that is removed afterwards: --build makes the program {out}, and
--run starts it.

Exit codes: 0 not worse, 3 worse, 4 cannot tell, 1 a server died or something else
failed, 2 wrong usage, 130 interrupted.`,
		Example: `  schedlab gate --old './old -listen {addr}' --new './new -listen {addr}' --rate 2000/s
  schedlab gate --old './old {addr}' --new './new {addr}' --targets requests.txt --rate 500/s --allow p99=30%
  schedlab gate --old './old {addr}' --new './new {addr}' --metric p50,cpu --output markdown
  schedlab gate --old-ref main --new-ref HEAD --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.gate(cmd) },
	}
	f.bindRun(cmd)
	fl := cmd.Flags()
	// bindRun declares these for comparisons of any arms.
	for _, hidden := range []string{"arm", "close"} {
		fl.Lookup(hidden).Hidden = true
	}
	// Two builds, as programs or as commits.
	fl.StringVar(&f.before, "old", "", "the old build: a command that listens on {addr}, VARIABLE=VALUE words before it, or http://HOST:PORT")
	fl.StringVar(&f.after, "new", "", "the new build, likewise")
	fl.StringVar(&f.oldRef, "old-ref", "", "the old build is this commit, branch or tag of the git repository here")
	fl.StringVar(&f.newRef, "new-ref", "HEAD", "with --old-ref: the new build is this one")
	fl.StringVar(&f.build, "build", "", "with --old-ref: the shell command that builds {out}, in the repository's top folder")
	fl.StringVar(&f.run, "run", "{out} {addr}", "with --old-ref: the command that starts {out}, as for --old")
	// What must not get worse, and by how much it may.
	fl.StringSliceVar(&f.metrics, "metric", []string{"p50", "goodput", "cpu", "memory"}, "what must be fine for the build to pass: some of "+strings.Join(gateWords(), ", "))
	fl.StringSliceVar(&f.watched, "watch", []string{"p90", "p99"}, "what fails the build if it is worse, and need not be fine: tails are noisy (default nothing with --metric)")
	fl.StringSliceVar(&f.allowances, "allow", nil, "how much worse a metric may be, like p99=20% (default "+gateDefaults()+")")
	// The requests and their rate.
	f.adhoc.bind(fl)
	fl.StringVar(&f.adhoc.log, "log", "", "ask what this access log says when it says so")
	fl.StringVar(&f.adhoc.speed, "speed", "", "replay the log so many times as fast, like 10x (or give --rate)")
	fl.Var(&f.Rate, "rate", "requests per second (3000/s), or a share of the slower build's throughput (default 0.5x)")
	// How long it takes, and the output.
	fl.DurationVar(&f.Window, "window", 0, "measured time of one trial (default 0.5s, and longer where p99 needs it)")
	fl.DurationVar(&f.Warmup, "warmup", 0, "time before it that is not measured")
	fl.DurationVar(&f.Budget, "budget", 0, "longest it may take (default 75s, and longer for a low rate, of which p99 needs long windows)")
	oneOf(fl, &f.output, "output", "text", "text, json, or markdown for a comment on a pull request", "text", "json", "markdown")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan, its time and its commands, and run nothing")
	complete(cmd, "metric", gateWords()...)
	complete(cmd, "watch", gateWords()...)
	return cmd
}

// gateWord returns the word for a metric on the command line, like cpu for cpu_per_request.
func gateWord(metric string) string {
	if m := stats.MetricOf(metric); m.Word != "" {
		return m.Word
	}
	return metric
}

// gateWords returns the words for all metrics of a gate, in the order of reports.
func gateWords() (words []string) {
	names, _ := judge.GateMetrics()
	for _, name := range names {
		words = append(words, gateWord(name))
	}
	return words
}

// gateDefaults returns what a gate allows by default, as --allow takes it, for the help.
func gateDefaults() string {
	names, allowed := judge.GateMetrics()
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%s=%.0f%%", gateWord(name), 100*allowed[name]))
	}
	return strings.Join(all, ",")
}

// asked returns what the gate allows of each metric that the flags ask for. --metric and --watch
// choose the metrics and --allow changes the share of chosen ones. Errors are
// wrong usage: a word that is no metric, a share that is no percentage, or no metric at all.
func (f *gateFlags) asked(fl *pflag.FlagSet) (map[string]record.Allowance, error) {
	// Who chooses what must be fine wants nothing else, unless it is named as well.
	if fl.Changed("metric") && !fl.Changed("watch") {
		f.watched = nil
	}
	names, allowed := judge.GateMetrics()
	// Users write words, like cpu; results have the metrics' names.
	nameOf := func(flag, word string) (string, error) {
		i := slices.IndexFunc(names, func(name string) bool { return gateWord(name) == word })
		if i < 0 {
			return "", usagef("--%s: %q is %w", flag, word, notAmong(gateWords()))
		}
		return names[i], nil
	}
	asked := map[string]record.Allowance{}
	for _, chosen := range []struct {
		flag  string
		words []string
	}{{"watch", f.watched}, {"metric", f.metrics}} { // what must be fine is not only watched
		for _, word := range chosen.words {
			name, err := nameOf(chosen.flag, word)
			if err != nil {
				return nil, err
			}
			asked[name] = record.Allowance{Share: allowed[name], Watched: chosen.flag == "watch"}
		}
	}
	for _, text := range f.allowances {
		word, size, _ := strings.Cut(text, "=")
		name, err := nameOf("allow", word)
		if err != nil {
			return nil, err
		}
		// An allowance for a metric that is not judged would be believed and have no effect.
		a, ok := asked[name]
		if !ok {
			return nil, usagef("--allow %s: --metric leaves %s out", text, word)
		}
		// The % must be there: 20 might be meant as a factor.
		v, err := strconv.ParseFloat(strings.TrimSuffix(size, "%"), 64)
		if err != nil || !strings.HasSuffix(size, "%") || !(v > 0 && v <= 1000) {
			return nil, usagef("--allow %s: want METRIC=SHARE, like %s=20%%, up to 1000%%", text, word)
		}
		a.Share = v / 100
		asked[name] = a
	}
	if len(f.metrics) == 0 {
		return nil, usagef("--metric is empty; name one of %s, or leave it out", strings.Join(gateWords(), ", "))
	}
	return asked, nil
}

// gate checks the flags, builds what must be built, runs the comparison and prints its answer. The
// exit code is the answer, for a CI job: 0 fine, 3 worse, 4 cannot tell. Without --path, --targets
// or --log it asks for the path /.
func (f *gateFlags) gate(cmd *cobra.Command) (err error) {
	if err := checkAboveZero(cmd.Flags(), "window", "warmup", "budget"); err != nil {
		return err
	}
	if err := checkEmpty(cmd.Flags(), "path", "targets", "log", "speed", "out"); err != nil {
		return err
	}
	if err := f.checkBuilds(); err != nil {
		return err
	}
	if f.Gate, err = f.asked(cmd.Flags()); err != nil {
		return err
	}
	// Windows must hold enough requests for every quantile that is asked for, or the plan is
	// refused.
	for _, name := range slices.Sorted(maps.Keys(f.Gate)) {
		if !f.Gate[name].Watched {
			f.Must = append(f.Must, name)
		}
	}
	// A service is asked for / if nothing else is said.
	if !f.adhoc.given() {
		f.adhoc.path = "/"
	}
	// At half its throughput a server queues little. Queueing makes both a small difference and the
	// noise large.
	if f.Rate == (scenario.Rate{}) && f.adhoc.log == "" {
		f.Rate.OfSlowest = .5
	}
	if err := f.adhoc.check(nil); err != nil {
		return err
	}
	show, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	if f.oldRef != "" {
		// The programs have to stay until the last trial.
		remove, err := f.buildBoth(cmd.Context(), show)
		// Also after an error, when one of two builds may exist.
		defer remove()
		if err != nil {
			return err
		}
	}
	// The record tells which builds it compared, since their paths may be temporary.
	if f.Note == "" {
		f.Note = invocation(cmd)
	}
	// The old build is the first arm, so it is the baseline and has the copy.
	f.addArms = []string{oldArm + "=" + f.before, newArm + "=" + f.after}
	asked, err := f.questions(nil)
	if err != nil {
		return err
	}
	planned, err := f.planAll(cmd, asked, show)
	if err != nil {
		return err
	}
	if f.output == "markdown" {
		f.output = "summary" // of a gate, the comment on a pull request
	}
	if f.dryRun {
		return f.writePlans(cmd.OutOrStdout(), planned)
	}
	r, err := f.carryOut(cmd, planned.Scenarios[0].Planned, show)
	if err != nil {
		return err
	}
	// A gate's own answer: verdicts and expectations have no part in it.
	switch r.GateOutcome() {
	case record.GateFine:
		return nil
	case record.GateWorse:
		return &exitError{code: exitExpectation}
	}
	return &exitError{code: exitPartial}
}

// invocation returns the command line of a command without arguments. Flags from the environment or
// a file are in it as well. It goes into the record's note.
func invocation(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		words = append(words, "--"+f.Name, value)
	})
	return command.Join(words)
}

// checkBuilds refuses a gate without two builds, or with builds given in both ways. It finds out
// before anything is built.
func (f *gateFlags) checkBuilds() error {
	switch {
	case f.oldRef == "" && (f.build != "" || f.newRef != "HEAD"):
		return usagef("--build and --new-ref belong to --old-ref, which names the old commit")
	case f.oldRef == "" && (f.before == "" || f.after == ""):
		return usagef("a gate needs two builds: --old 'CMD {addr}' --new 'CMD {addr}', or --old-ref COMMIT --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'")
	// Two ways to name builds, and no way to tell which one is meant.
	case f.oldRef != "" && f.before+f.after != "":
		return usagef("--old and --new name two programs, and --old-ref two commits to build; give one or the other")
	case f.oldRef != "" && !strings.Contains(f.build, outMark):
		return usagef("--build %q does not say where {out} is written; give one like 'go build -o {out} ./cmd/app'", f.build)
	case f.oldRef != "" && !strings.Contains(f.run, outMark):
		return usagef("--run %q does not start {out}; give one like '{out} -listen {addr}'", f.run)
	}
	return nil
}

// outMark stands for the built program in --build and --run. The path that replaces it is quoted
// for the shell.
const outMark = "{out}"

// buildBoth builds both commits into a temporary folder, each from a git worktree, and sets the two
// commands. The user's own working tree is not touched, and changes that are not committed are not
// built. remove deletes all of it; call it also after an error. A commit that git does not know is
// wrong usage, and so is a build command that leaves no program; a build that fails is a failure of
// the job.
func (f *gateFlags) buildBoth(ctx context.Context, show *progress) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "schedlab-gate-")
	if err != nil {
		return func() {}, fmt.Errorf("making a folder for the builds: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	for _, b := range []struct {
		flag, ref string
		to        *string
	}{{"old-ref", f.oldRef, &f.before}, {"new-ref", f.newRef, &f.after}} {
		// A build may take minutes.
		show.note(b.ref+b.flag, "building "+b.ref)
		out := filepath.Join(dir, b.flag)
		tree := out + "-tree"
		if err := said(exec.CommandContext(ctx, "git", "worktree", "add", "--quiet", "--detach", tree, b.ref)); err != nil {
			return remove, usagef("--%s %s: %w", b.flag, b.ref, err)
		}
		if err := buildIn(ctx, tree, strings.ReplaceAll(f.build, outMark, command.Quote(out))); err != nil {
			return remove, fmt.Errorf("--%s %s: %w", b.flag, b.ref, err)
		}
		// A build command that ignores {out} succeeds and leaves nothing there.
		if info, err := os.Stat(out); err != nil || info.Mode()&0o111 == 0 {
			return remove, usagef("--build %q left no program at {out} for --%s %s", f.build, b.flag, b.ref)
		}
		*b.to = strings.ReplaceAll(f.run, outMark, command.Quote(out))
	}
	return remove, nil
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
