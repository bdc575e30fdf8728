package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/experiment"
	"schedlab/internal/mode"
	"schedlab/internal/model"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// bindRun gives a command the flags of all that start servers and load them.
func (f *compareFlags) bindRun(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.addArms, "arm", nil, "one more arm: MODE[,flag=value...], name='[VAR=VALUE...] CMD {addr}' or name=http://HOST:PORT (repeatable)")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "take an arm that runs on another machine")
	fl.Uint64Var(&f.Seed, "seed", 0, "seed of arrivals, demands and order (default random, printed)")
	fl.StringVar(&f.ServerCPUs, "server-cpus", "", "CPUs of the servers, like 0-3 (default the lower half, or as many as the scenario needs)")
	fl.StringVar(&f.LoadCPUs, "load-cpus", "", "CPUs of the load (default the rest)")
	fl.StringVar(&f.Pin, "pin", "auto", "auto pins servers and load to separate CPUs, none leaves both free")
	fl.BoolVar(&f.close, "close", false, "a connection for each request, whatever the scenario says, instead of kept ones")
	fl.StringVar(&f.Note, "note", "", "a remark to keep in the record")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records")
	fl.StringVar(&f.progress, "progress", "auto", "progress on stderr: auto, plain, none")
	complete(cmd, "pin", "auto", "none")
	complete(cmd, "progress", "auto", "plain", "none")
}

// prepare makes the flags ready to plan with: how progress is told, a seed, and what a
// plan must know of this program.
func (f *compareFlags) prepare(cmd *cobra.Command) (*progress, error) {
	show, err := newProgress(cmd.ErrOrStderr(), f.progress)
	if err != nil {
		return nil, err
	}
	f.OnTrouble, f.OnCannot, f.OnDoubt, f.OnLook = show.trouble, show.cannot, show.doubt, show.soFar
	drawSeed(cmd, &f.Seed)
	return show, knowSelf(&f.Options)
}

// drawSeed draws a seed that was not given.
func drawSeed(cmd *cobra.Command, seed *uint64) {
	if !cmd.Flags().Changed("seed") {
		*seed = uint64(rand.Uint32())
	}
}

// knowSelf fills in what a plan must know of this program, and has records signed.
func knowSelf(o *experiment.Options) (err error) {
	if o.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	o.Version, o.Modes = programVersion(), modeFacts()
	o.Sign = func(dir *record.Dir, plan record.Plan) error { return sign(dir, plan) }
	return nil
}

// modeFacts are the modes by name, with a check of an arm's flags.
func modeFacts() map[string]mode.Mode {
	facts := map[string]mode.Mode{}
	for _, m := range model.Modes() {
		m.Check = func(flags map[string]string) error { return checkArm(m.Name, flags) }
		facts[m.Name] = m.Mode
	}
	return facts
}

// checkVary refuses a factor that the command line gives a value as well; what a
// scenario says of it gives way.
func (f *compareFlags) checkVary(fl *pflag.FlagSet) error {
	varied := map[string]bool{}
	for _, text := range f.vary {
		factor, _, _ := strings.Cut(text, "=")
		if factor == "keepalive" && f.close {
			return usagef("--close and --vary %s both say keepalive; drop one", text)
		}
		if varied[factor] {
			return usagef("--vary has %s twice; give all its values in one", factor)
		}
		varied[factor] = true
		if fl.Changed(factor) {
			return usagef("--%s %s and --vary %s both say %s; drop one", factor, fl.Lookup(factor).Value, text, factor)
		}
		for _, given := range slices.Concat(f.addArms, f.arms) {
			if a, err := scenario.ParseArm(given); err == nil && a.Sets(factor) {
				return usagef("arm %q and --vary %s both say %s; drop one", given, text, factor)
			}
		}
	}
	return nil
}
