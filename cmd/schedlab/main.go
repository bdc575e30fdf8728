// Command schedlab runs HTTP servers side by side under the same load, and says
// which is faster, by how much, and how sure that is.
//
//	schedlab compare              compare net/http, a worker pool and fasthttp, in a minute
//	schedlab serve --mode pool    run one model as a real HTTP service
//	schedlab attack --target URL  drive open-loop load at any server
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/load/null"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/selfsigned"
)

// exitCodes are the exit codes of every command, for users. Help has them, and docs/reference/glossary.md.
var exitCodes = []struct {
	code  int
	means string
}{
	{session.Done, "done; an answer is good: gate fine, expectations kept, machine fit, figures possible"},
	{session.Failed, "something failed, as a server that died; what was measured is kept"},
	{session.Mistake, "the call or a file has a mistake; the message says what to change"},
	{session.NotKept, "the answer is bad: gate worse, an expectation not kept, machine unfit, figures impossible"},
	{session.NoAnswer, "no answer: open or refused; the text says why"},
	{session.Interrupted, "interrupted; what was measured is kept"},
}

// main ends the program's context at the first SIGINT, SIGTERM or SIGHUP, so that servers drain and
// records are finished, and the process at the second. The channel has room for both, as
// signal.Notify never waits. A program that was started to ignore SIGHUP (nohup) still does.
//
// A command is a function newNAME, mostly in a file of its name, that declares its flags into a
// struct, puts them into sections of its help, and returns the *cobra.Command; a method run does the
// work. A command that measures makes a request of its flags, which package session carries out (measure.go). newRoot, below,
// puts the commands together. Files without a command are shared: flags.go and settings.go (flags, and their
// values from the environment and a file), progress.go, plans.go.
func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		// The first signal ends everything in its own time, the second at once.
		cancel(session.ErrInterrupted)
		<-signals
		os.Exit(session.Interrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// A job is one run of a command, and tells whether the command has begun what an interrupt must not
// leave half done.
type job struct {
	mu    sync.Mutex
	begun bool
	over  bool // it may not begin any more
}

type jobKey struct{}

// begin notes that the command of ctx begins work that it ends in its own time when ctx ends: it
// starts servers, sends load, or writes a record. Every command with such work calls begin before
// it. Until then an interrupt ends the command wherever it is, as it does while the command reads its
// input. An error is that ctx has ended.
func begin(ctx context.Context) error {
	j, ok := ctx.Value(jobKey{}).(*job)
	if !ok {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return context.Cause(ctx)
	}
	j.begun = true
	return nil
}

// idle reports whether the command has begun no such work. It then cannot begin any more.
func (j *job) idle() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = !j.begun
	return j.over
}

// patience is how long an interrupted command may take to end if it has not begun its work.
const patience = 100 * time.Millisecond

// run is the program without the process around it: args are without the program's name, and the
// result is the exit code. Tests call it. The command that it returns from may still wait for its
// input, if ctx has ended meanwhile.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	j := new(job)
	ended := make(chan int, 1)
	go func() { ended <- execute(context.WithValue(ctx, jobKey{}, j), args, stdout, stderr) }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	if !j.idle() {
		return <-ended
	}
	select {
	case code := <-ended:
		if code != session.Done { // an error that the interrupt made
			code = session.Interrupted
		}
		return code
	case <-time.After(patience):
		fmt.Fprintln(stderr, "schedlab: interrupted")
		return session.Interrupted
	}
}

// execute runs the command that args name, tells its error, and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	begun := false
	// Runs before every command, to give flags their values from the environment and a file. cobra
	// refuses wrong arguments before that.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		return settle(cmd)
	}
	cmd, err := root.ExecuteContextC(ctx)
	_, impossible := errors.AsType[*runner.Impossible](err)
	_, coded := errors.AsType[*session.Error](err)
	switch {
	case err == nil:
		return session.Done
	case !coded && (!begun || impossible):
		err = session.Usage(err)
	}
	return tell(cmd, err, stderr)
}

// tell prints an error, unless the command has said everything, and returns its exit code. Errors are
// printed here and nowhere else, in plain text: Harmless takes control characters out of names that
// come from files. An error without a code is a failure.
func tell(cmd *cobra.Command, err error, stderr io.Writer) int {
	exit, coded := errors.AsType[*session.Error](err)
	if !coded {
		exit = &session.Error{Code: session.Failed, Err: err}
	}
	if exit.Err != nil {
		for line := range strings.SplitSeq(document.Harmless(sourced(cmd, err.Error())), "\n") { // joined errors are a line each
			fmt.Fprintf(stderr, "schedlab: %s\n", line)
		}
	}
	return exit.Code
}

// newRoot puts the commands together. Commands print results on stdout, and progress and warnings
// on stderr.
//
// cobra prints neither errors nor help about wrong usage; run does. Flags, arguments and completions
// are declared by the commands themselves; here they only get the same treatment: --config for some,
// and shell completion of every choice.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	v, _ := program()
	root := &cobra.Command{
		Use:   "schedlab",
		Short: "Which way of serving requests is faster, by how much, and how sure is that?",
		Long: `schedlab runs HTTP servers side by side under the same load, and says which is faster, by how
much, and how sure that is. The servers are its own, one for each way in which a Go program can
hand requests to goroutines, or yours: any server that has a command or an address.`,
		Example: `  schedlab compare
  schedlab gate --old './old -listen {addr}' --new './new -listen {addr}'
  schedlab serve --mode pool --workers 8`,
		Version:       v,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	// The message about a wrong word lists the right words; about any other mistake it points to the help.
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if _, listed := errors.AsType[notAmong](err); listed {
			return session.Usage(plainly(err))
		}
		if bad, ok := errors.AsType[*pflag.NotExistError](err); ok {
			return session.Usagef("%w%s", err, noFlag(cmd, bad))
		}
		return session.Usagef("%w; see %s --help", plainly(err), cmd.CommandPath())
	})
	group(root, "Answer a question", newCompare().command(), newGate().command(), newCapacity().command(), newSize(), newExplain(), newDoctor(), newAudit())
	group(root, "Serve and load", newServe(), newAttack(), newCluster())
	group(root, "Look", newRuns(), newUI(), newModes(), newScenarios(), newRecipe())
	about := group(root, "About", newVersion(), newMan())
	root.SetCompletionCommandGroupID(about)
	root.SetHelpCommandGroupID(about)
	// No group has them, so help does not list them.
	root.AddCommand(newReport(), oldName(newRuns(), "history", "runs"), newNullServer(), newOrder())
	root.AddCommand(newGone()...)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), helpText(cmd, helpWidth(cmd.OutOrStdout())))
	})
	// After all commands are there, since help lists them.
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeChoices(root)
	for _, cmd := range root.Commands() {
		declareOld(cmd)
		// For unknown topics of cobra's own commands cobra itself reports success.
		switch cmd.Name() {
		case "completion":
			cmd.Short = "Print the script by which your shell completes commands and flags"
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.Annotations = map[string]string{onlyHelps: "yes"}
		case "help":
			cmd.Short = "Say what a command does, with examples and flags"
			cmd.Args = func(_ *cobra.Command, topic []string) error {
				if found, left, err := root.Find(topic); err != nil || len(left) > 0 {
					return fmt.Errorf("unknown command %q%s; see schedlab --help", strings.Join(topic, " "), prose.DidYouMean(topic[len(topic)-1], shownCommands(found)))
				}
				return nil
			}
		}
	}
	// A word that is no command comes here as an argument.
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	// Or cobra would refuse the word itself, without our message.
	root.Args = cobra.ArbitraryArgs
	return root
}

// group adds commands to root below a title of its help. It returns the group's ID.
func group(root *cobra.Command, title string, commands ...*cobra.Command) string {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
	return title
}

// version and revision are set by make build. Without it they come from the build information,
// which go build leaves out in a git worktree or without git. Records keep the version.
var version, revision = "", ""

// program returns the version that records, reports and manual pages show, "(devel)" if none is
// known, and the commit the program was built from, "unknown" if there is no trace of it.
func program() (v, commit string) {
	v, commit = version, revision
	if b, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, b.Main.Version)
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				commit = cmp.Or(commit, s.Value)
			}
		}
	}
	return cmp.Or(v, "(devel)"), cmp.Or(commit, "unknown")
}

// newVersion makes the command that prints version, revision and Go version on one line. --version
// prints the version alone.
func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built with",
		Example: `  schedlab version
  schedlab version --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, commit := program()
			if output == "json" {
				return record.WriteJSON(cmd.OutOrStdout(), struct {
					Schema   int    `json:"schema"`
					Version  string `json:"version"`
					Revision string `json:"revision"`
					Go       string `json:"go"`
					OS       string `json:"os"`
					Arch     string `json:"arch"`
				}{1, v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "schedlab %s %s %s\n", v, commit, runtime.Version())
			return err
		},
	}
	oneOf(cmd.Flags(), &output, "output", "text", "text or json", "text", "json")
	return cmd
}

// newNullServer makes the command by which the load measures itself: a server that does nothing, or
// takes a known time. People do not call it: package runner starts it by the name NullServer. It prints
// its address as JSON on stderr before it serves, for a caller that asked for port 0.
func newNullServer() *cobra.Command {
	var addr string
	var service time.Duration
	var stations int
	var secure, http2 bool
	cmd := &cobra.Command{
		Use:    runner.NullServer,
		Short:  "Serve the same short reply to everything, for the load's own floor",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			var own *tls.Certificate
			if secure {
				made, err := selfsigned.Certificate(-time.Hour, 24*time.Hour)
				if err != nil {
					return fmt.Errorf("making a certificate: %w", err)
				}
				own = &made
			}
			ln, err := net.Listen("tcp4", addr)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "{\"addr\":%q}\n", ln.Addr()) // for tools/peers
			if own != nil || http2 {
				return null.ServeSpoken(cmd.Context(), ln, own, http2)
			}
			return null.Serve(cmd.Context(), ln.(*net.TCPListener), service, stations)
		},
	}
	cmd.Flags().DurationVar(&service, "service", 0, "how long a request takes")
	cmd.Flags().IntVar(&stations, "stations", 0, "how many requests are served at a time (0: any number)")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on")
	cmd.Flags().BoolVar(&secure, "tls", false, "speak TLS, with a certificate that it makes")
	cmd.Flags().BoolVar(&http2, "http2", false, "speak HTTP/2")
	return cmd
}
