package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/loadtests/recipes"
)

// newModes makes the command that lists the scheduling models, or describes one. All that it prints is in
// the rows of model.Modes and in the help of serve's flags. For an old name it also prints the new one. An unknown mode is
// wrong usage, and the error lists the known ones.
func newModes() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "modes [MODE]",
		Short: "List the scheduling models, and say how one works and when it wins",
		Example: `  schedlab modes
  schedlab modes pool
  schedlab modes --output json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: modeNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			modes := model.Modes()
			if len(args) == 1 {
				name := args[0]
				old, renamed := mode.Old(name)
				if renamed {
					name = old.Mode
				}
				m, err := model.Lookup(name)
				if err != nil {
					return session.Usage(err)
				}
				if renamed {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s is an old name; it is %v now\n", old.Name, old)
				}
				modes = []model.Mode{m}
			}
			switch {
			case output == "json":
				for i, m := range modes {
					modes[i].Flags = append([]string{}, m.Flags...) // a list, where a mode has none, and not null
				}
				return record.WriteJSON(cmd.OutOrStdout(), struct {
					Schema int          `json:"schema"`
					Modes  []model.Mode `json:"modes"`
				}{1, modes})
			case len(args) == 1:
				return writeMode(cmd, modes[0])
			default:
				return writeModes(cmd, modes)
			}
		},
	}
	oneOf(cmd.Flags(), &output, "output", "text", "text or json", "text", "json")
	return cmd
}

// modeNames are the names of all modes, in the order of presentation, for the shell and for help. A
// fresh list for each call.
func modeNames() (names []string) {
	for _, m := range model.Modes() {
		names = append(names, m.Name)
	}
	return names
}

// writeModes prints a table of modes with their places on the axes. The last line points at the
// page of a mode.
func writeModes(cmd *cobra.Command, modes []model.Mode) error {
	rows := [][]string{{"MODE", "STACK", "ACCEPT", "UNIT", "EXECUTOR", "QUEUE", "OVERFLOW", "THREAD", "WHAT IT IS"}}
	for _, m := range modes {
		a := m.Axes
		rows = append(rows, []string{m.Name, a.Stack, a.Accept, a.Unit, a.Executor, a.Queue, a.Overflow, a.Thread, m.Summary})
	}
	return writeTable(cmd, document.Table{Rows: rows, Words: true}, "'schedlab modes MODE' says when it wins and whom it starves.")
}

// writeMode prints all that is known of one mode, with the flags that it has and others do not.
// Flags that every mode has are left out.
func writeMode(cmd *cobra.Command, m model.Mode) error {
	rows := [][]string{{m.Name, m.Summary}, {"axes", fmt.Sprint(m.Axes)}, {"imitates", m.Imitates}, {"wins", m.Wins}, {"starves", m.Starves}}
	if m.Do != "" {
		rows = append(rows, []string{"do", m.Do})
	}
	// The flags' help and defaults come from the declarations of serve.
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.bind(flags)
	for _, name := range m.Flags {
		value, help := pflag.UnquoteUsage(flags.Lookup(name))
		if !strings.Contains(help, "(default ") {
			help += " (default " + flags.Lookup(name).DefValue + ")"
		}
		rows = append(rows, []string{"flag", strings.TrimSpace("--"+name+" "+value) + ": " + help})
	}
	rows = append(rows, []string{"", "and what every mode has: 'schedlab serve --help'"})
	return writeTable(cmd, document.Table{Rows: rows, Words: true})
}

// newRecipe makes the command that prints a mode as one Go file. The files are in
// loadtests/recipes, embedded, and import nothing of schedlab. Not every mode is worth copying:
// recipes.Instead names what to use. An unknown mode is wrong usage.
func newRecipe() *cobra.Command {
	return &cobra.Command{
		Use:   "recipe [MODE]",
		Short: "Print a scheduling model as a Go file to copy into your service",
		Long: `Print a scheduling model as one Go file that needs nothing of schedlab: limits,
timeouts, counters of connections, and a drain when the context ends. For a mode
without a recipe the answer is a sentence: what to use instead, and why. Without
a MODE it lists all modes.

The recipes nethttp and nethttp-gate import the standard library only and take an
http.Handler. All others take a fasthttp.RequestHandler, which
fasthttpadaptor.NewFastHTTPHandler makes of an http.Handler. To bound
an http.Handler without fasthttp take nethttp-gate, a limit on connections.`,
		Example: `  schedlab recipe
  schedlab recipe semaphore > internal/semaphore/recipe.go
  schedlab recipe loop`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: modeNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			if len(args) == 0 {
				return writeRecipes(cmd)
			}
			m, err := model.Lookup(args[0])
			if err != nil {
				return session.Usage(err)
			}
			if source, ok := recipes.Of(m.Name); ok {
				_, err = io.WriteString(w, source)
				return err
			}
			_, err = fmt.Fprintln(w, instead(m.Name))
			return err
		},
	}
}

// instead returns a sentence that names the replacement for a mode without a recipe. Without an
// entry for the mode it points at the source.
func instead(mode string) string {
	return cmp.Or(recipes.Instead[mode], "There is no recipe for "+mode+": its file in internal/serving/model is the code.")
}

// writeRecipes lists all modes, and which have a recipe. The last column is a mode's summary, or
// the sentence that instead returns.
func writeRecipes(cmd *cobra.Command) error {
	rows := [][]string{{"MODE", "RECIPE", "WHAT IT IS, OR WHAT TO USE INSTEAD"}}
	for _, m := range model.Modes() {
		has, what := "yes", m.Summary
		if _, ok := recipes.Of(m.Name); !ok {
			has, what = "no", instead(m.Name)
		}
		rows = append(rows, []string{m.Name, has, what})
	}
	return writeTable(cmd, document.Table{Rows: rows, Words: true})
}
