package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/experiment"
	"schedlab/internal/record"
)

// adviceFlags are the flags that size and choose share. The comparison that tests an advice runs with
// the flags of compare in it. rate is the rate to advise on, not the Rate of the planner's options.
// cores 0 means as many as a comparison here gives the server.
type adviceFlags struct {
	compareFlags
	rate   perSecond
	cores  int
	slo    string
	verify bool
}

// bind declares the flags that both commands have with the same meaning; each adds the others.
func (f *adviceFlags) bind(fl *pflag.FlagSet) {
	fl.Var(&f.rate, "rate", "requests per second that will come, like 300/s; size takes them as Poisson")
	fl.StringVar(&f.slo, "slo", "", "what is to be kept: p99<=100ms,errors<=0.1%,mean<=30ms,goodput>=290/s, or any quantile")
	fl.IntVar(&f.cores, "cores", 0, "CPUs of the server (default those a comparison here gives it)")
	fl.BoolVar(&f.verify, "verify", false, "run the comparison that tests the advice")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of the predictions, and of --verify's load")
	fl.StringVar(&f.ServerCPUs, "server-cpus", "", "CPUs of --verify's servers, like 0-3 (default the lower half)")
	fl.StringVar(&f.LoadCPUs, "load-cpus", "", "CPUs of --verify's load (default the rest)")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records, for --verify")
	oneOf(fl, &f.output, "output", "text", "text, json or markdown", "text", "json", "markdown")
	oneOf(fl, &f.progress, "progress", "auto", "progress of --verify on stderr: auto, plain, none", progressKinds...)
}

// check refuses flags that both commands have.
func (f *adviceFlags) check(fl *pflag.FlagSet) error {
	return mistakes{
		{f.rate.PerSecond == 0, "--rate is missing; say how many requests come, like --rate 300/s"},
		{f.cores < 0 || fl.Changed("cores") && f.cores == 0, fmt.Sprintf("--cores %d; give 1 or more", f.cores)},
	}.first()
}

// serverCores returns --cores, or else the CPUs that a comparison here gives the server. So an
// advice without --cores is about the servers that --verify would start. An error means that the
// CPUs cannot be dealt out as the flags ask, which is wrong usage.
func (f *adviceFlags) serverCores() (int, error) {
	if f.cores > 0 {
		return f.cores, nil
	}
	n, err := experiment.ServerCPUs(f.Options)
	return n, usage(err)
}

// measure runs a comparison that serves another command, and writes its reports. It prints no
// answer. It returns the record with an error too, if there is one.
func (f *compareFlags) measure(ctx context.Context, c *experiment.Comparison, show *progress) (*record.Dir, record.Run, error) {
	dir, run, err := c.Run(ctx, f.out, show.update)
	show.done()
	if err != nil {
		return dir, run, f.failure(err, dir, run)
	}
	return dir, run, writeReports(dir, run.Result)
}

// stdin names standard input where a flag or argument takes a file.
const stdin = "-"

// readInput calls read with a file, or with standard input for "-". shown is its name in messages.
// The file is closed when read returns. Errors of read come back unchanged; a file that cannot be
// opened and a directory are errors, too.
func readInput(cmd *cobra.Command, name string, read func(in io.Reader, shown string) error) error {
	if name == stdin {
		return read(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	// Reading a directory would fail as well, with a message that few understand.
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return errors.New(name + " is a directory; name a file")
	}
	return read(file, name)
}
