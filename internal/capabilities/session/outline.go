package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// A Draft is a comparison that is planned and not started, and the machine as it is now.
type Draft struct {
	Plan
	Machine Machine
}

// Draft plans a comparison of one scenario as Run does, and starts nothing. Doubts about the machine are in Machine alone.
// Without look it does not look at the machine, which takes a moment and would disturb what is measured there; Machine is
// the zero value then.
func (r Compare) Draft(ctx context.Context, p Program, look bool) (none Draft, err error) {
	c, asked, err := r.ask(p, nil)
	if err != nil {
		return none, err
	}
	var machine Machine
	if look {
		if machine, _, err = seeMachine(ctx, c.o, c.Out); err != nil {
			return none, err
		}
		c.o.Iters = workload.Calibrate()
	}
	all, err := c.plans(asked)
	if err == nil {
		err = c.stayLocal(ctx, asked[0].Arms)
	}
	if err != nil {
		return none, err
	}
	return Draft{c.fitting(all)[0], machine}, nil
}

// lasting formats a time for people, to the millisecond.
func lasting(d time.Duration) string { return prose.RoundTime(d.Round(time.Millisecond).Seconds()) }

// A Line is one line of an outline: a label of up to eleven letters, and a text.
type Line struct{ Label, Text string }

// An Outline is a plan in words, in the order in which it is read.
type Outline struct {
	What     []Line   // scenario, load and CPUs
	Time     []Line   // how long it takes, and what it can decide in that time
	Doubts   []string // the gravest first
	Commands []Line   // of the arms, which a person can run, by role
}

// Outline returns a plan in words. NotRun must be nil.
func (p Plan) Outline() (o Outline) {
	c := p.Planned
	plan := c.Planned()
	say := func(to *[]Line, label, format string, args ...any) {
		*to = append(*to, Line{label, fmt.Sprintf(format, args...)})
	}
	say(&o.What, "scenario", "%s: %s", plan.Scenario, plan.Question)
	if plan.Cell != nil {
		say(&o.What, "cell", "%s", record.CellName(plan.Cell))
	}
	search := !plan.InBlocks()
	if search {
		say(&o.What, "objective", "%s", plan.SLO)
		say(&o.What, "search", "up to %d windows of %s + %s for each arm, seed %d", plan.Windows, lasting(plan.Warmup.Duration), lasting(plan.Window.Duration), plan.Seed)
	} else {
		say(&o.What, "blocks", "up to %d of %d arms, %s + %s each, until all is decided", plan.Blocks, len(plan.Arms), lasting(plan.Heating.Duration+plan.Warmup.Duration), lasting(plan.Window.Duration))
		if plan.Heating.Duration > 0 {
			say(&o.What, "warm-up", "%s of it saturated, by clients that ask again at once", lasting(plan.Heating.Duration))
		}
		say(&o.What, "rate", "%s, seed %d", c.Rate(), plan.Seed)
		if plan.Asked != "" {
			say(&o.What, "asks", "%s", plan.Asked)
		}
	}
	// Each load once: most arms have the same clients.
	var loads []string
	for _, a := range plan.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			say(&o.What, "load", "%s", text)
		}
	}
	say(&o.What, "CPUs", "server %s, load %s", c.Env().ServerCPUs, c.Env().LoadCPUs)
	if search { // every arm has the same budget, and the estimate is for all
		say(&o.Time, "time", "about %.0f s, %s for each arm", plan.Estimate.Seconds(), lasting(plan.Budget.Duration))
	} else {
		o.Time = budgetLines(c, plan)
	}
	for _, d := range fact.ByWeight(plan.Doubts) {
		o.Doubts = append(o.Doubts, report.Doubt(d))
	}
	for _, a := range plan.Arms {
		label := string(a.Role)
		if search {
			label = "arm"
		}
		say(&o.Commands, label, "%s: %s", a.Name, cmdline.Join(a.Command))
	}
	return o
}

// budgetLines tells how long a comparison may take, and which metrics it cannot decide in that time.
func budgetLines(c *runner.Comparison, plan record.Plan) (lines []Line) {
	say := func(label, format string, args ...any) {
		lines = append(lines, Line{label, fmt.Sprintf(format, args...)})
	}
	budget, blocks := c.Budget()
	about := ""
	if plan.Estimate.Duration < budget {
		about = fmt.Sprintf("about %.0f s, ", plan.Estimate.Seconds())
	}
	say("time", "%s%.0f s at most", about, budget.Seconds())
	say("budget", "%v, room for %d blocks", budget, blocks)
	if f := plan.Feasible; f != nil {
		if f.Planned.Duration > 0 {
			say("window", "%s instead of %s, for the requests that the quantiles need", lasting(plan.Window.Duration), lasting(f.Planned.Duration))
		}
		// The rate depends on the probes, so the length of the windows is known when they have run.
		if f.NeedsRate > 0 {
			say("awaits", "the probes: below %.0f/s windows grow as far as the budget has room, and what is open then is told", f.NeedsRate)
		}
		for _, u := range runner.Undecided(*f, false) {
			say("open", "%s", u.String())
		}
	}
	for _, text := range plan.Expect {
		say("expect", "%s", text)
	}
	return lines
}
