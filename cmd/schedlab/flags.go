package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/arrivals"
	"schedlab/internal/cluster"
	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/mode"
	"schedlab/internal/model"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// A choice is a flag that takes one of a few words, which the shell completes. Its present value is
// also accepted, such as "" for a default that is decided later. Upper and lower case do not
// matter; the value is stored as in of. It implements pflag.Value; oneOf declares one.
//
// This file has the kinds of flags and the checks that several commands share, down to what a record
// from somebody else may start (mayRun). Checks run before anything is measured: a mistake costs the
// user no time.
type choice struct {
	value *string
	of    []string
}

// String returns the present value.
func (c choice) String() string { return *c.value }

// Type returns pflag's word for a text: help then names no type of ours.
func (c choice) Type() string { return "string" }

// Set takes one of the words, in any case, or the present value.
func (c choice) Set(s string) error {
	i := slices.IndexFunc(c.of, func(word string) bool { return strings.EqualFold(word, s) })
	switch {
	case i >= 0:
		*c.value = c.of[i]
	case s != *c.value:
		return notAmong(c.of)
	}
	return nil
}

// notAmong is the error of a value that is none of these. plainly and newRoot look for it, and give
// it a separate message.
type notAmong []string

func (n notAmong) Error() string { return "none of " + strings.Join(n, ", ") }

// oneOf gives fl a flag that takes one of the words in of. initial is the default and need not be
// one of them.
func oneOf(fl *pflag.FlagSet, value *string, name, initial, usage string, of ...string) {
	*value = initial
	fl.Var(choice{value, of}, name, usage)
}

// stampKinds are the values of --stamps.
var stampKinds = []string{record.StampsOff, "basic", record.StampsFull}

// complete offers fixed values for a flag in the shell. The flag must exist. After "workers=" the
// shell adds no space, since a value follows.
func complete(cmd *cobra.Command, flag string, values ...string) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if strings.HasSuffix(values[0], "=") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, directive)))
}

// must panics on an error that only a bug of this program can cause, as about a flag that does not
// exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// recorded lists the names of the records below root, the link to the newest included, for the
// shell. Names that begin with a dot are none.
func recorded(root string) (names []string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "[^.]*")) // an error: nothing to offer
	for _, dir := range dirs {
		names = append(names, filepath.Base(dir))
	}
	return names
}

// bindRun declares the flags of the commands that start servers and load them: compare, gate
// and capacity. Each adds others, also --budget, which means something else to each.
func (f *compareFlags) bindRun(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.addArms, "arm", nil, "one more arm: MODE[,flag=value...], name='[VAR=VALUE...] CMD {addr}' or name=http://HOST:PORT (repeatable)")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "allow an arm that runs on another machine")
	fl.Uint64Var(&f.Seed, "seed", 0, "number that the random choices follow; that of an earlier run repeats its requests (default random, printed)")
	bindCPUs(fl, &f.CPUs)
	fl.BoolVar(&f.close, "close", false, "open a connection for each request, whatever the scenario says")
	fl.StringVar(&f.Note, "note", "", "a remark to keep in the record")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records")
	oneOf(fl, &f.progress, "progress", "auto", "progress"+progressHelp, progressKinds...)
	fl.DurationVar(&f.Warmup, "warmup", 0, "how long each server is loaded before it is measured (of a search: default 500ms)")
	f.bindWaitIdle(fl)
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan, its time and its commands, and run nothing")
	// By this a collector's command runs on the cluster (cluster.go).
	fl.Func("cluster", "file of the cluster's settings, in a Pod", func(file string) error {
		site, err := cluster.NewSite(file, self())
		if err == nil {
			f.Site = site
		}
		return err
	})
	must(fl.MarkHidden("cluster"))
}

// bindCPUs declares --cpus.
func bindCPUs(fl *pflag.FlagSet, value *string) {
	fl.StringVar(value, "cpus", "", "CPUs of the servers, a slash and the load's, like 0-1,4/2 (default the lower half or as many as are needed, and the rest); none pins neither")
}

// ready checks the flags of a comparison or a search, and prepares it.
func (f *compareFlags) ready(cmd *cobra.Command, args []string) (*progress, error) {
	if err := f.checkGiven(cmd.Flags(), args); err != nil {
		return nil, err
	}
	return f.prepare(cmd), nil
}

// prepare completes the options for a plan: where progress goes, a seed, this program and its
// modes.
func (f *compareFlags) prepare(cmd *cobra.Command) *progress {
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	f.Observer = show
	knowSelf(&f.Options)
	drawSeed(cmd, &f.Seed)
	return show
}

// drawSeed draws a seed if none was given. It has 32 bits, which are short enough to type.
func drawSeed(cmd *cobra.Command, seed *uint64) {
	if !cmd.Flags().Changed("seed") {
		*seed = uint64(rand.Uint32())
	}
}

// knowSelf tells a plan about this program and its modes, and has records signed. The arms with a
// mode are servers of this very program, started by its path.
func knowSelf(o *experiment.Options) {
	o.Self, o.Modes, o.Sign = self(), modeFacts(), true
	o.Version, _ = program()
}

// self is the path of this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0] // the name it was started by
	}
	return path
}

// modeFacts are the modes by name, with a check of an arm's flags. The measuring half may not
// import the server half, so the command hands it these facts and the check as values.
func modeFacts() map[string]mode.Mode {
	facts := map[string]mode.Mode{}
	for _, m := range model.Modes() {
		m.Check = func(flags map[string]string) error { return checkArm(m.Name, flags) }
		facts[m.Name] = m.Mode
	}
	return facts
}

// mistakes are what may be wrong with a command's flags: conditions that must not hold, each with a
// message that quotes the flag and tells what to give instead.
type mistakes []struct {
	made bool
	msg  string
}

// first returns the first mistake that was made, as wrong usage; nil if there is none.
func (m mistakes) first() error {
	for _, one := range m {
		if one.made {
			return usagef("%s", one.msg)
		}
	}
	return nil
}

// fill sets flags that were not given to what a scenario says, in the flags' own notation, so that
// their parsers check it. Nothing or 0 means that the scenario does not say: the flag's default holds.
func fill(fl *pflag.FlagSet, said map[string]string) error {
	for _, flag := range slices.Sorted(maps.Keys(said)) {
		if value := said[flag]; !fl.Changed(flag) && !slices.Contains([]string{"", "0", "0s"}, value) {
			if err := fl.Lookup(flag).Value.Set(value); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
		}
	}
	return nil
}

// given returns the named flags that have a value. The command may lack some.
func given(fl *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !fl.Changed(name) })
}

// checkValues refuses the named flags if one was given a value that means "not given": 0 or less, as a user
// who writes --blocks 0 must not get the default silently, or an empty text, as by a shell variable
// that is not set. It looks at the text of the value, so it serves numbers and durations alike.
func checkValues(fl *pflag.FlagSet, names ...string) error {
	for _, name := range given(fl, names...) {
		value := fl.Lookup(name).Value
		switch v := value.String(); {
		case v == "":
			return usagef("--%s is empty; give it a value or leave it out", name)
		case value.Type() != "string" && (v == "0" || v == "0s" || v[0] == '-'):
			return usagef("--%s %s must be above 0; leave it out for the default", name, v)
		}
	}
	return nil
}

// joined returns the arms in a list that was divided at every comma: a setting belongs to the mode
// before it, so pool,workers=8,nethttp are two arms.
func joined(items []string) (arms []string) {
	for _, item := range items {
		name, value, named := strings.Cut(item, "=")
		setting := named && !strings.Contains(name, ",") && !strings.Contains(value, "{") && !strings.Contains(value, "://")
		if setting && len(arms) > 0 {
			arms[len(arms)-1] += "," + item
			continue
		}
		arms = append(arms, item)
	}
	return arms
}

// checkGiven refuses values that a comparison, a gate or a search cannot mean, whichever of
// the flags it has: values that mean "not given", an arm without a name, as in --arms a,,b, and two
// flags that say the same.
func (f *compareFlags) checkGiven(fl *pflag.FlagSet, scenarios []string) error {
	f.arms = joined(f.arms)
	if fl.Changed("arms") && (len(f.arms) == 0 || slices.Contains(f.arms, "")) {
		return usagef("--arms %q has an arm without a name; name modes or arms of the scenario, or leave it out", strings.Join(f.arms, ","))
	}
	return cmp.Or(
		checkValues(fl, "blocks", "window", "warmup", "budget", "cpus", "out", "path", "targets", "log", "workload", "slo", "wait-idle"),
		f.checkWaitIdle(),
		f.checkVary(fl),
		f.adhoc.check(fl, scenarios),
	)
}

// scenario reads a scenario and puts the command line's arms into it, which may not be on another
// machine. name is ignored if flags replace the scenario.
func (f *compareFlags) scenario(ctx context.Context, name string) (scenario.Scenario, error) {
	s, err := f.question(name)
	if err == nil {
		s, err = f.withArms(s)
	}
	if err == nil {
		err = f.stayLocal(ctx, s.Arms)
	}
	return s, err
}

// withArms puts the command line's arms into a scenario, and then --close, --vary, --expect
// and --slo, which are about all arms. Errors name the flag.
func (f *compareFlags) withArms(s scenario.Scenario) (scenario.Scenario, error) {
	var added []scenario.Arm
	for _, text := range f.addArms {
		a, err := scenario.ParseArm(text)
		if err != nil {
			return s, usagef("--arm: %w", err)
		}
		added = append(added, a)
	}
	// Arms first: the settings below apply to the arms that are chosen.
	if err := s.Select(f.arms, added); err != nil {
		return s, usagef("--arms: %w", err)
	}
	// The scenario's own word on connections gives way.
	if f.close {
		s.Keep(false)
	}
	for _, text := range f.vary {
		factor, values, _ := strings.Cut(text, "=")
		if err := s.Vary(factor, scenario.SplitValues(values), f.Modes); err != nil {
			return s, usagef("--vary: %w", err)
		}
	}
	// Records and reports know an arm by its name.
	for i, a := range s.Arms {
		if slices.ContainsFunc(s.Arms[:i], func(b scenario.Arm) bool { return b.Name == a.Name }) {
			return s, usagef("arm %q is there twice; the scenario may have one: --arms %s chooses it, and one with other flags is called %s,FLAG=VALUE", a.Name, a.Name, a.Name)
		}
	}
	return s, f.assert(&s)
}

// assert adds the expectations of the command line to a scenario: those of --expect, and that each arm keeps --slo.
// Errors name the flag.
func (f *compareFlags) assert(s *scenario.Scenario) error {
	for _, text := range f.expect {
		if err := s.Assert(text); err != nil {
			return usagef("--expect: %w", err)
		}
	}
	if f.keep == "" {
		return nil
	}
	slo, err := stats.ParseSLO(f.keep)
	if err != nil {
		return usagef("--slo: %w", err)
	}
	for _, a := range s.Contestants() {
		when, err := slo.Asserted(a.Name)
		if err != nil {
			return usagef("--slo %s: %w", f.keep, err)
		}
		var figures []string
		for _, t := range slo {
			figures = append(figures, fmt.Sprintf("%s {%s(%q)}", t.Metric, t.Metric, a.Name))
		}
		says := fmt.Sprintf("%s keeps %s (%s)", a.Name, slo, strings.Join(figures, ", "))
		if err := s.Claim(scenario.Claim{Says: says, When: when}); err != nil {
			return usagef("--slo: %w", err)
		}
	}
	return nil
}

// checkVary refuses a factor that another flag sets as well: the two cannot both hold, and neither
// is more right. A value in the scenario gives way to it.
func (f *compareFlags) checkVary(fl *pflag.FlagSet) error {
	varied := map[string]bool{}
	for _, text := range f.vary {
		factor, _, _ := strings.Cut(text, "=")
		if factor == "keepalive" && f.close {
			return usagef("--close and --vary %s both say keepalive; drop one", text)
		}
		if varied[factor] {
			return usagef("--vary has %s twice; give all its values in one", factor)
		}
		varied[factor] = true
		if fl.Changed(factor) {
			return usagef("--%s %s and --vary %s both say %s; drop one", factor, fl.Lookup(factor).Value, text, factor)
		}
		// An arm may set a flag itself, as pool,workers=8 does. An arm that cannot be parsed is
		// told by withArms.
		for _, given := range slices.Concat(f.addArms, f.arms) {
			if a, err := scenario.ParseArm(given); err == nil && a.Sets(factor) {
				return usagef("arm %q and --vary %s both say %s; drop one", given, text, factor)
			}
		}
	}
	return nil
}

// adhocFlags tell what to ask any server, without a scenario: a path, or the requests of a file of
// targets or of an access log, which may end with @ and how many times as fast it is replayed, like
// access.log@10x; or what a request costs a server of this program. The zero value means that there is a scenario.
type adhocFlags struct {
	path, targets, log, workload string
}

// given reports whether the flags replace a scenario.
func (f *adhocFlags) given() bool { return f.path+f.targets+f.log+f.workload != "" }

// bindWorkload declares --workload.
func (f *adhocFlags) bindWorkload(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.workload, "workload", "", "what a request costs, like cpu=200us,sleep=exp(10ms), in place of a scenario: of the modes that you name, or of the default scenario's arms")
	complete(cmd, "workload", "cpu=", "sleep=")
}

// bind declares --path and --targets, and with logs also --log.
func (f *adhocFlags) bind(fl *pflag.FlagSet, logs bool) {
	fl.StringVar(&f.path, "path", "", "ask for GET of this path, in place of a scenario")
	fl.StringVar(&f.targets, "targets", "", "ask for the requests in this file (vegeta's http format), in place of a scenario; the hosts in it do not matter")
	if logs {
		fl.StringVar(&f.log, "log", "", "replay this access log, or FILE@10x ten times as fast, in place of a scenario; each block takes the next stretch")
	}
}

// check refuses flags that do not go together, or with the scenarios on the command line. The files
// are not read here.
func (f *adhocFlags) check(fl *pflag.FlagSet, scenarios []string) error {
	sources := given(fl, "path", "targets", "log", "workload")
	switch {
	case len(sources) > 1:
		return usagef("--%s each say what is asked; give one of them", strings.Join(sources, " and --"))
	case len(sources) > 0 && len(scenarios) > 0:
		return usagef("scenario %q says what is asked, and --%s does too; drop one, or write it into a scenario of your own (path, targets, arrivals: log(FILE), cpu and sleep)", scenarios[0], sources[0])
	}
	_, _, err := splitLog(f.log)
	return err
}

// splitLog divides a value of --log into the file and how many times as fast it is replayed, 0 where
// it does not say. An @ that no number follows belongs to the file's name.
func splitLog(value string) (file string, speed float64, err error) {
	i := strings.LastIndex(value, "@")
	number, isFactor := strings.CutSuffix(value[i+1:], "x")
	speed, err = strconv.ParseFloat(number, 64)
	switch {
	case i < 0 || err != nil:
		return value, 0, nil
	case !isFactor || !(speed > 0):
		return "", 0, usagef("--log %q: after the @ comes how many times as fast the log is replayed, like %s@10x", value, value[:i])
	}
	return value[:i], speed, nil
}

// scenario returns a scenario without arms that asks what the flags name, over kept connections at
// 0.7 of the slowest arm's throughput, or at the pace of a log. own says that all arms will be servers
// of this program, which know /work. Errors are the user's to mend.
func (f *adhocFlags) scenario(own bool) (scenario.Scenario, error) {
	l := scenario.Load{KeepAlive: true, Rate: scenario.Rate{OfSlowest: .7}}
	name, asks := "path", fmt.Sprintf("%q", f.path)
	switch {
	case f.targets != "":
		name, asks = "targets", fmt.Sprintf("what %q asks", f.targets)
	case f.log != "":
		name = "log"
		// A log has its own pace.
		l.Rate = scenario.Rate{}
		file, speed, err := splitLog(f.log)
		if err != nil {
			return scenario.Scenario{}, err
		}
		asks = fmt.Sprintf("what was asked in %q", file)
		l.Arrivals = (arrivals.Process{Kind: arrivals.KindLog, File: file, Speed: speed}).String()
	}
	w, isWork := scenario.WorkOf(f.path)
	if !own || !isWork {
		w = scenario.Workload{Path: f.path, Targets: f.targets}
	}
	if f.workload != "" {
		var err error
		if w, err = scenario.ParseWork(f.workload); err != nil {
			return scenario.Scenario{}, usagef("--workload: %w", err)
		}
		name, asks = "workload", "requests of "+f.workload
	}
	s, err := scenario.Ask(name, "Which of the arms serves "+asks+" best?", w, l)
	return s, usage(err)
}

// question returns the named scenario, or the one that the flags describe. Its arms are still the
// scenario's own.
func (f *compareFlags) question(name string) (scenario.Scenario, error) {
	if f.adhoc.workload != "" {
		return f.costs(name)
	}
	if f.adhoc.given() {
		return f.adhoc.scenario(!slices.ContainsFunc(f.addArms, func(text string) bool {
			a, err := scenario.ParseArm(text)
			return err != nil || a.Mode == ""
		}))
	}
	return findScenario(name)
}

// costs returns the scenario of --workload. Without arms on the command line it has those of the scenario that the command
// takes by default; only servers of this program do as they are asked.
func (f *compareFlags) costs(name string) (scenario.Scenario, error) {
	sets := len(f.grid) > 0 // whether something else than the scenario sets the connections
	for _, text := range f.vary {
		sets = sets || strings.HasPrefix(text, "connections=") || strings.HasPrefix(text, "keepalive=")
	}
	for _, text := range slices.Concat(f.arms, f.addArms) {
		a, err := scenario.ParseArm(text)
		sets = sets || err == nil && (a.Sets("connections") || a.Sets("keepalive"))
		if err == nil && a.Mode == "" {
			return scenario.Scenario{}, usagef("arm %q is another program, and --workload is what schedlab's own servers spend on a request; ask it by --path or --targets", a.Name)
		}
	}
	s, err := f.adhoc.scenario(true)
	if err != nil {
		return s, err
	}
	// Little's law. Waits come on top, so the true limit is lower.
	held := s.Workload.CPU.Mean() + s.Workload.Sleep.Mean()
	if busy := f.Rate.PerSecond * held.Seconds(); !f.close && !sets && busy >= float64(s.Load.Connections) {
		return s, usagef("%d kept connections carry %.0f/s at most, each with one request of %v under way, and --rate is %v; give --vary connections=%.0f, or --close for a connection for each request",
			s.Load.Connections, float64(s.Load.Connections)/held.Seconds(), held, f.Rate, math.Ceil(2*busy))
	}
	if len(f.arms)+len(f.addArms) > 0 {
		return s, nil
	}
	usual, err := findScenario(cmp.Or(name, defaultScenario))
	s.Arms = usual.Arms
	return s, err
}

// runCommandsHelp is the help of --run-commands, which explain has.
const runCommandsHelp = "run what the record of somebody else names beside schedlab's own servers: commands, addresses, environment variables"

// mayRun refuses what a scenario from a record would run or ask: servers on other machines, and in
// a record that is not the user's own, unless --run-commands allows it, other programs, servers
// that run already, and variables of a server's environment. Servers of this very program with its
// flags do no harm.
//
// A record may come from anybody, and explain starts the commands in it. It counts as
// the user's own if this user signed plan, the plan that the record has now: an edit breaks the
// signature. Errors are wrong usage; the one about foreign programs lists them.
func (f *compareFlags) mayRun(ctx context.Context, dir *record.Dir, plan any, s scenario.Scenario) error {
	arms := s.Contestants()
	if err := f.stayLocal(ctx, arms); err != nil {
		return err
	}
	var foreign []string
	for _, a := range arms {
		// An environment variable can make a Go program do much, so it counts as foreign even with
		// a mode.
		if a.Mode == "" || len(a.Env) > 0 {
			foreign = append(foreign, "  "+a.Name+": "+command.Join(a.Argv(f.Self, 1, record.StampsOff)))
		}
	}
	if len(foreign) == 0 || f.runCommands || dir.Signed(plan) {
		return nil
	}
	return usagef("%s was not recorded by you on this machine, and these are not schedlab's own servers:\n%s\nif you trust them, say --run-commands, which starts the commands and sends load to the addresses",
		dir.Path(), strings.Join(foreign, "\n"))
}

// onLoopback refuses to send load to other machines by mistake. what names the flag or arm that has
// the address. Every address that the host name stands for must be on loopback. Errors are wrong
// usage.
func onLoopback(ctx context.Context, what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	if u.Scheme != "http" || u.Host == "" {
		return usagef("%s %q is not a URL like http://127.0.0.1:8080/plaintext (no TLS)", what, address)
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return usagef("%s %q is not on loopback (%s); if the server and the network are yours, say --allow-remote", what, address, a.IP)
		}
	}
	return nil
}

// stayLocal refuses arms with an address on another machine, their own or of their metrics, unless
// the command line allows it with --allow-remote.
func (f *compareFlags) stayLocal(ctx context.Context, arms []scenario.Arm) error {
	if f.allowRemote || f.Site != nil {
		return nil
	}
	for _, a := range arms {
		for _, address := range []string{a.URL, a.MetricsURL()} {
			if address != "" {
				if err := onLoopback(ctx, fmt.Sprintf("arm %q:", a.Name), address); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stdin names standard input where a flag or argument takes a file.
const stdin = "-"

// readInput returns what read makes of a file, or of standard input for "-". shown is its name in
// messages. The file is closed when read returns. Errors of read come back unchanged; a file that
// cannot be opened and a directory are errors, too.
func readInput[T any](cmd *cobra.Command, name string, read func(in io.Reader, shown string) (T, error)) (none T, err error) {
	if name == stdin {
		return read(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer file.Close()
	// Reading a directory would fail as well, with a message that few understand.
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return none, errors.New(name + " is a directory; name a file")
	}
	return read(file, name)
}
