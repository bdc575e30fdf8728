package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// Evidence returns a run's result and the windows it rests on: for each arm, the windows of the
// valid blocks in block order. It calls see with every trial that can be read. It returns an error
// if the record cannot be read. It is not for a search for capacity, which has no blocks. The
// windows come from the same judging as the result, so that they agree with it.
func Evidence(dir *record.Dir, run record.Run, see func(record.TrialRecord)) (*record.Result, map[string][]window.Window, error) {
	g, err := read(dir, run, Aim{}, see)
	if err != nil {
		return nil, nil, err
	}
	windows := map[string][]window.Window{}
	for _, a := range run.Plan.Arms {
		for _, block := range g.valid {
			windows[a.Name] = append(windows[a.Name], g.windows[block][a.Name].Window)
		}
	}
	return g.result, windows, nil
}
