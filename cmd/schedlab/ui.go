package main

import (
	"cmp"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/capabilities/ui"
	"schedlab/internal/serving/model"
	"schedlab/internal/serving/server"
	"schedlab/internal/shared/record"
	"schedlab/loadtests"
)

// newUI makes the command that serves the pages of package ui. Each comparison that a page starts is a process of its
// own: it reads what to do from its standard input (newOrder).
func newUI() *cobra.Command {
	var c ui.Config
	var addr string
	var allowRemote bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Start, watch and read comparisons in a browser",
		Long: `Serve a page on loopback that starts a comparison, shows it while it runs, and stops
it; that lists the runs below --out, opens their reports, and puts two side by side.
A comparison is what 'schedlab compare' runs and records. One runs at a time; others
wait. It prints an address with a token, which lets in one browser, and after that a
new one. Ctrl-C stops the comparison that runs and keeps what it measured.

Leave the page alone while it measures: a browser on the same machine takes CPU time.
On another machine take an ssh tunnel with the same port on both ends:
'ssh -L 8090:127.0.0.1:8090 HOST' (docs/guide/ui.md).`,
		Example: `  schedlab ui
  schedlab ui --addr 127.0.0.1:9000 --out ./runs
  schedlab ui --allow-commands    # arms may also be commands`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkValues(cmd.Flags(), "addr", "out"); err != nil {
				return err
			}
			host, port, err := server.CheckAddress("addr", addr)
			if err != nil {
				return session.Usage(err)
			}
			if !allowRemote {
				host = cmp.Or(host, net.IPv4zero.String()) // every interface
				if err := session.OnLoopback(cmd.Context(), "--addr", "http://"+net.JoinHostPort(host, strconv.Itoa(port))); err != nil {
					return err
				}
			}
			for _, g := range loadtests.Groups() {
				group := ui.Group{Title: g.Title}
				for _, name := range g.Names {
					s, err := session.Find(name)
					if err != nil {
						return err
					}
					group.Scenarios = append(group.Scenarios, ui.Scenario{Name: name, Question: s.Question})
				}
				c.Scenarios = append(c.Scenarios, group)
			}
			for _, m := range model.Modes() {
				c.Modes = append(c.Modes, ui.Mode{Name: m.Name, Summary: m.Summary})
			}
			// The environment sets the flags of compare for the pages' comparisons, too.
			o, err := newCompare().parse(cmd, nil, sources)
			if err != nil {
				return err
			}
			c.Base = *o.Compare
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			ln, err := net.Listen("tcp", addr)
			if err != nil && !cmd.Flags().Changed("addr") {
				ln, err = net.Listen("tcp", "127.0.0.1:0") // the default is taken; any port will do
			}
			if err != nil {
				return err
			}
			c.Program, c.Carry, c.Out = thisProgram(), []string{self(), orderCommand}, cmd.OutOrStdout()
			s, err := ui.New(c, ln)
			if err != nil {
				return err
			}
			return s.Serve(cmd.Context(), ln)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&addr, "addr", "127.0.0.1:8090", "address to listen on (the default: or a free port, if it is taken)")
	fl.StringVar(&c.Root, "out", record.DefaultRoot, "directory of run records")
	fl.BoolVar(&c.AllowCommands, "allow-commands", false, "arms may be commands, addresses of servers that run, and variables of their environment")
	fl.BoolVar(&allowRemote, "allow-remote", false, "listen on an address that is not on loopback; there is no TLS")
	return cmd
}
