package report

import (
	"testing"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A report advises one command: the same again where that may decide, and else what finds the cause of a difference.
func TestNextCommand(t *testing.T) {
	t.Parallel()
	verdict := func(is stats.Decision, needed int) record.Verdict {
		return record.Verdict{Arm: "b", Baseline: "a", Metric: stats.P50, Primary: true, Verdict: is, Needed: needed, Low: 1.1, High: 1.3, Ratio: 1.2}
	}
	ran := func(command string, v record.Verdict, doubts ...fact.Fact) *record.Comparison {
		r := quick()
		r.Command, r.Verdicts, r.Doubts, r.Attached = command, []record.Verdict{v}, doubts, nil
		return r
	}
	open, slower, same := stats.Decision{Outcome: outcome.Open}, stats.Decided(stats.Slower), stats.Decided(stats.Same)
	room := doubt.BudgetEnded.Of(doubt.Ended{Needed: 180, Room: 20, Budget: 75, Blocks: 10, Open: 1})
	busy := doubt.MachineBusy.Of(doubt.Taken{Side: "server", CPUs: 1, Share: .4, OfProgram: &doubt.OfProgram{Program: "cc1"}, Open: true})
	behind := func(command string) *record.Comparison {
		r := ran(command, verdict(open, 20), room)
		r.Answer.Outcome, r.Arms[0].Behind = outcome.Open, true
		return r
	}
	slow := behind("schedlab gate --old ./a --new ./b")
	slow.Rate, slow.Arms[0].XMax = 250, new(1000.)
	beside := behind("schedlab compare --rate 950/s")
	beside.Rate, beside.Arms[0].XMax, beside.Arms[2].XMax = 950, new(1000.), new(12_000.)
	attacked := behind("schedlab attack --target http://127.0.0.1:1 --rate 900/s")
	attacked.Verdicts, attacked.Doubts = nil, nil
	// few is a run whose windows are too short for its one verdict; the probes found what its arms can do.
	few := func(command string, probed bool) *record.Comparison {
		v := verdict(stats.Decision{Outcome: outcome.Refused}, 0)
		v.Reason = doubt.FewRequests.Of(doubt.Few{Needed: 1100, Requests: 911, Longer: &doubt.Longer{Window: .19}}).At("p99")
		r := ran(command, v)
		r.Answer.Outcome, r.Rate = outcome.Refused, 6071.3
		for i := range r.Arms {
			if r.Arms[i].XMax = nil; probed {
				r.Arms[i].XMax = new(24_000.)
			}
		}
		return r
	}
	fine := few("schedlab gate --old ./a --new ./b", true)
	fine.Answer.Outcome = outcome.Open // of the ranking, which a gate does not ask for
	fine.Gate = []record.Gated{{Metric: stats.P50, Outcome: outcome.Yes}, {Metric: stats.P99, Outcome: outcome.Refused, Reason: fine.Verdicts[0].Reason, Watched: true}}
	// Both win, and how they compare with each other is open: a run ends with that as its answer.
	two := ran("schedlab compare", verdict(slower, 0), room)
	two.Answer.Kind, two.Answer.Outcome, two.Answer.Faster = record.SeveralWin, outcome.Yes, []string{"b", "c"}
	two.Duels = []record.Verdict{{Arm: "c", Baseline: "b", Metric: stats.P50, Primary: true, Verdict: open, Needed: 20, Low: .9, High: 1.3, Ratio: 1.1}}
	cut := ran("schedlab compare", verdict(open, 0))
	cut.Status = record.Interrupted
	for _, c := range []struct {
		what string
		of   *record.Comparison
		want string
	}{
		{"open", ran("schedlab compare --budget 1m15s", verdict(open, 20), room), "schedlab compare --budget 3m"},
		{"open, without a command", ran("", verdict(open, 20), room), ""},
		{"as the ui writes it", ran("schedlab compare --budget=75s --rate=1/s", verdict(open, 20), room), "schedlab compare --rate=1/s --budget 3m"},
		{"quoted", ran("schedlab compare --arm 'x=./x {addr}'", verdict(open, 20), room), "schedlab compare --arm 'x=./x {addr}' --budget 3m"},
		{"busy", ran("schedlab compare", verdict(open, 20), busy), "schedlab compare --wait-idle 2m"},
		{"busy, though it waited", ran("schedlab compare --wait-idle 1m", verdict(open, 20), busy), ""},
		{"overloaded", behind("schedlab compare --rate 900/s"), "schedlab compare --rate 0.6x"},
		{"overloaded at an arm's own rate", behind("schedlab compare --arm pool,rate=900/s"), "schedlab compare --arm pool,rate=900/s --budget 3m"},
		{"overloaded in a cell of a grid", behind("schedlab compare --grid rate=900/s"), "schedlab compare --grid rate=900/s --budget 3m"},
		{"overloaded below 0.6 of the highest rate", slow, "schedlab gate --old ./a --new ./b --budget 3m"},
		{"overloaded beside a much faster arm", beside, "schedlab compare --rate 0.6x"},
		{"an attack that overloads", attacked, ""},
		{"interrupted", cut, "schedlab compare"},
		{"too few requests at a rate that the probes chose", few("schedlab compare --path /search --rate 0.25x", true), "schedlab compare --path /search --window 190ms --rate 6071/s"},
		{"too few at a rate that was given", few("schedlab compare --rate=6000/s", true), "schedlab compare --rate=6000/s --window 190ms"},
		{"too few at a scenario's rate", few("schedlab compare x.yaml", false), "schedlab compare x.yaml --window 190ms"},
		{"too few at an arm's rate", few("schedlab compare --arm pool,rate=900/s", true), "schedlab compare --arm pool,rate=900/s --window 190ms"},
		{"too few requests in a log", few("schedlab compare --log a.log@10x", true), "schedlab compare --log a.log@10x --window 190ms"},
		{"a gate that is fine, with a watched quantile of too few requests", fine, ""},
		{"open between two that win", two, "schedlab compare --budget 3m"},
		{"differ", ran("schedlab compare", verdict(slower, 0)), "schedlab explain 20261107-123005-quick-beef"},
		{"the same", ran("schedlab compare", verdict(same, 0)), ""},
	} {
		if got := nextOf(c.of).command; got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
	if got, want := wayOut(&ran("schedlab compare --wait-idle 1m", verdict(open, 20), busy).Common), "it has waited for a quiet machine already: end cc1, or run it on another machine"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The flags are in the command, and nowhere else.
	if got, want := remedy(ran("schedlab compare", verdict(open, 20), room), 20), "about 20\u00a0blocks would decide"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
