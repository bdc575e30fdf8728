package session

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
	"syscall"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// A Gate asks whether the new build of a service is worse than the old one. Old and New are commands, or addresses of
// servers that run; or else Build makes both from commits of the git repository here, and Start starts them.
type Gate struct {
	Common
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	OldRef string `json:"old_ref,omitempty"`
	NewRef string `json:"new_ref,omitempty"`
	Build  string `json:"build,omitempty"`
	Start  string `json:"start,omitempty"`
	// Metrics must be fine, and Watched must not be worse, in the words of [GateWords]. Without Metrics p50, goodput, cpu, memory
	// and, over plain HTTP/1.1, capacity must be. Allow changes by how much one may be worse, like p99=20%.
	Metrics []string `json:"metrics,omitempty"`
	Watched []string `json:"watched,omitempty"`
	Allow   []string `json:"allow,omitempty"`
}

// outMark stands for the built program in Build and Start of a Gate. The path that replaces it is quoted for the shell.
const outMark = "{out}"

// capacityWord is the word of stats.Capacity in Metrics, Watched and Allow.
const capacityWord = "capacity"

// Run builds what must be built and compares the two builds. A gate is a comparison of two arms, old and new, with its
// own question: is new worse? The code is the answer: Done fine, NotKept worse, NoAnswer open or refused; verdicts and
// expectations have no part in it. Without Adhoc it asks for the path /.
func (r Gate) Run(ctx context.Context, p Program, show Observer) (none Answer, err error) {
	// At a quarter of its throughput a server queues little. Queueing makes both a small difference and the
	// noise large.
	if r.Rate == (scenario.Rate{}) && r.Log == "" {
		r.Rate.OfSlowest = .25
	}
	c, err := newConduct(p, r.Common, show)
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = r.checkBuilds()
	}
	if err != nil {
		return none, err
	}
	usual := r.Metrics == nil
	if usual {
		r.Metrics = UsualMetrics(r.secured())
	}
	aim, err := r.aim()
	if err != nil {
		return none, err
	}
	c.o.Aim = aim
	if _, asked := aim[stats.Capacity]; usual && !asked {
		show.Say("capacity is left out: over TLS and HTTP/2 it is less sure, since the load is slower than many servers; --watch " + capacityWord + " measures it all the same")
	}
	if !c.Adhoc.given() {
		c.Path = "/"
	}
	before, after := r.Old, r.New
	if r.OldRef != "" {
		if err := r.checkAsked(c); err != nil {
			return none, err
		}
		if err := p.begin(ctx); err != nil {
			return none, err
		}
		// The programs have to stay until the last trial.
		dir, err := os.MkdirTemp("", "schedlab-gate-")
		if err != nil {
			return none, fmt.Errorf("making a folder for the builds: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if before, err = r.build(ctx, dir, "old-ref", r.OldRef, show); err != nil {
			return none, err
		}
		if after, err = r.build(ctx, dir, "new-ref", r.NewRef, show); err != nil {
			return none, err
		}
	}
	asked, err := r.asked(c, before, after)
	if err != nil {
		return none, err
	}
	return c.run(ctx, asked, false)
}

// asked returns the question whether one build is worse than the other, by the commands that start them. The old build is the
// first arm, so it is the baseline and has the copy. Reports name the arms.
func (r Gate) asked(c *conduct, before, after string) ([]question, error) {
	c.builds = nil
	for _, build := range [][2]string{{"old", before}, {"new", after}} {
		a, err := scenario.ParseServer(build[0], build[1])
		a.Place = "--" + build[0]
		if r.OldRef != "" {
			a.Place = "--run"
		}
		if err != nil {
			return nil, Usagef("%s: %w", a.Place, err)
		}
		c.builds = append(c.builds, a)
	}
	c.Scenarios = nil
	return c.questions()
}

// checkAsked refuses what cannot be planned or sent, like a bad --cpus or --targets, before minutes of building. This
// program stands in for what is not built yet.
func (r Gate) checkAsked(c *conduct) error {
	const unbuilt = "/schedlab-out"
	start := strings.ReplaceAll(r.Start, outMark, unbuilt)
	asked, err := r.asked(c, start, start)
	if err != nil {
		return err
	}
	for _, q := range asked {
		// A pipe can be read once, and planning reads it.
		if info, err := os.Stat(q.Workload.Targets); err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err := q.Open(); err != nil {
			return Usage(err)
		}
		for _, a := range q.Arms {
			if len(a.Command) > 0 && strings.HasPrefix(a.Command[0], unbuilt) {
				a.Command[0] = c.Self
			}
		}
	}
	_, err = c.plans(asked)
	return err
}

// UsualMetrics returns the words of what must be fine where nobody chose metrics. Over TLS and HTTP/2, which secured tells, the load is
// slower than many servers, and its limit may come first, so capacity is left out there.
func UsualMetrics(secured bool) []string {
	words := []string{"p50", "goodput", "cpu", "memory"}
	if !secured {
		words = append(words, capacityWord)
	}
	return words
}

// secured reports whether clients speak TLS or HTTP/2 to one of the builds.
func (r Gate) secured() bool {
	return slices.ContainsFunc([]string{r.Old, r.New, strings.ReplaceAll(r.Start, outMark, "out")}, func(text string) bool {
		a, err := scenario.ParseServer("a", text)
		return err == nil && a.Secured() // the error comes again, with the flag's name, when the arms are made
	})
}

// GateWords returns the words for all metrics of a gate in a request, like cpu for
// cpu_per_request, in the order of judge.GateMetrics. defaults are what a gate allows of each, as
// Allow takes it.
func GateWords() (words, defaults []string) {
	for _, m := range judge.GateMetrics() {
		word := cmp.Or(m.Word, m.Name)
		words = append(words, word)
		defaults = append(defaults, fmt.Sprintf("%s=%.0f%%", word, 100*m.Allow))
	}
	return words, defaults
}

// aim returns what the gate allows of each metric. Metrics and Watched choose the metrics, and Allow changes the share
// of chosen ones. Errors are wrong usage: a word that is no metric, a share that is no
// percentage, or no metric at all.
func (r Gate) aim() (judge.Gate, error) {
	words, _ := GateWords()
	if len(r.Metrics) == 0 {
		return nil, Usagef("--metric is empty; name one of %s, or leave it out", strings.Join(words, ", "))
	}
	// Users write words, like cpu; results have the metrics' names.
	named := func(flag, word string) (stats.Metric, error) {
		if i := slices.Index(words, word); i >= 0 {
			return judge.GateMetrics()[i], nil
		}
		return stats.Metric{}, Usagef("--%s: %q is none of %s", flag, word, strings.Join(words, ", "))
	}
	asked := judge.Gate{}
	// What must be fine is not only watched, so --metric comes after --watch; --allow is about both.
	for i, word := range slices.Concat(r.Watched, r.Metrics) {
		flag := "metric"
		if i < len(r.Watched) {
			flag = "watch"
		}
		m, err := named(flag, word)
		if err != nil {
			return nil, err
		}
		asked[m.Figure] = judge.Allowance{Share: m.Allow, Watched: flag == "watch"}
	}
	for _, word := range r.Watched {
		if slices.Contains(r.Metrics, word) {
			return nil, Usagef("--watch %s: --metric names it, too, and it must be fine then; drop one", word)
		}
	}
	for _, text := range r.Allow {
		word, size, _ := strings.Cut(text, "=")
		m, err := named("allow", word)
		if err != nil {
			return nil, err
		}
		// An allowance for a metric that is not judged would be believed and have no effect.
		a, ok := asked[m.Figure]
		if !ok {
			return nil, Usagef("--allow %s: --metric leaves %s out", text, word)
		}
		// The % must be there: 20 might be meant as a factor.
		number, percent := strings.CutSuffix(size, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !percent || !(v > 0 && v <= 1000) {
			return nil, Usagef("--allow %s: want METRIC=SHARE, like %s=20%%, up to 1000%%", text, word)
		}
		a.Share = v / 100
		asked[m.Figure] = a
	}
	return asked, nil
}

// checkBuilds refuses a gate without two builds, or with builds given in both ways. It finds out
// before anything is built.
func (r Gate) checkBuilds() error {
	commits := r.OldRef != ""
	switch {
	case !commits && (r.Build != "" || r.NewRef != "HEAD"):
		return Usagef("--build and --new-ref belong to --old-ref, which names the old commit")
	case !commits && (r.Old == "" || r.New == ""):
		return Usagef("a gate needs two builds: --old 'CMD {addr}' --new 'CMD {addr}', " +
			"or --old-ref COMMIT --build 'go build -o {out} ./cmd/app' --run '{out} -listen {addr}'")
	// Two ways to name builds, and no way to tell which one is meant.
	case commits && r.Old+r.New != "":
		return Usagef("--old and --new name two programs, and --old-ref two commits to build; give one or the other")
	case commits && !strings.Contains(r.Build, outMark):
		return Usagef("--build %q does not say where {out} is written; give one like 'go build -o {out} ./cmd/app'", r.Build)
	case commits && !strings.Contains(r.Start, outMark):
		return Usagef("--run %q does not start {out}; give one like '{out} -listen {addr}'", r.Start)
	case commits:
		// Found before minutes of building.
		if _, err := scenario.ParseServer("old", strings.ReplaceAll(r.Start, outMark, "out")); err != nil {
			return Usagef("--run: %w", err)
		}
	}
	return nil
}

// build builds a commit into dir from a git worktree, and returns the command that starts it. The
// user's own working tree is not touched, and changes that are not committed are not built. A commit
// that git does not know is wrong usage, and so is a build command that leaves no program; a build
// that fails is a failure of the job. flag is the one that names the commit.
func (r Gate) build(ctx context.Context, dir, flag, ref string, show Observer) (start string, err error) {
	show.Say("building " + r.commit(ctx, flag, ref)) // which may take minutes
	out := filepath.Join(dir, flag)
	tree := out + "-tree"
	if err := said(exec.CommandContext(ctx, "git", "worktree", "add", "--quiet", "--detach", tree, ref)); err != nil {
		return "", cmp.Or(interrupted(ctx), Usagef("--%s %s: %w", flag, ref, err))
	}
	if err := buildIn(ctx, tree, strings.ReplaceAll(r.Build, outMark, cmdline.Quote(out))); err != nil {
		return "", cmp.Or(interrupted(ctx), fmt.Errorf("--%s %s: %w", flag, ref, err))
	}
	// A build command that ignores {out} succeeds and leaves nothing there. A script may be left to an interpreter: 'python3 {out}'.
	info, err := os.Stat(out)
	if err != nil {
		return "", Usagef("--build %q left nothing at {out} for --%s %s", r.Build, flag, ref)
	}
	if info.Mode()&0o111 == 0 && strings.HasPrefix(strings.TrimSpace(r.Start), outMark) {
		return "", Usagef("--build %q left a file at {out} for --%s %s that may not be executed: end it with '&& chmod +x {out}'", r.Build, flag, ref)
	}
	return strings.ReplaceAll(r.Start, outMark, cmdline.Quote(out)), nil
}

// commit describes a commit to the user: ref with the hash and the subject, and for --new-ref the files that differ from the old commit.
// Who meant another commit sees it. It returns ref alone if git fails.
func (r Gate) commit(ctx context.Context, flag, ref string) string {
	git := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		return strings.TrimRight(string(out), "\n\x00"), err == nil
	}
	text := ref
	if subject, ok := git("log", "-1", "--format=%h, %s", ref, "--"); ok && subject != "" {
		text += " (" + subject + ")"
	}
	names, ok := git("diff", "-z", "--name-only", r.OldRef, r.NewRef, "--")
	if flag != "new-ref" || !ok {
		return text
	}
	switch changed := strings.Split(names, "\x00"); {
	case names == "":
		return text + ", whose files are those of " + r.OldRef
	case len(changed) > 3:
		return text + ", which changes " + prose.Plural(len(changed), "file")
	default:
		return text + ", which changes " + strings.Join(changed, ", ")
	}
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
	// An interrupt ends what the shell has started, too: a compiler that goes on would keep the shell's output open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel, cmd.WaitDelay = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }, 2*time.Second
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
	return fmt.Errorf("%s: %w: %s", cmdline.Join(cmd.Args), err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}
