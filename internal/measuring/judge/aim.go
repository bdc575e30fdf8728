package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// An Aim is the question that a comparison has to answer, such as a [Winner] or, in a file of its own, a [Gate]. It tells what the
// plan has to make decidable, what is judged, and when the run may end: at the first look that answers the question.
type Aim interface {
	// Record notes the question in a plan, so that a reader of the record asks it again; see [question].
	Record(p *record.Plan)
	// Needs returns what the plan has to make decidable, with this number of arms, the copy included. asked are the
	// plan's expectations.
	Needs(asked []expect.Expectation, arms int) Needs
	// judge adds the answer to a result that tells already which arm is best. Another question has its sentence in
	// r.Answer.Says, and its outcome in r.Answer.Outcome: report prints the one, and the other gives the exit code.
	judge(b blocks, r *record.Comparison)
	// answered reports whether blocks still to come change nothing. room is the largest number of blocks for which the
	// run has time, 0 if unknown.
	answered(g judgement, room int) bool
	// awaited returns what is open and the run goes on for.
	awaited(g judgement) []record.Verdict
	// open reports whether a run that was not cut short has no answer, and other programs may be the reason if they took CPU
	// time. looked tells that the run had a look.
	open(r *record.Comparison, looked bool) bool
	// ofBuilds reports whether the arms are builds of one program: then more CPU time is a part of the answer.
	ofBuilds() bool
}

// Needs are what a plan has to make decidable.
type Needs struct {
	Quantiles []stats.Figure // that must be decidable
	// Tail reports that of the quantiles above the median the highest is enough for which windows have enough requests.
	Tail bool
	// Must are the metrics that the plan has to be able to judge, ascending, and Flag is the flag that asks for them, ""
	// if none does. If a window holds too few requests for a quantile among them, the window grows, and so does the
	// budget; if the user gave these, the plan is refused.
	Must []stats.Figure
	Flag string
	// Comparisons share the probability of error. Bases is how often the baseline is in each.
	Comparisons, Bases int
	// Pairs is how many comparisons there are of one metric: goodput's are added where it ranks. 0 if it never does.
	Pairs   int
	Stretch float64 // by how much longer windows and budget have to be than usual, 1 or more
	// Capacity reports that every server is saturated for a moment after its window.
	Capacity bool
	// Every reports that verdicts on all metrics are a part of the answer.
	Every bool
}

// questions are the aims that a plan can note, by name. Each reads its note.
var questions = map[string]func(note record.Note) (Aim, error){}

// question makes the aims of type A known by a name, and returns the name. An aim's note is what JSON has of it. Call question only
// to initialise package variables.
func question[A Aim](name string) string {
	questions[name] = func(note record.Note) (Aim, error) {
		var a A
		err := copyAsJSON(&a, note)
		return a, err
	}
	return name
}

// noteOf returns the note of an aim. It panics if JSON has no object for the aim.
func noteOf(a Aim) (note record.Note) {
	if err := copyAsJSON(&note, a); err != nil {
		panic(fmt.Sprintf("an aim of type %T cannot be noted: %v", a, err))
	}
	return note
}

// copyAsJSON sets what to points to to the JSON of a value.
func copyAsJSON(to, from any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// aimOf returns the aim that a recorded plan of blocks notes, for judging only: the note does not tell at which look the run could
// end. A plan without a note asks for a Winner. It returns an error for a question of a newer schedlab, and for a damaged note.
func aimOf(p record.Plan) (Aim, error) {
	asked := p.Ask
	if p.Gate != nil {
		asked = map[string]record.Note{gateName: p.Gate}
	}
	for name, note := range asked {
		read := questions[name]
		if read == nil {
			return nil, fmt.Errorf("its question is %q, which this schedlab does not know: use a newer schedlab", name)
		}
		a, err := read(note)
		if err != nil {
			return nil, fmt.Errorf("the note of its question %q is damaged: %w", name, err)
		}
		return a, nil
	}
	return Winner{}, nil
}

// A Winner asks for the verdicts, the best arm and the scenario's expectations.
type Winner struct {
	Standings   bool           // do not wait for verdicts that cannot change an arm's standing
	WholeBudget bool           // wait for verdicts that seem to need more blocks than there is room for
	Quantiles   []stats.Figure // must be decidable; nil stands for the quantiles in expectations or, without expectations, all
	Keep        stats.SLO      // an objective that the plan has to be able to judge, from --slo; nil for none
}

// Record notes nothing: a plan without a note asks for a Winner.
func (w Winner) Record(*record.Plan) {}

// Needs returns what the plan has to make decidable.
func (w Winner) Needs(asked []expect.Expectation, arms int) Needs {
	n := Needs{Quantiles: w.Quantiles, Comparisons: stats.Primaries() * (arms - 2), Pairs: arms - 2, Bases: 1, Stretch: 1, Every: true}
	if w.Keep != nil {
		n.Must, n.Flag = w.Keep.Figures(), "--slo"
	}
	switch {
	case n.Quantiles != nil:
	case len(asked) > 0:
		n.Quantiles = quantiles(asked)
	default:
		for _, m := range stats.Quantiles() {
			n.Quantiles = append(n.Quantiles, m.Figure)
		}
	}
	return n
}

func (w Winner) judge(blocks, *record.Comparison) {}

func (w Winner) answered(g judgement, room int) bool {
	if w.WholeBudget {
		room = 0
	}
	return g.settled(room, w.Standings)
}

func (w Winner) awaited(g judgement) (open []record.Verdict) {
	for _, v := range g.result.Verdicts {
		if v.Verdict.Outcome == outcome.Open && g.awaited(v) {
			open = append(open, v)
		}
	}
	return open
}

func (w Winner) open(r *record.Comparison, looked bool) bool {
	if slices.ContainsFunc(r.Expectations, func(e record.Expectation) bool { return e.Outcome.Decided() }) {
		return false
	}
	// An arm that surely differs is an answer, even if another is open; one that is the same is not.
	open := (r.Answer.Outcome == outcome.Open || r.Answer.Outcome == outcome.Refused) && r.Answer.Kind == ""
	differs := slices.ContainsFunc(r.Answer.Standings, func(s record.Standing) bool {
		return s.Place.Outcome != outcome.Open && s.Place != record.Placed(stats.Same)
	})
	return looked && open && !differs && slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && (v.Verdict.Outcome == outcome.Open || mayBeOthers(r, v.Reason))
	})
}

func (w Winner) ofBuilds() bool { return false }

// Expectations ask for the scenario's expectations alone, whatever verdicts are open.
type Expectations struct {
	Winner
	Asked []expect.Expectation // the expectations of --expect, which the plan has to be able to judge
}

// Needs returns what the plan has to make decidable.
func (e Expectations) Needs(asked []expect.Expectation, arms int) Needs {
	n := e.Winner.Needs(asked, arms)
	n.Flag = cmp.Or(n.Flag, "--expect")
	n.Must = slices.Compact(slices.Sorted(slices.Values(append(quantiles(e.Asked), n.Must...))))
	return n
}

// quantiles returns the quantiles that expectations are about, ascending, without duplicates.
func quantiles(asked []expect.Expectation) (all []stats.Figure) {
	for _, e := range asked {
		all = append(all, e.Quantiles()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (e Expectations) answered(g judgement, _ int) bool { return g.expectationsDecided() }

func (e Expectations) awaited(judgement) []record.Verdict { return nil }
