// Package mapping draws a map: who wins in the cells of a grid of two factors. Each cell is
// a comparison of its own (internal/experiment); which cell is measured next is for
// internal/crossover to say. It prints nothing.
package mapping

import (
	"context"
	"errors"
	"fmt"
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

// A Run plans the cells of a map and measures them. It is not safe for concurrent use.
type Run struct {
	Map record.Map // as it is known by now

	scenario scenario.Scenario
	opts     experiment.Options // of a cell; Budget is the map's
	grid     *crossover.Grid
	verdicts []record.CellVerdict // those met, at the number that the grid knows them by
	dir      *record.Dir          // nil before the first cell
	calls    Calls
	planned  []time.Duration // of each cell
	over     [2]float64      // the most that a cell took of what was planned, at least 1; [1] one whose arm is short
	timeout  time.Duration   // of a request
	outlook  Outlook
	sampled  int  // comparisons run, those of an earlier session included
	failed   bool // the last one: a server died, or the disk is full
	// compare runs a comparison, recorded below root: its Run, but for tests.
	compare func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error)
}

// Calls are what a Run calls while it measures; either may be nil.
type Calls struct {
	Progress experiment.Progress // in seconds of the budget
	Judged   func(*record.Dir, *record.Result) error
}

// Plan plans every cell, so that what is wrong is found before anything runs, and takes up
// what m has measured already. Its errors say what to change. Of o, Budget is the map's.
func Plan(s scenario.Scenario, o experiment.Options, m record.Map) (*Run, error) {
	r := &Run{scenario: s, opts: o, Map: m}
	r.compare = func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error) {
		return c.Run(ctx, root, p)
	}
	r.opts.Asks = asked(m.Plan.Metric)
	p := &r.Map.Plan
	columns, rows := len(p.X.Values), len(p.Y.Values)
	r.Map.Question, p.Budget = s.Question, o.Budget.Seconds()
	fresh := len(m.Cells) == 0
	lawful := true
	for y := range rows {
		for x := range columns {
			c, err := r.plan(x, y, o.Blocks, o.Budget)
			if err != nil {
				return nil, fmt.Errorf("cell %s: %w", r.name(x, y), err)
			}
			if x == 0 && y == 0 {
				r.describe(c)
			}
			if fresh {
				r.Map.Cells = append(r.Map.Cells, record.Cell{X: x, Y: y, State: record.Unreached})
				short, known := c.Short()
				r.Map.At(x, y).Short = short
				lawful = lawful && known
			}
			r.addToOutlook(x, y, c.Planned())
		}
	}
	if most, need := p.Blocks, judge.MapBlocks(len(r.Map.Arms)); most < need {
		return nil, fmt.Errorf("a map of %d arms compares every two of them, which takes %d blocks or more, and a cell has %d; raise --blocks or drop arms", len(r.Map.Arms), need, most)
	}
	for i := range r.Map.Cells {
		if !lawful {
			r.Map.Cells[i].Short = nil
		}
	}
	r.over = [2]float64{1, 1}
	r.grid = crossover.New(columns, rows, o.Seed)
	r.replay()
	return r, nil
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
func (r *Run) need(x, y int) time.Duration {
	cell := class(r.Map.At(x, y))
	return time.Duration(r.over[cell] * float64(r.expected(x, y, cell)))
}

// expected is what is planned of a cell, with the time that an overloaded arm's server
// takes to end.
func (r *Run) expected(x, y, class int) time.Duration {
	return r.planned[y*len(r.Map.Plan.X.Values)+x] + time.Duration(class*r.Map.Plan.Blocks)*(r.timeout+drainTime)
}

// An Outlook is what of a map is known before it is measured. Times are those of all cells,
// or of the rest where some are measured.
type Outlook struct {
	Windows    [2]time.Duration     // the shortest of a cell, and the longest
	Cell       time.Duration        // the longest that a cell takes as planned
	Overloaded time.Duration        // the longest that it takes where an arm is overloaded
	Once       time.Duration        // all cells once, as planned
	Expected   time.Duration        // all cells once, some with an overloaded arm
	Cannot     []record.Feasibility // of the cells that cannot decide what the map asks
}

// Outlook tells what is known before anything is measured.
func (r *Run) Outlook() Outlook {
	o := r.outlook
	for _, c := range r.Map.Cells {
		o.Expected += r.need(c.X, c.Y)
		o.Overloaded = max(o.Overloaded, r.expected(c.X, c.Y, 1))
	}
	return o
}

// addToOutlook takes what a cell's plan says of its time, row by row.
func (r *Run) addToOutlook(x, y int, p record.Plan) {
	o, estimate, window := &r.outlook, record.Duration(p.Estimate), record.Duration(p.Window)
	r.planned = append(r.planned, estimate)
	r.Map.Estimate = max(r.Map.Estimate, p.Estimate)
	o.Cell = record.Duration(r.Map.Estimate)
	r.timeout = max(r.timeout, record.Duration(p.Timeout))
	if r.Map.At(x, y).Visits > 0 {
		return
	}
	if o.Windows[0] == 0 {
		o.Windows[0] = window
	}
	o.Windows = [2]time.Duration{min(o.Windows[0], window), max(o.Windows[1], window)}
	o.Once += estimate
	if f := p.Feasible; f != nil && len(experiment.Undecided(*f, false)) > 0 {
		o.Cannot = append(o.Cannot, *f)
	}
}

// describe takes from the first cell what all have in common.
func (r *Run) describe(c *experiment.Comparison) {
	p := c.Planned()
	r.Map.Arms = nil
	for _, arm := range p.Arms {
		if arm.Role != record.Copy {
			r.Map.Arms = append(r.Map.Arms, arm.Name)
		}
	}
	r.Map.Env, r.Map.Rate = c.Env(), c.Rate()
	if r.Map.Plan.X.Name == "rate" || r.Map.Plan.Y.Name == "rate" {
		r.Map.Rate = "each cell's rate"
	}
	r.Map.Plan.Warmup, r.Map.Plan.Blocks = p.Warmup, p.Blocks
	r.Map.Doubts = judge.Planted(p)
	for _, d := range p.Doubts {
		if d.Arm == "" {
			r.Map.Doubts = append(r.Map.Doubts, d)
		}
	}
	if r.Map.Env.Virtualised {
		r.Map.Doubts = append(r.Map.Doubts, record.Fact{Code: record.Virtualised})
	}
	r.Map.Doubts = append(r.Map.Doubts, record.Fact{Code: record.OneHost, Names: record.Names{"part": "cell"}})
}

// replay tells the grid what the cells say.
func (r *Run) replay() {
	for _, c := range r.Map.Cells {
		for range c.Visits {
			r.grid.Sample(crossover.Place{X: c.X, Y: c.Y}, r.verdictNumber(c.CellVerdict))
			r.sampled++
		}
	}
	r.update()
}

// plan is the comparison of one cell.
func (r *Run) plan(x, y, blocks int, budget time.Duration) (*experiment.Comparison, error) {
	s, err := r.scenario.At(r.Map.Plan.X, r.Map.Plan.Y, x, y, r.opts.Modes)
	if err != nil {
		return nil, err
	}
	o := r.opts
	o.Blocks, o.Budget = blocks, budget
	o.Note = strings.TrimSpace(fmt.Sprintf("cell %s of a map. %s", r.name(x, y), r.opts.Note))
	return experiment.Plan(s, o)
}

func (r *Run) name(x, y int) string {
	p := r.Map.Plan
	return fmt.Sprintf("%s=%s, %s=%s", p.X.Name, p.X.Values[x], p.Y.Name, p.Y.Values[y])
}

// Sampled is how many comparisons were run, those of earlier sessions included.
func (r *Run) Sampled() int { return r.sampled }

// Explore measures cells until nothing is left to learn, or the budget has no room for one
// more. The map in dir is whole after every cell. iters is the calibration of CPU demand.
// When ctx ends, its cause is the error.
func (r *Run) Explore(ctx context.Context, dir *record.Dir, iters float64, calls Calls) error {
	began := time.Now()
	r.dir, r.opts.Iters, r.calls = dir, iters, calls
	r.Map.Status, r.Map.Failure = record.Running, ""
	r.Map.Sessions = max(r.Map.Sessions, min(r.sampled, 1)) + 1
	if err := r.dir.WriteMap(&r.Map); err != nil {
		return err
	}
	var failure error
	for {
		at, again, ok := r.grid.Next()
		if !ok {
			r.Map.Status = record.Complete
			break
		}
		left := r.opts.Budget - time.Since(began)
		cell := r.Map.At(at.X, at.Y)
		blocks, need := r.Map.Plan.Blocks, r.need(at.X, at.Y)
		if again && cell.Decision == record.InDoubt {
			blocks, need = 2*blocks, 2*need
		}
		if need > left && again { // another that may be measured again could take less
			r.grid.Settle(at)
			continue
		}
		if need > left {
			r.Map.Status = record.Partial
			break
		}
		if failure = r.measure(ctx, at, blocks, left); failure != nil {
			r.Map.Status, r.Map.Failure = record.Partial, failure.Error()
			if ctx.Err() != nil {
				r.Map.Status, r.Map.Failure = record.Interrupted, ""
			}
			break
		}
		if err := r.dir.WriteMap(&r.Map); err != nil {
			return err
		}
	}
	r.update()
	return errors.Join(failure, r.dir.WriteMap(&r.Map))
}

const (
	// spareShare is by what share a cell may take longer than the longest yet, for servers
	// that are slow to end.
	spareShare = 0.4
	// drainTime is how long an overloaded arm's server may take to end, after the requests
	// that waited have timed out.
	drainTime = 500 * time.Millisecond
)

// measure runs the comparison of one cell. One that the context cut leaves the cell
// as it was; one that failed refuses it, and a second in a row ends the map.
func (r *Run) measure(ctx context.Context, at crossover.Place, blocks int, left time.Duration) error {
	began := time.Now()
	c, err := r.plan(at.X, at.Y, blocks, 24*time.Hour)
	if err != nil {
		return err
	}
	estimate := record.Duration(c.Planned().Estimate)
	planned := time.Duration(float64(r.need(at.X, at.Y)) * float64(blocks) / float64(r.Map.Plan.Blocks))
	most := max(estimate, min(left, planned+time.Duration(spareShare*float64(planned))))
	if c, err = r.plan(at.X, at.Y, blocks, most); err != nil {
		return err
	}
	label := fmt.Sprintf("measurement %d (%s): ", r.sampled+1, r.name(at.X, at.Y))
	spent := r.opts.Budget - left
	c.Aim(judge.Aim{Outcome: &r.Map.Plan.Metric})
	dir, run, err := r.compare(ctx, c, r.dir.CellRoot(at.X, at.Y), func(doing string, _, _ int, _ time.Duration) {
		now := spent + time.Since(began)
		if r.calls.Progress == nil {
			return
		}
		r.calls.Progress(label+doing, int(now/time.Second), int(r.opts.Budget/time.Second), max(0, r.opts.Budget-now))
	})
	if run.Result != nil && run.Trials > 0 && r.calls.Judged != nil {
		err = errors.Join(err, r.calls.Judged(dir, run.Result))
	}
	var v record.CellVerdict
	_, impossible := errors.AsType[*experiment.Impossible](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && (r.failed || dir == nil || run.Result == nil):
		return err
	case err != nil:
		v = record.CellVerdict{Decision: record.Rejected, Reason: record.Fact{Code: record.Unreadable, Names: record.Names{"error": err.Error()}}}
	default:
		v = judge.Outcome(run.Result, r.Map.Plan.Metric)
	}
	r.failed = err != nil && !impossible
	took := time.Since(began)
	r.Map.Spent += took.Seconds()
	r.sampled++
	cell := r.Map.At(at.X, at.Y)
	over := &r.over[class(cell)]
	*over = max(*over, float64(took)/float64(blocks)*float64(r.Map.Plan.Blocks)/float64(r.expected(at.X, at.Y, class(cell))))
	cell.CellVerdict, cell.Order, cell.Visits, cell.Rate = v, r.sampled, cell.Visits+1, run.Plan.Rate
	cell.Seconds += took.Seconds()
	if run.Result != nil {
		cell.Verdicts = run.Result.Verdicts
	}
	if rel, err := filepath.Rel(r.dir.Path(), dir.Path()); err == nil {
		cell.Runs = append(cell.Runs, filepath.ToSlash(rel))
	}
	r.grid.Sample(at, r.verdictNumber(v))
	r.update()
	return nil
}

// class is 1 for cells with an arm that is short of workers, which take longer, and 0 for
// the others.
func class(c *record.Cell) int { return min(len(c.Short), 1) }

// verdictNumber is what the grid knows a verdict by.
func (r *Run) verdictNumber(v record.CellVerdict) crossover.Verdict {
	switch {
	case v.Decision == record.Rejected:
		return crossover.Refused
	case !v.Decided():
		return crossover.Undecided
	}
	class := record.CellVerdict{Decision: v.Decision, Winner: v.Winner, Among: v.Among}
	i := slices.IndexFunc(r.verdicts, func(w record.CellVerdict) bool {
		return w.Decision == class.Decision && w.Winner == class.Winner && slices.Equal(w.Among, class.Among)
	})
	if i < 0 {
		i = len(r.verdicts)
		r.verdicts = append(r.verdicts, class)
	}
	return crossover.Verdict(i)
}

// update writes what the grid knows into the map.
func (r *Run) update() {
	for i, k := range r.grid.Cells() {
		c := &r.Map.Cells[i]
		c.Border = k.Border
		switch {
		case k.Samples > 0 && c.Decision == record.Rejected:
			c.State = record.Voided
		case k.Samples > 0:
			c.State = record.Sampled
		case k.Inferred:
			c.State, c.CellVerdict = record.Inferred, r.verdicts[k.Verdict]
		default:
			c.State, c.CellVerdict = record.Unreached, record.CellVerdict{}
		}
	}
	r.Map.Theory = border(&r.Map)
}
