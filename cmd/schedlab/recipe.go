package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"schedlab/internal/model"
	"schedlab/loadtests/recipes"
)

// newRecipe makes the command that prints a mode as one Go file. The files are in
// loadtests/recipes, embedded, and import nothing of schedlab. Not every mode is worth copying:
// recipes.Instead names what to use. An unknown mode is wrong usage.
func newRecipe() *cobra.Command {
	return &cobra.Command{
		Use:   "recipe [MODE]",
		Short: "Print a scheduling model as a Go file to copy",
		Long: `Print a scheduling model as one Go file that needs nothing of schedlab: limits,
timeouts, counters of connections, and a drain when the context ends. For a mode
without a recipe the answer is a sentence: what to use instead, and why. Without
a MODE it lists all modes.

The recipes nethttp and nethttp-gate import the standard library only and take an
http.Handler. All others import github.com/valyala/fasthttp as well and take a
fasthttp.RequestHandler; fasthttpadaptor.NewFastHTTPHandler
(github.com/valyala/fasthttp/fasthttpadaptor) makes one of an http.Handler. To bound
an http.Handler without fasthttp take nethttp-gate, a limit on connections.`,
		Example: `  schedlab recipe
  schedlab recipe semaphore > internal/semaphore/recipe.go
  schedlab recipe loop`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return modeNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// Three answers: the list, a file, or a sentence.
			w := cmd.OutOrStdout()
			if len(args) == 0 {
				return writeRecipes(w)
			}
			m, err := model.Lookup(args[0])
			if err != nil {
				return usage(err)
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
	return cmp.Or(recipes.Instead[mode], "There is no recipe for "+mode+": its file in internal/model is the code.")
}

// writeRecipes lists all modes, and which have a recipe. The last column is a mode's summary, or
// the sentence that instead returns.
func writeRecipes(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "MODE\tRECIPE\tWHAT IT IS, OR WHAT TO USE INSTEAD")
	for _, m := range model.Modes() {
		if _, ok := recipes.Of(m.Name); ok {
			fmt.Fprintf(tw, "%s\tyes\t%s\n", m.Name, m.Summary)
		} else {
			fmt.Fprintf(tw, "%s\tno\t%s\n", m.Name, instead(m.Name))
		}
	}
	return tw.Flush()
}

// recipeLine returns the command that prints a mode's recipe, "" if it has none. choose ends with
// it. An answer without a recipe simply has no such line.
func recipeLine(mode string) string {
	if _, ok := recipes.Of(mode); !ok {
		return ""
	}
	return "schedlab recipe " + mode
}
