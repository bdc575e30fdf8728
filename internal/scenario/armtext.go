package scenario

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/command"
)

// metricsWord begins the word that tells where the server shows its metrics. The word precedes a
// command or an address.
const metricsWord = "metrics="

// ParseArm reads a command-line arm:
//
//	MODE[,SETTING=VALUE...]                           a setting may be env.VARIABLE
//	NAME='[metrics=WHERE] [VARIABLE=VALUE...] CMD {addr}'
//	NAME='[metrics=WHERE] http://HOST:PORT'           a server that is already running
func ParseArm(s string) (Arm, error) {
	if err := checkValue(s); err != nil {
		return Arm{}, err
	}
	name, rest, named := strings.Cut(s, "=")
	named = named && !strings.Contains(name, ","+envPrefix) // the value of a variable may look like a command or a URL
	switch {
	case named && (strings.Contains(rest, command.AddrMark) || strings.Contains(rest, command.PortMark)):
		return parseForeign(name, rest, func(a *Arm, words []string) { a.setCommand(words) })
	case named && strings.Contains(rest, "://"):
		return parseForeign(name, rest, func(a *Arm, words []string) { a.URL = strings.TrimSuffix(strings.Join(words, " "), "/") })
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
	if strings.ContainsAny(mode, " =/") {
		return Arm{}, fmt.Errorf("%q is none of MODE[,setting=value...], name='CMD %s' and name=http://HOST:PORT: a command must say %s where it listens", s, command.AddrMark, command.AddrMark)
	}
	if len(a.Env) > 0 {
		a.Name = a.Title() // the values may contain characters that a name must not
	}
	return a, a.check()
}

// parseForeign reads an arm that is a command or a URL. set receives the words after metrics=WHERE.
func parseForeign(name, text string, set func(a *Arm, words []string)) (Arm, error) {
	words, err := command.Split(text)
	if err != nil {
		return Arm{}, err
	}
	a := Arm{Name: name}
	if where, has := strings.CutPrefix(words[0], metricsWord); has {
		a.Metrics, words = where, words[1:]
	}
	set(&a, words)
	return a, a.check()
}

// Select replaces the arms of s by the named arms, in that order. Each name is looked up in added,
// then in the scenario's own arms, and is else parsed by ParseArm. Without names, the scenario keeps
// its arms. The remaining arms of added are appended.
func (s *Scenario) Select(names []string, added []Arm) error {
	own, added := s.Arms, slices.Clone(added)
	if len(names) > 0 {
		s.Arms = nil
	}
	for _, name := range names {
		called := func(a Arm) bool { return a.Name == name }
		if i := slices.IndexFunc(added, called); i >= 0 {
			s.Arms, added = append(s.Arms, added[i]), slices.Delete(added, i, i+1)
			continue
		}
		if i := slices.IndexFunc(own, called); i >= 0 {
			s.Arms = append(s.Arms, own[i])
			continue
		}
		a, err := ParseArm(name)
		if err != nil {
			return err
		}
		s.Arms = append(s.Arms, a)
	}
	s.Arms = append(s.Arms, added...)
	return nil
}
