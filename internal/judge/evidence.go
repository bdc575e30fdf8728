package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// Evidence is a run's result with the windows that it rests on: of each arm, those of the
// valid blocks in their order. see is shown every trial that can be read. Errors are those of
// reading the record, and a search for capacity, which has no blocks.
func Evidence(dir *record.Dir, run record.Run, see func(record.TrialRecord)) (*record.Result, map[string][]window.Window, error) {
	j, err := New(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, nil, err
	}
	if err := j.takeAll(dir, see); err != nil {
		return nil, nil, err
	}
	g := j.judge()
	windows := map[string][]window.Window{}
	for _, a := range run.Plan.Arms {
		for _, block := range g.valid {
			windows[a.Name] = append(windows[a.Name], g.windows[block][a.Name].Window)
		}
	}
	return g.result, windows, nil
}
