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
	envPrefix   = "env."      // prefix of a setting that is an environment variable
	anyVariable = "NAME"      // stands for any variable in a list of settings
	ourPrefix   = "SCHEDLAB_" // prefix of the variables that set serve flags
)

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kinds returns how many of mode, command and URL the arm has. A valid arm has one.
func (a *Arm) kinds() int {
	n := 0
	for _, has := range []bool{a.Mode != "", len(a.Command) > 0, a.URL != ""} {
		if has {
			n++
		}
	}
	return n
}

// says reports whether the command or its variables contain a mark.
func (a *Arm) says(mark string) bool {
	has := func(w string) bool { return strings.Contains(w, mark) }
	return slices.ContainsFunc(a.Command, has) || slices.ContainsFunc(slices.Collect(maps.Values(a.Env)), has)
}

// setCommand sets command and environment from the words of a command line, which may begin with
// VARIABLE=VALUE.
func (a *Arm) setCommand(words []string) {
	variables, command := command.Variables(words)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		a.set(envPrefix+name, value)
	}
	a.Command = command
}

// CommandArm returns the arm of another program from the words of its recorded command.
func CommandArm(name string, words []string) Arm {
	a := Arm{Name: name}
	a.setCommand(words)
	return a
}

// assignments returns the arm's environment variables as NAME=VALUE, in alphabetical order.
func (a *Arm) assignments() (words []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		words = append(words, name+"="+a.Env[name])
	}
	return words
}

// value returns the value of a setting of any kind, "" when it is not set.
func (a *Arm) value(setting string) string {
	if name, is := strings.CutPrefix(setting, envPrefix); is {
		return a.Env[name]
	}
	return a.Flags[setting] + a.Clients[setting]
}

// checkEnv returns an error for the first environment variable that the arm cannot set.
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

// checkURL returns an error if URL is set and is not of the form http://host:port.
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
		return fmt.Errorf("metrics %q is not /path on the server itself, :PORT/path beside it, or a URL like http://%s/metrics", a.Metrics, command.AdminMark)
	}
	return nil
}

// MetricsURL returns the URL of the arm's metrics, "" if the arm names none. For a command it assumes
// a server at 127.0.0.1, with placeholders for the ports.
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
