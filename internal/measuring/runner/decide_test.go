package runner

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// asking is a plan of 40 blocks of four arms that asks for all quantiles at a rate.
func asking(rate float64, budget time.Duration) plan {
	p := plan{strategy: inBlocks{}, opts: Options{Aim: judge.Winner{}}, asked: times{1050 * time.Millisecond, budget}, Plan: record.Plan{Warmup: record.Lasting(130 * time.Millisecond), Window: record.Lasting(1050 * time.Millisecond)}}
	for range 4 {
		a := arm{PlanArm: record.PlanArm{Clients: record.Clients{Loop: "open", Rate: rate}}}
		if rate == 0 {
			a.load.Rate.OfSlowest = .7
		}
		p.Arms = append(p.Arms, a)
	}
	return p
}

func TestDecide(t *testing.T) {
	t.Parallel()
	requests := func(metric stats.Figure, has, needs float64, asked bool) record.Undecidable {
		return record.Undecidable{Metric: metric, Code: record.ShortRequests, Value: has, Limit: needs, Asked: asked}
	}
	var all []record.Undecidable
	for _, m := range stats.Quantiles() {
		all = append(all, requests(m.Figure, 0, math.Ceil(judge.RequestsFor(m.Quantile)), true))
	}
	for _, c := range []struct {
		name   string
		change func(*plan)
		rate   float64
		budget time.Duration
		window time.Duration
		want   record.Feasibility
	}{
		{"enough requests", nil, 2000, 80 * time.Second, 1050 * time.Millisecond, record.Feasibility{First: 10}},
		{"a longer window", nil, 800, 2 * time.Minute, 1400 * time.Millisecond, record.Feasibility{First: 10, Planned: record.Lasting(1050 * time.Millisecond)}},
		{"a longer window and no budget for it", nil, 800, time.Minute, 1050 * time.Millisecond, record.Feasibility{
			First: 10, Cannot: []record.Undecidable{requests(stats.P99, 840, 1100, true)}, Would: &record.WouldDo{Window: record.Lasting(1400 * time.Millisecond), Budget: record.Lasting(70 * time.Second)},
		}},
		{"budget for p90 alone", nil, 50, 4 * time.Minute, 2700 * time.Millisecond, record.Feasibility{
			First: 10, Planned: record.Lasting(1050 * time.Millisecond), Cannot: []record.Undecidable{requests(stats.P99, 135, 1100, true)}, Would: &record.WouldDo{Window: record.Lasting(22 * time.Second), Budget: record.Lasting(894 * time.Second)},
		}},
		{"room for windows that p90 needs at least, and for none that hardly ever have too few", nil, 50, 112 * time.Second, 2200 * time.Millisecond, record.Feasibility{
			First: 10, Planned: record.Lasting(1050 * time.Millisecond), Cannot: []record.Undecidable{requests(stats.P99, 110, 1100, true)}, Would: &record.WouldDo{Window: record.Lasting(22 * time.Second), Budget: record.Lasting(894 * time.Second)},
		}},
		{"a window of the user's", func(p *plan) { p.opts.Window = 1050 * time.Millisecond }, 800, 2 * time.Minute, 1050 * time.Millisecond, record.Feasibility{
			First: 10, Cannot: []record.Undecidable{requests(stats.P99, 840, 1100, true)}, Would: &record.WouldDo{Window: record.Lasting(1400 * time.Millisecond)},
		}},
		{"nothing asks for p99", func(p *plan) { p.opts.Aim = judge.Winner{Quantiles: []stats.Figure{stats.P50, stats.P90}} }, 800, 2 * time.Minute, 1050 * time.Millisecond, record.Feasibility{
			First: 10, Cannot: []record.Undecidable{requests(stats.P99, 840, 1100, false)},
		}},
		{"whole periods of the arrivals", func(p *plan) { p.Arms[0].arrivals.Kind = arrivals.KindSine }, 800, 3 * time.Minute, 2100 * time.Millisecond, record.Feasibility{First: 10, Planned: record.Lasting(1050 * time.Millisecond)}},
		{"a rate not known yet", nil, 0, time.Minute, 1050 * time.Millisecond, record.Feasibility{First: 10, NeedsRate: 1048}},
		{"a rate not known yet, with a floor", func(p *plan) {
			for i := range p.Arms {
				p.Arms[i].load.MinRate.PerSecond = 1100
			}
		}, 0, 2 * time.Minute, 1050 * time.Millisecond, record.Feasibility{First: 10}},
		{"closed loops", func(p *plan) {
			for i := range p.Arms {
				p.Arms[i].Clients.Loop = "closed"
			}
		}, 0, 2 * time.Minute, 1050 * time.Millisecond, record.Feasibility{First: 10}},
		{"a rate that no window makes up for", nil, .001, time.Hour, 1050 * time.Millisecond, record.Feasibility{First: 10, Cannot: all}},
	} {
		d := asking(c.rate, c.budget)
		if c.change != nil {
			c.change(&d)
		}
		got, window := d.limits().decide(d.asked)
		if diff := cmp.Diff(c.want, got); diff != "" || window != c.window {
			t.Errorf("%s: a window of %v, want %v (-want +got):\n%s", c.name, window, c.window, diff)
		}
	}
}

// undecided are the sentences about what cannot be decided.
func undecided(f record.Feasibility, all bool) (lines []string) {
	for _, u := range Undecided(f, all) {
		lines = append(lines, u.String())
	}
	return lines
}

// A budget or a number of blocks short of the first look decides nothing at all.
func TestDecideNothing(t *testing.T) {
	t.Parallel()
	d := asking(2000, 50*time.Second)
	f, _ := d.limits().decide(d.asked)
	if got := undecided(f, true); !slices.Equal(got, []string{"nothing can be decided: the first 10 blocks take 56 s, and the budget is 50 s; --budget 57s would do"}) {
		t.Errorf("a short budget: got %q", got)
	}
	d = asking(2000, 2*time.Minute)
	d.opts.Blocks = 9
	f, _ = d.limits().decide(d.asked)
	if got := undecided(f, true); !slices.Equal(got, []string{"nothing can be decided: --blocks 9, and the first that decide anything are 10; --blocks 10 would do"}) {
		t.Errorf("few blocks: got %q", got)
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	d := asking(800, time.Minute)
	f, _ := d.limits().decide(d.asked)
	if got := undecided(f, false); !slices.Equal(got, []string{"p99 cannot be decided: a window holds 840 requests, it needs 1100; --window 1.4s --budget 1m10s would do"}) {
		t.Errorf("got %q", got)
	}
	d.opts.Aim = judge.Winner{Quantiles: []stats.Figure{}}
	f, _ = d.limits().decide(d.asked)
	if got := undecided(f, false); len(got) != 0 {
		t.Errorf("nothing is asked for: got %q", got)
	}
	if got := undecided(f, true); !slices.Equal(got, []string{"p99 cannot be decided: a window holds 840 requests, it needs 1100; no expectation asks for it"}) {
		t.Errorf("all of it: got %q", got)
	}
}

// An expectation asks for the quantiles that it names, and without any the window grows
// for all primary ones; a window of the user's stays.
func TestPlanLengthensWindows(t *testing.T) {
	t.Parallel()
	budget := func(o *Options) { o.Budget = 3 * time.Minute }
	p := planned(t, demo.Text, budget)
	if p.Window.Seconds() != 3.7 || p.Feasible.Planned.Seconds() != .5 || p.Estimate.Seconds() > 180 || len(p.Order) < p.Blocks {
		t.Errorf("300/s, three minutes: got windows of %g s, %+v, %g s in all, %d blocks and %d in order", p.Window.Seconds(), p.Feasible, p.Estimate.Seconds(), p.Blocks, len(p.Order))
	}
	p = planned(t, demo.Text+"expect: ['not slower(\"p90\", \"fasthttp\")']\n", budget)
	if p.Window.Seconds() != .5 || len(undecided(*p.Feasible, false)) > 0 {
		t.Errorf("only p90 is asked for: got windows of %g s, %+v", p.Window.Seconds(), p.Feasible)
	}
	p = planned(t, demo.Text, func(o *Options) { budget(o); o.Window = time.Second })
	if got := undecided(*p.Feasible, false); p.Window.Seconds() != 1 || len(got) != 1 || !strings.HasSuffix(got[0], "--window 3.7s would do") {
		t.Errorf("a window of the user's: got %g s, %q", p.Window.Seconds(), got)
	}
	// A rate that the probes choose is judged when it is known.
	p = planned(t, strings.Replace(demo.Text, "rate: 300/s", "rate: 0.5x", 1), budget)
	if p.Window.Seconds() != .5 {
		t.Errorf("before the probes: got windows of %g s", p.Window.Seconds())
	}
	if p, err := p.offered(findings{xmax: map[string]float64{"nethttp": 1000, "fasthttp": 1200}}); err != nil || p.Window.Seconds() != 2.2 || p.Feasible.Planned.Seconds() != .5 {
		t.Errorf("500/s after the probes: got windows of %g s, %+v, %v", p.Window.Seconds(), p.Feasible, err)
	}
}

// An expectation of --expect has to be judgeable. Windows and a budget that nobody gave grow for it; if
// the user gave them, the plan is refused and names the flags that help.
func TestPlanMustJudge(t *testing.T) {
	t.Parallel()
	gate := `not slower("p99", "fasthttp")`
	text := demo.Text + "expect: ['" + gate + "']\n"
	must := func(o *Options) { o.Aim = judge.Expectations{Asked: parsed(t, text).Expect} }
	p := planned(t, text, must)
	if budget, blocks := (&Comparison{p}).Budget(); p.Window.Seconds() != 3.7 || budget < 3*time.Minute || blocks != roomyBlocks {
		t.Errorf("300/s: got windows of %g s, a budget of %v and %d blocks", p.Window.Seconds(), budget, blocks)
	}
	if facts := p.foreseen(); len(facts) != 1 || !strings.HasPrefix(facts[0].String(), "windows last 3.7s instead of 500ms, to hold enough requests for what --expect asks; this takes ") {
		t.Errorf("300/s: got %v", facts)
	}
	// The probes of a fixed rate change nothing, also of what a smaller budget leaves.
	if again, err := p.offered(findings{xmax: map[string]float64{"nethttp": 9000, "fasthttp": 9000}}); err != nil || again.Window != p.Window || again.budget != p.budget || again.Feasible.Planned.Seconds() != .5 {
		t.Errorf("300/s after the probes: got windows of %g s in %v, %+v, %v", again.Window.Seconds(), again.budget, again.Feasible, err)
	}
	if within := (&Comparison{p}).Within(150 * time.Second).plan; within.budget != 150*time.Second {
		t.Errorf("within 150s: got %v", within.budget)
	} else if again, err := within.offered(findings{xmax: map[string]float64{"nethttp": 9000, "fasthttp": 9000}}); err != nil || again.budget != 150*time.Second || again.Window.Seconds() != 3.7 {
		t.Errorf("within 150s after the probes: got windows of %g s in %v, %v", again.Window.Seconds(), again.budget, err)
	}
	p = planned(t, text, func(*Options) {})
	if budget, _ := (&Comparison{p}).Budget(); budget != 75*time.Second {
		t.Errorf("an expectation of the scenario: got a budget of %v", budget)
	}
	if facts := p.foreseen(); len(facts) != 1 || facts[0].String() != "1 of 1 expectation will be refused, because a window holds too few requests for the quantile: "+gate {
		t.Errorf("an expectation of the scenario: got %v", facts)
	}
	for _, c := range []struct {
		name   string
		change func(*Options)
		text   string
		want   string
	}{
		{"a window of the user's", func(o *Options) { o.Window, o.Budget = 500*time.Millisecond, 3*time.Minute }, text, "a window of 500ms holds 150 requests at 300/s, and p99 needs 1100; give --window 3.7s"},
		{"a budget of the user's", func(o *Options) { o.Budget = time.Minute }, text, "give --window 3.7s --budget 2m"},
		{"a rate that needs too long", func(*Options) {}, strings.Replace(text, "rate: 300/s", "rate: 20/s", 1), "give --window 55s --budget 27m"},
	} {
		var bad *Impossible
		o := options()
		must(&o)
		c.change(&o)
		_, err := Plan(parsed(t, c.text), o)
		if !errors.As(err, &bad) || !bad.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// A rate that the probes choose is held to the same rule when it is known.
func TestProbedPlanMustJudge(t *testing.T) {
	t.Parallel()
	text := strings.Replace(demo.Text, "rate: 300/s", "rate: 0.5x", 1) + "expect: ['not slower(\"p99\", \"fasthttp\")']\n"
	p := planned(t, text, func(o *Options) {
		o.Aim, o.Window = judge.Expectations{Asked: parsed(t, text).Expect}, 500*time.Millisecond
	})
	_, err := p.offered(findings{xmax: map[string]float64{"nethttp": 600, "fasthttp": 600}})
	if err == nil || !strings.Contains(err.Error(), "give --window 4.1s") {
		t.Errorf("got %v", err)
	}
}
