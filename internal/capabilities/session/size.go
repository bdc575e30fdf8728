package session

import (
	"slices"

	"schedlab/internal/capabilities/size"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/stats"
)

// A Size asks how many workers a pool needs for a demand. Nothing is run.
type Size struct {
	Rate   scenario.Rate // requests per second
	Demand size.Demand
	SLO    string  // "" for none
	Margin float64 // ratio of the rate by which it may grow with the SLO still kept, 0..1
	Cores  int     // 0: as many as a comparison here gives the server
}

// Objective returns the SLO, with the term that size.Objective adds; nil without one. Errors are wrong usage.
func (r Size) Objective() (slo stats.SLO, assumed string, err error) {
	if r.SLO == "" {
		return nil, "", nil
	}
	slo, assumed, err = size.Objective(r.SLO, r.Rate.PerSecond)
	return slo, assumed, Usage(err)
}

// Run computes the answer, and notes on the page an SLO term that was added and the comparison that tests the answer.
func (r Size) Run() (*size.Page, error) {
	slo, assumed, err := r.Objective()
	if err != nil {
		return nil, err
	}
	if r.Cores == 0 {
		n, err := runner.ServerCPUs(runner.Options{})
		if err != nil {
			return nil, Usage(err)
		}
		r.Cores = n
	}
	a, err := size.Find(r.Demand, slo, size.Options{Rate: r.Rate.PerSecond, Cores: r.Cores, Margin: r.Margin, Seed: 1})
	if err != nil {
		return nil, err
	}
	page := &size.Page{Answer: a, Rate: r.Rate.String(), Assumed: assumed}
	if a.Advice.Workers > 0 {
		args, takes, err := a.Test(r.Rate.String())
		if err != nil {
			page.Untestable = err.Error()
			return page, nil
		}
		page.Test, page.TestTakes = cmdline.Join(slices.Insert(args, 0, "schedlab")), takes
	}
	return page, nil
}
