package judge

import (
	"slices"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// expected decides every expectation of the plan, in its order. One that cannot be parsed, because another version wrote it, is
// refused.
func (g judgement) expected() []record.Expectation {
	type reading struct {
		expect.Expectation
		failed error
	}
	var read []reading
	// All expectations share one probability of error, so count all statements before deciding any.
	statements := 0
	for _, text := range g.run.Plan.Expect {
		parsed, err := expect.Parse(text)
		if read = append(read, reading{parsed, err}); err == nil {
			statements += parsed.Statements()
		}
	}
	all, refused := []record.Expectation{}, g.refuseRun()
	for i, text := range g.run.Plan.Expect {
		f := expect.Finding{Outcome: outcome.Refused}
		switch err := read[i].failed; {
		case err != nil:
			f.Reason = expect.Unreadable.Of(expect.NotRead{Error: err.Error()})
		case !refused.None():
			f.Reason = refused
		default:
			f = read[i].Decide(g, statements)
		}
		e := record.Expectation{Text: text, Outcome: f.Outcome, Answer: outcome.Expectation.Phrase(f.Outcome), Reason: f.Reason}
		if s, err := expect.ParseSentence(g.run.Plan.Claims[text]); err == nil {
			e.Claim = s.Say(g)
		}
		all = append(all, e)
	}
	return all
}

// The methods below make a judgement an [expect.Run]. They answer from the valid blocks only, and refuse a figure for the reasons
// for which a verdict on it would be refused.

// window returns an arm's window in the i-th valid block.
func (g judgement) window(i int, arm string) (*modelled, error) {
	w, ok := g.windows[g.valid[i]][arm]
	if !ok {
		return w, noSuchArm.On(arm)
	}
	return w, nil
}

// Rate, Window and Blocks are figures of the plan and the run.
func (g judgement) Rate() float64   { return g.run.Plan.Rate }
func (g judgement) Window() float64 { return g.run.Plan.Window.Seconds() }
func (g judgement) Blocks() int     { return len(g.valid) }

// Figure returns a value of an arm's window in a block; NaN and refused figures are errors. block
// is an index of the valid blocks, and class "" or the name of one.
func (g judgement) Figure(block int, f stats.Figure, arm, class string) (float64, error) {
	w, err := g.window(block, arm)
	if err != nil {
		return 0, err
	}
	// A figure of the twin is missing because the arm has no twin, and the fact says why not.
	if (f == stats.TwinMean || f == stats.Overhead) && !w.noTwin.None() {
		return 0, noTwin.On(arm).Since(w.noTwin)
	}
	if why := g.refuseFigure(f, *armOf(g.result.Arms, arm)); !why.None() {
		return 0, figureRefused.On(arm).At(f.String()).Since(why)
	}
	values := w.Values
	if class != "" {
		i := slices.IndexFunc(w.Classes, func(c window.Class) bool { return c.Name == class })
		if i < 0 {
			return 0, noSuchClass.Of(className{class})
		}
		values = w.Classes[i].Values
	}
	v, ok := values[f].Get()
	if !ok {
		return 0, notMeasured.On(arm).At(f.String())
	}
	return v, nil
}

// Ratio returns the arm's value divided by its reference's, for the metric of a verdict.
func (g judgement) Ratio(block int, v record.Verdict) float64 {
	windows := g.windows[g.valid[block]]
	return windows[v.Arm].Values[v.Metric].Float() / windows[v.Baseline].Values[v.Metric].Float()
}

// XMax returns an arm's measured closed-loop throughput, requests per second. An arm that was not
// probed is an error.
func (g judgement) XMax(arm string) (float64, error) {
	if x := g.run.XMax[arm]; x > 0 {
		return x, nil
	}
	return 0, noXMax.On(arm)
}

// Verdict returns the run's verdict on a challenger; a refused verdict comes with an error.
func (g judgement) Verdict(metric stats.Figure, arm string) (record.Verdict, error) {
	for _, v := range g.result.Verdicts {
		if v.Metric != metric || v.Arm != arm {
			continue
		}
		if v.Verdict.Outcome == outcome.Refused {
			return v, verdictRefused.On(arm).At(metric.String()).Since(v.Reason)
		}
		return v, nil
	}
	return record.Verdict{}, verdictAbsent.On(arm).At(metric.String())
}

// Challengers returns each challenger with the name of its reference. Both are in the order of the
// plan.
func (g judgement) Challengers() (pairs [][2]string) {
	for i, arm := range g.result.Arms {
		if arm.Role == record.Challenger {
			pairs = append(pairs, [2]string{arm.Name, g.result.Arms[Reference(g.run.Plan.Arms, i)].Name})
		}
	}
	return pairs
}

// phases returns the phases of an arm's response time in a block. They are an error without stamps
// or without a good request.
func (g judgement) phases(block int, arm string) ([]timeline.Phase, error) {
	w, err := g.window(block, arm)
	switch {
	case err != nil:
		return nil, err
	case !w.Phases.Stamped || w.Phases.Good == 0:
		return nil, noTimeline
	}
	return w.Phases.List(), nil
}

// Spent returns the mean time, in seconds, over all phases; 0 if it is not known.
func (g judgement) Spent(block int, arm string) (sum float64) {
	phases, _ := g.phases(block, arm)
	for _, p := range phases {
		sum += p.Mean
	}
	return sum
}

// Phase returns the mean time, in seconds, that an arm's good requests spent in a phase or
// stretch.
func (g judgement) Phase(block int, arm, name string) (float64, error) {
	phases, err := g.phases(block, arm)
	if err != nil {
		return 0, err
	}
	// The first stretch is the client's own time, which it stamps itself. All else needs the
	// server's stamps.
	client := timeline.Stretches()[0]
	if w := g.windows[g.valid[block]][arm]; w.Phases.Joined == 0 && name != client.Name && !slices.Contains(client.Phases, name) {
		return 0, noStamps.Of(phase{name}).On(arm)
	}
	for _, p := range phases {
		if p.Name == name {
			return p.Mean, nil
		}
	}
	for _, st := range append(timeline.Stretches(), window.Handled) {
		if st.Name == name {
			return st.In(phases, MeanOf), nil
		}
	}
	return 0, noSuchPhase.Of(phase{name})
}

// refuseFigure returns the reason against a figure of one arm; no fact if there is none. It does not check drift or disturbances,
// which matter only for a comparison of two arms.
func (b blocks) refuseFigure(f stats.Figure, a record.Arm) (why fact.Fact) {
	m := f.Row()
	if m.Proof == stats.InOverload {
		return why
	}
	if why = b.refuseMetric(m, a); why.None() && f != stats.GoodMean && b.fails(a.Name) {
		return badReplies.Of(share{float64(a.Errors) / float64(max(a.Requests, 1))})
	}
	return why
}

// armOf returns the arm with this name, or nil.
func armOf(arms []record.Arm, name string) *record.Arm {
	i := slices.IndexFunc(arms, func(a record.Arm) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &arms[i]
}
