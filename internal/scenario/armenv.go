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
	"strings"

	"schedlab/internal/command"
)

const (
	envPrefix   = "env." // of a setting that is a variable of the environment
	anyVariable = "NAME" // stands for any of them where names are listed
	ourPrefix   = "SCHEDLAB_"
)

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kinds is how many of mode, command and URL the arm has; one is right.
func (a *Arm) kinds() int {
	n := 0
	for _, has := range []bool{a.Mode != "", len(a.Command) > 0, a.URL != ""} {
		if has {
			n++
		}
	}
	return n
}

// says reports whether a command or its variables have a mark.
func (a *Arm) says(mark string) bool {
	has := func(w string) bool { return strings.Contains(w, mark) }
	return slices.ContainsFunc(a.Command, has) || slices.ContainsFunc(slices.Collect(maps.Values(a.Env)), has)
}

// setCommand takes the words of a command line, with VARIABLE=VALUE words before it.
func (a *Arm) setCommand(words []string) {
	variables, command := command.Variables(words)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		a.set(envPrefix+name, value)
	}
	a.Command = command
}

// CommandArm is the arm of another program, from the words of its recorded command.
func CommandArm(name string, words []string) Arm {
	a := Arm{Name: name}
	a.setCommand(words)
	return a
}

// assignments are the arm's variables, as they stand before a command.
func (a *Arm) assignments() (words []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		words = append(words, name+"="+a.Env[name])
	}
	return words
}

// value is what a setting of any kind has; "" when it is not set.
func (a *Arm) value(setting string) string {
	if name, is := strings.CutPrefix(setting, envPrefix); is {
		return a.Env[name]
	}
	return a.Flags[setting] + a.Clients[setting]
}

func (a *Arm) checkEnv() error {
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
		case strings.HasPrefix(name, ourPrefix):
			return fmt.Errorf("%s would set a flag of our servers behind the plan's back; give the arm the flag itself, like workers=8", name)
		case strings.ContainsAny(a.Env[name], "\x00\n"):
			return fmt.Errorf("%s: a value is one line of text", name)
		}
	}
	return nil
}

// checkURL holds the address of a server that runs already to http://host:port.
func (a *Arm) checkURL() error {
	if a.URL == "" {
		return nil
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || a.URL != "http://"+u.Host {
		return fmt.Errorf("%q is not http://host:port of a server that runs already (no TLS, no path: what is asked there is the scenario's)", a.URL)
	}
	return nil
}

func (a *Arm) checkMetrics() error {
	if a.Metrics == "" {
		return nil
	}
	if a.Mode != "" {
		return errors.New("metrics says where another program shows its own; a mode's are read anyway")
	}
	u, err := url.Parse(a.MetricsURL())
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return fmt.Errorf("metrics %q is not /path on the server itself, :PORT/path beside it, or a URL like http://%s/metrics", a.Metrics, command.AdminMark)
	}
	return nil
}

// MetricsURL is where the arm's own metrics would be read, if what a command of ours
// starts listened at 127.0.0.1; "" when the arm says nowhere.
func (a *Arm) MetricsURL() string {
	if a.Metrics == "" {
		return ""
	}
	addr := "127.0.0.1:1"
	if u, err := url.Parse(a.URL); err == nil && u.Host != "" {
		addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
	}
	return command.MetricsAt(a.Metrics, addr, "127.0.0.1:2")
}
