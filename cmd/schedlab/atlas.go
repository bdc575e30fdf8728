package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"schedlab/internal/crossover"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// An atlas is a map being drawn.
type atlas struct {
	scenario scenario.Scenario
	opts     experiment.Options // of a cell; Budget is the map's
	m        record.Map
	grid     *crossover.Grid
	verdicts []record.CellVerdict // those met, at the number that the grid knows them by
	dir      *record.Dir          // nil before the first cell
	planned  []time.Duration      // of each cell
	over     [2]float64           // the most that a cell took of what was planned, at least 1; [1] one whose arm is short
	timeout  time.Duration        // of a request
	windows  [2]time.Duration     // the shortest of a cell and the longest, as planned
	once     time.Duration        // what all cells take once, as planned
	cannot   []record.Feasibility // of the cells that cannot decide what the map asks
	sampled  int                  // comparisons run, those of an earlier session included
	failed   bool                 // the last one: a server died, or the disk is full
	// compare runs a comparison, recorded below root: its Run, but for tests.
	compare func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error)
}

// newAtlas plans every cell, so that what is wrong is found before anything runs,
// and takes up what m has measured already.
func newAtlas(s scenario.Scenario, o experiment.Options, m record.Map) (*atlas, error) {
	a := &atlas{scenario: s, opts: o, m: m}
	a.compare = func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error) {
		return c.Run(ctx, root, p)
	}
	a.opts.Asks = asked(m.Plan.Metric)
	p := &a.m.Plan
	columns, rows := len(p.X.Values), len(p.Y.Values)
	a.m.Question, a.m.Plan.Budget = s.Question, o.Budget.Seconds()
	fresh := len(m.Cells) == 0
	lawful := true
	for y := range rows {
		for x := range columns {
			c, err := a.plan(x, y, o.Blocks, o.Budget)
			if err != nil {
				return nil, usagef("cell %s: %w", a.name(x, y), err)
			}
			if x == 0 && y == 0 {
				a.describe(c)
			}
			if fresh {
				a.m.Cells = append(a.m.Cells, record.Cell{X: x, Y: y, State: record.Unreached})
				short, known := c.Short()
				a.m.At(x, y).Short = short
				lawful = lawful && known
			}
			a.size(x, y, c.Planned())
			a.m.Estimate = max(a.m.Estimate, c.Planned().Estimate)
			a.timeout = max(a.timeout, seconds(c.Planned().Timeout))
		}
	}
	if most, need := a.m.Plan.Blocks, judge.MapBlocks(len(a.m.Arms)); most < need {
		return nil, usagef("a map of %d arms compares every two of them, which takes %d blocks or more, and a cell has %d; raise --blocks or drop arms", len(a.m.Arms), need, most)
	}
	for i := range a.m.Cells {
		if !lawful {
			a.m.Cells[i].Short = nil
		}
	}
	a.over = [2]float64{1, 1}
	a.grid = crossover.New(columns, rows, o.Seed)
	a.replay()
	return a, nil
}

// asked are the quantiles that every cell must be able to decide.
func asked(metric string) []string {
	switch all := experiment.Quantiles(); {
	case metric == "":
		return all
	case slices.Contains(all, metric):
		return []string{metric}
	}
	return []string{}
}

// need is how long a comparison of the cell takes, in blocks of the plan, as far as it is
// known from those before.
func (a *atlas) need(x, y int) time.Duration {
	cell := class(a.m.At(x, y))
	return time.Duration(a.over[cell] * float64(a.expected(x, y, cell)))
}

// expected is what is planned of a cell, with the time that an overloaded arm's server
// takes to end.
func (a *atlas) expected(x, y, class int) time.Duration {
	return a.planned[y*len(a.m.Plan.X.Values)+x] + time.Duration(class*a.m.Plan.Blocks)*(a.timeout+lingers)
}

// size takes what a cell's plan says of its time, row by row.
func (a *atlas) size(x, y int, p record.Plan) {
	a.planned = append(a.planned, seconds(p.Estimate))
	if a.m.At(x, y).Visits > 0 {
		return
	}
	window := seconds(p.Window)
	if a.windows[0] == 0 {
		a.windows[0] = window
	}
	a.windows = [2]time.Duration{min(a.windows[0], window), max(a.windows[1], window)}
	a.once += seconds(p.Estimate)
	if f := p.Feasible; f != nil && len(experiment.Undecided(*f, false)) > 0 {
		a.cannot = append(a.cannot, *f)
	}
}

// short says what the map cannot decide within its budget, "" for nothing: cells whose
// quantiles are out of reach, or too many cells to measure each once.
func (a *atlas) short() string {
	if len(a.cannot) > 0 {
		return fmt.Sprintf("%d of %s cannot be decided; the first: %s", len(a.cannot), counted(len(a.m.Cells), "cell"), experiment.Undecided(a.cannot[0], false)[0])
	}
	if a.once > a.opts.Budget {
		need := (a.once + time.Minute - 1).Truncate(time.Minute)
		return fmt.Sprintf("all %d cells once take %v, and the budget is %v: some may stay unmeasured; --budget %v would do", len(a.m.Cells), a.once.Round(time.Second), a.opts.Budget, need)
	}
	return ""
}

// describe takes from the first cell what all have in common.
func (a *atlas) describe(c *experiment.Comparison) {
	p := c.Planned()
	a.m.Arms = nil
	for _, arm := range p.Arms {
		if arm.Role != record.Copy {
			a.m.Arms = append(a.m.Arms, arm.Name)
		}
	}
	a.m.Env, a.m.Rate = c.Env(), c.Rate()
	if a.m.Plan.X.Name == "rate" || a.m.Plan.Y.Name == "rate" {
		a.m.Rate = "each cell's rate"
	}
	a.m.Plan.Warmup, a.m.Plan.Blocks = p.Warmup, p.Blocks
	a.m.Doubts = nil
	for _, d := range p.Doubts {
		if d.Arm == "" {
			a.m.Doubts = append(a.m.Doubts, d)
		}
	}
	if a.m.Env.Virtualised {
		a.m.Doubts = append(a.m.Doubts, record.Doubt{Text: "a virtual machine: neighbours and the hypervisor are in the noise"})
	}
	a.m.Doubts = append(a.m.Doubts, record.Doubt{Text: "one host, loopback, synthetic demand; each cell has its own doubts in its record"})
}

// replay tells the grid what the cells say.
func (a *atlas) replay() {
	for _, c := range a.m.Cells {
		for range c.Visits {
			a.grid.Sample(crossover.Place{X: c.X, Y: c.Y}, a.number(c.CellVerdict))
			a.sampled++
		}
	}
	a.settle()
}

// plan is the comparison of one cell.
func (a *atlas) plan(x, y, blocks int, budget time.Duration) (*experiment.Comparison, error) {
	s, err := a.scenario.At(a.m.Plan.X, a.m.Plan.Y, x, y, a.opts.Modes)
	if err != nil {
		return nil, err
	}
	o := a.opts
	o.Blocks, o.Budget = blocks, budget
	o.Note = strings.TrimSpace(fmt.Sprintf("cell %s of a map. %s", a.name(x, y), a.opts.Note))
	return experiment.Plan(s, o)
}

func (a *atlas) name(x, y int) string {
	p := a.m.Plan
	return fmt.Sprintf("%s=%s, %s=%s", p.X.Name, p.X.Values[x], p.Y.Name, p.Y.Values[y])
}

// explore measures cells until nothing is left to learn or the budget does not
// hold one more. The map on disk is whole after every cell.
func (a *atlas) explore(ctx context.Context, show *progress) error {
	began := time.Now()
	a.m.Status, a.m.Failure = record.Running, ""
	a.m.Sessions = max(a.m.Sessions, min(a.sampled, 1)) + 1
	if err := a.dir.WriteMap(&a.m); err != nil {
		return err
	}
	var failure error
	for {
		at, again, ok := a.grid.Next()
		if !ok {
			a.m.Status = record.Complete
			break
		}
		left := a.opts.Budget - time.Since(began)
		cell := a.m.At(at.X, at.Y)
		blocks, need := a.m.Plan.Blocks, a.need(at.X, at.Y)
		if again && cell.Decision == record.InDoubt {
			blocks, need = 2*blocks, 2*need
		}
		if need > left && again { // another that may be measured again could take less
			a.grid.Settle(at)
			continue
		}
		if need > left {
			a.m.Status = record.Partial
			break
		}
		if failure = a.measure(ctx, show, at, blocks, left); failure != nil {
			a.m.Status, a.m.Failure = record.Partial, failure.Error()
			if ctx.Err() != nil {
				a.m.Status, a.m.Failure = record.Interrupted, ""
			}
			break
		}
		if err := a.dir.WriteMap(&a.m); err != nil {
			return err
		}
	}
	a.settle()
	return errors.Join(failure, a.dir.WriteMap(&a.m))
}

const (
	// spareShare is what a cell may take beyond the longest, for servers that linger.
	spareShare = 0.4
	// lingers is how long an overloaded arm's server has to end, after requests that
	// it left waiting have timed out.
	lingers = 500 * time.Millisecond
)

// measure runs the comparison of one cell. One that the context cut leaves the cell
// as it was; one that failed refuses it, and a second in a row ends the map.
func (a *atlas) measure(ctx context.Context, show *progress, at crossover.Place, blocks int, left time.Duration) error {
	began := time.Now()
	c, err := a.plan(at.X, at.Y, blocks, 24*time.Hour)
	if err != nil {
		return err
	}
	estimate := seconds(c.Planned().Estimate)
	planned := time.Duration(float64(a.need(at.X, at.Y)) * float64(blocks) / float64(a.m.Plan.Blocks))
	most := max(estimate, min(left, planned+time.Duration(spareShare*float64(planned))))
	if c, err = a.plan(at.X, at.Y, blocks, most); err != nil {
		return err
	}
	label := fmt.Sprintf("measurement %d (%s): ", a.sampled+1, a.name(at.X, at.Y))
	spent := a.opts.Budget - left
	c.UntilOutcome(a.m.Plan.Metric)
	dir, run, err := a.compare(ctx, c, a.dir.CellRoot(at.X, at.Y), func(doing string, _, _ int, _ time.Duration) {
		now := spent + time.Since(began)
		show.update(label+doing, int(now/time.Second), int(a.opts.Budget/time.Second), max(0, a.opts.Budget-now))
	})
	if run.Result != nil && run.Trials > 0 {
		err = errors.Join(err, writeReports(dir, run.Result))
	}
	var v record.CellVerdict
	_, impossible := errors.AsType[*experiment.Impossible](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && (a.failed || dir == nil || run.Result == nil):
		return err
	case err != nil:
		v = record.CellVerdict{Decision: record.Rejected, Reason: err.Error()}
	default:
		v = judge.Outcome(run.Result, a.m.Plan.Metric)
	}
	a.failed = err != nil && !impossible
	took := time.Since(began)
	a.m.Spent += took.Seconds()
	a.sampled++
	cell := a.m.At(at.X, at.Y)
	over := &a.over[class(cell)]
	*over = max(*over, float64(took)/float64(blocks)*float64(a.m.Plan.Blocks)/float64(a.expected(at.X, at.Y, class(cell))))
	cell.CellVerdict, cell.Order, cell.Visits, cell.Rate = v, a.sampled, cell.Visits+1, run.Plan.Rate
	cell.Seconds += took.Seconds()
	if run.Result != nil {
		cell.Verdicts = run.Result.Verdicts
	}
	if rel, err := filepath.Rel(a.dir.Path(), dir.Path()); err == nil {
		cell.Runs = append(cell.Runs, filepath.ToSlash(rel))
	}
	a.grid.Sample(at, a.number(v))
	a.settle()
	return nil
}

// class tells cells that take longer, for what an overloaded arm leaves waiting.
func class(c *record.Cell) int { return min(len(c.Short), 1) }

// number is what the grid knows a verdict by.
func (a *atlas) number(v record.CellVerdict) crossover.Verdict {
	switch {
	case v.Decision == record.Rejected:
		return crossover.Refused
	case !v.Decided():
		return crossover.Undecided
	}
	class := record.CellVerdict{Decision: v.Decision, Winner: v.Winner, Among: v.Among}
	i := slices.IndexFunc(a.verdicts, func(w record.CellVerdict) bool {
		return w.Decision == class.Decision && w.Winner == class.Winner && slices.Equal(w.Among, class.Among)
	})
	if i < 0 {
		i = len(a.verdicts)
		a.verdicts = append(a.verdicts, class)
	}
	return crossover.Verdict(i)
}

// settle writes what the grid knows into the map.
func (a *atlas) settle() {
	for i, k := range a.grid.Cells() {
		c := &a.m.Cells[i]
		c.Border = k.Border
		switch {
		case k.Samples > 0 && c.Decision == record.Rejected:
			c.State = record.Voided
		case k.Samples > 0:
			c.State = record.Sampled
		case k.Inferred:
			c.State, c.CellVerdict = record.Inferred, a.verdicts[k.Verdict]
		default:
			c.State, c.CellVerdict = record.Unreached, record.CellVerdict{}
		}
	}
	a.m.Theory = experiment.MapBorder(&a.m)
	a.m.Headline = experiment.MapHeadline(&a.m)
}

// writePlan prints what a map would measure and how long it could take.
func (a *atlas) writePlan(w io.Writer) error {
	p := a.m.Plan
	var all, longest time.Duration
	for _, c := range a.m.Cells {
		all += a.need(c.X, c.Y)
		longest = max(longest, a.expected(c.X, c.Y, 1))
	}
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, a.m.Question)
	fmt.Fprintf(w, "arms        %s\n", strings.Join(a.m.Arms, ", "))
	fmt.Fprintf(w, "columns     %s: %s\n", p.X.Name, strings.Join(p.X.Values, ", "))
	fmt.Fprintf(w, "rows        %s: %s\n", p.Y.Name, strings.Join(p.Y.Values, ", "))
	fmt.Fprintf(w, "rate        %s, seed %d\n", a.m.Rate, p.Seed)
	window := a.windows[0].Round(time.Millisecond).String()
	if a.windows[0] < a.windows[1] {
		window += fmt.Sprintf(" to %v, by its rate,", a.windows[1].Round(time.Millisecond))
	}
	fmt.Fprintf(w, "cell        %d blocks of %d arms, %v + %s each: about %v, and up to %v where an arm is overloaded\n", p.Blocks, len(a.m.Arms)+1,
		seconds(p.Warmup).Round(time.Millisecond), window, seconds(a.m.Estimate).Round(time.Second), longest.Round(time.Second))
	if why := a.short(); why != "" {
		fmt.Fprintf(w, "undecided   %s\n", why)
	}
	fmt.Fprintf(w, "cells       %d; measured are those of a coarse lattice and what lies between different verdicts\n", len(a.m.Cells))
	fmt.Fprintf(w, "worst case  %v for every cell once, %v with every one again; --budget %v ends it\n",
		all.Round(time.Second), (3 * all).Round(time.Second), a.opts.Budget)
	if b := a.m.Theory; b != nil {
		var at []string
		for _, l := range b.Lines {
			at = append(at, fmt.Sprintf("%s: %d", l.Value, l.Law))
		}
		fmt.Fprintf(w, "law         %s; cells along %s before the border: %s\n", b.Law, b.Along, strings.Join(at, ", "))
	}
	for _, d := range a.m.Doubts {
		fmt.Fprintf(w, "doubt       %s\n", d.String())
	}
	return nil
}
