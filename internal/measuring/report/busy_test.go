package report

import (
	"strings"
	"testing"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// hogged is the doubt about a program that took 83 % of the servers' CPU.
func hogged(open bool) fact.Fact {
	return doubt.MachineBusy.Of(doubt.Taken{Side: "server", OfProgram: &doubt.OfProgram{Program: "hog"}, CPUs: 1, Share: .83, Open: open, Challenger: "pool", Low: .8, High: 1.31}).
		Against("nethttp").At("p99").
		Since(asRecorded(`{"code": "program-time", "values": {"share": 0.83, "pid": 7}, "names": {"program": "hog", "side": "server"}}`))
}

// Where others kept a run from its answer, every output of every kind of run has that first, below it who, the effect
// and the ways out, and then what it found; and no number of blocks or budget that would help. Where the answer
// stands, it leads, and the others are the first doubt.
func TestTooBusyIsTheFirstLine(t *testing.T) {
	t.Parallel()
	const first = "Too busy to tell: hog took 83 % of the servers' CPU."
	below := []string{
		"Busy: hog (pid 7) used 83 % of a CPU", "Effect: pool against nethttp may be anything from -20 % to +31 % at p99",
		"Next: end hog, or give --wait-idle 2m, which starts as soon as 3 s were quiet", "So far: ",
	}
	open := func() *record.Comparison {
		r := quick()
		v := record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: stats.P50, Primary: true, Verdict: decision("open"), Ratio: 1.2, Low: .9, High: 1.3, Lean: "SLOWER", Blocks: 12, Lost: 11, Won: 1, Needed: 20}
		r.Verdicts, r.Winner = []record.Verdict{v}, record.Winner{Outcome: outcome.Open}
		r.Answer = record.Conclusion{Outcome: outcome.Open, Standings: []record.Standing{{Arm: "pool", Baseline: "nethttp", Place: record.Place{Outcome: outcome.Open}}}}
		return r
	}
	gate := func() *record.Comparison {
		r := open()
		r.Gate = []record.Gated{{Metric: stats.P50, Allow: .1, Ratio: 1.05, Low: .9, High: 1.3, Needed: 20, Outcome: outcome.Open}}
		return r
	}
	search := &capacity.Search{Common: quick().Common, SLO: "p99<=10ms", Arms: []capacity.ArmCapacity{{Contestant: record.Contestant{Name: "pool"}, Outcome: "open", Fact: said("pool for p99<=10ms: open,")}}}
	writers := map[string]func(*strings.Builder, record.Result) error{
		"brief":    func(b *strings.Builder, r record.Result) error { return Brief(b, r, TextOptions{Width: 400}) },
		"text":     func(b *strings.Builder, r record.Result) error { return Text(b, r, TextOptions{Width: 400}) },
		"summary":  func(b *strings.Builder, r record.Result) error { return Formats().Render(b, "summary", r) },
		"markdown": func(b *strings.Builder, r record.Result) error { return Markdown(b, r) },
		"html":     func(b *strings.Builder, r record.Result) error { return HTML(b, r) },
		"json":     func(b *strings.Builder, r record.Result) error { return Formats().Render(b, "json", r) },
	}
	for kind, r := range map[string]record.Result{"comparison": open(), "gate": gate(), "search": search} {
		quiet := r.Head().Doubts
		r.Head().Doubts = append([]fact.Fact{hogged(true)}, quiet...)
		for name, write := range writers {
			var b strings.Builder
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			got := strings.NewReplacer("\u00a0", " ", "&#39;", "'", "&#43;", "+", "\\", "", "\u2011", "-").Replace(b.String())
			want := append([]string{first}, below...)
			if name == "json" {
				want = []string{`"headline": "` + first, `"code": "machine-busy"`}
			}
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%s as %s: lacks %q:\n%s", kind, name, w, got[:min(len(got), 3000)])
				}
			}
			if name != "json" && strings.Contains(got, "would decide") {
				t.Errorf("%s as %s: advises more blocks", kind, name)
			}
		}
		// An answer that stands.
		r.Head().Doubts = append([]fact.Fact{hogged(false)}, quiet...)
		var b strings.Builder
		if err := Brief(&b, r, TextOptions{Width: 400}); err != nil {
			t.Fatal(err)
		}
		doubts := strings.Index(b.String(), "Doubts")
		if strings.Contains(Headline(r), "busy") || doubts < 0 || !strings.HasPrefix(strings.TrimSpace(b.String()[doubts+len("Doubts"):]), "hog took 83 %") {
			t.Errorf("%s that stands: got %s", kind, b.String())
		}
	}
}
