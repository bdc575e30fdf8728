package frozen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/capacity"
	_ "schedlab/internal/capabilities/doctor" // its kinds of facts
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/session"
	_ "schedlab/internal/measuring/runner" // and its: a doubt's weight is known where its kind is
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// This file turns judged records into rows. The rows have words of their own, so that a type, a word
// of a report or a field of the JSON can change while the answers stay: then this file changes, and
// testdata does not.

// A row is one answer or one figure. Numbers have six digits.
type row struct {
	Run      string   `json:"run"`
	Of       string   `json:"of"` // run, doubt, left out, figure, verdict, control, duel, standing, gate, expectation, capacity, window, stretch, cause, explanation
	Arm      string   `json:"arm,omitempty"`
	Against  string   `json:"against,omitempty"`
	Figure   string   `json:"figure,omitempty"`
	Outcome  string   `json:"outcome,omitempty"` // see words
	Value    string   `json:"value,omitempty"`   // of a comparison: the ratio
	Interval []string `json:"interval,omitempty"`
	Blocks   int      `json:"blocks,omitempty"`
	Codes    []string `json:"codes,omitempty"` // reasons, each with those that it rests on
}

// words are the outcomes of a row, by what schedlab calls them now.
var words = map[string]string{
	// Of two figures, and of two arms.
	"FASTER": "faster", "SLOWER": "slower", "SAME": "same", "HIGHER": "higher", "LOWER": "lower", "INCONCLUSIVE": "open", "REFUSED": "refused",
	"faster": "faster", "slower": "slower", "same": "same", "partly-same": "open or same", "undecided": "open", "trade": "better and worse",
	"keeps-up": "keeps up", "falls-behind": "falls behind", "other-load": "other load", "starves": "starves", "no-times": "no times",
	// Of a whole comparison.
	"other-loads": "other load", "one-wins": "one wins", "several-win": "several win", "tie": "same", "tie-for-best": "same for the best",
	// Of a gate, an expectation, a cause.
	"open": "open", "refused": "refused",
	"confirmed": "yes", "shown": "yes", "not-confirmed": "no", "untested": "open", "untestable": "refused",
	// Of a search.
	"between": "between", "beyond": "beyond", "below": "below", "never": "never", "died": "died",
	"yes": "yes", "no": "no", "": "",
	// Of a run.
	"complete": "complete", "interrupted": "interrupted", "partial": "partial", "running": "running",
}

// said returns the row's word for an outcome.
func said[T ~string](outcome T) string {
	word, ok := words[string(outcome)]
	if !ok {
		panic(fmt.Sprintf("outcome %q has no word here", outcome))
	}
	return word
}

// number prints a figure; "" if it is not known.
func number(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// interval prints a pair of limits; nil if there are none.
func interval(low, high float64) []string {
	if low == 0 && high == 0 {
		return nil
	}
	return []string{number(low), number(high)}
}

// codes names facts, each with the facts that it rests on.
func codes(facts ...fact.Fact) (all []string) {
	for _, f := range facts {
		if f.None() {
			continue
		}
		code := string(f.Code)
		if because := codes(f.Because...); len(because) > 0 {
			code += " (" + strings.Join(because, ", ") + ")"
		}
		all = append(all, code)
	}
	return all
}

// projected judges runs again and returns their rows as JSON, one a line. Of two runs of which the first
// was explained, the second is the test of the causes.
func projected(t *testing.T, runs ...run) []byte {
	t.Helper()
	var rows []row
	for i, of := range runs {
		r, err := session.Judge(of.dir, of.Run)
		if err != nil {
			t.Fatal(err)
		}
		add := func(all ...row) {
			for _, x := range all {
				x.Run = strconv.Itoa(i + 1)
				rows = append(rows, x)
			}
		}
		add(answer(r)...)
		// What run.json says was written by that older schedlab, in its words.
		if old := of.Result; old != nil {
			got, want := decided(answer(old)), decided(answer(r))
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("the result that run.json holds, as it is read today (+), against what is judged today (-):\n%s", diff)
			}
		}
		if s, is := r.(*capacity.Search); is {
			add(searched(s)...)
		}
		x, err := explain.Kept(of.dir)
		if err != nil {
			t.Fatal(err)
		}
		if x != nil {
			add(explanation("recorded ", x)...)
			add(explanation("", explained(t, x, runs[i:]))...)
		}
	}
	var b bytes.Buffer
	for i, x := range rows {
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		line, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}

// answer returns the rows of a result, but for the capacities of a search.
func answer(of record.Result) (rows []row) {
	r, is := of.(*record.Comparison)
	if s, searched := of.(*capacity.Search); searched {
		r = &record.Comparison{Common: s.Common}
		for _, a := range s.Arms {
			r.Arms = append(r.Arms, record.Arm{Contestant: a.Contestant, Figures: record.Figures{XMax: stats.Known(cmp.Or(a.XMax, math.NaN())).Pointer()}})
		}
	}
	rows = append(rows, row{Of: "run", Outcome: said(r.Status), Blocks: r.Valid})
	if is {
		winner := ""
		if r.Winner.Outcome == outcome.Yes {
			winner = r.Winner.String()
		}
		rows = append(rows, row{Of: "answer", Arm: winner, Outcome: said(cmp.Or(string(r.Answer.Kind), string(r.Answer.Outcome))), Blocks: r.Ran, Codes: codes(r.Answer.Reason)})
	}
	for _, f := range r.Doubts {
		rows = append(rows, row{Of: "doubt", Arm: f.Arm, Against: f.Baseline, Figure: f.Metric, Codes: codes(f)})
	}
	for _, x := range r.Refused {
		rows = append(rows, row{Of: "left out", Arm: x.Arm, Figure: x.Rule, Value: number(x.Value), Blocks: x.Block})
	}
	for _, a := range r.Arms {
		for _, f := range figures(a) {
			if f.Value != "" {
				f.Of, f.Arm = "figure", a.Name
				rows = append(rows, f)
			}
		}
	}
	rows = append(rows, verdicts("verdict", r.Verdicts)...)
	rows = append(rows, verdicts("control", r.AA)...)
	rows = append(rows, verdicts("duel", r.Duels)...)
	for _, s := range r.Answer.Standings {
		rows = append(rows, standing(s))
	}
	for _, d := range r.Answer.Duels {
		rows = append(rows, standing(d.Standing))
	}
	for _, d := range r.Differences {
		rows = append(rows, waterfall("difference", d.Arm, d.Baseline, d.Tail, d.Waterfall)...)
	}
	for _, g := range r.Gate {
		rows = append(rows, row{Of: "gate", Figure: g.Metric.String(), Outcome: said(g.Outcome), Value: number(g.Ratio), Interval: interval(g.Low, g.High), Codes: codes(g.Reason)})
	}
	if len(r.Gate) > 0 {
		rows = append(rows, row{Of: "gate", Figure: "all", Outcome: said(r.GateOutcome())})
	}
	for _, e := range r.Expectations {
		rows = append(rows, row{Of: "expectation", Figure: e.Text, Outcome: said(e.Outcome), Codes: codes(e.Reason)})
	}
	return rows
}

// decided leaves out the rows of what a frozen record may have too little for: of figures that rest on
// stamps, and of doubts.
func decided(rows []row) []row {
	return slices.DeleteFunc(rows, func(x row) bool {
		return x.Of == "figure" || x.Of == "doubt" || strings.HasPrefix(x.Of, "difference")
	})
}

// figures returns the figures of an arm, unknown ones too.
func figures(a record.Arm) (all []row) {
	add := func(name string, x *float64) {
		f := row{Figure: name}
		if x != nil {
			f.Value = number(*x)
		}
		all = append(all, f)
	}
	count := func(name string, n int) { add(name, new(float64(n))) }
	add("highest rate", a.XMax)
	add("p50", a.P50)
	add("p90", a.P90)
	add("p99", a.P99)
	add("goodput", a.Goodput)
	add("CPU time", a.CPUPerRequest)
	add("mean", a.Mean)
	add("mean of good", a.GoodMean)
	add("Jain", a.Jain)
	add("switches", a.Switches)
	add("overflows", a.Overflows)
	add("loops", a.Loops)
	add("independent", &a.NEff)
	add("joined", &a.Joined)
	count("errors", a.Errors)
	count("requests", a.Requests)
	count("starved", a.StarvedConnections)
	if a.Behind {
		count("falls behind", 1)
	}
	for _, p := range a.Phases {
		if p.Mean > 0 || p.Tail > 0 {
			add("phase "+p.Name, &p.Mean)
			add("phase "+p.Name+" in the tail", &p.Tail)
		}
	}
	if s := a.Sessions; s != nil {
		count("sessions", s.Complete)
		add("session p50", s.P50)
	}
	if f := a.Footprint; f != nil {
		add("memory", new(float64(f.Memory)))
	}
	return all
}

// verdicts returns a row for each verdict.
func verdicts(of string, all []record.Verdict) (rows []row) {
	for _, v := range all {
		x := row{Of: of, Arm: v.Arm, Against: v.Baseline, Figure: v.Metric.String(), Outcome: said(v.Verdict.String()), Interval: interval(v.Low, v.High), Blocks: v.Blocks, Codes: codes(v.Reason)}
		if v.Verdict.Outcome != outcome.Refused {
			x.Value = number(v.Ratio)
		}
		rows = append(rows, x)
	}
	return rows
}

// standing returns the row of an arm's rank.
func standing(s record.Standing) row {
	return row{Of: "standing", Arm: s.Arm, Against: s.Baseline, Outcome: said(s.Place.String())}
}

// waterfall returns the rows of a difference's parts, in seconds.
func waterfall(of, arm, against string, tail bool, w record.Waterfall) (rows []row) {
	if tail {
		of += " in the tail"
	}
	rows = append(rows, row{Of: of, Arm: arm, Against: against, Figure: "all", Value: number(w.By), Interval: interval(w.Low, w.High)})
	for _, p := range w.Pieces {
		rows = append(rows, row{Of: of, Arm: arm, Against: against, Figure: p.Stretch, Value: number(p.By), Interval: interval(p.Low, p.High)})
	}
	return rows
}

// bound tells where an arm's capacity lies, in the words of the older schedlab.
func bound(a capacity.ArmCapacity) string {
	switch {
	case a.Outcome == outcome.Yes && a.High > 0:
		return "between"
	case a.Outcome == outcome.Yes:
		return "beyond"
	case a.Never:
		return "never"
	case a.Outcome == outcome.No:
		return "below"
	case a.Outcome == outcome.Refused && a.End != nil && a.End.Died:
		return "died"
	}
	return string(a.Outcome)
}

// searched returns the rows of a search for capacity. Rates are requests per second.
func searched(c *capacity.Search) (rows []row) {
	for _, a := range c.Arms {
		rows = append(rows, row{Of: "capacity", Arm: a.Name, Figure: cmp.Or(a.Term, c.SLO), Outcome: said(bound(a)),
			Value: number(a.Estimate), Interval: interval(a.Low, a.High), Codes: codes(a.Fact, a.Starves)})
		rows = append(rows, row{Of: "recovers", Arm: a.Name, Outcome: said(map[bool]outcome.Outcome{true: a.Recovers}[a.Recovers.Decided()]), Blocks: a.AgainOf})
		rows = append(rows, row{Of: "figure", Arm: a.Name, Figure: "highest rate", Value: number(a.XMax)})
		rows = append(rows, row{Of: "figure", Arm: a.Name, Figure: "CPU time", Value: number(a.CPUPerRequest)})
		for _, w := range a.Windows {
			x := row{Of: "window", Arm: a.Name, Figure: w.Purpose, Outcome: "no", Value: number(w.Rate), Codes: codes(w.Refused)}
			switch {
			case !w.Refused.None():
				x.Outcome = "refused"
			case w.Kept:
				x.Outcome = "yes"
			}
			rows = append(rows, x)
		}
	}
	for _, f := range c.Lines {
		rows = append(rows, row{Of: "more capacity", Arm: f.Arm, Against: f.Baseline, Codes: codes(f)})
	}
	return rows
}

// explained explains the first of the runs again, and judges its test, the second, if there is one.
func explained(t *testing.T, recorded *explain.Explanation, runs []run) *explain.Explanation {
	t.Helper()
	modes := map[string]mode.Mode{}
	for _, m := range model.Modes() {
		modes[m.Name] = m.Mode
	}
	c, err := explain.Read(runs[0].dir, runs[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.Explain(recorded.From, recorded.To, modes)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 2 {
		return x
	}
	test, err := explain.Read(runs[1].dir, runs[1].Run)
	if err != nil {
		t.Fatal(err)
	}
	return c.Confirm(x, test)
}

// explanation returns the rows of an explanation. what tells those that were read from those that were made.
func explanation(what string, x *explain.Explanation) (rows []row) {
	rows = append(rows, row{Of: what + "explanation", Arm: x.To, Against: x.From, Outcome: said(x.Outcome), Blocks: x.Blocks, Codes: codes(x.Reason, x.Busy)})
	rows = append(rows, waterfall(what+"stretch", x.To, x.From, false, x.Mean)...)
	rows = append(rows, waterfall(what+"stretch", x.To, x.From, true, x.Tail)...)
	for _, c := range x.Causes {
		rows = append(rows, row{Of: what + "cause", Arm: x.Slower, Figure: c.Stretch, Outcome: said(c.Outcome), Value: number(c.Share), Codes: codes(c.Fact, c.Why)})
		for _, w := range c.Witnesses {
			agrees := outcome.No
			if w.Agrees {
				agrees = outcome.Yes
			}
			rows = append(rows, row{Of: what + "witness", Arm: x.Slower, Figure: w.Witness, Outcome: said(agrees), Value: number(w.Slower)})
		}
	}
	if x.Tests != nil {
		rows = append(rows, row{Of: what + "test", Blocks: x.Tests.Blocks})
	}
	return rows
}
