package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
)

// An oldFlag is one or more flags that another spelling replaces. They are read for one release: on the
// command line, in the environment and in files of flags. Help does not show them, and a line on
// standard error names the new spelling.
//
// of are the commands that had them. The names are without dashes. now returns the values for the flags
// of into; it gets the values that were given, old and new. Without now the command still declares the
// old flag itself, and instead is what replaces it. An old flag excludes its new one, unless joins is set.
type oldFlag struct {
	of, old, into []string
	joins         bool
	now           func(said map[string]string) (map[string]string, error)
	instead       string
}

// oldFlags are the old spellings that this release reads.
var oldFlags = []oldFlag{
	{of: []string{"compare", "gate", "capacity", "doctor"}, old: []string{"server-cpus", "load-cpus", "pin"}, into: []string{"cpus"},
		now: func(said map[string]string) (map[string]string, error) {
			server, load := said["server-cpus"], said["load-cpus"]
			switch pin := said["pin"]; {
			case pin != "" && pin != "auto" && pin != "none":
				return nil, session.Usagef("--pin %q is %w", pin, notAmong{"auto", "none"})
			case pin == "none" && server+load != "":
				return nil, session.Usagef("--pin none leaves no use for --server-cpus and --load-cpus; drop one of them")
			case pin == "none":
				return map[string]string{"cpus": runner.FreeCPUs}, nil
			case server+load == "": // --pin auto
				return nil, nil
			}
			return map[string]string{"cpus": strings.TrimSuffix(server+"/"+load, "/")}, nil
		}},
	{of: []string{"compare", "gate"}, old: []string{"speed"}, into: []string{"log"}, joins: true,
		now: func(said map[string]string) (map[string]string, error) {
			log, speed := said["log"], said["speed"]
			switch _, given, err := session.SplitLog(log); {
			case log == "":
				return nil, session.Usagef("--speed %s is how fast a log is replayed; give --log FILE@%s", speed, speed)
			case err != nil:
				return nil, err
			case given > 0:
				return nil, session.Usagef("--speed %s and --log %s both say how fast the log is replayed; drop --speed", speed, log)
			}
			// Without this check a wrong factor would be taken for a part of the file's name.
			if _, factor, err := session.SplitLog(log + "@" + speed); err != nil || factor == 0 {
				return nil, session.Usagef("--speed %q is not a factor like 10x", speed)
			}
			return map[string]string{"log": log + "@" + speed}, nil
		}},
	{of: []string{"compare"}, old: []string{"protocol"}, into: []string{"window", "budget"}, joins: true,
		now: func(said map[string]string) (map[string]string, error) {
			switch said["protocol"] {
			case "quick":
				return nil, nil
			case "full":
				full := map[string]string{"window": scenario.Full.Window.String(), "budget": strings.TrimSuffix(scenario.Full.Budget.String(), "0s")}
				for flag := range full {
					if said[flag] != "" { // as in --protocol full --window 5s
						delete(full, flag)
					}
				}
				return full, nil
			}
			return nil, session.Usagef("--protocol %q is %w", said["protocol"], notAmong{"quick", "full"})
		}},
	{of: []string{"compare", "capacity"}, old: []string{"verbose"}, instead: "is 'schedlab runs show' now, after the run"},
	{of: []string{"explain"}, old: []string{"profiles"}, instead: "is a flag of compare and gate now"},
}

// oldKey is the annotation of a flag that another spelling replaces.
const oldKey = "old"

// isOld reports whether a flag is read for one release only.
func isOld(f *pflag.Flag) bool { return f.Annotations[oldKey] != nil }

// declareOld gives a command the old spellings of its flags, hidden.
func declareOld(cmd *cobra.Command) {
	fl := cmd.Flags()
	for _, o := range oldFlags {
		if !slices.Contains(o.of, cmd.Name()) {
			continue
		}
		for _, name := range o.old {
			if o.now != nil {
				fl.String(name, "", "")
			}
			must(fl.SetAnnotation(name, oldKey, []string{}))
			must(fl.MarkHidden(name))
		}
	}
}

// takeOld sets the flags that replace the old ones that were given, and tells the user what to write now. Call it after
// command line, environment and files were read: a new flag on the command line then wins over an old one in the
// environment.
func takeOld(cmd *cobra.Command) error {
	for _, o := range oldFlags {
		if !slices.Contains(o.of, cmd.Name()) {
			continue
		}
		if err := o.take(cmd); err != nil {
			return err
		}
	}
	return nil
}

// take does this for one row of the table.
func (o oldFlag) take(cmd *cobra.Command) error {
	fl := cmd.Flags()
	old := given(fl, o.old...)
	if len(old) == 0 {
		return nil
	}
	said, first, typed := map[string]string{}, 0, []string(nil)
	for _, name := range old {
		f := fl.Lookup(name)
		if f.Value.String() == "" {
			return session.Usagef("--%s is empty; give it a value or leave it out", name)
		}
		said[name], first = f.Value.String(), max(first, sourceRank(f))
		typed = append(typed, flagText(name, f.Value))
	}
	var now []string
	if o.now != nil {
		for _, name := range given(fl, o.into...) {
			f := fl.Lookup(name)
			switch rank := sourceRank(f); {
			case !o.joins && rank == first:
				return session.Usagef("--%s and --%s both say it; give --%s alone", old[0], name, name)
			case !o.joins && rank > first:
				return nil
			case o.joins:
				said[name] = f.Value.String()
			}
		}
		values, err := o.now(said)
		if err != nil {
			return err
		}
		for _, name := range o.into {
			value, ok := values[name]
			if !ok {
				continue
			}
			if err := fl.Set(name, value); err != nil {
				return session.Usage(plainly(err))
			}
			// An error about the new flag should name what the user wrote.
			must(fl.SetAnnotation(name, sourceKey, []string{"--" + strings.Join(old, ", --")}))
			now = append(now, "--"+name+" "+value)
		}
	}
	instead := "is written " + strings.Join(now, " ") + " now"
	switch {
	case o.instead != "":
		instead = o.instead
	case len(now) == 0:
		instead = "is the default; leave it out"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: %s %s (the old spelling is read in this release only)\n", sourced(cmd, strings.Join(typed, " ")), instead)
	return nil
}

// flagText is a flag with its value, as on a command line.
func flagText(name string, value pflag.Value) string {
	if value.Type() == "bool" {
		return "--" + name
	}
	return "--" + name + " " + value.String()
}

// sourceRank orders the sources of a flag's value: the command line counts most, then the environment,
// then a file.
func sourceRank(f *pflag.Flag) int {
	source := f.Annotations[sourceKey]
	switch {
	case source == nil:
		return 3
	case strings.HasPrefix(source[0], envPrefix):
		return 2
	}
	return 1
}
