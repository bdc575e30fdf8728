package experiment

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// An Arm is a contestant: one of our modes with flags, or any command that
// serves HTTP on {addr}.
type Arm struct {
	Name    string
	Mode    string
	Flags   map[string]string   // serve flags without dashes
	Vary    map[string][]string // flags with several values: an arm for each combination
	Command []string            // instead of Mode; {addr} is replaced by host:port
	// KeepAlive, if not nil, overrides the scenario's for this arm's clients.
	KeepAlive *bool
}

var armName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=,+'-]{0,59}$`)

// armFlags are the serve flags an arm may set: those that move a mode on its
// axes or bound it. Addresses and calibration are the planner's.
var armFlags = []string{
	"workers", "queue-depth", "overflow", "max-conns", "backlog",
	"header-timeout", "body-timeout", "write-timeout", "idle-timeout", "max-head", "max-body", "drain-timeout",
}

// UnmarshalYAML reads `nethttp`, or `{mode: pool, workers: 4, vary: {...}}`, or
// `{name: x, command: ./server -addr {addr}}`.
func (a *Arm) UnmarshalYAML(text []byte) error {
	var mode string
	if err := yaml.Unmarshal(text, &mode); err == nil && !strings.Contains(mode, ":") {
		*a = Arm{Name: mode, Mode: mode}
		return nil
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := a.set(key, fields[key]); err != nil {
			return err
		}
	}
	if a.Name == "" {
		a.Name = a.title()
	}
	return nil
}

func (a *Arm) set(key string, value any) error {
	switch key {
	case "name":
		a.Name = fmt.Sprint(value)
	case "mode":
		a.Mode = fmt.Sprint(value)
	case "keepalive":
		keep, ok := value.(bool)
		if !ok {
			return fmt.Errorf("keepalive: %v is neither true nor false", value)
		}
		a.KeepAlive = &keep
	case "command":
		words, err := SplitCommand(fmt.Sprint(value))
		if err != nil {
			return fmt.Errorf("command: %w", err)
		}
		a.Command = words
	case "vary":
		lists, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("vary: want lists by flag, like {workers: [1, 4]}, not %v", value)
		}
		for _, flag := range slices.Sorted(maps.Keys(lists)) {
			values, ok := lists[flag].([]any)
			if !ok || len(values) == 0 {
				return fmt.Errorf("vary: %s: want a list, like [1, 4]", flag)
			}
			for _, v := range values {
				if a.Vary == nil {
					a.Vary = make(map[string][]string)
				}
				a.Vary[flag] = append(a.Vary[flag], fmt.Sprint(v))
			}
		}
	default:
		if a.Flags == nil {
			a.Flags = make(map[string]string)
		}
		a.Flags[key] = fmt.Sprint(value)
	}
	return nil
}

// title names an arm by its mode and flags: "pool workers=4" as pool,workers=4.
func (a *Arm) title() string {
	parts := []string{a.Mode}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		parts = append(parts, flag+"="+a.Flags[flag])
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
	case len(a.Command) > 0 && len(a.Flags)+len(a.Vary) > 0:
		return errors.New("flags and vary belong to a mode; write a command's own flags into the command")
	case !armName.MatchString(a.Name):
		return fmt.Errorf("%q is not an arm's name: up to 60 letters, digits and . _ = , + ' -", a.Name)
	}
	for _, flags := range [][]string{slices.Sorted(maps.Keys(a.Flags)), slices.Sorted(maps.Keys(a.Vary))} {
		for _, flag := range flags {
			if !slices.Contains(armFlags, flag) {
				return fmt.Errorf("unknown key %q (an arm has name, mode, command, keepalive, vary and the serve flags %s)", flag, strings.Join(armFlags, ", "))
			}
		}
	}
	return nil
}

// expand makes one arm of every combination of varied flags, in order.
func (a *Arm) expand() []Arm {
	plain := *a
	plain.Vary = nil
	arms := []Arm{plain}
	for _, flag := range slices.Sorted(maps.Keys(a.Vary)) {
		var next []Arm
		for _, base := range arms {
			for _, value := range a.Vary[flag] {
				v := base
				v.Name += fmt.Sprintf(",%s=%s", flag, value)
				v.Flags = maps.Clone(base.Flags)
				if v.Flags == nil {
					v.Flags = make(map[string]string)
				}
				v.Flags[flag] = value
				next = append(next, v)
			}
		}
		arms = next
	}
	return arms
}

// Marks in a command that become addresses when a trial starts.
const (
	addrMark  = "{addr}"
	adminMark = "{admin}"
)

// argv is the command of an arm, with the marks in it. self is this program;
// iters the calibration every server must share.
func (a *Arm) argv(self string, iters float64) []string {
	if len(a.Command) > 0 {
		return a.Command
	}
	argv := []string{self, "serve", "--mode", a.Mode, "--addr", addrMark, "--admin", adminMark, "--iters", fmt.Sprintf("%.6g", iters)}
	for _, flag := range slices.Sorted(maps.Keys(a.Flags)) {
		argv = append(argv, "--"+flag, a.Flags[flag])
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
		if a.Flags == nil {
			a.Flags = make(map[string]string)
		}
		a.Flags[k] = v
	}
	if strings.ContainsAny(mode, " =/") {
		return Arm{}, fmt.Errorf("%q is neither MODE[,flag=value...] nor name='CMD %s': a command must say %s where it listens", s, addrMark, addrMark)
	}
	return a, a.check()
}
