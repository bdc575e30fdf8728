// Package runs lists the runs that were recorded, and tells in what two of them differ. It judges
// nothing.
package runs

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Run is one line of the list of runs. A run that cannot be read has its name and a Problem.
type Run struct {
	Name     string          `json:"run"`
	Dir      string          `json:"dir"`
	Scenario string          `json:"scenario"`
	Cell     string          `json:"cell,omitempty"` // factors and values, of a cell of a grid
	Started  time.Time       `json:"started"`
	Status   string          `json:"status"`
	Arms     []string        `json:"arms"`
	Answer   string          `json:"answer"`
	Short    string          `json:"-"`       // the answer in few words
	Chips    []document.Chip `json:"-"`       // and in a word for each arm
	Machine  string          `json:"machine"` // CPU, number of CPUs, kernel
	Version  string          `json:"version"` // of schedlab
	Bytes    int64           `json:"bytes"`   // size of the record
	Problem  string          `json:"problem,omitempty"`

	// Record is the recorded run, without the curves of the result, which take most of its memory.
	Record record.Run `json:"-"`
}

// List reads the runs below root, of one scenario unless that is "", the newest first.
func List(root, scenario string) ([]Run, error) {
	names, err := record.Runs(root)
	if err != nil {
		return nil, err
	}
	all := make([]Run, len(names))
	var work sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0)) // bounds the records in memory
	for i, name := range names {
		room <- struct{}{}
		work.Go(func() {
			all[i] = Read(root, name)
			<-room
		})
	}
	work.Wait()
	return slices.DeleteFunc(all, func(p Run) bool { return scenario != "" && p.Scenario != scenario }), nil
}

// Read reads the run of that name below root.
func Read(root, name string) Run {
	p := Run{Name: name, Dir: filepath.Join(root, name), Arms: []string{}}
	// Files that cannot be read count 0 bytes.
	_ = filepath.WalkDir(p.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				p.Bytes += info.Size()
			}
		}
		return nil
	})
	_, run, err := record.Open(name, root)
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Scenario, p.Started, p.Status, p.Version = run.Plan.Scenario, run.Started, string(run.Status), run.Env.Version
	p.Machine = fmt.Sprintf("%s, %d CPUs, Linux %s", run.Env.CPU, run.Env.CPUs, run.Env.Kernel)
	p.Cell = record.CellName(run.Plan.Cell)
	for _, a := range run.Plan.Arms {
		if a.Role != record.Copy {
			p.Arms = append(p.Arms, a.Name)
		}
	}
	if run.Result != nil {
		p.Answer, p.Short, p.Chips = report.Headline(run.Result), report.Short(run.Result), report.Chips(run.Result)
	}
	if c := run.Comparison(); c != nil {
		for i := range c.Arms {
			c.Arms[i].Curve = nil
		}
	}
	p.Record = run
	return p
}

// Megabytes formats a size in bytes: "12.3 MB".
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// TotalSize formats the size of the records of runs.
func TotalSize(all []Run) string {
	var sum int64
	for _, p := range all {
		sum += p.Bytes
	}
	return Megabytes(sum)
}

// Table returns a row for each run, with the first 70 characters of its answer, after its cell if it lies on a grid. Its name has
// the time and the scenario.
func Table(all []Run) document.Table {
	rows := [][]string{{"run", "status", "size", "answer"}}
	for _, p := range all {
		where := ""
		if p.Cell != "" {
			where = p.Cell + ": "
		}
		rows = append(rows, []string{p.Name, cmp.Or(p.Status, "unreadable"), Megabytes(p.Bytes), document.Cut(cmp.Or(p.Problem, where+p.Short), 70)})
	}
	return document.Table{Rows: rows, Words: true}
}

// Trend returns a row for each run that has the metric, the oldest first, with a bar. It shows the named
// arm, or each run's first if arm is "". A run of another machine, version, cell of a grid or window than the one before is marked.
// It returns an error if no run has it, or if the runs are of several scenarios.
func Trend(all []Run, m stats.Metric, arm string) (document.Table, error) {
	type point struct {
		Run
		value float64
	}
	var points []point
	most := math.SmallestNonzeroFloat64 // values of 0 are drawn as nothing
	for _, p := range slices.Backward(all) {
		c := p.Record.Comparison()
		if c == nil {
			continue
		}
		for i, a := range c.Arms {
			if v := a.Median(m.Figure); v != nil && (a.Name == arm || arm == "" && i == 0) {
				points, most = append(points, point{p, *v}), max(most, *v)
			}
		}
	}
	if len(points) == 0 {
		return document.Table{}, fmt.Errorf("no run here has a %s of the arm %q; 'schedlab runs' lists them", m.Label, cmp.Or(arm, "named first"))
	}
	rows := [][]string{{"run", m.Label, "", ""}}
	last := points[0]
	for _, p := range points {
		if p.Scenario != last.Scenario {
			return document.Table{}, fmt.Errorf("these are runs of several scenarios, as %s and %s; name one with --scenario", last.Scenario, p.Scenario)
		}
		var changed []string
		if p.Machine != last.Machine || p.Version != last.Version {
			changed = append(changed, p.Machine+", schedlab "+p.Version)
		}
		if p.Cell != last.Cell {
			changed = append(changed, cmp.Or(p.Cell, "no cell of a grid"))
		}
		if now := p.Record.Plan.Window.Duration; now != last.Record.Plan.Window.Duration {
			changed = append(changed, "windows of "+now.String())
		}
		if len(changed) > 0 {
			changed[0] = "now " + changed[0]
		}
		rows = append(rows, []string{p.Name, report.Figure(m, p.value), strings.Repeat("#", int(30*p.value/most+.5)), strings.Join(changed, "; ")})
		last = p
	}
	return document.Table{Rows: rows, Words: true, Below: 3}, nil
}

// Prunable returns the runs that started before a time and are not among the newest keep of their
// scenario. It leaves out runs that cannot be read or may be under way, since their files may still be
// needed. all has the newest first.
func Prunable(all []Run, keep int, before time.Time) (old []Run) {
	seen := map[string]int{}
	for _, p := range all {
		seen[p.Scenario]++
		if p.Problem == "" && p.Status != string(record.Running) && seen[p.Scenario] > keep && p.Started.Before(before) {
			old = append(old, p)
		}
	}
	return old
}

// Diff returns a row for each setting that differs, and for each figure of an arm that both runs
// have.
func Diff(a, b record.Run) document.Table {
	rows := [][]string{{"", a.Name, b.Name, "change"}}
	setting := func(name string, x, y any) {
		if x != y {
			rows = append(rows, []string{name, fmt.Sprint(x), fmt.Sprint(y), ""})
		}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	setting("scenario", a.Plan.Scenario, b.Plan.Scenario)
	setting("schedlab", a.Env.Version, b.Env.Version)
	setting("CPU", a.Env.CPU, b.Env.CPU)
	setting("CPUs", a.Env.CPUs, b.Env.CPUs)
	setting("kernel", a.Env.Kernel, b.Env.Kernel)
	setting("Go", a.Env.Go, b.Env.Go)
	setting("seed", a.Plan.Seed, b.Plan.Seed)
	setting("requests/s", number(a.Plan.Rate), number(b.Plan.Rate))
	setting("window, s", number(a.Plan.Window.Seconds()), number(b.Plan.Window.Seconds()))
	before, after := compared(a), compared(b)
	setting("blocks", before.Valid, after.Valid)
	for _, x := range before.Arms {
		j := slices.IndexFunc(after.Arms, func(y record.Arm) bool { return y.Name == x.Name })
		if x.IsCopy() || j < 0 {
			continue
		}
		y := after.Arms[j]
		setting(x.Name, x.Command, y.Command)
		for _, m := range stats.Metrics() {
			if v, w := x.Median(m.Figure), y.Median(m.Figure); v != nil && w != nil && m.Printed(*v) > 0 {
				rows = append(rows, []string{x.Name + " " + m.Label, report.Figure(m, *v), report.Figure(m, *w), stats.Change(m.Printed(*w) / m.Printed(*v))})
			}
		}
	}
	return document.Table{Rows: rows}
}

// compared returns the comparison of a run. For a run of another kind it is one of the same arms without figures.
func compared(run record.Run) *record.Comparison {
	if c := run.Comparison(); c != nil {
		return c
	}
	c := new(record.Comparison)
	for _, a := range run.Result.Contestants() {
		c.Arms = append(c.Arms, record.Arm{Contestant: a})
	}
	return c
}
