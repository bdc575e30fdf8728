package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settle gives every flag that is not on the command line its value from the
// environment, or else from the file of --config.
func settle(cmd *cobra.Command, _ []string) error {
	warnOfStrays(cmd)
	if err := fromEnvironment(cmd); err != nil {
		return err
	}
	file := cmd.Flags().Lookup(configFlag)
	if file == nil || file.Value.String() == "" {
		return nil
	}
	return fromFile(cmd, file.Value.String())
}

const envPrefix = "SCHEDLAB_"

// variable is the environment variable of a flag.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(cmd *cobra.Command) (bad error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || f.Hidden || bad != nil {
			return
		}
		from(f, name)
		bad = usage(plainly(cmd.Flags().Set(f.Name, value)))
	})
	return bad
}

// warnOfStrays names the variables that no command would take, which are most
// likely misspelt.
func warnOfStrays(cmd *cobra.Command) {
	var known []string
	for flag := range flagOwners(cmd.Root()) {
		known = append(known, variable(flag))
	}
	var strays []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			strays = append(strays, name)
		}
	}
	slices.Sort(strays)
	for _, name := range strays {
		fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: warning: %s is ignored, it is no flag's variable; the nearest is %s\n", name, closest(name, known))
	}
}

// flagOwners maps every flag to the commands that have it.
func flagOwners(root *cobra.Command) map[string][]string {
	owners := map[string][]string{}
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				owners[f.Name] = append(owners[f.Name], cmd.Name())
			}
		})
	}
	return owners
}

// bare is the environment without this program's variables.
func bare() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, envPrefix) })
}

// closest is the name that takes the fewest changes of a letter to get to from s,
// the first in the alphabet among equals.
func closest(s string, names []string) string {
	names = slices.Sorted(slices.Values(names))
	return slices.MinFunc(names, func(a, b string) int { return distance(s, a) - distance(s, b) })
}

// distance is how many letters must be put in, taken out or replaced to get from a
// to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the table: from a's beginning so far to each of b's
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
