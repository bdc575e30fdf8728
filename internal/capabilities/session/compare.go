package session

import (
	"context"
	"slices"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// A Compare asks which arm of each scenario is best, or whether expectations are kept.
type Compare struct {
	Common
	Grid    []string `json:"grid,omitempty"`   // a comparison for each value, like cpu=20us,100us; two: each pair
	Expect  []string `json:"expect,omitempty"` // assertions beside the scenario's
	Keep    string   `json:"slo,omitempty"`    // an objective that each arm is expected to keep
	Strict  bool     `json:"strict,omitempty"` // an expectation without an answer is NoAnswer, also beside kept ones
	Explain bool     `json:"explain,omitempty"`
	Resume  string   `json:"resume,omitempty"` // a run of the pack to go on with; "" for a new one
}

// Run compares, and returns a single comparison's result, or the entries of several.
func (r Compare) Run(ctx context.Context, p Program, show Observer) (none Answer, err error) {
	c, asked, err := r.ask(p, show)
	switch {
	case err != nil:
		return none, err
	case c.every:
		return c.race(ctx, asked)
	}
	return c.run(ctx, asked, r.Strict)
}

// ask makes a request ready to be carried out, with its questions. It finds the mistakes in flags and files, and has not
// looked at the machine.
func (r Compare) ask(p Program, show Observer) (c *conduct, asked []question, err error) {
	if c, err = newConduct(p, r.Common, show); err != nil {
		return nil, nil, err
	}
	c.request, c.grid, c.explain = &r, r.Grid, r.Explain
	c.o.EveryMode = EveryMode
	for _, text := range r.Expect {
		e, err := expect.Parse(text)
		if err != nil {
			return nil, nil, usageOf("expect", "--expect: %s: %w", text, err)
		}
		c.expect = append(c.expect, e)
	}
	if r.Keep != "" {
		if c.keep, err = stats.ParseSLO(r.Keep); err != nil {
			return nil, nil, usageOf("slo", "--slo: %w", err)
		}
	}
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	if r.Explain && c.o.Site != nil {
		return nil, nil, usageOf("explain", "--explain: its tests run on one machine only; explain a run of this machine, or leave it out")
	}
	if len(c.Scenarios) == 0 {
		c.Scenarios = []string{DefaultScenario}
	}
	if slices.Contains(c.Arms, EveryMode) {
		asked, err = r.askRace(c)
		return c, asked, err
	}
	// Questions first, then the machine, then plans: mistakes in files are found before anything
	// takes time.
	if asked, err = c.questions(); err != nil {
		return nil, nil, err
	}
	if asked, err = c.onGrid(asked); err != nil {
		return nil, nil, err
	}
	if err := c.goOn(r, asked); err != nil {
		return nil, nil, err
	}
	if r.Explain && len(asked) > 1 {
		return nil, nil, usageOf("explain", "--explain is about one run, and these are %d scenarios; name one, or run 'schedlab explain' on the record that matters", len(asked))
	}
	// A single comparison ends when its expectations are decided, or without any expectation when every arm has
	// its rank. A pack needs every verdict. A budget that the user gave is used up: the blocks so far tell how many more
	// are needed, and a disturbed block spoils that estimate.
	single := len(asked) == 1 || len(r.Grid) > 0 // each cell of a grid is a comparison by itself
	aim := judge.Winner{WholeBudget: r.Budget > 0}
	if single {
		aim.Standings, aim.Keep = len(asked[0].Assertions()) == 0, c.keep
	}
	c.o.Aim = aim
	if single && len(c.expect) > 0 {
		c.o.Aim = judge.Expectations{Winner: aim, Asked: c.expect}
	}
	return c, asked, nil
}

// deserved returns the code that results deserve, and how many answers to what was asked are No. The code is NotKept
// if there is one, and Done if something that was asked could be judged ([record.Comparison.Judged]). Otherwise,
// and with strict if an answer is open or refused, it is NoAnswer.
func deserved(entries []report.PackEntry, strict bool) (code, failed int) {
	answers, judged := map[outcome.Outcome]int{}, false
	for _, e := range entries {
		for answer, n := range e.Answers() {
			answers[answer] += n
		}
		judged = judged || e.Result != nil && e.Result.Judged()
	}
	switch {
	case answers[outcome.No] > 0:
		return NotKept, answers[outcome.No]
	case strict && answers[outcome.Open]+answers[outcome.Refused] > 0, !judged:
		return NoAnswer, 0
	}
	return Done, 0
}
