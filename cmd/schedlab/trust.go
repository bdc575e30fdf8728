package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// runCommandsHelp is the help of --run-commands, which explain and map have.
const runCommandsHelp = "run what the record of somebody else names beside schedlab's own servers: commands, addresses, environment variables"

// mayRun refuses what a scenario from a record would run or ask: servers on other machines, and in
// a record that is not the user's own, unless --run-commands allows it, other programs, servers
// that run already, and variables of a server's environment. Servers of this very program with its
// flags do no harm.
//
// A record may come from anybody, and explain and map --resume start the commands in it. It counts as
// the user's own if this user signed plan, the plan that the record has now: an edit breaks the
// signature. Errors are wrong usage; the one about foreign programs lists them.
func (f *compareFlags) mayRun(ctx context.Context, dir *record.Dir, plan any, s scenario.Scenario) error {
	arms := s.Contestants()
	if err := f.stayLocal(ctx, arms); err != nil {
		return err
	}
	var foreign []string
	for _, a := range arms {
		// An environment variable can make a Go program do much, so it counts as foreign even with
		// a mode.
		if a.Mode == "" || len(a.Env) > 0 {
			foreign = append(foreign, "  "+a.Name+": "+command.Join(a.Argv(f.Self, 1, record.StampsOff)))
		}
	}
	if len(foreign) == 0 || f.runCommands || dir.Signed(plan) {
		return nil
	}
	return usagef("%s was not recorded by you on this machine, and these are not schedlab's own servers:\n%s\nif you trust them, say --run-commands, which starts the commands and sends load to the addresses",
		dir.Path(), strings.Join(foreign, "\n"))
}

// signedMap returns the part of a map's plan that a resumed map keeps: all but the budget. A map is
// signed when it begins, and the budget changes with each session.
func signedMap(p record.MapPlan) record.MapPlan {
	p.Budget = 0
	return p
}

// onLoopback refuses to send load to other machines by mistake. what names the flag or arm that has
// the address. Every address that the host name stands for must be on loopback. Errors are wrong
// usage.
func onLoopback(ctx context.Context, what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	if u.Scheme != "http" || u.Host == "" {
		return usagef("%s %q is not a URL like http://127.0.0.1:8080/plaintext (no TLS)", what, address)
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return usagef("%s %q is not on loopback (%s); if the server and the network are yours, say --allow-remote", what, address, a.IP)
		}
	}
	return nil
}

// stayLocal refuses arms with an address on another machine, their own or of their metrics, unless
// the command line allows it with --allow-remote.
func (f *compareFlags) stayLocal(ctx context.Context, arms []scenario.Arm) error {
	if f.allowRemote {
		return nil
	}
	for _, a := range arms {
		for _, address := range []string{a.URL, a.MetricsURL()} {
			if address == "" {
				continue
			}
			if err := onLoopback(ctx, fmt.Sprintf("arm %q:", a.Name), address); err != nil {
				return err
			}
		}
	}
	return nil
}
