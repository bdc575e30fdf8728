package session

import (
	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/capabilities/cluster"
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/profiling"
	"schedlab/internal/capabilities/race"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/record"
)

// judged judges a record again, and attaches what other commands keep in it: an explanation, and profiles. With an error about
// these the result is there all the same.
func judged(dir *record.Dir, run record.Run) (record.Result, error) {
	r, err := Judge(dir, run)
	if err != nil {
		return nil, err
	}
	return r, Attach(dir, r)
}

// Judge computes the result of a run, of whatever kind, from its record.
func Judge(dir *record.Dir, run record.Run) (record.Result, error) {
	if site := run.Env.Site; site != nil {
		site.Words = cluster.Words // the only kind of site
	}
	if race.Asked(run.Plan) {
		return race.Question{}.Result(dir, run)
	}
	if run.Plan.InBlocks() {
		return judge.FromRecord(dir, run)
	}
	return capacity.Objective{}.Judge(dir, run)
}

// Attach attaches to a result what other commands keep in its record.
func Attach(dir *record.Dir, r record.Result) error {
	x, err := explain.Kept(dir)
	if err != nil {
		return err
	}
	if x != nil {
		r.Head().Attach(x)
	}
	p, err := profiling.Kept(dir)
	if p != nil {
		r.Head().Attach(p)
	}
	return err
}
