package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"schedlab/internal/capabilities/cluster"
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/profiling"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/workload"
)

// conduct is a request that is carried out. o goes to the planner as it is. The fields below it are a comparison's,
// but for builds, which are the arms of a gate.
type conduct struct {
	Program
	Common
	show Observer
	o    runner.Options

	grid    []string
	expect  []expect.Expectation // those of --expect
	keep    stats.SLO            // which each arm is expected to keep; nil for none
	explain bool                 // explain the largest difference at the end
	kept    []*record.Comparison // what the pack that goes on has already
	builds  []scenario.Arm
	every   bool     // every mode is an arm, and they race
	request *Compare // nil for a gate and a search
}

// newConduct completes the options for a plan: where servers run, a seed, this program and its modes, and the observer
// of doubts.
func newConduct(p Program, r Common, show Observer) (*conduct, error) {
	c := &conduct{Program: p, Common: r, show: show}
	c.Out = cmp.Or(r.Out, record.DefaultRoot)
	c.o = p.options()
	c.o.Seed, c.o.Note, c.o.CPUs, c.o.Engine, c.o.Stamps, c.o.Rate = seedOf(r.Seed), r.Note, r.CPUs, r.Engine, r.Stamps, r.Rate
	c.o.Blocks, c.o.Window, c.o.Warmup, c.o.Budget = r.Blocks, r.Window, r.Warmup, r.Budget
	c.o.Observer, c.o.ForImages = show, cluster.RunHelp
	if r.Cluster != "" {
		site, err := cluster.NewSite(r.Cluster, p.Self)
		if err != nil {
			return nil, Usage(err)
		}
		c.o.Site = site
	}
	return c, nil
}

// options are the planner's options about this program, with which records are signed. The arms with a mode are
// servers of this very program, started by its path.
func (p Program) options() runner.Options {
	return runner.Options{Self: p.Self, Version: p.Version, Modes: p.Modes, Sign: true}
}

// seedOf draws a seed if none was given. It has 32 bits, which are short enough to type.
func seedOf(given *uint64) uint64 {
	if given != nil {
		return *given
	}
	return uint64(rand.Uint32())
}

// run looks at the machine and plans all questions. Then it returns the plans of a dry run, runs the pack, or
// runs the one comparison, with the code that its result deserves. Servers elsewhere are refused. In a pack
// a scenario that needs a larger machine is no mistake: it is left out. Alone it is, and so is one that
// cannot answer. Errors name the scenario where there are several.
func (c *conduct) run(ctx context.Context, asked []question, strict bool) (none Answer, err error) {
	machine, all, err := c.planAll(ctx, asked)
	if err != nil {
		return none, err
	}
	alone := len(asked) == 1
	switch {
	case c.Profiles && c.o.Site != nil:
		return none, Usagef("--profiles: profiles are captured on one machine only; leave it out")
	case c.Profiles && !alone:
		return none, Usagef("--profiles is about one run, and these are %d scenarios; name one", len(asked))
	}
	// Asking a name server may take time, so it comes after everything that may be refused at once.
	for _, q := range asked {
		if err := c.stayLocal(ctx, q.Arms); err != nil {
			return none, err
		}
	}
	one := all[0].Planned // all there is, if it is alone
	// Said before the run, because --budget alone does not tell it.
	if c.explain && alone {
		budget, _ := one.Budget()
		c.show.Say(fmt.Sprintf("measuring takes %s at most, and explaining (--explain) about %s more: %s together", lasting(budget), lasting(TestBudget), lasting(budget+TestBudget)))
	}
	if c.Profiles {
		arms := len(one.Planned().Arms) - 1 // without the baseline's copy
		c.show.Say(fmt.Sprintf("capturing profiles (--profiles) takes about %s more, and up to four times as long for arms that use little CPU time, as far as the budget has room",
			lasting(time.Duration(arms)*runner.ProfileTakes)))
	}
	if c.DryRun {
		c.show.Machine(machine.Line)
		return Answer{Plans: c.fitting(all), Total: c.Total}, nil
	}
	// Mistakes were found before this may wait. After the wait the machine is another one.
	waited, err := beforeStart(ctx, c.o, c.WaitIdle, c.show)
	if waited && err == nil {
		machine, all, err = c.planAll(ctx, asked)
	}
	if err != nil {
		return none, err
	}
	c.show.Machine(machine.Line)
	if !alone {
		return c.pack(ctx, all, strict)
	}
	one = all[0].Planned
	// --total may be too short even for one.
	if why := c.late(one, 0); why != nil {
		return none, &Error{Code: NoAnswer, Err: fmt.Errorf("scenario %q is not run: %w", one.Planned().Scenario, why)}
	}
	r, err := c.carryOut(ctx, one)
	if err == nil {
		code, _ := deserved([]report.PackEntry{{Result: r.(*record.Comparison)}}, strict)
		err = Exit(code)
	}
	return Answer{Result: r}, err
}

// planAll looks at the machine and plans all questions.
func (c *conduct) planAll(ctx context.Context, asked []question) (machine Machine, all []runner.Packed, err error) {
	if machine, c.o.Machine, err = seeMachine(ctx, c.o, c.Out); err != nil {
		return machine, nil, err
	}
	// One calibration for all arms and scenarios, or they would differ by its error.
	c.o.Iters = workload.Calibrate()
	all, err = c.plans(asked)
	return machine, all, err
}

// plans plans all questions.
func (c *conduct) plans(asked []question) (all []runner.Packed, err error) {
	if len(asked) == 1 && c.o.Site == nil { // else the line would ask for more than this run, or elsewhere
		c.o.Command = c.Command
	}
	for _, q := range asked {
		p, err := runner.PlanPacked(q.Scenario, c.o)
		if err == nil && len(asked) == 1 {
			if err = p.Lacks; err == nil {
				err = p.Planned.CanAnswer()
			}
		}
		if err != nil {
			return nil, about(q.name, len(asked), err)
		}
		all = append(all, p)
	}
	return all, nil
}

// stayLocal refuses arms with an address on another machine, unless the request allows it.
func (c *conduct) stayLocal(ctx context.Context, arms []scenario.Arm) error {
	if c.AllowRemote || c.o.Site != nil {
		return nil
	}
	return stayLocal(ctx, arms)
}

// carryOut runs one comparison or search and writes its reports. The result is nil if nothing was measured. A run
// that was cut short is still judged, and then fails.
func (c *conduct) carryOut(ctx context.Context, planned *runner.Comparison) (record.Result, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	if c.Profiles {
		// A user who needs the profiles should hear of it before waiting for the run.
		without, err := planned.WithoutProfiles(ctx)
		if err != nil {
			return nil, err
		}
		for _, arm := range without {
			c.show.Say(profiling.Missing(arm) + "; the run goes on without them")
		}
	}
	dir, run, err := planned.Run(ctx, c.Out, c.show.Step)
	c.show.Ended(dir, run)
	// An explanation needs two blocks. It runs before the reports are written, so that they hold
	// it.
	if compared := run.Comparison(); c.explain && err == nil && compared.Valid > 1 {
		// The same as `schedlab explain` without arguments would do now; its servers have just run.
		e := explaining{Program: c.Program, Explain: Explain{Where: c.Where, Budget: TestBudget, RunCommands: true}, seed: c.o.Seed, show: c.show, afterRun: true}
		var x *explain.Explanation
		if x, err = e.explain(ctx, dir, run); x != nil {
			run.Result.Head().Attach(x)
		}
	}
	if c.Profiles && err == nil {
		var kept *profiling.Profiles
		budget, _ := planned.Budget()
		seconds := runner.CPUSeconds(run.Comparison(), budget-time.Since(run.Started))
		if kept, err = profileArms(ctx, c.Program, planned, dir, run.Plan, seconds, c.show); kept != nil {
			run.Result.Head().Attach(kept)
		}
	}
	err = finish(dir, run, err)
	if run.Trials == 0 && err != nil {
		return nil, err
	}
	return run.Result, errors.Join(err, c.keepAsked(dir, c.Scenarios))
}

// measure runs a comparison that serves another request, and writes its reports. It returns the record with an error
// too, if there is one.
func measure(ctx context.Context, p Program, planned *runner.Comparison, out string, show Observer) (*record.Dir, record.Run, error) {
	if err := p.begin(ctx); err != nil {
		return nil, record.Run{}, err
	}
	dir, run, err := planned.Run(ctx, out, show.Step)
	show.Ended(dir, run)
	return dir, run, finish(dir, run, err)
}

// finish writes the reports of a run, also of one that was cut short. It returns the run's error with
// its code and the place of the record. A record without a measurement is removed. A run that began
// and turned out to be impossible, as by a rate that an arm cannot serve, has no answer.
// Without a record (dir is nil) nothing was begun, and the error is returned as it is.
func finish(dir *record.Dir, run record.Run, err error) error {
	if run.Result != nil && (run.Trials > 0 || err == nil) { // a search may have its answer from probes
		err = errors.Join(err, writeReports(dir, run.Result))
	}
	if dir == nil || err == nil {
		return err
	}
	refused, impossible := errors.AsType[*runner.Impossible](err)
	_, lost := errors.AsType[*cluster.LostError](err)
	kept := "what was measured is kept in " + dir.Path()
	// Probes alone are worth keeping: they tell why a plan was impossible.
	if run.Trials <= 0 && len(run.XMax) == 0 && dir.Discard() == nil {
		kept = "nothing was measured"
	}
	switch {
	// Ctrl-C is no failure, but the user should know that the record is kept.
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return &Error{Code: Interrupted, Err: fmt.Errorf("%w; %s", err, kept)}
	case impossible && refused.Usage:
		return Usage(err)
	case impossible:
		return &Error{Code: NoAnswer, Err: err}
	case lost:
		return &Error{Code: NoAnswer, Err: fmt.Errorf("%w; %s", err, kept)}
	}
	return fmt.Errorf("%w; %s", err, kept)
}

// ReportPage is the page of a run in its record.
const ReportPage = "report.html"

// writeReports writes the files for people into the record, report.html and report.md, and the one that its kind of result has
// besides.
func writeReports(dir *record.Dir, r record.Result) error {
	file, write := report.Beside(r)
	// A file that cannot be written does not keep the others from being written.
	return errors.Join(
		dir.WriteFile(ReportPage, func(w io.Writer) error { return report.HTML(w, r) }),
		dir.WriteFile("report.md", func(w io.Writer) error { return report.Markdown(w, r) }),
		dir.WriteFile(file, write),
	)
}
