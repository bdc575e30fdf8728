package main

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/capabilities/size"
	"schedlab/internal/shared/outcome"
)

// sizeFlags describe the load of the pool to be sized. One of held, workload and histogram is the source
// of the time that a request holds its worker; cpu and metric add to one of them. demand reads that source.
//
// margin is a ratio of the rate, 0..1. With cores 0 the advice is for the CPUs that a comparison here gives
// the server.
type sizeFlags struct {
	rate              session.PerSecond
	slo               string
	held, workload    string
	histogram, metric string
	cpu               time.Duration
	cores             int
	margin            float64
	output            string
	verbose           bool
}

// newSize declares the flags of size. The advice needs no server and no load, so the command also
// runs where nothing may be measured.
func newSize() *cobra.Command {
	var f sizeFlags
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Work out how many workers a pool needs; nothing is run",
		Long: `Work out, before any load, how many workers a pool needs, how many requests may
wait for them, what waits and losses to expect, and what comes of it when the
rate, the time held or the workers are 20 % off. Little's law, Erlang's formulas
and Allen-Cunneen's are used where they hold, a replay in an ideal scheduler where
they do not; every figure names what it is from.

What a request asks is one of --held, --workload and --histogram. Give the time
that it holds its worker, database and all, and not the response time: that has the
wait for the worker in it, which is what is to be found.

With --slo the advice is the fewest workers that keep it at the rate and at
--margin more of it. An SLO without an errors term gets errors<=0.1%, because
a server that refuses every request has no slow ones. Without --slo, a table of
workers against waits.

The answer ends with the comparison that tests it: the advised workers keep the
SLO, about 20 % fewer break it. It exits with 3 where the blocks say otherwise.`,
		Example: `  schedlab size --rate 300/s --held 20ms --slo 'p99<=100ms'
  schedlab size --rate 300/s --held p50=4ms,p99=40ms --slo 'p99<=100ms'
  schedlab size --rate 1200/s --workload 'cpu=100us,sleep=exp(15ms)' --slo 'p99<=90ms,errors<=0.01%'
  curl -s localhost:9090/metrics | schedlab size --rate 300/s --histogram - --metric handler_seconds --slo 'p99.9<=1s'`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	f.bind(cmd.Flags())
	must(cmd.MarkFlagFilename("histogram")) // the shell completes file names for it
	inSections(cmd,
		helpSection{"What comes, and how long it takes", "rate held workload cpu histogram metric"},
		helpSection{"What to keep", "slo margin cores"},
		helpSection{theOutput, "output verbose help"},
	)
	return cmd
}

// bind declares the flags about the load and the pool.
func (f *sizeFlags) bind(fl *pflag.FlagSet) {
	fl.Var(&f.rate, "rate", "requests per second that will come, like 300/s, as a Poisson process")
	fl.StringVar(&f.held, "held", "", "time a request holds its worker: its mean, like 20ms (exponential), or two quantiles, like p50=4ms,p99=40ms (lognormal)")
	fl.StringVar(&f.workload, "workload", "", "what a request asks, as scenarios write it: cpu=200us,sleep=exp(10ms)")
	fl.StringVar(&f.histogram, "histogram", "", "file of a Prometheus text exposition with a histogram of times held; - is standard input")
	fl.StringVar(&f.metric, "metric", "", "the histogram's name (default the one that ends in _seconds, except those of the Go runtime, the process and schedlab)")
	fl.DurationVar(&f.cpu, "cpu", 0, "CPU time within the time held, of --held and --histogram; workers share the cores for it")
	fl.StringVar(&f.slo, "slo", "", "what is to be kept: p99<=100ms,errors<=0.1%,mean<=30ms,goodput>=290/s, or any quantile")
	fl.IntVar(&f.cores, "cores", 0, "CPUs of the server (default those a comparison here gives it)")
	fl.Float64Var(&f.margin, "margin", 0.15, "by how much the rate may grow and the SLO still be kept, as a ratio: it allows for what theory leaves out")
	oneOf(fl, &f.output, "output", "text", "text, json or markdown", "text", "json", "markdown")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print how the advice comes about, every wait and every doubt")
	for _, old := range noLonger {
		fl.String(old[0], "", "")
		fl.Lookup(old[0]).NoOptDefVal = map[bool]string{true: "true"}[old[0] == "verify"]
		must(fl.MarkHidden(old[0]))
	}
}

// noLonger lists flags that size had, each with the sentence that replaces it. They are read for one release.
var noLonger = [][2]string{
	{"verify", "run the comparison with which the answer ends"},
	{"mode", "edit the arms of the comparison with which the answer ends"},
	{"budget", "give --budget to the comparison with which the answer ends"},
	{"cpus", "give --cpus to the comparison with which the answer ends"},
	{"server-cpus", "give --cpus to the comparison with which the answer ends"},
	{"pin", "give --cpus to the comparison with which the answer ends"},
	{"load-cpus", "give --cpus to the comparison with which the answer ends"},
	{"out", "give --out to the comparison with which the answer ends"},
	{"progress", "give --progress to the comparison with which the answer ends"},
	{"seed", "give --seed to the comparison with which the answer ends; the advice draws the same requests each time"},
	{"cv", "give two quantiles, --held p50=4ms,p99=40ms, or for times that are always the same --workload sleep=20ms"},
	{"csv", "give two quantiles of its times, --held p50=4ms,p99=40ms, or --histogram"},
	{"column", "give two quantiles of its times, --held p50=4ms,p99=40ms, or --histogram"},
	{"unit", "give two quantiles of its times, --held p50=4ms,p99=40ms, or --histogram"},
}

// run gives the advice. The exit code is 3 where no number of workers will do.
func (f *sizeFlags) run(cmd *cobra.Command, _ []string) error {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	d, err := f.demand(cmd)
	if err != nil {
		return err
	}
	s, err := f.request(d).Run()
	if err != nil {
		return err
	}
	if err := s.Write(cmd.OutOrStdout(), f.output, f.verbose, textOptions(cmd.OutOrStdout())); err != nil {
		return err
	}
	if s.Outcome() == outcome.No {
		return session.Exit(session.NotKept)
	}
	return nil
}

func (f *sizeFlags) request(d size.Demand) session.Size {
	return session.Size{Rate: f.rate.Rate, Demand: d, SLO: f.slo, Margin: f.margin, Cores: f.cores}
}

// check refuses missing and impossible flags. A flag that belongs to another source of the demand is refused, because
// it would say nothing.
func (f *sizeFlags) check(fl *pflag.FlagSet) error {
	for _, old := range noLonger {
		if fl.Changed(old[0]) {
			return session.Usagef("--%s is gone: %s", old[0], old[1])
		}
	}
	sources := given(fl, "held", "workload", "histogram")
	const lowest = 0.01 // requests per second
	switch {
	case f.rate.PerSecond == 0:
		return session.Usagef("--rate is missing; say how many requests come, like --rate 300/s")
	case f.cores < 0 || fl.Changed("cores") && f.cores == 0:
		return session.Usagef("--cores %d; give 1 or more", f.cores)
	case f.rate.PerSecond < lowest:
		return session.Usagef("--rate %s is below %g/s; no pool is needed for that", f.rate, lowest)
	case len(sources) == 0:
		return session.Usagef("nothing says what a request asks; give one of --held 20ms, --workload 'cpu=200us,sleep=exp(10ms)', --histogram FILE")
	case len(sources) > 1:
		return session.Usagef("--%s each say what a request asks; give one of them", strings.Join(sources, " and --"))
	case !(f.margin >= 0 && f.margin <= 1): // so NaN is refused, too
		return session.Usagef("--margin %g is outside 0 to 1; 0.15 is 15 %%", f.margin)
	}
	for _, extra := range []struct{ flag, of string }{{"metric", "--histogram"}, {"cpu", "--held, --histogram"}} {
		if fl.Changed(extra.flag) && !strings.Contains(extra.of, sources[0]) {
			return session.Usagef("--%s belongs to %s; with --%s it says nothing", extra.flag, extra.of, sources[0])
		}
	}
	_, _, err := session.Size{Rate: f.rate.Rate, SLO: f.slo}.Objective()
	return err
}

// demand reads the cost of a request from the one source that was given. Errors are wrong usage and
// name the flag.
func (f *sizeFlags) demand(cmd *cobra.Command) (d size.Demand, err error) {
	source := given(cmd.Flags(), "held", "workload", "histogram")[0] // check has found one
	switch source {
	case "held":
		d, err = size.ParseHeld(f.held, f.cpu)
	case "workload":
		d, err = size.ParseWorkload(f.workload)
	case "histogram":
		d, err = readInput(cmd, f.histogram, func(in io.Reader, name string) (size.Demand, error) {
			return size.ReadHistogram(in, name, f.metric)
		})
		// Samples are CPU time and waiting together; --cpu is the CPU time.
		if err == nil && f.cpu != 0 {
			source, err = "cpu", d.SetCPU(f.cpu)
		}
	}
	if err != nil {
		return d, session.Usagef("--%s: %w", source, err)
	}
	return d, nil
}
