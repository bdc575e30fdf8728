package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/scenario"
)

// complete offers fixed values for a flag in the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a bug here
	}
}

// completeFactors offers the factors that a flag varies, to be followed by values.
func completeFactors(cmd *cobra.Command, flag string) {
	var names []string
	for _, factor := range scenario.VaryFactors() {
		names = append(names, factor+"=")
	}
	fixed := cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed); err != nil {
		panic(err) // as in complete
	}
}

// recorded are the names of the records below root, the newest link included.
func recorded(root string) (names []string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // nothing to offer
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(root, e.Name()))
		if err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
