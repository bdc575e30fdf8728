package record

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// A Map is map.json: which arm wins over a grid of two factors. Each cell is one comparison. Times are seconds.
//
// A map is a search: cells near a border between winners are measured, and cells among equals may be
// inferred. It can be interrupted and resumed.
type Map struct {
	Schema   int      `json:"schema"`
	Name     string   `json:"name"`              // name of the map's directory
	Dir      string   `json:"dir"`               // path of the map's directory
	Status   Status   `json:"status"`            // complete; partial when its budget ended first; interrupted
	Failure  string   `json:"failure,omitempty"` // why it is partial, if the budget is not the reason
	Plan     MapPlan  `json:"plan"`
	Question string   `json:"question"` // the scenario's question
	Arms     []string `json:"arms"`     // the baseline first
	// Rate is what the scenario offers, in words; a cell may have its own.
	Rate     string  `json:"rate"`
	Estimate float64 `json:"estimate"` // planned time of one cell
	Spent    float64 `json:"spent"`    // on all cells, repetitions included
	// Sessions is how many times the map was started or resumed; Plan.Budget is of the last session. 0 unknown.
	Sessions int       `json:"sessions,omitempty"`
	Started  time.Time `json:"started"`
	Env      Env       `json:"env"`
	Cells    []Cell    `json:"cells"`            // all, row by row: the first X of the first Y first
	Theory   *Border   `json:"theory,omitempty"` // nil if the law puts no border on the map
	// Headline is the map's result in a sentence. It is empty in records: report adds it.
	Headline string `json:"headline,omitempty"`
	Doubts   []Fact `json:"doubts"`
}

// Disturbed notes the doubt of a cell that others took much of the CPUs, if it has one: the map keeps that of the cell
// with the largest share.
func (m *Map) Disturbed(busy Fact) {
	i := slices.IndexFunc(m.Doubts, func(d Fact) bool { return d.Code == MachineBusy })
	switch {
	case busy.None():
	case i < 0:
		m.Doubts = slices.Insert(m.Doubts, 0, busy)
	case busy.Values["share"] > m.Doubts[i].Values["share"]:
		m.Doubts[i] = busy
	}
}

// TooBusy returns that doubt, with the value open set to 1, if no cell is decided and one is in doubt; no fact otherwise.
func (m *Map) TooBusy() Fact {
	i := slices.IndexFunc(m.Doubts, func(d Fact) bool { return d.Code == MachineBusy })
	open := slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Decision == InDoubt })
	if i < 0 || !open || slices.ContainsFunc(m.Cells, Cell.Decided) {
		return Fact{}
	}
	busy := m.Doubts[i]
	busy.Values = maps.Clone(busy.Values)
	busy.Values["open"] = 1
	return busy
}

// A MapPlan is everything that was asked of a map. Resuming needs nothing else.
//
// X and Y are the axes. Seed, the CPU sets, Pin, Stamps and Note hold the flags of the same names; Added
// are the arms that --arm added. Budget, Window and Warmup are seconds.
type MapPlan struct {
	Scenario   string   `json:"scenario"`       // name
	Source     string   `json:"source"`         // its YAML, verbatim
	Path       string   `json:"path,omitempty"` // requested instead of the scenario's workload, as --path or --targets gave it
	Targets    string   `json:"targets,omitempty"`
	Arms       []string `json:"arms,omitempty"` // as --arms gave them
	Added      []string `json:"added,omitempty"`
	X          Factor   `json:"x"`
	Y          Factor   `json:"y"`
	Metric     string   `json:"metric"` // decides the winner; "": all primary metrics together
	Seed       uint64   `json:"seed"`
	Budget     float64  `json:"budget"`
	Blocks     int      `json:"blocks"` // blocks per cell
	Window     float64  `json:"window"` // as --window gave it; 0: each cell's own, by its rate
	Warmup     float64  `json:"warmup"`
	Rate       string   `json:"rate,omitempty"` // replaces the scenario's
	ServerCPUs string   `json:"server_cpus,omitempty"`
	LoadCPUs   string   `json:"load_cpus,omitempty"`
	Pin        string   `json:"pin"`
	Stamps     string   `json:"stamps,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// A Factor is an axis of a map: a server flag, a load setting or a part of the
// workload, and its values in order.
type Factor struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// CellState is how much is known of a cell.
type CellState string

// The states of a cell.
const (
	Unreached CellState = "unreached" // the budget ended first
	Sampled   CellState = "sampled"   // a comparison was run and judged
	Inferred  CellState = "inferred"  // measured cells on both sides of it agree
	Voided    CellState = "refused"   // a comparison was run and cannot be trusted
)

// A Cell is one place of a map. Verdicts are from its last comparison.
type Cell struct {
	X     int       `json:"x"` // indexes into the factors' values
	Y     int       `json:"y"`
	State CellState `json:"state"`
	// Border says that a neighbouring cell has another verdict or an undecided one.
	Border bool `json:"border"`
	CellVerdict
	Visits   int       `json:"visits,omitempty"`  // comparisons run here; the last one counts
	Order    int       `json:"order,omitempty"`   // when it was last measured: 1 for the map's first comparison
	Runs     []string  `json:"runs,omitempty"`    // their records, relative to the map's directory
	Seconds  float64   `json:"seconds,omitempty"` // the comparisons took
	Rate     float64   `json:"rate,omitempty"`    // offered per second
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Short are the arms that have too few workers for the load, by Little's law.
	Short []string `json:"short,omitempty"`
}

// A CellVerdict is the result of a comparison on a map.
type CellVerdict struct {
	Decision CellDecision `json:"decision,omitempty"`
	Winner   string       `json:"winner,omitempty"` // the arm that beats every other
	Among    []string     `json:"among,omitempty"`  // arms that are the same as one another and beaten by no arm
	Metric   string       `json:"metric,omitempty"` // the metric that decided
	Arm      string       `json:"arm,omitempty"`    // the challenger that Ratio is about
	Ratio    float64      `json:"ratio,omitempty"`  // Arm / baseline at Metric: of their figures as printed; Low and High are the verdict's interval
	Low      float64      `json:"low,omitempty"`
	High     float64      `json:"high,omitempty"`
	Reason   Fact         `json:"reason,omitzero"` // why the cell is refused
}

// CellDecision says how a cell was decided.
type CellDecision string

// The decisions. An unreached cell has none.
const (
	Wins     CellDecision = "wins"
	Ties     CellDecision = "same"
	Trades   CellDecision = "trade" // better at one primary metric, worse at another
	InDoubt  CellDecision = "undecided"
	Rejected CellDecision = "refused"
)

// Decided reports whether the comparison has a sure result.
func (v CellVerdict) Decided() bool {
	return v.Decision == Wins || v.Decision == Ties || v.Decision == Trades
}

// A Border is the theory's border on a map, and how far the measurement agrees.
type Border struct {
	Law string `json:"law"`
	Arm string `json:"arm"` // the arm that the law is about
	// Along is the factor that changes along a line of cells. There is one line for each value of
	// the other factor.
	Along string       `json:"along"`
	Lines []BorderLine `json:"lines"`
}

// A BorderLine is one column or row of a map. Places count cells from the low end: a border at 2 lies between
// the second cell and the third. Value is the value of the other factor, at which the line lies.
type BorderLine struct {
	Value   string `json:"value"`
	Law     int    `json:"law"` // where the law puts the border; 0 or the number of cells: outside
	From    int    `json:"from"`
	To      int    `json:"to"`      // the measured border lies From..To; the cells between are undecided
	Known   bool   `json:"known"`   // false: the cells do not show a single border
	Within1 bool   `json:"within1"` // From and To are at most one cell from Law
}

// mapFile is the file of a Map in its directory.
const mapFile = "map.json"

// CellRoot is the directory, not yet made, that holds the runs of the cell at x and y.
func (d *Dir) CellRoot(x, y int) string {
	return filepath.Join(d.path, "cells", fmt.Sprintf("x%d-y%d", x+1, y+1))
}

// WriteMap replaces map.json atomically, with m.Schema, m.Name and m.Dir filled in.
func (d *Dir) WriteMap(m *Map) error {
	m.Schema, m.Name, m.Dir = Schema, d.Name(), d.path
	return d.WriteFile(mapFile, func(w io.Writer) error { return WriteJSON(w, m) })
}

// OpenMap finds and reads a map as [Open] does a run. The error wraps
// fs.ErrNotExist when there is no map of that name.
func OpenMap(name, root string) (*Dir, Map, error) {
	for _, place := range []string{filepath.Join(root, name), name} {
		// The name may be that of a run, or of nothing; the next place may have the map.
		place, err := dirWith(place, mapFile)
		if err != nil || name == "" {
			continue
		}
		var m Map
		if err := readJSON(filepath.Join(place, mapFile), &m); err != nil {
			return nil, Map{}, err
		}
		// The directory may have been moved since it was written.
		m.Name, m.Dir = filepath.Base(place), place
		if err := m.check(); err != nil {
			return nil, Map{}, fmt.Errorf("reading %q: %w; restore the file or run again", filepath.Join(place, mapFile), err)
		}
		return &Dir{path: place, limit: MaxBytes}, m, nil
	}
	return nil, Map{}, fmt.Errorf("opening map %q: no %s there or in %q; make one with \"schedlab map\": %w", name, mapFile, root, fs.ErrNotExist)
}

// check returns an error if the cells do not match the grid.
func (m *Map) check() error {
	columns, rows := len(m.Plan.X.Values), len(m.Plan.Y.Values)
	if columns == 0 || rows == 0 || len(m.Cells) != columns*rows {
		return fmt.Errorf("%d cells in a grid of %d by %d", len(m.Cells), columns, rows)
	}
	for i, c := range m.Cells {
		if c.X != i%columns || c.Y != i/columns {
			return fmt.Errorf("cell %d is at %d, %d of a grid of %d by %d", i+1, c.X, c.Y, columns, rows)
		}
	}
	return nil
}

// At returns the cell of the x-th and y-th value, both from 0. It may be modified.
func (m *Map) At(x, y int) *Cell { return &m.Cells[y*len(m.Plan.X.Values)+x] }
