package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
)

// stepped is a figure of two arms, with an interval of a tenth around the difference.
func stepped(from, to float64) record.Step {
	by := digits(to - from)
	return record.Step{From: from, To: to, By: by, Low: digits(by - math.Abs(by)/10), High: digits(by + math.Abs(by)/10)}
}

// because is an explanation with a cause that was confirmed, one that was not, and one that
// cannot be tested.
func because() *record.Explanation {
	fall := func(scale float64) record.Waterfall {
		w := record.Waterfall{}
		was, is := 0.0, 0.0
		for i, st := range record.Stretches() {
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
	values := record.Values{"workers": 4, "used": .93, "cpu": .21, "cost": 2.4e-4, "cost_faster": 2e-4, "gc": .08, "gc_faster": .04}
	said := func(code record.Code) record.Fact {
		return record.Fact{Code: code, Arm: "pool,workers=4", Baseline: "nethttp", Values: values, Names: record.Names{"part": "the wait for a worker"}}
	}
	return &record.Explanation{
		Schema: record.Schema, Run: "20261123-080000-why-cafe", Dir: "schedlab-runs/20261123-080000-why-cafe", Scenario: "why-workers",
		From: "nethttp", To: "pool,workers=4", Slower: "pool,workers=4", Blocks: 14, Mean: fall(1), Tail: fall(6), Lost: stepped(0, 0), Ideal: &ideal,
		Witnesses: []record.Witness{
			{Name: "CPU in use", Unit: "ratio", From: new(.19), To: new(.21)}, {Name: "workers in use", Unit: "ratio", To: new(.93)},
			{Name: "CPU time of a request", Unit: "s", From: new(2e-4), To: new(2.4e-4)}, {Name: "context switches of a request", Unit: "count", From: new(2.1), To: new(2.4)},
		},
		Causes: []record.Suspect{
			{
				Code: "cause-workers", Fact: said("cause-workers"), Stretch: "the wait for a worker", Share: .98, Outcome: outcome.Yes, Answer: "confirmed",
				Witnesses: []record.Testimony{{Witness: "workers in use", Unit: "ratio", Slower: .93, Agrees: true}, {Witness: "CPU in use", Unit: "ratio", Faster: new(.19), Slower: .21, Agrees: true}},
				Knob:      "pool,workers=16", Control: "pool,queue-depth=2048,workers=4", Moved: &moved, Still: &still,
			},
			{
				Code: "cause-cost", Fact: said("cause-cost"), Stretch: "the server's own time", Share: .99, Outcome: outcome.Refused, Answer: "refused",
				Witnesses: []record.Testimony{{Witness: "CPU time of a request", Unit: "s", Faster: new(2e-4), Slower: 2.4e-4, Agrees: true}},
			},
			{
				Code: "cause-gc", Fact: said("cause-gc"), Stretch: "the server's own time", Share: .99, Outcome: outcome.No, Answer: "refuted",
				Witnesses: []record.Testimony{{Witness: "CPU time of the garbage collector", Unit: "ratio", Faster: new(.04), Slower: .08, Agrees: false}},
				Knob:      "pool,env.GOGC=400,workers=4", Control: "pool,queue-depth=2048,workers=4", Moved: &not, Still: &not,
			},
		},
		Outcome: outcome.Yes, Answer: "explained", Tests: &record.TestRun{Dir: "schedlab-runs/20261123-080120-why-why-workers-beef", Blocks: 10},
	}
}

// nothing is an explanation of two arms that may differ or not.
func nothing() *record.Explanation {
	x := because()
	x.Mean, x.Tail = record.Waterfall{Step: record.Step{From: 1e-3, To: 1e-3, Low: -1e-5, High: 1e-5}}, record.Waterfall{}
	x.Slower, x.Causes, x.Ideal, x.Tests = "", []record.Suspect{}, nil, nil
	x.Settle(outcome.Open)
	x.Reason = record.Fact{Code: "list", Because: []record.Fact{
		{Code: "difference-not-sure", Names: record.Names{"where": "on average"}, Values: record.Values{"low": -1e-5, "high": 1e-5}},
		{Code: "difference-within-noise", Names: record.Names{"where": "in the slowest 1 % of requests", "noise": "nethttp and its own copy may differ"}, Values: record.Values{"by": 1.31e-4, "noise": 1.8e-4}},
	}}
	return x
}

// An explanation reads the same today as yesterday, in every format.
func TestGoldenExplanation(t *testing.T) {
	t.Parallel()
	extension := map[string]string{"text": "txt", "json": "json", "markdown": "md", "html": "html"}
	for name, x := range map[string]*record.Explanation{"because": because(), "nothing": nothing()} {
		for _, f := range ExplainFormats() {
			if name == "nothing" && f.Name != "text" && f.Name != "json" {
				continue
			}
			var b bytes.Buffer
			if err := ExplainFormats().Render(&b, f.Name, x); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			golden(t, filepath.Join("testdata", name+"."+extension[f.Name]), b.String())
		}
	}
}

// The answer says what is known of a cause, and whether it was tested.
func TestAnswerOfAnExplanation(t *testing.T) {
	t.Parallel()
	const slower = "pool,workers=4 is slower than nethttp by "
	for want, of := range map[string]func(*record.Explanation){
		slower + "… too few workers, requests wait for one (confirmed: in": func(*record.Explanation) {},
		slower + "… because a request costs it 240 µs of CPU time, 200 µs in nethttp (measured directly).": func(x *record.Explanation) {
			x.Causes = x.Causes[1:]
			x.Causes[0].Outcome, x.Causes[0].Shown = outcome.Yes, true
		},
		slower + "… The cause is open; suspected, no setting takes it away: a request costs it 240 µs of CPU time, 200 µs in nethttp.": func(x *record.Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[1:]
		},
		slower + "… The cause is open; suspected, not tested: the garbage collector takes 8 % of its CPU time (4 % in nethttp).": func(x *record.Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[2:]
			x.Causes[0].Outcome = outcome.Open
		},
		slower + "… The cause is open: a test refuted that the garbage collector takes 8 % of its CPU time (4 % in nethttp) (in": func(x *record.Explanation) {
			x.Outcome, x.Causes = outcome.Open, x.Causes[2:]
		},
		slower + "… The cause is open: no rule fits.": func(x *record.Explanation) {
			x.Outcome, x.Causes, x.Reason = outcome.Open, nil, said("no rule fits")
		},
		"No cause is sought: they are alike.": func(x *record.Explanation) {
			x.Outcome, x.Slower, x.Causes, x.Reason = outcome.No, "", nil, said("they are alike")
		},
		"An explanation of their times is refused: clients starve.": func(x *record.Explanation) {
			x.Outcome, x.Slower, x.Causes, x.Reason = outcome.Refused, "", nil, said("clients starve")
		},
	} {
		x := because()
		of(x)
		start, end, _ := strings.Cut(want, "… ")
		if got := explained(x); !strings.HasPrefix(got, start) || !strings.Contains(got, end) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every figure says which one it is: means in the waterfall, means of other blocks in a test, medians
// of witnesses. Where a cause is confirmed, theory does not divide the difference in another way.
func TestExplanationNamesItsFigures(t *testing.T) {
	t.Parallel()
	text := func(x *record.Explanation) string {
		var b bytes.Buffer
		if err := ExplainFormats().Render(&b, "text", x); err != nil {
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
	for code, want := range map[record.Code]string{
		record.CauseTurnedAway: "in the extra blocks the share of its part fell from 30 % to 1 % with K, and with the control, C, it was 31 %",
		"cause-batches":        "in the extra blocks the mean of its part in the slowest 1 % of requests fell from 300 ms to 10.0 ms with K, and with the control, C, it was 310 ms",
	} {
		moved, still := stepped(.3, .01), stepped(.3, .31)
		c := record.Suspect{Code: code, Stretch: "its part", Tail: code == "cause-batches", Knob: "K", Control: "C", Moved: &moved, Still: &still}
		if got := strings.ReplaceAll(proof(c), say.NBSP, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A flame graph is well-formed, has a title for each frame, and its text fits its frame.
func TestFlameSVG(t *testing.T) {
	t.Parallel()
	f := record.Flame{Kind: "cpu", Arm: "pool", Base: "nethttp", Frames: []record.Frame{
		{Name: "all", Share: 1},
		{Name: "example.com/long/package.(*T[go.shape.int]).Method<x>", Depth: 1, Share: .12, Change: .03},
		{Name: "runtime.futex", Depth: 1, Left: .12, Share: .01, Change: -.05},
	}}
	var b strings.Builder
	if err := FlameSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		">cpu: pool, red where its share is larger than with nethttp, blue where it is smaller</text>",
		"example.com/long/package.(*T[go.shape.int]).Method&lt;x&gt;: 12.00\u00a0% of the samples, +3.00 points</title>",
		"runtime.futex: 1.00\u00a0% of the samples, -5.00 points</title>",
		`fill: rgb(255,`,
		`fill: rgb(149,149,255)`, // a tenth of the samples has the full colour, half of that 0.7 of it
	} {
		if !strings.Contains(strings.ReplaceAll(b.String(), "&#43;", "+"), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), ">runtime.futex</text>") {
		t.Error("a frame 10 px wide has a text")
	}
}

// The states of two arms' requests stand side by side; a state that one never had is 0, an
// arm without a trace has none.
func TestRequestStates(t *testing.T) {
	t.Parallel()
	rows := requestStates([]record.ProfiledArm{
		{Arm: "a", Requests: &record.RequestTimes{Mean: 3e-3, P99: 4e-3, States: []record.StateTime{{State: "running", Mean: 3e-3, P99: 4e-3}}}},
		{Arm: "b", Requests: &record.RequestTimes{Mean: 2e-3, P99: 2e-3, States: []record.StateTime{{State: "waiting: select", Mean: 2e-3, P99: 2e-3}}}},
		{Arm: "c"},
	})
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.Join(r, "|"))
	}
	zero := say.Seconds(0)
	want := strings.Join([]string{
		"|a|p99|b|p99|c|p99",
		"running|" + say.Seconds(3e-3) + "|" + say.Seconds(4e-3) + "|" + zero + "|" + zero + "|" + say.None + "|" + say.None,
		"waiting: select|" + zero + "|" + zero + "|" + say.Seconds(2e-3) + "|" + say.Seconds(2e-3) + "|" + say.None + "|" + say.None,
		"all|" + say.Seconds(3e-3) + "|" + say.Seconds(4e-3) + "|" + say.Seconds(2e-3) + "|" + say.Seconds(2e-3) + "|" + say.None + "|" + say.None,
	}, "\n")
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Profiles say of which arm there was nothing to capture, and that so few samples differ by
// chance.
func TestProfiled(t *testing.T) {
	t.Parallel()
	say := func(p record.Profiles) string {
		return document.Document{Parts: []document.Part{profiles(&record.Result{Dir: "runs/a run", Profiles: &p})}}.Text(document.Options{Width: 200})
	}
	for _, tc := range []struct {
		arms []record.ProfiledArm
		want string
	}{
		{[]record.ProfiledArm{{Arm: "nginx"}}, "nginx shows no profiles: there is nothing to capture."},
		{[]record.ProfiledArm{{Arm: "a", Samples: 3}, {Arm: "b", Samples: 4}}, "no function's share differs"},
		{[]record.ProfiledArm{{Arm: "a", Samples: 300}, {Arm: "b", Samples: 3}, {Arm: "c", Samples: 400, Moved: []record.FunctionShare{{Function: "main.f", From: .1, To: .3}}}},
			"changed most from a to c (in their own share of 300 CPU samples of a and 400 of c)\n    main.f +20.0"},
		{[]record.ProfiledArm{{Arm: "a", Files: []string{"profiles/a/trace.out"}}}, "go tool trace 'runs/a run/profiles/a/trace.out'"},
	} {
		if got := say(record.Profiles{Arms: tc.arms}); !strings.Contains(got, tc.want) {
			t.Errorf("got\n%s\nwant %q in it", got, tc.want)
		}
	}
}
