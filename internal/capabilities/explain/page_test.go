package explain

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// digits keeps six, so that golden files hold on every processor.
func digits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// said is a fact in its own words, of a code that nobody knows.
func said(text string) fact.Fact { return fact.Fact{Code: "test", Text: text} }

// asRecorded is a fact as a record has it.
func asRecorded(text string) (f fact.Fact) {
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	return f
}

// hogged is the doubt that a program took the server's CPU; open says that it is why there is no answer.
func hogged(open bool) fact.Fact {
	return doubt.MachineBusy.Of(doubt.Taken{Side: "server", OfProgram: &doubt.OfProgram{Program: "hog"}, CPUs: 1, Share: .83, Open: open, Challenger: "pool", Low: .8, High: 1.31}).
		Against("nethttp").At("p99").
		Since(asRecorded(`{"code": "program-time", "values": {"share": 0.83, "pid": 7}, "names": {"program": "hog", "side": "server"}}`))
}

// stepped is a figure of two arms, with an interval of a tenth around the difference.
func stepped(from, to float64) stats.Step {
	by := digits(to - from)
	return stats.Step{From: from, To: to, By: by, Low: digits(by - math.Abs(by)/10), High: digits(by + math.Abs(by)/10)}
}

// because is an explanation with a cause that was confirmed, one that was not, and one that
// cannot be tested.
func because() *Explanation {
	fall := func(scale float64) record.Waterfall {
		w := record.Waterfall{}
		was, is := 0.0, 0.0
		for i, st := range timeline.Stretches() {
			from := digits(float64(i) * 2e-5 * scale)
			to := from
			if st.Name == "queue" {
				to = digits(from + 4.1e-3*scale)
			}
			p := record.Piece{Stretch: st.Name, Step: stepped(from, to)}
			if len(st.Phases) > 1 {
				for j, name := range st.Phases {
					phase := record.PhaseStep{Phase: name}
					if j == 0 {
						phase.Step = p.Step
					}
					p.Phases = append(p.Phases, phase)
				}
			}
			w.Pieces = append(w.Pieces, p)
			was, is = was+from, is+to
		}
		w.Step = stepped(digits(was), digits(is))
		return w
	}
	moved, still, not := stepped(4.2e-3, 1.1e-4), stepped(4.2e-3, 4.25e-3), stepped(2.1e-4, 2.2e-4)
	ideal := stepped(4e-4, 3.4e-3)
	const values = `"values": {"workers": 4, "used": 0.93, "cpu": 0.21, "cost": 2.4e-4, "cost_faster": 2e-4, "gc": 0.08, "gc_faster": 0.04}`
	said := func(code fact.Code) fact.Fact {
		return asRecorded(`{"code": "` + string(code) + `", "arm": "pool,workers=4", "baseline": "nethttp", ` + values + `, "names": {"part": "the wait for a worker"}}`)
	}
	return &Explanation{
		Schema: record.Schema, Run: "20261123-080000-why-cafe", Dir: "schedlab-runs/20261123-080000-why-cafe", Scenario: "why-workers",
		From: "nethttp", To: "pool,workers=4", Slower: "pool,workers=4", Blocks: 14, Mean: fall(1), Tail: fall(6), Lost: stepped(0, 0), Ideal: &ideal,
		Witnesses: []Witness{
			{Name: "CPU in use", Unit: "ratio", From: new(.19), To: new(.21)}, {Name: "workers in use", Unit: "ratio", To: new(.93)},
			{Name: "CPU time of a request", Unit: "s", From: new(2e-4), To: new(2.4e-4)}, {Name: "context switches of a request", Unit: "count", From: new(2.1), To: new(2.4)},
		},
		Causes: []Suspect{
			{
				Code: "cause-workers", Fact: said("cause-workers"), Stretch: "the wait for a worker", Share: .98, Outcome: outcome.Yes, Answer: "confirmed",
				Witnesses: []Testimony{{Witness: "workers in use", Unit: "ratio", Slower: .93, Agrees: true}, {Witness: "CPU in use", Unit: "ratio", Faster: new(.19), Slower: .21, Agrees: true}},
				Knob:      "pool,workers=16", Control: "pool,queue-depth=2048,workers=4", Moved: &moved, Still: &still,
			},
			{
				Code: "cause-cost", Fact: said("cause-cost"), Stretch: "the server's own time", Share: .99, Outcome: outcome.Refused, Answer: "refused",
				Witnesses: []Testimony{{Witness: "CPU time of a request", Unit: "s", Faster: new(2e-4), Slower: 2.4e-4, Agrees: true}},
			},
			{
				Code: "cause-gc", Fact: said("cause-gc"), Stretch: "the server's own time", Share: .99, Outcome: outcome.No, Answer: "refuted",
				Witnesses: []Testimony{{Witness: "CPU time of the garbage collector", Unit: "ratio", Faster: new(.04), Slower: .08, Agrees: false}},
				Knob:      "pool,env.GOGC=400,workers=4", Control: "pool,queue-depth=2048,workers=4", Moved: &not, Still: &not,
			},
		},
		Outcome: outcome.Yes, Answer: "explained", Tests: &TestRun{Dir: "schedlab-runs/20261123-080120-why-why-workers-beef", Blocks: 10},
	}
}

// nothing is an explanation of two arms that may differ or not.
func nothing() *Explanation {
	x := because()
	x.Mean, x.Tail = record.Waterfall{Step: stats.Step{From: 1e-3, To: 1e-3, Low: -1e-5, High: 1e-5}}, record.Waterfall{}
	x.Slower, x.Causes, x.Ideal, x.Tests = "", []Suspect{}, nil, nil
	x.settle(outcome.Open)
	x.Reason = fact.List(
		asRecorded(`{"code": "difference-not-sure", "names": {"where": "on average"}, "values": {"low": -1e-5, "high": 1e-5}}`),
		asRecorded(`{"code": "difference-within-noise", "names": {"where": "in the slowest 1 % of requests", "noise": "nethttp and its own copy may differ"}, "values": {"by": 1.31e-4, "noise": 1.8e-4}}`),
	)
	return x
}

// An explanation reads the same today as yesterday, in every format.
func TestGoldenExplanation(t *testing.T) {
	t.Parallel()
	extension := map[string]string{"text": "txt", "json": "json", "markdown": "md", "html": "html"}
	for name, x := range map[string]*Explanation{"because": because(), "nothing": nothing()} {
		for _, f := range Formats() {
			if name == "nothing" && f.Name != "text" && f.Name != "json" {
				continue
			}
			var b bytes.Buffer
			if err := Formats().Render(&b, f.Name, x); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			golden.Check(t, filepath.Join("testdata", name+"."+extension[f.Name]), b.String())
		}
	}
}

// The answer says what is known of a cause, and whether it was tested.
func TestAnswerOfAnExplanation(t *testing.T) {
	t.Parallel()
	const slower = "pool,workers=4 is slower than nethttp by "
	for want, of := range map[string]func(*Explanation){
		slower + "… too few workers, requests wait for one (confirmed: in": func(*Explanation) {},
		slower + "… because a request costs it 240 µs of CPU time, 200 µs in nethttp (measured directly).": func(x *Explanation) {
			x.Causes = x.Causes[1:]
			x.Causes[0].Outcome, x.Causes[0].Shown = outcome.Yes, true
		},
		slower + "… The cause is open; suspected, no setting takes it away: a request costs it 240 µs of CPU time, 200 µs in nethttp.": func(x *Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[1:]
		},
		slower + "… The cause is open; suspected, not tested: the garbage collector takes 8 % of its CPU time (4 % in nethttp).": func(x *Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[2:]
			x.Causes[0].Outcome = outcome.Open
		},
		slower + "… The cause is open: a test refuted that the garbage collector takes 8 % of its CPU time (4 % in nethttp) (in": func(x *Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[2:]
		},
		slower + "… The cause is open: no rule fits.": func(x *Explanation) {
			x.Outcome, x.Causes, x.Reason = outcome.Open, nil, said("no rule fits")
		},
		"No cause is sought: they are alike.": func(x *Explanation) {
			x.Outcome, x.Slower, x.Causes, x.Reason = outcome.No, "", nil, said("they are alike")
		},
		"An explanation of their times is refused: clients starve.": func(x *Explanation) {
			x.Outcome, x.Slower, x.Causes, x.Reason = outcome.Refused, "", nil, said("clients starve")
		},
	} {
		x := because()
		of(x)
		start, end, _ := strings.Cut(want, "… ")
		if got := answerOf(x); !strings.HasPrefix(got, start) || !strings.Contains(got, end) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every figure says which one it is: means in the waterfall, means of other blocks in a test, medians
// of witnesses. Where a cause is confirmed, theory does not divide the difference in another way.
func TestExplanationNamesItsFigures(t *testing.T) {
	t.Parallel()
	text := func(x *Explanation) string {
		var b bytes.Buffer
		if err := Formats().Render(&b, "text", x); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), say.NBSP, " ")), " ")
	}
	x := because()
	got := text(x)
	for _, want := range []string{
		"(confirmed: in the extra blocks the mean of the wait for a worker fell from 4.20 ms to 110 µs with pool,workers=16, and with the control,",
		"lies in the wait for a worker; medians over the blocks: workers in use 93 %;",
		"a figure is the mean over them, its interval Student's",
		"What else is known (medians over the blocks)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	const theory = "ideal schedulers of both kinds would differ by"
	if strings.Contains(got, theory) {
		t.Errorf("theory beside a confirmed cause:\n%s", got)
	}
	x.Outcome, x.Causes = outcome.Open, x.Causes[1:]
	if got := text(x); !strings.Contains(got, theory) {
		t.Errorf("no theory without a confirmed cause:\n%s", got)
	}
	// What running adds to theory is told only where the two intervals lie apart.
	x.Ideal.Low, x.Ideal.High = x.Ideal.By-1e-6, x.Ideal.By+1e-6
	for high, want := range map[float64]string{x.Ideal.By - 2e-6: "are what running them takes", x.Ideal.By: "whether running them takes more is not known"} {
		x.Mean.Low, x.Mean.High = high-1e-3, high
		if got := ideal(x); !strings.Contains(got, want) {
			t.Errorf("a difference up to %v s: no %q in %s", high, want, got)
		}
	}
	for code, want := range map[fact.Code]string{
		turnedAway.Code: "in the extra blocks the share of its part fell from 30 % to 1 % with K, and with the control, C, it was 31 %",
		"cause-batches": "in the extra blocks the mean of its part in the slowest 1 % of requests fell from 300 ms to 10.0 ms with K, and with the control, C, it was 310 ms",
	} {
		moved, still := stepped(.3, .01), stepped(.3, .31)
		c := Suspect{Code: code, Stretch: "its part", Tail: code == "cause-batches", Knob: "K", Control: "C", Moved: &moved, Still: &still}
		if got := strings.ReplaceAll(proof(c), say.NBSP, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An explanation without a cause says it, too.
func TestTooBusyToExplain(t *testing.T) {
	t.Parallel()
	const first = "Too busy to tell: hog took 83 % of the servers' CPU."
	x := &Explanation{From: "nethttp", To: "pool", Slower: "pool", Outcome: outcome.Open, Reason: said("no rule fits"), Busy: hogged(true)}
	if got := explanation(x).Text(document.Options{}); !strings.Contains(got, first+"\n") || !strings.Contains(got, "Next: end hog") || !strings.Contains(got, "So far: ") {
		t.Errorf("got %s", got)
	}
	x.Busy = hogged(false)
	if got := explanation(x).Text(document.Options{}); strings.Contains(got, first) || !strings.Contains(got, "Doubts  hog took 83 %") {
		t.Errorf("an explanation that stands: got %s", got)
	}
}

// The rows that a cause names add up to its share of the difference, since that is how a reader checks it.
func TestRowsOfACauseAddUp(t *testing.T) {
	t.Parallel()
	x := because()
	c := x.Causes[0]
	rows := rowsOf(x, c)
	sum := 0.
	for _, p := range x.Mean.Pieces {
		if slices.Contains(rows, p.Stretch) {
			sum += p.By
		}
	}
	if share := sum / x.Mean.By; len(rows) < 2 || math.Abs(share-c.Share) > .03 {
		t.Errorf("the rows %q have %.3f of the difference, said is %.3f", rows, share, c.Share)
	}
}
