package scenario

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"schedlab/internal/command"
	"schedlab/internal/mode"
	"schedlab/internal/record"
)

// An Arm is one contestant of a comparison: one of our modes with flags, any command that serves HTTP
// on {addr}, or a server that is already running. It has exactly one of Mode, Command and URL.
type Arm struct {
	Name    string
	Mode    string
	Flags   map[string]string // serve flags without dashes
	Clients map[string]string // load settings that differ from the scenario's load, by key
	Vary    Varied            // flags or load settings with several values
	Env     map[string]string // environment variables that are added to the inherited ones
	Command []string          // command line of another program; see the marks
	URL     string            // http://host:port of a server that is already running
	Metrics string            // where a Command or URL shows its metrics; see command.MetricsAt
	// Levels are the varied values of an expanded arm. Family is its name without them.
	Levels []record.Level
	Family string
}

// Given returns the name that the user gave the arm. For the baseline's copy, that is the baseline's.
func (a Arm) Given() string { return strings.TrimSuffix(a.Name, "'") }

// armName is the form of an arm's name. It excludes ', which marks the baseline's copy.
var armName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=,+-]{0,119}$`)

const armNameForm = "a name has up to 120 letters, digits and . _ = , + -"

// armFlags are the serve flags that an arm may set. Mode.Check tells whether a mode takes them.
var armFlags = mode.ArmFlags()

// armKeys are the keys of an arm in YAML in addition to the serve flags.
var armKeys = []string{"name", "mode", "command", "url", "env", "metrics", "vary"}

// arm reads `nethttp`, or `{mode: pool, workers: 4, vary: {...}}`, or
// `{name: x, command: './server -addr {addr}'}`.
func (d *decoder) arm(path string, n ast.Node, a *Arm) error {
	switch n.(type) {
	case *ast.NullNode:
		return d.errorf(path, "want a mode, like nethttp, or {mode: pool, workers: 4}, not nothing")
	case ast.MapNode:
		err := d.fields(path, n, slices.Concat(armKeys, armSettings()), func(key, path string, n ast.Node) error {
			return d.armField(key, path, n, a)
		})
		if err == nil && a.Name == "" {
			a.Name = a.Title()
		}
		return err
	}
	mode, err := d.text(path, n)
	a.Name, a.Mode = mode, mode
	return err
}

// armField reads one key of an arm.
func (d *decoder) armField(key, path string, n ast.Node, a *Arm) (err error) {
	d.at[path] = start(n)
	switch key {
	case "vary":
		a.Vary, err = d.varied(path, n, armSettings())
		return err
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
		words, err := command.Split(text)
		if err != nil {
			return d.errorf(path, "%w", err)
		}
		a.setCommand(words)
	case "url":
		a.URL = strings.TrimSuffix(text, "/")
	case "metrics":
		a.Metrics = text
	default:
		a.set(key, text)
	}
	return nil
}

// set sets a server flag, a load setting, or an environment variable (key env.NAME) of the arm.
func (a *Arm) set(key, value string) {
	to := &a.Clients
	if name, is := strings.CutPrefix(key, envPrefix); is {
		key, to = name, &a.Env
	} else if IsFlag(key) {
		to = &a.Flags
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}

// values reads the list of values of one factor.
func (d *decoder) values(path string, n ast.Node) (values []string, err error) {
	if err = d.value(path, n, reflect.ValueOf(&values).Elem()); err == nil && len(values) == 0 {
		err = d.errorf(path, "is empty; list the values, like [1, 4]")
	}
	return values, err
}

// Title returns a name made of the arm's mode and settings, like pool,workers=4.
func (a *Arm) Title() string {
	parts := []string{a.Mode}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		parts = append(parts, flag+"="+a.Flags[flag])
	}
	for _, key := range slices.Sorted(maps.Keys(a.Clients)) {
		parts = append(parts, key+"="+a.Clients[key])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		parts = append(parts, envPrefix+name+"="+nameOf(envPrefix+name, a.Env[name]))
	}
	return strings.Join(parts, ",")
}

// check returns an error for the first fault of the arm that shows without its scenario.
func (a *Arm) check() error {
	switch {
	case a.kinds() == 0:
		return errors.New("an arm needs a mode, a command or a url")
	case a.kinds() > 1:
		return errors.New("an arm has a mode, a command or a url, only one of them")
	case len(a.Command) > 0 && !a.says(command.AddrMark) && !a.says(command.PortMark):
		return fmt.Errorf("the command does not say %s or %s, so the server cannot be told where to listen", command.AddrMark, command.PortMark)
	case a.Mode == "" && (len(a.Flags) > 0 || a.variesFlags()):
		return errors.New("flags and vary of them belong to a mode; write a command's own flags into the command")
	case !armName.MatchString(a.Name):
		return fmt.Errorf("%q is not an arm's name: %s", a.Name, armNameForm)
	}
	for _, check := range []func() error{a.checkURL, a.checkEnv, a.checkMetrics} {
		if err := check(); err != nil {
			return err
		}
	}
	combinations := 1
	for _, values := range a.Vary {
		if combinations *= len(values); combinations > MaxArms {
			return fmt.Errorf("vary makes more than %d arms; leave values out", MaxArms)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		if !slices.Contains(armFlags, flag) {
			return fmt.Errorf("unknown flag %q (want one of %s)", flag, strings.Join(armSettings(), ", "))
		}
	}
	for factor := range a.Vary {
		if a.value(factor) != "" {
			return fmt.Errorf("%s has a value and is varied; drop one", factor)
		}
	}
	return nil
}

// takes returns an error if the arm's mode does not take a value of a serve flag.
func (a *Arm) takes(flag, value string, modes map[string]mode.Mode) error {
	m, known := modes[a.Mode]
	switch {
	case a.Mode == "":
		return fmt.Errorf("%s is another program, whose flags are its own; write an arm for each value", a.Name)
	case !known:
		return fmt.Errorf("%s has the unknown mode %q", a.Name, a.Mode)
	case m.Check == nil:
		return nil
	}
	with := Arm{Flags: maps.Clone(a.Flags)}
	with.set(flag, value)
	return m.Check(with.Flags)
}

// Sets reports whether the arm itself sets a value for a setting.
func (a *Arm) Sets(setting string) bool { return a.value(setting) != "" }

// IsFlag reports whether a setting is a serve flag, and not a load setting or an environment variable.
func IsFlag(key string) bool {
	return !strings.HasPrefix(key, envPrefix) && !slices.Contains(clientKeys, key)
}

// armSettings returns the names of all settings of an arm, without duplicates.
func armSettings() []string {
	all := slices.Clone(armFlags)
	for _, key := range clientKeys {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return append(all, envPrefix+anyVariable)
}

// variesFlags reports whether the arm varies a serve flag.
func (a *Arm) variesFlags() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(a.Vary)), IsFlag)
}

// expand returns one arm for each combination of the varied values, in order.
func (a *Arm) expand() []Arm {
	plain := *a
	plain.Vary, plain.Family = nil, a.Name
	arms := []Arm{plain}
	for _, flag := range slices.Sorted(maps.Keys(a.Vary)) {
		var next []Arm
		for _, base := range arms {
			for _, value := range a.Vary[flag] {
				v := base
				v.Name += fmt.Sprintf(",%s=%s", flag, nameOf(flag, value))
				v.Flags, v.Clients, v.Env = maps.Clone(base.Flags), maps.Clone(base.Clients), maps.Clone(base.Env)
				v.set(flag, value)
				v.Levels = append(slices.Clone(base.Levels), record.Level{Factor: flag, Value: value})
				next = append(next, v)
			}
		}
		arms = next
	}
	return arms
}

// nameOf returns the form of a varied value in an arm's name: 500 for 500/s, burst-12 for burst(12).
func nameOf(factor, value string) string {
	if IsFlag(factor) {
		return value
	}
	unnamed := func(r rune) rune {
		if strings.ContainsRune("._+-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}
	return strings.Trim(strings.Map(unnamed, strings.TrimSuffix(value, "/s")), "-")
}

// Argv returns the command line of an arm with its marks, preceded by the arm's environment
// variables; or the address of a server that is already running. self is the path of this program,
// iters the calibration that all servers share, and stamps the level of stamping.
func (a *Arm) Argv(self string, iters float64, stamps string) []string {
	switch {
	case a.URL != "":
		return []string{a.URL}
	case len(a.Command) > 0:
		return append(a.assignments(), a.Command...)
	}
	return append(a.assignments(), a.serve(self, iters, stamps)...)
}

// serve returns the command line of an arm with a mode.
func (a *Arm) serve(self string, iters float64, stamps string) []string {
	argv := []string{self, "serve", "--mode", a.Mode, "--addr", command.AddrMark, "--admin", command.AdminMark, "--iters", fmt.Sprintf("%.6g", iters)}
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
