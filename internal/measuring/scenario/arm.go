package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// An Arm is one contestant of a comparison: one of our modes with flags, any command that serves HTTP
// on {addr}, or a server that is already running. It has exactly one of Mode, Command and URL.
//
// The name identifies the arm in verdicts, records and expectations. With Vary, expand makes one arm for
// each combination of values. Argv is the command line of its server.
//
// Mode is one of the modes that `schedlab serve` knows.
type Arm struct {
	Name    string
	Mode    string
	Flags   map[string]string // serve flags without dashes
	Clients map[string]string // load settings that differ from the scenario's load, by key
	Vary    varied            // flags or load settings with several values
	Env     map[string]string // environment variables that are added to the inherited ones
	Limits  map[string]string // limits on the server's process, by key; see processKeys
	Command []string          // command line of another program; see the marks
	URL     string            // http://host:port or https://host:port of a server that is already running
	Metrics string            // where a Command or URL shows its metrics; see cmdline.MetricsAt
	// Levels are the varied values of an expanded arm. Family is its name without them.
	Levels []record.Level
	Family string
	CopyOf string // of the baseline's copy, for the A/A control: the baseline's name
	// Place is where the user wrote the arm, for errors about it: FILE:LINE:COLUMN of one that is as a scenario file has
	// it, a flag like --old, or "" where the arm's name is enough, or the command line has changed it.
	Place string
	// Flag is the flag that made the arm or changed it last, without dashes; "" for one that is as in the scenario.
	Flag string
}

// Given returns the name that the user gave the arm. For the baseline's copy, that is the baseline's.
func (a Arm) Given() string { return cmp.Or(a.CopyOf, a.Name) }

// armName is the form of an arm's name. It excludes ', which only the name of the baseline's copy has.
var armName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._=,+-]{0,%d}$`, record.LongestName-1))

// armNameForm tells the form of a name in errors.
var armNameForm = fmt.Sprintf("a name has up to %d letters, digits and . _ = , + -", record.LongestName)

// armFlags are the serve flags that an arm may set. Mode.Check tells whether a mode takes them.
var armFlags = mode.ArmFlags()

// armKeys are the keys of an arm in YAML in addition to the serve flags.
var armKeys = []string{"name", "mode", "command", "url", "env", "metrics", "vary"}

// arm reads `nethttp`, or `{mode: pool, workers: 4, vary: {...}}`, or
// `{name: x, command: './server -addr {addr}'}`.
//
// Every key that is not in armKeys is a setting: a serve flag, or a setting of the load.
func (d *decoder) arm(path string, n ast.Node, a *Arm) error {
	switch n.(type) {
	case *ast.NullNode:
		return d.errorf(path, "want a mode, like nethttp, or {mode: pool, workers: 4}, not nothing")
	case ast.MapNode:
		err := d.fields(path, n, slices.Concat(armKeys, armSettings()), func(key, path string, n ast.Node) error {
			return d.armField(key, path, n, a)
		})
		// The name comes from the settings, so it can only be made when all keys are read.
		if err == nil && a.Name == "" {
			a.Name = a.Title()
		}
		return err
	}
	// A plain word is a mode without flags.
	mode, err := d.text(path, n)
	a.Name, a.Mode = mode, mode
	return err
}

// armField reads one key of an arm.
func (d *decoder) armField(key, path string, n ast.Node, a *Arm) error {
	// Errors about the value point at the value itself, and not at its key.
	d.at[path] = start(n)
	switch key {
	case "vary":
		return d.varied(path, n, armSettings(), &a.Vary)
	case "env":
		return d.fields(path, n, []string{anyVariable}, func(name, path string, n ast.Node) error {
			value, err := d.text(path, n)
			a.set(envPrefix+name, value)
			return err
		})
	}
	text, err := d.text(path, n)
	if err != nil {
		return err
	}
	switch key {
	case "name":
		a.Name = text
	case "mode":
		a.Mode = text
	case "command":
		words, err := cmdline.Split(text)
		if err != nil {
			return d.errorf(path, "%w", err)
		}
		a.setCommand(words)
	case "url":
		// A slash at the end means the same address.
		a.URL = strings.TrimSuffix(text, "/")
	case "metrics":
		a.Metrics = text
	default:
		a.set(key, text)
	}
	return nil
}

// in returns the map of the arm that holds a setting, and the setting's key in it.
func (a *Arm) in(setting string) (in *map[string]string, key string) {
	name, variable := strings.CutPrefix(setting, envPrefix)
	switch {
	case variable:
		return &a.Env, name
	case slices.Contains(processKeys, setting):
		return &a.Limits, setting
	case IsFlag(setting):
		return &a.Flags, setting
	}
	return &a.Clients, setting
}

func (a *Arm) set(setting, value string) {
	in, key := a.in(setting)
	*in = with(*in, key, value)
}

// with returns a copy of all, which other arms may share, with another value of a key.
func with[M ~map[string]V, V any](all M, key string, value V) M {
	more := M{}
	maps.Copy(more, all)
	more[key] = value
	return more
}

// drop removes the value of a setting. It copies the map, which other arms may share.
func (a *Arm) drop(setting string) {
	in, key := a.in(setting)
	*in = maps.Clone(*in)
	delete(*in, key)
}

// Sets reports whether the arm itself sets a value for a setting of any kind.
func (a *Arm) Sets(setting string) bool {
	in, key := a.in(setting)
	return (*in)[key] != ""
}

// Title returns a name made of the arm's mode and settings, like pool,workers=4.
// Without settings it is the mode alone. Settings are in alphabetical order within their kind.
func (a *Arm) Title() string {
	parts := slices.Concat([]string{a.Mode}, assignments(withoutFiles(a.Flags)), assignments(withoutFiles(a.Clients)), assignments(a.Limits))
	if a.Flags["tls-cert"] != "" {
		parts = append(parts, "tls")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		parts = append(parts, envPrefix+name+"="+nameOf(envPrefix+name, a.Env[name]))
	}
	return strings.Join(parts, ",")
}

// fileSettings are the settings of which the value is a file's name, or may be one.
var fileSettings = []string{"tls-cert", "tls-key", "tls", "cert", "key"}

// withoutFiles returns settings without those that name files: such names say little, and need not be possible in a name.
func withoutFiles(settings map[string]string) map[string]string {
	rest := maps.Clone(settings)
	maps.DeleteFunc(rest, func(key, _ string) bool { return slices.Contains(fileSettings, key) })
	return rest
}

// Renamed returns the arm with the present spelling of its mode and flags, where they have an old one
// (mode.Renamed). Its name stays: claims and expectations know it by the name that was typed.
func (a Arm) Renamed() (Arm, error) {
	var err error
	a.Mode, a.Flags, err = mode.Renamed(a.Mode, a.Flags)
	return a, err
}

// check returns an error for the first fault of the arm that shows without its scenario.
// The form of the load settings is checked later, by Clients and Load.Check.
func (a *Arm) check() error {
	switch {
	case a.kinds() == 0:
		return errors.New("an arm needs a mode, a command or a url")
	case a.kinds() > 1:
		return errors.New("an arm has a mode, a command or a url, only one of them")
	case len(a.Command) > 0 && !a.says(cmdline.AddrMark) && !a.says(cmdline.PortMark):
		return fmt.Errorf("the command does not say %s or %s, so the server cannot be told where to listen", cmdline.AddrMark, cmdline.PortMark)
	case a.Mode == "" && (len(a.Flags) > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(a.Vary)), IsFlag)):
		return errors.New("flags and vary of them belong to a mode; write a command's own flags into the command")
	case !armName.MatchString(a.Name):
		return fmt.Errorf("%q is not an arm's name: %s", a.Name, armNameForm)
	}
	for _, check := range []func() error{a.checkURL, a.checkMetrics, a.checkProcess} {
		if err := check(); err != nil {
			return err
		}
	}
	// Counted before expansion, which would have to make all of them first.
	combinations := 1
	for _, values := range a.Vary {
		if combinations *= len(values); combinations > MaxArms {
			return fmt.Errorf("vary makes more than %d arms; leave values out", MaxArms)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		if !slices.Contains(armFlags, flag) {
			return fmt.Errorf("unknown flag %q %s", flag, prose.Choice(flag, armSettings()))
		}
	}
	for factor := range a.Vary {
		if a.Sets(factor) {
			return fmt.Errorf("%s has a value and is varied; drop one", factor)
		}
	}
	return nil
}

// takes returns an error if the arm cannot have a value of a setting: a serve flag that its mode
// does not take, or a variable of a server that runs already. Load settings suit every arm. modes
// are by name. A mode without a Check takes every value.
func (a *Arm) takes(setting, value string, modes map[string]mode.Mode) error {
	with := *a
	with.set(setting, value)
	with, err := with.Renamed()
	m, known := modes[with.Mode]
	switch {
	case err != nil:
		return err
	case a.URL != "" && (strings.HasPrefix(setting, envPrefix) || slices.Contains(processKeys, setting)):
		return fmt.Errorf("%s runs already", a.Name)
	case !IsFlag(setting):
		return nil
	case a.Mode == "":
		return fmt.Errorf("%s is another program, whose flags are its own; write an arm for each value", a.Name)
	case !known:
		return fmt.Errorf("%s has the unknown mode %q", a.Name, a.Mode)
	case m.Check == nil:
		return nil
	}
	return m.Check(with.Flags)
}

// takers returns the arms that can have any of the values of a setting. If there are none, the error
// is the reason.
func (s *Scenario) takers(setting string, values []string, modes map[string]mode.Mode) (takers []*Arm, err error) {
	// The refusal of a known mode explains more than an unknown mode does.
	var refused, unknown error
	for i := range s.Arms {
		a := &s.Arms[i]
		for _, value := range values {
			if err = a.takes(setting, value, modes); err == nil {
				takers = append(takers, a)
				break
			}
		}
		now, _ := a.Renamed() // takes has told the error
		if _, known := modes[now.Mode]; known || a.Mode == "" {
			refused = cmp.Or(err, refused)
		} else {
			unknown = err
		}
	}
	if len(takers) > 0 {
		return takers, nil
	}
	return nil, cmp.Or(refused, unknown)
}

// IsFlag reports whether a setting is a serve flag, and not a load setting, a limit or an environment variable.
// An unknown key counts as a flag, so check refuses it with the list of settings.
func IsFlag(key string) bool {
	return !strings.HasPrefix(key, envPrefix) && !slices.Contains(clientKeys, key) && !slices.Contains(processKeys, key)
}

// armSettings returns the names of all settings of an arm.
// The last one is env.NAME, which stands for any environment variable.
func armSettings() []string { return append(VaryFactors(), envPrefix+anyVariable) }

// expand returns one arm for each combination of the varied values, in order. Factors are in alphabetical
// order, and the last one changes fastest. An arm without varied values gives one arm, itself.
func (a *Arm) expand() []Arm {
	plain := *a
	plain.Vary, plain.Family = nil, a.Name
	arms := []Arm{plain}
	for _, flag := range slices.Sorted(maps.Keys(a.Vary)) {
		var next []Arm
		// Each factor multiplies the arms so far by its values.
		for _, base := range arms {
			for _, value := range a.Vary[flag] {
				v := base
				v.Name += fmt.Sprintf(",%s=%s", flag, nameOf(flag, value))
				v.set(flag, value)
				v.Levels = append(slices.Clone(base.Levels), record.Level{Factor: flag, Value: value})
				next = append(next, v)
			}
		}
		arms = next
	}
	return arms
}

// notInName matches a character that a varied value must not have in an arm's name.
var notInName = regexp.MustCompile(`[^A-Za-z0-9._+-]`)

// nameOf returns the form of a varied value in an arm's name: 500 for 500/s, burst-12 for burst(12).
// A flag's value stays as it is: check refuses a name that armName does not allow.
func nameOf(factor, value string) string {
	if IsFlag(factor) {
		return value
	}
	return strings.Trim(notInName.ReplaceAllString(strings.TrimSuffix(value, "/s"), "-"), "-")
}

// Argv returns the command line of an arm with its marks, preceded by the arm's limits and environment
// variables; or the address of a server that is already running. self is the path of this program,
// iters the calibration that all servers share, and stamps the level of stamping.
// The marks stay: package process replaces them when it starts the server.
func (a *Arm) Argv(self string, iters float64, stamps string) []string {
	switch {
	case a.URL != "":
		return []string{a.URL}
	case len(a.Command) > 0:
		return slices.Concat(assignments(a.Limits), assignments(a.Env), a.Command)
	}
	return slices.Concat(assignments(a.Limits), assignments(a.Env), a.serve(self, iters, stamps))
}

// serve returns the command line of an arm with a mode.
// Flags are in alphabetical order, so that the same arm always has the same command line.
func (a *Arm) serve(self string, iters float64, stamps string) []string {
	argv := []string{self, "serve", "--mode", a.Mode, "--addr", cmdline.AddrMark, "--admin", cmdline.AdminMark, "--iters", fmt.Sprintf("%.6g", iters)}
	// The arm's own flag goes before the level of the run.
	if _, own := a.Flags["stamps"]; !own && stamps != record.StampsOff {
		argv = append(argv, "--stamps", stamps)
	}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		value := a.Flags[flag]
		if value == "true" || value == "false" { // a boolean flag takes no second word
			argv = append(argv, "--"+flag+"="+value)
			continue
		}
		argv = append(argv, "--"+flag, value)
	}
	return argv
}

// metricsWord begins the word that tells where the server shows its metrics. The word precedes a
// command or an address.
const metricsWord = "metrics="

// ParseArm reads a command-line arm:
//
//	MODE[,SETTING=VALUE...]                           a setting may be env.VARIABLE
//	NAME='[metrics=WHERE] [SETTING=VALUE...] [VARIABLE=VALUE...] CMD {addr}'
//	NAME='[metrics=WHERE] [SETTING=VALUE...] http://HOST:PORT'     a server that is already running, or https://
//
// A SETTING before a command or an address is one of spokenKeys, such as tls=insecure or http=2. Before a command it may
// also be one of processKeys, such as limit=0.5.
// The arm's name is s itself for a mode without variables, and NAME for the others. The error tells the
// first fault that shows without a scenario.
func ParseArm(s string) (Arm, error) {
	if err := checkValue(s); err != nil {
		return Arm{}, err
	}
	// NAME= begins a command or a URL only if the rest looks like one. Otherwise the first = belongs to the
	// first setting of a mode.
	name, rest, named := strings.Cut(s, "=")
	named = named && !strings.Contains(name, ","+envPrefix) // the value of a variable may look like a command or a URL
	if named && isForeign(rest) {
		return parseForeign(name, rest)
	}
	mode, settings, _ := strings.Cut(s, ",")
	a := Arm{Name: s, Mode: mode}
	for setting := range strings.SplitSeq(settings, ",") {
		if setting == "" {
			continue
		}
		k, v, ok := strings.Cut(setting, "=")
		if !ok {
			return Arm{}, fmt.Errorf("%q is not flag=value", setting)
		}
		a.set(k, v)
	}
	// Most likely a command that does not say where it listens.
	if strings.ContainsAny(mode, " =/") {
		return Arm{}, fmt.Errorf("%q is none of MODE[,setting=value...], name='CMD %s' and name=http://HOST:PORT: a command must say %s where it listens", s, cmdline.AddrMark, cmdline.AddrMark)
	}
	if len(a.Env) > 0 || slices.ContainsFunc(fileSettings, a.Sets) {
		a.Name = a.Title() // the values may contain characters that a name must not
	}
	return a, a.check()
}

// ParseServer reads what stands after NAME= in an arm that is a command or a server that is already running.
func ParseServer(name, text string) (Arm, error) {
	arm := name + "=" + text
	if err := checkValue(arm); err != nil {
		return Arm{}, err
	}
	if !isForeign(text) {
		return Arm{}, fmt.Errorf("%q is no command that says %s where it listens, like './server -listen %s', and no URL like http://127.0.0.1:8080", text, cmdline.AddrMark, cmdline.AddrMark)
	}
	return parseForeign(name, text)
}

// Secured reports whether clients speak TLS or HTTP/2 to the arm by its own settings or its address.
func (a Arm) Secured() bool {
	return a.Clients["tls"] != "" || a.Clients["http"] == "2" || strings.HasPrefix(a.URL, "https://")
}

// isForeign reports whether a text is a command that says where it listens, or a URL.
func isForeign(text string) bool { return isCommand(text) || strings.Contains(text, "://") }

func isCommand(text string) bool {
	return strings.Contains(text, cmdline.AddrMark) || strings.Contains(text, cmdline.PortMark)
}

// parseForeign reads an arm that is a command, or else a URL.
func parseForeign(name, text string) (Arm, error) {
	words, err := cmdline.Split(text)
	if err != nil {
		return Arm{}, err
	}
	a := Arm{Name: name}
	// Settings and variables stand before the command in any order.
	before, words := cmdline.Variables(words)
	var variables []string
	for _, word := range before {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, metricsWord):
			a.Metrics = value
		case value != "" && (slices.Contains(spokenKeys, key) || slices.Contains(processKeys, key)):
			a.set(key, value)
		default:
			variables = append(variables, word)
		}
	}
	words = append(variables, words...)
	if isCommand(text) {
		a.setCommand(words)
	} else {
		a.URL = strings.TrimSuffix(strings.Join(words, " "), "/")
	}
	return a, a.check()
}

// changed returns a with the settings and the name of other, which is parsed from the name of a and settings.
func (a Arm) changed(other Arm) Arm {
	a.Vary, a.Name, a.Place = maps.Clone(a.Vary), other.Name, ""
	for _, kind := range []struct {
		prefix string
		all    map[string]string
	}{{"", other.Flags}, {"", other.Clients}, {"", other.Limits}, {envPrefix, other.Env}} {
		for key, value := range kind.all {
			delete(a.Vary, kind.prefix+key)
			a.set(kind.prefix+key, value)
		}
	}
	return a
}

// Select replaces the arms of s by the named arms, in that order. Each name is looked up in added, then in the
// scenario's own arms. NAME,setting=value is the scenario's arm NAME with that setting, and everything else is
// parsed by ParseArm. Without names, the scenario keeps its arms. The remaining arms of added are appended.
//
// After an error s has only some of its arms and must not be used.
func (s *Scenario) Select(names []string, added []Arm) error {
	own, added := s.Arms, slices.Clone(added)
	if len(names) > 0 {
		s.Arms = nil
	}
	for _, name := range names {
		called := func(a Arm) bool { return a.Name == name }
		var a Arm
		var err error
		if i := slices.IndexFunc(added, called); i >= 0 {
			a = added[i]
			added = slices.Delete(added, i, i+1) // used once, at the place where it is named
		} else if i := slices.IndexFunc(own, called); i >= 0 {
			a = own[i]
		} else {
			if a, err = ParseArm(name); err != nil {
				return err
			}
			if i := slices.IndexFunc(own, func(b Arm) bool { return b.Mode != "" && b.Name == a.Mode }); i >= 0 {
				a = own[i].changed(a)
			}
			a.Flag = "arms"
		}
		s.Arms = append(s.Arms, a)
	}
	s.Arms = append(s.Arms, added...)
	return nil
}

const (
	envPrefix   = "env."      // prefix of a setting that is an environment variable
	anyVariable = "NAME"      // stands for any variable in a list of settings
	ourPrefix   = "SCHEDLAB_" // prefix of the variables that set serve flags
)

// variableForm is the form of an environment variable's name in a shell.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kinds returns how many of mode, command and URL the arm has. A valid arm has one.
func (a *Arm) kinds() int {
	return stats.Count(a.Mode != "") + stats.Count(len(a.Command) > 0) + stats.Count(a.URL != "")
}

// says reports whether the command or its variables contain a mark.
func (a *Arm) says(mark string) bool {
	has := func(w string) bool { return strings.Contains(w, mark) }
	return slices.ContainsFunc(a.Command, has) || slices.ContainsFunc(slices.Collect(maps.Values(a.Env)), has)
}

// setCommand sets command, limits and environment from the words of a command line, which may begin with
// VARIABLE=VALUE and limit=CPUS.
func (a *Arm) setCommand(words []string) {
	variables, command := cmdline.Variables(words)
	limit, variables := cmdline.Limit(variables)
	if limit != "" {
		a.set(cmdline.LimitKey, limit)
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		a.set(envPrefix+name, value)
	}
	a.Command = command
}

// CommandArm returns the arm of another program from the words of its recorded command.
// It is not checked: the words have run before.
func CommandArm(name string, words []string) Arm {
	a := Arm{Name: name}
	a.setCommand(words)
	return a
}

// assignments returns settings as NAME=VALUE, in alphabetical order.
func assignments(settings map[string]string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		words = append(words, name+"="+settings[name])
	}
	return words
}

// checkProcess returns an error for the first environment variable or limit, fixed or varied, that the arm's server cannot have.
func (a *Arm) checkProcess() error { return cmp.Or(a.checkEnv(), a.checkLimit()) }

// checkEnv returns an error for the first environment variable that the arm cannot set.
// A server that is already running has its environment, so a URL excludes variables.
func (a *Arm) checkEnv() error {
	// varied variables must be possible too.
	names := slices.Sorted(maps.Keys(a.Env))
	for _, factor := range slices.Sorted(maps.Keys(a.Vary)) {
		if name, is := strings.CutPrefix(factor, envPrefix); is {
			names = append(names, name)
		}
	}
	for _, name := range names {
		switch {
		case a.URL != "":
			return fmt.Errorf("%s: a server that runs already has its environment; set it where that is started", name)
		case !variableForm.MatchString(name):
			return fmt.Errorf("%q is no name of an environment variable: letters, digits and _, no digit first", name)
		// Our servers read their flags from such variables as well, and the plan would not know.
		case strings.HasPrefix(name, ourPrefix):
			return fmt.Errorf("%s would set a flag of our servers behind the plan's back; give the arm the flag itself, like workers=8", name)
		case slices.Contains(processKeys, name):
			return fmt.Errorf("a variable named %s would be taken for the server's %s; leave out env, as in %s=0.5", name, name, name)
		case strings.ContainsAny(a.Env[name], "\x00\n"):
			return fmt.Errorf("%s: a value is one line of text", name)
		}
	}
	return nil
}

// processKeys are the limits that an arm may put on its server's process.
var processKeys = []string{cmdline.LimitKey}

// leastLimit and mostLimit bound the CPU limit of an arm, in CPUs. Linux takes no quota below 1 ms in 100 ms; with
// 5 ms a server still answers in time to be called ready.
const leastLimit, mostLimit = .05, 1024

// checkLimit returns an error for the first CPU limit, fixed or varied, that the arm cannot have.
func (a *Arm) checkLimit() error {
	limits := a.Vary[cmdline.LimitKey]
	if fixed, has := a.Limits[cmdline.LimitKey]; has {
		limits = append(slices.Clone(limits), fixed)
	}
	for _, text := range limits {
		cpus, err := strconv.ParseFloat(text, 64)
		switch {
		case a.URL != "":
			return errors.New("limit: a server that runs already is limited where it is started; leave limit out, or give the arm's command")
		case err != nil || !(cpus >= leastLimit && cpus <= mostLimit):
			return fmt.Errorf("limit %q is not a number of CPUs from %v to %d, like 0.5", text, leastLimit, mostLimit)
		}
	}
	return nil
}

// CPULimit returns the limit on its server's CPU time, in CPUs; 0 if it has none. It is for an arm that was checked.
func (a *Arm) CPULimit() float64 {
	cpus, _ := strconv.ParseFloat(a.Limits[cmdline.LimitKey], 64)
	return cpus
}

// checkURL returns an error if URL is set and is not of the form http://host:port or https://host:port.
func (a *Arm) checkURL() error {
	if a.URL == "" {
		return nil
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || a.URL != u.Scheme+"://"+u.Host {
		return fmt.Errorf("%q is not http://host:port or https://host:port of a server that runs already (without a path: what is asked there is the scenario's)", a.URL)
	}
	return nil
}

// checkMetrics returns an error if Metrics is set and names no URL.
func (a *Arm) checkMetrics() error {
	if a.Metrics == "" {
		return nil
	}
	if a.Mode != "" {
		return errors.New("metrics says where another program shows its own; a mode's are read anyway")
	}
	u, err := url.Parse(a.MetricsURL())
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return fmt.Errorf("metrics %q is not /path on the server itself, :PORT/path beside it, or a URL like http://%s/metrics", a.Metrics, cmdline.AdminMark)
	}
	return nil
}

// MetricsURL returns the URL of the arm's metrics, "" if the arm names none. For a command it assumes
// a server at 127.0.0.1, with placeholders for the ports.
func (a *Arm) MetricsURL() string {
	if a.Metrics == "" {
		return ""
	}
	// Any address will do for checking the form.
	addr := "127.0.0.1:1"
	if u, err := url.Parse(a.URL); err == nil && u.Host != "" {
		addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
	}
	return cmdline.MetricsAt(a.Metrics, addr, "127.0.0.1:2")
}
