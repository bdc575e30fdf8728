package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"schedlab/internal/experiment"
	"schedlab/internal/load/null"
)

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "schedlab",
		Short: "Which goroutine scheduling model should serve this workload?",
		Long: `schedlab compares the ways in which HTTP requests meet goroutines: net/http's
goroutine per connection, fixed worker pools behind a queue, fasthttp's elastic
pool. It runs each as a real server, drives it with open-loop load, and says
which wins, by how much, and how sure that is.

Every flag can also be set in the environment: --queue-depth is
SCHEDLAB_QUEUE_DEPTH. serve, compare, gate, capacity, map, attack and report take flags
from a YAML file as well, --config FILE, with lines like 'queue-depth: 64'. The
command line wins over the environment, and that over the file.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 an expectation was not met,
a machine is unfit or audited figures are impossible, 4 nothing could be judged
(compare: every verdict on p50, p90 and p99 was REFUSED, goodput differed nowhere
and no expectation decided), 130 interrupted.`,
		Example: `  schedlab compare
  schedlab serve --mode pool --workers 8
  schedlab attack plaintext --target http://127.0.0.1:8080 --rate 2000/s`,
		Version:           programVersion(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: settle,
	}
	root.SuggestionsMinimumDistance = 2 // edits
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if _, listed := errors.AsType[notAmong](err); listed {
			return usage(plainly(err))
		}
		return usagef("%w; see %s --help", plainly(err), cmd.CommandPath())
	})
	configured := []*cobra.Command{newCompare(), newGate(), newCapacity(), newMap(), newServe(), newAttack(), newReport()}
	for _, cmd := range configured {
		addConfig(cmd)
	}
	root.AddCommand(configured...)
	root.AddCommand(newAudit(), newExplain(), newDoctor(), newSize(), newChoose(), newHistory(), newModes(), newRecipe(), newScenarios(), newMan(), newVersion(), newNullServer())
	addHelp(root)
	for _, cmd := range root.Commands() {
		refuse(cmd)
		completeChoices(cmd)
		for _, sub := range cmd.Commands() {
			refuse(sub)
		}
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			meant := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				meant = fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
			}
			return usagef("unknown command %q%s; see schedlab --help", args[0], meant)
		}
		return cmd.Help()
	}
	root.Args = cobra.ArbitraryArgs
	return root
}

// addHelp adds cobra's own commands, and makes them refuse unknown topics.
func addHelp(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Args = func(_ *cobra.Command, topic []string) error {
				if _, left, err := root.Find(topic); err != nil || len(left) > 0 {
					return fmt.Errorf("unknown command %q; see schedlab --help", strings.Join(topic, " "))
				}
				return nil
			}
		}
	}
}

// refuse gives a command's errors about arguments the exit code of wrong usage.
func refuse(cmd *cobra.Command) {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, got []string) error {
		if args == nil {
			return nil
		}
		return usage(args(cmd, got))
	}
}

// version and revision are set by make build. Without it they come from the build information, which
// go build leaves out in a git worktree or without git.
var version, revision = "", ""

func programVersion() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}

// programRevision is the commit the program was built from.
func programRevision() string {
	if revision != "" {
		return revision
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built with",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "schedlab %s %s %s\n", programVersion(), programRevision(), runtime.Version())
			return err
		},
	}
}

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a directory",
		Example: `  schedlab man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("writing manual pages: %w", err)
			}
			header := &doc.GenManHeader{Title: "SCHEDLAB", Section: "1", Source: "schedlab " + programVersion()}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fmt.Errorf("writing manual pages: %w", err)
			}
			return nil
		},
	}
}

// newNullServer makes the command by which the load measures itself. People do not call it.
func newNullServer() *cobra.Command {
	var addr string
	var service time.Duration
	var stations int
	cmd := &cobra.Command{
		Use:    experiment.NullServer,
		Short:  "Serve the same short reply to everything, for the load's own floor",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ln, err := net.Listen("tcp4", addr)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "{\"addr\":%q}\n", ln.Addr()) // for tools/peers
			return null.Serve(cmd.Context(), ln.(*net.TCPListener), service, stations)
		},
	}
	cmd.Flags().DurationVar(&service, "service", 0, "how long a request takes")
	cmd.Flags().IntVar(&stations, "stations", 0, "how many requests are served at a time (0: any number)")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on")
	return cmd
}
