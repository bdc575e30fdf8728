package main

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"schedlab/internal/record"
	"schedlab/internal/runs"
)

// elsewhere lists the flags that may differ when a pack goes on: where it writes and how long it may
// take, but not what it measures. The seed comes from the record.
var elsewhere = []string{"resume", "total", "output", "progress", "out", "dry-run", "verbose", "wait-idle", "note", "config", "seed"}

// asks returns a short name of what a command line asks: the same for the same scenarios and flags.
func asks(fl *pflag.FlagSet, asked []question) string {
	h := fnv.New32a()
	for _, q := range asked {
		fmt.Fprintf(h, "%s\n%s\n%s\n", q.Name, q.Source, record.CellName(q.Cell))
	}
	fl.Visit(func(f *pflag.Flag) {
		if !slices.Contains(elsewhere, f.Name) && !isOld(f) {
			fmt.Fprintf(h, "--%s=%s\n", f.Name, f.Value)
		}
	})
	return fmt.Sprintf("%08x", h.Sum32())
}

// goOn prepares a pack. A new one gets an identity, which the records of its scenarios carry. With
// --resume it takes identity and seed from the record of one of them, and keeps the results of all that
// ended. It refuses a command that asks something else. Errors are wrong usage.
func (f *compareFlags) goOn(fl *pflag.FlagSet, asked []question) error {
	this := asks(fl, asked)
	switch {
	case f.resume == "" && len(asked) > 1:
		f.Pack = time.Now().UTC().Format("20060102-150405.000") + "-" + this
		return nil
	case f.resume == "":
		return nil
	case len(asked) == 1:
		return usagef("--resume goes on with several scenarios or a grid, and this is one comparison; run it again without --resume")
	}
	_, run, err := record.Open(f.resume, f.out)
	if err != nil {
		return usage(err)
	}
	p := run.Plan
	switch {
	case p.Pack == "":
		return usagef("--resume %s: that run belongs to no grid and to no command of several scenarios", f.resume)
	case !strings.HasSuffix(p.Pack, "-"+this):
		return usagef("--resume %s: that run was started with other scenarios or flags; give the command as it was, with --resume added (--total, --out and --output may differ)", f.resume)
	case fl.Changed("seed") && f.Seed != p.Seed:
		return usagef("--seed %d, and the run to go on with has the seed %d; leave --seed out", f.Seed, p.Seed)
	}
	f.Pack, f.Seed = p.Pack, p.Seed
	all, err := runs.List(f.out, "")
	if err != nil {
		return usage(err)
	}
	for _, r := range all {
		if r.Record.Plan.Pack == f.Pack && r.Record.Status == record.Complete && r.Record.Result != nil {
			f.kept = append(f.kept, r.Record.Result)
		}
	}
	return nil
}

// keptOf returns the result of a scenario or cell that a pack has already, or nil.
func (f *compareFlags) keptOf(scenario string, cell []record.Level) *record.Result {
	i := slices.IndexFunc(f.kept, func(r *record.Result) bool {
		return r.Scenario == scenario && slices.Equal(r.Cell, cell)
	})
	if i < 0 {
		return nil
	}
	return f.kept[i]
}
