package session

import (
	"os"
	"path/filepath"
	"slices"

	"schedlab/internal/capabilities/runs"
	"schedlab/internal/shared/record"
)

// Newest returns the name of the newest record below root: the link latest where it stands, or else,
// and of one scenario, the first in the list of runs.
func Newest(root, scenario string) (string, error) {
	const latest = "latest"
	if _, err := os.Stat(filepath.Join(root, latest)); err == nil && scenario == "" {
		return latest, nil
	}
	all, err := runs.List(root, scenario)
	switch {
	case len(all) > 0:
		return all[0].Name, nil
	case err == nil && scenario != "":
		return "", Usagef("--scenario %s: no run of it below %s; 'schedlab runs' lists them", scenario, root)
	}
	return latest, nil
}

// Again returns the result of the run of that name. It is judged again; the result in the record is not
// read. rewrite also writes the reports into the record. A record that cannot be read is wrong usage.
func Again(name, root string, rewrite bool) (record.Result, error) {
	dir, run, err := record.Open(name, root)
	if err != nil {
		return nil, Usage(err)
	}
	result, err := judged(dir, run)
	if c, is := result.(*record.Comparison); is && err == nil && c.Cell != nil {
		c.Grid, err = gridOf(c, filepath.Dir(dir.Path()), run.Plan.Pack)
	}
	if err == nil && rewrite {
		err = writeReports(dir, result)
	}
	return result, err
}

// gridOf returns the results of the grid that a run is a cell of, in their order, or nil if no other cell is
// there. Of several runs of a cell it has the newest complete one. Others keep the result in their record.
func gridOf(r *record.Comparison, root, pack string) (all []*record.Comparison, err error) {
	there, err := runs.List(root, r.Scenario)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(there) { // the oldest first
		other := p.Record.Comparison()
		if p.Record.Plan.Pack != pack || pack == "" || other == nil || other.Cell == nil {
			continue
		}
		if other.Run == r.Run {
			other = r
		}
		i := slices.IndexFunc(all, func(before *record.Comparison) bool { return slices.Equal(before.Cell, other.Cell) })
		switch {
		case i < 0:
			all = append(all, other)
		case other.Status == record.Complete:
			all[i] = other
		}
	}
	if len(all) < 2 {
		return nil, nil
	}
	return all, nil
}
