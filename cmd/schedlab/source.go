package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sourceKey is where a flag keeps what gave it its value, if that was not the
// command line.
const sourceKey = "source"

func from(f *pflag.Flag, source string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[sourceKey] = []string{source}
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// sourced adds to an error's text where the flags it names have their values from:
// a reader who did not write --workers will not find it on the command line.
func sourced(cmd *cobra.Command, text string) string {
	said := map[string]bool{}
	return flagName.ReplaceAllStringFunc(text, func(name string) string {
		f := cmd.Flags().Lookup(name[2:])
		if f == nil || said[name] || f.Annotations[sourceKey] == nil {
			return name
		}
		said[name] = true
		return fmt.Sprintf("%s (from %s)", name, f.Annotations[sourceKey][0])
	})
}

// kinds are what a flag of a type takes, for people.
var kinds = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a time like 10s or 250ms",
}

// plainly says in a user's words what a flag makes of a bad value, where the
// flag's type does not.
func plainly(err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	name, value := bad.GetFlag().Name, bad.GetValue()
	kind, known := kinds[bad.GetFlag().Value.Type()]
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s %s is too large a number", name, value)
	case known:
		return fmt.Errorf("--%s %q is not %s", name, value, kind)
	}
	return err
}
