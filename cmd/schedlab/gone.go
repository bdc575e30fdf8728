package main

import (
	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
)

// goneCommands are commands that the previous release had, and their replacements. For one release, calling one prints
// its replacement; help does not list them.
var goneCommands = []struct{ name, instead string }{
	{"choose", "docs/choosing.md has what the experiments decided, and schedlab compare --workload 'cpu=200us,sleep=exp(10ms)' --rate 2000/s --slo 'p99<=60ms' asks it of your requests"},
	{"map", "schedlab compare SCENARIO --grid cpu=20us,100us --grid rate=500/s,1000/s compares in each cell of a grid"},
}

// newGone makes the commands that only say what replaces them, whatever their arguments.
func newGone() (all []*cobra.Command) {
	for _, c := range goneCommands {
		all = append(all, &cobra.Command{
			Use: c.name, Short: c.name + " is gone: " + c.instead, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return session.Usagef("%s is gone: %s", c.name, c.instead) },
		})
	}
	return all
}
