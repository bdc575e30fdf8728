// Package mapping measures a map: which arm wins in each cell of a grid of two factors. It runs
// one comparison per cell (internal/experiment), chooses which cell to measure next, and infers the
// cells that need no measurement (grid.go). It prints nothing.
package mapping

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// A Run plans the cells of a map and measures them. Make one with [Plan]. It is not safe for
// concurrent use.
//
// Plan plans all cells. Explore then repeats: the grid names the next cell, measure runs its
// comparison, update infers other cells. The time of a cell is estimated from its plan and from how
// long cells of its class have taken (need).
type Run struct {
	Map record.Map // the map with the results so far

	scenario scenario.Scenario
	opts     experiment.Options // of one cell; Budget is the whole map's
	grid     grid               // of Map
	dir      *record.Dir        // nil before the first cell
	calls    Calls
	plans    []record.Plan // of each cell, row by row
	over     [2]float64    // by class: the largest ratio of a cell's time to its planned time, at least 1
	timeout  time.Duration // the longest request timeout of all cells
	failed   bool          // whether the last comparison failed: a server died, or the disk is full
	// compare runs a comparison and records it below root. It calls the comparison's Run method;
	// tests replace it.
	compare func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error)
}

// Calls are the functions that a Run calls while it measures, between windows only. Either may be nil. An error of Judged
// counts as a failure of the cell's comparison.
type Calls struct {
	Progress experiment.Progress // its counts are seconds of the budget
	Judged   func(*record.Dir, *record.Result) error
}

// Plan plans every cell before anything runs, so that a bad plan fails at once. Cells that m has measured already keep
// their results: so a map is resumed. Errors say what to change, and in which cell. o.Budget is the time for the whole map.
func Plan(s scenario.Scenario, o experiment.Options, m record.Map) (*Run, error) {
	r := &Run{scenario: s, opts: o, Map: m, over: [2]float64{1, 1}}
	r.compare = func(ctx context.Context, c *experiment.Comparison, root string, p experiment.Progress) (*record.Dir, record.Run, error) {
		return c.Run(ctx, root, p)
	}
	r.opts.Asks = asked(m.Plan.Metric)
	p := &r.Map.Plan
	r.Map.Question, p.Budget = s.Question, o.Budget.Seconds()
	fresh := len(m.Cells) == 0 // a resumed map brings its cells along
	// If the law does not apply to every cell, it draws no border: then no cell is called short.
	lawful := true
	for y := range p.Y.Values {
		for x := range p.X.Values {
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
			planned := c.Planned()
			r.plans = append(r.plans, planned)
			r.Map.Estimate = max(r.Map.Estimate, planned.Estimate)
			r.timeout = max(r.timeout, record.Duration(planned.Timeout))
		}
	}
	// More arms make more comparisons, which share one probability of error, so they need more
	// blocks before anything can be decided.
	if most, need := p.Blocks, judge.MapBlocks(len(r.Map.Arms)); most < need {
		return nil, fmt.Errorf("a map of %d arms compares every two of them, which takes %d blocks or more, and a cell has %d; raise --blocks or drop arms", len(r.Map.Arms), need, most)
	}
	for i := range r.Map.Cells {
		if !lawful {
			r.Map.Cells[i].Short = nil
		}
	}
	r.grid = newGrid(&r.Map, o.Seed)
	r.update()
	return r, nil
}

// asked returns the quantiles that every cell must be able to decide: all of them if metric is "",
// one if metric is a quantile, else none. An empty list differs from nil, with which the scenario
// would decide.
func asked(metric string) []string {
	switch all := stats.Names(stats.Quantiles()); {
	case metric == "":
		return all
	case slices.Contains(all, metric):
		return []string{metric}
	}
	return []string{}
}

// need returns the time that a comparison of the plan's number of blocks takes in the cell: the planned time, scaled by how
// much longer the slowest cell of the same class took so far.
func (r *Run) need(c record.Cell) time.Duration {
	return time.Duration(r.over[class(c)] * float64(r.expected(c, class(c))))
}

// expected returns the planned time of the cell, taken to be of the class. For class 1 it adds, per block, the time that an
// overloaded arm's server takes to stop: until its waiting requests have timed out.
func (r *Run) expected(c record.Cell, class int) time.Duration {
	return record.Duration(r.plans[r.grid.index(&c)].Estimate) + time.Duration(class*r.Map.Plan.Blocks)*(r.timeout+drainTime)
}

// An Outlook is the estimate of a map's time before it is measured. Windows, Once and Cannot leave
// out the cells that are measured already; Cell, Overloaded and Expected are about all cells.
type Outlook struct {
	Windows    [2]time.Duration     // the shortest and the longest window of a cell
	Cell       time.Duration        // the longest planned time of a cell
	Overloaded time.Duration        // the longest time of a cell if an arm is overloaded in it
	Once       time.Duration        // planned time to measure every cell once
	Expected   time.Duration        // the same, with the cells in which an arm is overloaded taking longer
	Cannot     []record.Feasibility // of the cells that cannot decide the map's question
}

// Outlook returns the estimate. Call it before Explore.
func (r *Run) Outlook() Outlook {
	o := Outlook{Cell: record.Duration(r.Map.Estimate)}
	for i, c := range r.Map.Cells {
		o.Expected += r.need(c)
		o.Overloaded = max(o.Overloaded, r.expected(c, 1))
		if c.Visits > 0 {
			continue
		}
		p := r.plans[i]
		window := record.Duration(p.Window)
		// The first cell that is left begins the range.
		if o.Once == 0 {
			o.Windows[0] = window
		}
		o.Windows = [2]time.Duration{min(o.Windows[0], window), max(o.Windows[1], window)}
		o.Once += record.Duration(p.Estimate)
		if f := p.Feasible; f != nil && len(experiment.Undecided(*f, false)) > 0 {
			o.Cannot = append(o.Cannot, *f)
		}
	}
	return o
}

// describe fills the parts of the map that all cells share (arms, machine, rate, doubts) from the
// comparison of the first cell. Doubts about a single arm are left out: they may hold in that cell
// only.
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
	// A map that goes on keeps what disturbed it before.
	busy := slices.DeleteFunc(slices.Clone(r.Map.Doubts), func(d record.Fact) bool { return d.Code != record.MachineBusy })
	r.Map.Doubts = append(busy, judge.Planted(p)...)
	for _, d := range p.Doubts {
		if d.Arm == "" {
			r.Map.Doubts = append(r.Map.Doubts, d)
		}
	}
	for _, d := range judge.HostDoubts(r.Map.Env) {
		if d.Code == record.OneHost {
			d.Names = record.Names{"part": "cell"}
		}
		r.Map.Doubts = append(r.Map.Doubts, d)
	}
}

// plan returns the comparison of one cell, not yet run. It ends as soon as the map's question is decided.
func (r *Run) plan(x, y, blocks int, budget time.Duration) (*experiment.Comparison, error) {
	s, err := r.scenario.At(r.Map.Plan.X, r.Map.Plan.Y, x, y, r.opts.Modes)
	if err != nil {
		return nil, err
	}
	o := r.opts
	o.Blocks, o.Budget, o.Aim = blocks, budget, judge.Aim{Outcome: &r.Map.Plan.Metric}
	o.Note = strings.TrimSpace(fmt.Sprintf("cell %s of a map. %s", r.name(x, y), r.opts.Note))
	return experiment.Plan(s, o)
}

// name returns a cell's values: "rate=500/s, workers=16".
func (r *Run) name(x, y int) string {
	p := r.Map.Plan
	return fmt.Sprintf("%s=%s, %s=%s", p.X.Name, p.X.Values[x], p.Y.Name, p.Y.Values[y])
}

// Sampled returns the number of comparisons run, earlier sessions included. Refused ones count.
func (r *Run) Sampled() (n int) {
	for i := range r.Map.Cells {
		n += r.Map.Cells[i].Visits
	}
	return n
}

// Explore measures cells until nothing is left to learn or the budget has no room for another cell.
// It writes the map to dir after every cell, so the file is always whole. iters is the calibration
// of CPU demand, the same for all cells. When ctx ends, Explore returns its cause. A budget that
// ends is no error: the map's Status is then Partial.
func (r *Run) Explore(ctx context.Context, dir *record.Dir, iters float64, calls Calls) error {
	began := time.Now()
	r.dir, r.opts.Iters, r.calls = dir, iters, calls
	r.Map.Status, r.Map.Failure = record.Running, ""
	// A map from before sessions were counted has been started once if anything is measured.
	r.Map.Sessions = max(r.Map.Sessions, min(r.Sampled(), 1)) + 1
	if err := r.dir.WriteMap(&r.Map); err != nil {
		return err
	}
	var failure error
	for {
		cell, again := r.grid.next()
		if cell == nil {
			r.Map.Status = record.Complete
			break
		}
		left := r.opts.Budget - time.Since(began)
		blocks, need := r.Map.Plan.Blocks, r.need(*cell)
		// The planned blocks gave no answer, so a repetition gets twice as many; a refused cell was not short of them.
		if again && cell.Decision == record.InDoubt {
			blocks, need = 2*blocks, 2*need
		}
		if need > left && again { // a shorter cell may still fit: do not repeat this one, try the next
			r.grid.settled[r.grid.index(cell)] = true
			continue
		}
		// The session ends here, even if a shorter cell would still fit.
		if need > left {
			r.Map.Status = record.Partial
			break
		}
		if failure = r.measure(ctx, cell, blocks, left); failure != nil {
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
	spareShare = 0.4                    // by which a cell may exceed its expected time, for servers that are slow to stop
	drainTime  = 500 * time.Millisecond // that an overloaded arm's server takes to stop after the waiting requests have timed out
)

// measure runs the comparison of one cell. If ctx ends during it, the cell stays as it was. If the comparison fails, the
// cell is refused; a second failure in a row ends the map. left is what the budget still has.
func (r *Run) measure(ctx context.Context, cell *record.Cell, blocks int, left time.Duration) error {
	began := time.Now()
	c, err := r.plan(cell.X, cell.Y, blocks, 24*time.Hour) // with time for all its blocks; the limit is set below
	if err != nil {
		return err
	}
	estimate := record.Duration(c.Planned().Estimate)
	planned := time.Duration(float64(r.need(*cell)) * float64(blocks) / float64(r.Map.Plan.Blocks))
	// It may exceed its expected time by spareShare, but not the map's budget. It gets its planned time in any case.
	most := max(estimate, min(left, planned+time.Duration(spareShare*float64(planned))))
	label := fmt.Sprintf("measurement %d (%s): ", r.Sampled()+1, r.name(cell.X, cell.Y))
	spent := r.opts.Budget - left
	dir, run, err := r.compare(ctx, c.Within(most), r.dir.CellRoot(cell.X, cell.Y), func(doing string, _, _ int, _ time.Duration) {
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
	// An impossible plan is a property of the cell and says nothing about the next one.
	r.failed = err != nil && !impossible
	took := time.Since(began)
	r.Map.Spent += took.Seconds()
	// Compared at the plan's number of blocks, since a repetition has more.
	over := &r.over[class(*cell)]
	*over = max(*over, float64(took)/float64(blocks)*float64(r.Map.Plan.Blocks)/float64(r.expected(*cell, class(*cell))))
	cell.CellVerdict, cell.Order, cell.Visits, cell.Rate = v, r.Sampled()+1, cell.Visits+1, run.Plan.Rate
	cell.Seconds += took.Seconds()
	if run.Result != nil {
		cell.Verdicts = run.Result.Verdicts
		r.Map.Disturbed(run.Result.Busy())
	}
	if rel, err := filepath.Rel(r.dir.Path(), dir.Path()); err == nil {
		cell.Runs = append(cell.Runs, filepath.ToSlash(rel))
	}
	r.update()
	return nil
}

// class returns 1 for a cell in which an arm is short of workers, and 0 for the others. Class 1
// takes longer: such an arm's requests wait until they time out, and its server stops only then.
func class(c record.Cell) int { return min(len(c.Short), 1) }

// update infers the cells that are not measured, and compares the map with Little's law.
func (r *Run) update() {
	r.grid.infer()
	r.Map.Theory = border(&r.Map)
}
