package experiment

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"schedlab/internal/record"
)

// An Arm is a contestant: one of our modes with flags, or any command that
// serves HTTP on {addr}.
type Arm struct {
	Name    string
	Mode    string
	Flags   map[string]string // serve flags without dashes
	Clients map[string]string // load settings of its own, by their keys
	Vary    Varied            // flags or load settings with several values
	Command []string          // instead of Mode; {addr} is replaced by host:port
	// KeepAlive, if not nil, overrides the scenario's for this arm's clients.
	KeepAlive *bool
	// Levels are the varied values that an expanded arm has, Family its name
	// without them.
	Levels []record.Level
	Family string
}

// armName leaves out ', which marks the baseline's copy.
var armName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=,+-]{0,119}$`)

const armNameForm = "a name has up to 120 letters, digits and . _ = , + -"

// armFlags are the serve flags an arm may set: all but mode, addresses, log and
// calibration, which are the planner's. A test of cmd/schedlab holds them to
// serve's; whether a mode takes them, its Mode.Check says.
var armFlags = []string{
	"workers", "queue-depth", "overflow", "queue", "steal", "spin", "job", "executor", "locked", "codel-target", "codel-interval",
	"listeners", "processes", "threads", "wait", "kv-locks", "plant-cpu", "max-conns", "backlog",
	"header-timeout", "body-timeout", "write-timeout", "idle-timeout", "max-head", "max-body", "drain-timeout",
	"stamps", "timeline", "pprof",
}

// armKeys are the keys of an arm in YAML beside the serve flags.
var armKeys = []string{"name", "mode", "command", "keepalive", "vary"}

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
			a.Name = a.title()
		}
		return err
	}
	mode, err := d.text(path, n)
	a.Name, a.Mode = mode, mode
	return err
}

func (d *decoder) armField(key, path string, n ast.Node, a *Arm) (err error) {
	d.at[path] = start(n)
	if key == "vary" {
		a.Vary, err = d.varied(path, n, armSettings())
		return err
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
	case "keepalive":
		keep, err := isTrue(text)
		if err != nil {
			return d.errorf(path, "%w", err)
		}
		a.KeepAlive = &keep
	case "command":
		if a.Command, err = SplitCommand(text); err != nil {
			return d.errorf(path, "%w", err)
		}
	default:
		a.set(key, text)
	}
	return nil
}

// set gives a a server flag or a load setting.
func (a *Arm) set(key, value string) {
	to := &a.Clients
	if isFlag(key, value) {
		to = &a.Flags
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}

// values reads the values of one factor.
func (d *decoder) values(path string, n ast.Node) (values []string, err error) {
	d.at[path] = start(n)
	list, err := d.list(path, n)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, d.errorf(path, "is empty; list the values, like [1, 4]")
	}
	for i, item := range list {
		inner := fmt.Sprintf("%s[%d]", path, i)
		d.at[inner] = start(item)
		text, err := d.text(inner, item)
		if err != nil {
			return nil, err
		}
		values = append(values, text)
	}
	return values, nil
}

// title names an arm by its mode and flags: "pool workers=4" as pool,workers=4.
func (a *Arm) title() string {
	parts := []string{a.Mode}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		parts = append(parts, flag+"="+a.Flags[flag])
	}
	for _, key := range slices.Sorted(maps.Keys(a.Clients)) {
		parts = append(parts, key+"="+a.Clients[key])
	}
	return strings.Join(parts, ",")
}

func (a *Arm) check() error {
	switch {
	case a.Mode == "" && len(a.Command) == 0:
		return errors.New("an arm needs a mode or a command")
	case a.Mode != "" && len(a.Command) > 0:
		return errors.New("an arm has a mode or a command, not both")
	case len(a.Command) > 0 && !slices.ContainsFunc(a.Command, func(w string) bool { return strings.Contains(w, addrMark) }):
		return fmt.Errorf("the command does not say %s, so the server cannot be told where to listen", addrMark)
	case len(a.Command) > 0 && (len(a.Flags) > 0 || a.variesFlags()):
		return errors.New("flags and vary of them belong to a mode; write a command's own flags into the command")
	case !armName.MatchString(a.Name):
		return fmt.Errorf("%q is not an arm's name: %s", a.Name, armNameForm)
	}
	combinations := 1
	for _, values := range a.Vary {
		if combinations *= len(values); combinations > maxArms {
			return fmt.Errorf("vary makes more than %d arms; leave values out", maxArms)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		if !slices.Contains(armFlags, flag) {
			return fmt.Errorf("unknown flag %q (want one of %s)", flag, strings.Join(armSettings(), ", "))
		}
	}
	for factor := range a.Vary {
		if a.Flags[factor]+a.Clients[factor] != "" {
			return fmt.Errorf("%s has a value and is varied; drop one", factor)
		}
	}
	return nil
}

// isFlag reports whether a setting is a serve flag, not one of the arm's load.
// spin is both: of the load true or false, of serve a number.
func isFlag(key, value string) bool {
	return !slices.Contains(clientKeys, key) || slices.Contains(armFlags, key) && value != "true" && value != "false"
}

// armSettings are the names of all an arm may set, each once.
func armSettings() []string {
	all := slices.Clone(armFlags)
	for _, key := range clientKeys {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

func (a *Arm) variesFlags() bool {
	for factor, values := range a.Vary {
		if slices.ContainsFunc(values, func(v string) bool { return isFlag(factor, v) }) {
			return true
		}
	}
	return false
}

// expand makes one arm of every combination of varied flags, in order.
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
				v.Flags, v.Clients = maps.Clone(base.Flags), maps.Clone(base.Clients)
				v.set(flag, value)
				v.Levels = append(slices.Clone(base.Levels), record.Level{Factor: flag, Value: value})
				next = append(next, v)
			}
		}
		arms = next
	}
	return arms
}

// nameOf is a varied value within an arm's name: 500/s as 500, burst(12) as
// burst-12.
func nameOf(factor, value string) string {
	if isFlag(factor, value) {
		return value
	}
	unnamed := func(r rune) rune {
		if strings.ContainsRune("._+-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}
	return strings.Trim(strings.Map(unnamed, strings.TrimSuffix(value, "/s")), "-")
}

// Marks in a command that become addresses when a trial starts.
const (
	addrMark  = "{addr}"
	adminMark = "{admin}"
)

// argv is the command of an arm, with the marks in it. self is this program;
// iters the calibration every server must share, stamps the level of stamping.
func (a *Arm) argv(self string, iters float64, stamps string) []string {
	if len(a.Command) > 0 {
		return a.Command
	}
	argv := []string{self, "serve", "--mode", a.Mode, "--addr", addrMark, "--admin", adminMark, "--iters", fmt.Sprintf("%.6g", iters)}
	if _, own := a.Flags["stamps"]; !own && stamps != stampsOff {
		argv = append(argv, "--stamps", stamps)
	}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		value := a.Flags[flag]
		if value == "true" || value == "false" { // a switch takes no second word
			argv = append(argv, "--"+flag+"="+value)
			continue
		}
		argv = append(argv, "--"+flag, value)
	}
	return argv
}

// SplitCommand splits a command line into words at blanks; single and double
// quotes keep blanks, and a backslash keeps the next character, except within
// single quotes.
func SplitCommand(s string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("unfinished quote in %q", s)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("empty command")
	}
	return words, nil
}

// ParseArm reads a command-line arm: name='CMD {addr}', or a mode, or
// mode,flag=value,....
func ParseArm(s string) (Arm, error) {
	name, rest, ok := strings.Cut(s, "=")
	if ok && strings.Contains(rest, addrMark) {
		words, err := SplitCommand(rest)
		if err != nil {
			return Arm{}, err
		}
		a := Arm{Name: name, Command: words}
		return a, a.check()
	}
	mode, flags, _ := strings.Cut(s, ",")
	a := Arm{Name: s, Mode: mode}
	for flag := range strings.SplitSeq(flags, ",") {
		if flag == "" {
			continue
		}
		k, v, ok := strings.Cut(flag, "=")
		if !ok {
			return Arm{}, fmt.Errorf("%q is not flag=value", flag)
		}
		a.set(k, v)
	}
	if strings.ContainsAny(mode, " =/") {
		return Arm{}, fmt.Errorf("%q is neither MODE[,flag=value...] nor name='CMD %s': a command must say %s where it listens", s, addrMark, addrMark)
	}
	return a, a.check()
}
