package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capabilities/runs"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
)

// pack runs scenarios one after the other, each with its own record. After an interrupt the records are kept. A
// scenario that fails does not end the pack: its error comes at the end.
func (c *conduct) pack(ctx context.Context, all []runner.Packed, strict bool) (a Answer, err error) {
	var failed error
	began := time.Now()
	// A pack may take hours, so each result is reported at once.
	for _, s := range all {
		e, err := c.entry(ctx, s, time.Since(began))
		a.Entries = append(a.Entries, e)
		if err := c.show.Entry(e); err != nil {
			return a, err
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(c.grid) > 0 {
		var err error
		a.Page, err = c.writeGrid(a.Entries)
		failed = errors.Join(failed, err)
	}
	if ctx.Err() == nil {
		return a, packOutcome(a.Entries, failed, strict)
	}
	// The user ended it: answers so far set no code.
	if failed == nil {
		failed = ErrInterrupted // between two scenarios
	}
	if i := slices.IndexFunc(a.Entries, func(e report.PackEntry) bool { return e.Result != nil }); i >= 0 {
		failed = fmt.Errorf("%w; the same command with --resume %s goes on", failed, cmdline.Quote(a.Entries[i].Result.Run))
	}
	return a, &Error{Code: Interrupted, Err: failed}
}

// packOutcome is the error a pack deserves. An interrupt counts most, then a failed expectation,
// then an error of a scenario, and last the code of its results.
func packOutcome(entries []report.PackEntry, failed error, strict bool) error {
	// The user ended it: answers so far set no code.
	if bad, ok := errors.AsType[*Error](failed); ok && bad.Code == Interrupted {
		return bad
	}
	code, broken := deserved(entries, strict)
	switch {
	// The message has the errors of other scenarios as well.
	case code == NotKept:
		return &Error{Code: code, Err: errors.Join(fmt.Errorf("%s not kept", prose.Plural(broken, "expectation")), failed)}
	case failed != nil:
		return failed
	}
	return Exit(code)
}

// writeGrid writes the page of a grid beside the records of its cells, and returns its path. A grid that goes on with --resume
// writes the same page again.
func (c *conduct) writeGrid(entries []report.PackEntry) (path string, err error) {
	path = filepath.Join(c.Out, "grid-"+c.o.Pack+".html")
	var page bytes.Buffer
	if err = report.GridPage(&page, entries); err == nil {
		err = os.WriteFile(path, page.Bytes(), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("writing the grid's page: %w", err)
	}
	return path, nil
}

// scenariosOf returns the scenario to ask for again; for a cell of a grid the scenario of the whole grid.
func (c *conduct) scenariosOf(s runner.Packed) []string {
	if s.Scenario.Cell != nil {
		return c.Scenarios
	}
	return []string{s.Scenario.Name}
}

// late returns an error if a comparison does not fit into --total after the time gone. The error tells the
// time that is left.
func (c *conduct) late(planned *runner.Comparison, gone time.Duration) error {
	need := planned.Planned().Estimate.Duration
	if c.Total <= 0 || gone+need <= c.Total {
		return nil
	}
	return fmt.Errorf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), c.Total, max(0, c.Total-gone).Round(time.Second))
}

// fitting returns the plans with the reason of each scenario that would not run, if each of the others takes as long
// as planned: planned times stand for times that are not known yet.
func (c *conduct) fitting(all []runner.Packed) (plans []Plan) {
	total := time.Duration(0)
	for _, s := range all {
		p := Plan{Packed: s, NotRun: s.Lacks}
		if p.NotRun == nil {
			p.NotRun = c.late(s.Planned, total)
		}
		if p.NotRun == nil {
			total += s.Planned.Planned().Estimate.Duration
		}
		plans = append(plans, p)
	}
	return plans
}

// entry runs one scenario of a pack that has lasted for the time gone, writes its files and returns its
// row of the report. An error makes the whole pack fail in the end. A scenario that turned out to be
// impossible is no error but a row without a result. The reports of a run that was cut short are written, too.
func (c *conduct) entry(ctx context.Context, s runner.Packed, gone time.Duration) (e report.PackEntry, err error) {
	e = report.PackEntry{Scenario: s.Scenario.Name, Cell: s.Scenario.Cell, Question: s.Scenario.Question, Expect: s.Scenario.Assertions()}
	if e.Result = c.keptOf(s.Scenario.Name, s.Scenario.Cell); e.Result != nil {
		return e, nil
	}
	// A machine too small, or no room in --total: told, and no error.
	notRun := s.Lacks
	if notRun == nil {
		notRun = c.late(s.Planned, gone)
	}
	if notRun != nil {
		e.NotRun = notRun.Error()
		return e, nil
	}
	planned := s.Planned
	if c.Total > 0 {
		planned = planned.Within(c.Total - gone)
	}
	dir, run, err := measure(ctx, c.Program, planned, c.Out, c.show)
	if run.Trials > 0 {
		e.Result = run.Comparison()
		err = errors.Join(err, c.keepAsked(dir, c.scenariosOf(s)))
	}
	if err != nil && e.Result == nil {
		e.NotRun = err.Error()
	}
	// An impossible scenario does not stop the pack; its entry has the reason.
	if _, impossible := errors.AsType[*runner.Impossible](err); impossible {
		err = nil
	}
	return e, err
}

// identity returns a short name of what a request asks of its scenarios: the same for the same scenarios and requests.
// A pack that goes on may write elsewhere and have another limit of time, but it measures the same. The seed comes
// from the record.
func (r Compare) identity(asked []question) (string, error) {
	r.Scenarios, r.Resume, r.Total, r.Out, r.DryRun, r.WaitIdle, r.Note, r.Command, r.Seed = nil, "", 0, "", false, 0, "", "", nil
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("naming the request: %w", err)
	}
	h := fnv.New32a()
	for _, q := range asked {
		fmt.Fprintf(h, "%s\n%s\n%s\n", q.Name, q.Source, record.CellName(q.Cell))
	}
	h.Write(text)
	return fmt.Sprintf("%08x", h.Sum32()), nil
}

// goOn prepares a pack. A new one gets an identity, which the records of its scenarios carry. With
// Resume it takes identity and seed from the record of one of them, and keeps the results of all that
// ended. It refuses a request that asks something else. Errors are wrong usage.
func (c *conduct) goOn(r Compare, asked []question) error {
	this, err := r.identity(asked)
	switch {
	case err != nil:
		return err
	case r.Resume == "" && len(asked) > 1:
		c.o.Pack = time.Now().UTC().Format("20060102-150405.000") + "-" + this
		return nil
	case r.Resume == "":
		return nil
	case len(asked) == 1:
		return Usagef("--resume goes on with several scenarios or a grid, and this is one comparison; run it again without --resume")
	}
	dir, run, err := record.Open(r.Resume, c.Out)
	if err != nil {
		return Usagef("--resume: %w", err)
	}
	p := run.Plan
	switch {
	case !sameDir(filepath.Dir(dir.Path()), c.Out): // all runs of a command are in one directory
		return Usagef("--resume %s: that run is not in %s; add --out %s", r.Resume, c.Out, cmdline.Quote(filepath.Dir(dir.Path())))
	case p.Pack == "":
		return Usagef("--resume %s: that run belongs to no grid and to no command of several scenarios", r.Resume)
	case !strings.HasSuffix(p.Pack, "-"+this):
		return Usagef("--resume %s: that run was started with other scenarios or flags; give the command as it was, with --resume added (--total and --output may differ)", r.Resume)
	case r.Seed != nil && *r.Seed != p.Seed:
		return Usagef("--seed %d, and the run to go on with has the seed %d; leave --seed out", *r.Seed, p.Seed)
	}
	c.o.Pack, c.o.Seed = p.Pack, p.Seed
	all, err := runs.List(c.Out, "")
	if err != nil {
		return Usage(err)
	}
	for _, r := range all {
		if r.Record.Plan.Pack == c.o.Pack && r.Record.Status == record.Complete && r.Record.Comparison() != nil {
			_, whole, err := record.Open(r.Name, c.Out) // a list leaves out the distributions
			if err != nil {
				return Usage(err)
			}
			c.kept = append(c.kept, whole.Comparison())
		}
	}
	return nil
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// keptOf returns the result of a scenario or cell that a pack has already, or nil.
func (c *conduct) keptOf(scenario string, cell []record.Level) *record.Comparison {
	i := slices.IndexFunc(c.kept, func(r *record.Comparison) bool {
		return r.Scenario == scenario && slices.Equal(r.Cell, cell)
	})
	if i < 0 {
		return nil
	}
	return c.kept[i]
}
