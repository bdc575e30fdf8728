package report

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A figure that is printed is the value that Printed returns, in every unit and in a column of any others.
func TestFiguresArePrintedAsTheirMetricSays(t *testing.T) {
	t.Parallel()
	units := map[string]float64{"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	rng := rand.New(rand.NewPCG(4, 3))
	for _, m := range append(stats.Metrics(), stats.Memory.Row()) {
		for range 2000 {
			v, other := math.Exp(rng.Float64()*18-12), 0.0
			if m.Unit == "s" {
				other = v * math.Exp(4*rng.Float64()-2)
			} else {
				v *= 1e3
			}
			text := Figure(m, v)
			if m.Unit == "bytes" {
				v = math.Ceil(v)
				text = bytesText(int64(v))
			}
			texts := []string{text}
			if m.Quantile > 0 {
				texts = append(texts, cells(m, []record.Arm{{Figures: record.Figures{P50: &v, P90: &v, P99: &v}}, {Figures: record.Figures{P50: &other, P90: &other, P99: &other}}})...)[:2]
			}
			for _, text := range texts {
				number, unit, _ := strings.Cut(strings.TrimSuffix(text, "/s"), say.NBSP)
				got, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
				if scale, is := units[unit]; is {
					got *= scale
				}
				if want := m.Printed(v); err != nil || math.Abs(got-want) > 1e-9*want {
					t.Fatalf("%s of %g is printed as %s, and Printed is %g", m.Name, v, text, want)
				}
			}
		}
	}
}

// recorded are the results of the golden files, and those in which each arm's figures were moved, so that some quotients
// leave their intervals.
func recorded(t *testing.T) (all []record.Result) {
	t.Helper()
	for _, of := range []struct {
		file string
		r    record.Result
	}{{"testdata/quick.json", new(record.Comparison)}, {"testdata/killed.json", new(record.Comparison)}, {"../../capabilities/capacity/testdata/capacity.json", new(capacity.Search)}} {
		text, err := os.ReadFile(of.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, of.r); err != nil {
			t.Fatalf("%s: %v", of.file, err)
		}
		all = append(all, of.r)
	}
	all = append(all, quick(), interrupted(), hopeless(), swept(), comingAndGoing(), gated())
	rng := rand.New(rand.NewPCG(1, 43))
	for i := range 60 {
		r := []func() *record.Comparison{quick, interrupted, gated}[i%3]()
		r.Answer = record.Conclusion{Outcome: outcome.Yes, Kind: record.ATrade, Standings: []record.Standing{
			{Arm: "fasthttp", Baseline: "nethttp", Place: record.Placed(stats.Trade)}, {Arm: "pool", Baseline: "nethttp", Place: record.Placed(stats.Trade)},
		}}
		spread := []float64{.01, .3}[i%2]
		for j := range r.Arms {
			for _, m := range stats.Metrics() {
				if median := r.Arms[j].Median(m.Figure); median != nil {
					r.Arms[j].SetMedian(m.Figure, stats.Known(*median*math.Exp(spread*rng.NormFloat64())))
				}
				for k := range r.Arms[j].Blocks[m.Figure] {
					r.Arms[j].Blocks[m.Figure][k] *= math.Exp(spread * rng.NormFloat64())
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// gated is quick as a gate of the pool, which is worse at what the blocks say.
func gated() *record.Comparison {
	r := quick()
	for _, m := range stats.Metrics() {
		pool := r.Arms[3].Blocks[m.Figure]
		c := stats.CompareCopies(m, r.Arms[0].Blocks[m.Figure], r.Arms[1].Blocks[m.Figure], pool, 6)
		answer := outcome.Yes
		if m.Worse(c.Decision.Rank) {
			answer = outcome.No
		}
		r.Gate = append(r.Gate, record.Gated{Metric: m.Figure, Allow: .1, Ratio: c.Ratio, Low: c.Low, High: c.High, Outcome: answer})
	}
	r.Gate = append(r.Gate, record.Gated{Metric: stats.Memory, Allow: .1, Ratio: 1.2, Low: 1.1, High: 1.3, Outcome: outcome.No})
	return r
}

// wanted is the change that must stand beside two figures: their quotient with three digits each, or the interval.
func wanted(m stats.Metric, base, arm *float64, low, high float64, decided bool) (text string, quotient bool) {
	digits := func(v float64) float64 {
		switch {
		case m.Unit == "s":
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		case m.Unit == "1/s" && v >= 10:
			v = math.Round(v)
		}
		return v
	}
	ratio := digits(*arm) / digits(*base)
	text = strings.ReplaceAll(stats.Change(ratio), " ", say.NBSP)
	if low == 0 || low <= ratio && ratio <= high || text == say.Change(low) || text == say.Change(high) {
		return text, true
	}
	return bound(low, decided) + " to " + bound(high, decided), false
}

// A change that stands beside two figures is their quotient, to the printed digit; where that lies outside the verdict's
// interval, the interval stands in its place. So it is in the table, the summary, the sentences, the drawing and the answer.
func TestChangesAreTheQuotientsOfTheirFigures(t *testing.T) {
	t.Parallel()
	outside, checked := 0, 0
	for _, of := range recorded(t) {
		r, is := of.(*record.Comparison)
		if !is || len(r.Gate) > 0 || len(r.Verdicts) == 0 {
			continue
		}
		table := marked(r).(document.Section).Parts[0].(document.Table).Rows
		short := summaryTable(r).(document.Table).Rows
		answer := strings.ReplaceAll(Headline(r), " ", say.NBSP)
		forest := forestOf(r)
		for _, v := range r.Verdicts {
			of, to := armOf(r, v.Arm), armOf(r, v.Baseline)
			m, base, arm := v.Metric.Row(), to.Median(v.Metric), of.Median(v.Metric)
			if v.Verdict.Outcome == outcome.Refused || base == nil || arm == nil {
				continue
			}
			want, quotient := wanted(m, base, arm, v.Low, v.High, differs(v))
			checked++
			shown, beside := "", "("+between(v)+")"
			if quotient {
				shown, beside = want, want+say.NBSP+beside
			} else {
				outside++
			}
			row := slices.IndexFunc(table, func(row []string) bool { return row[0] == v.Arm })
			column := slices.Index(table[0], m.Label)
			if got := table[row][column+1]; differs(v) && got != want {
				t.Errorf("%s at %s: %s beside %s and %s, want %s", v.Arm, v.Metric, got, table[1][column], table[row][column], want)
			}
			cell := short[slices.IndexFunc(short, func(row []string) bool { return row[0] == v.Arm })][slices.Index(short[0], m.Label)]
			if differs(v) && !strings.HasSuffix(cell, beside) {
				t.Errorf("the summary of %s at %s has %q, want %s", v.Arm, v.Metric, cell, want)
			}
			if said := sentence(r, v); !strings.Contains(said, ": "+want+" (95") {
				t.Errorf("%q, want %s", said, want)
			}
			for _, g := range forest.Groups {
				for _, of := range g.Rows {
					if !g.Control && of.Arm == v.Arm && of.Metric == v.Metric && of.Drawn && of.Change != shown {
						t.Errorf("the drawing of %s at %s has %s, want %s", v.Arm, v.Metric, of.Change, want)
					}
				}
			}
			says := strings.ReplaceAll(v.Metric.String()+" "+want, " ", say.NBSP)
			if differs(v) && v.Primary && r.Answer.Kind == record.ATrade && !strings.Contains(answer, says) {
				t.Errorf("the answer %q, want %s in it", answer, says)
			}
		}
	}
	if checked < 400 || outside < 50 || outside > checked-50 {
		t.Errorf("only %d changes were checked, %d of them outside their interval", checked, outside)
	}
}

// So it is in a gate's table and its answer.
func TestGateChangesAreTheQuotientsOfTheirFigures(t *testing.T) {
	t.Parallel()
	checked, outside := 0, 0
	for _, of := range recorded(t) {
		r, is := of.(*record.Comparison)
		if !is || len(r.Gate) == 0 {
			continue
		}
		rows := gateFigures(r).Parts[0].(document.Table).Rows
		answer := gateAnswer(r)
		for i, g := range r.Gate {
			m := g.Metric.Row()
			before, after := builds(r, m)
			if before == nil || after == nil || m.Unit == "bytes" {
				continue
			}
			want, quotient := wanted(m, before, after, g.Low, g.High, false)
			checked++
			shown := ""
			if quotient {
				shown = want
			} else {
				outside++
			}
			if got := rows[i+1][3]; got != shown {
				t.Errorf("%s: %q beside %s and %s, want %s", g.Metric, got, rows[i+1][1], rows[i+1][2], want)
			}
			if g.Outcome == outcome.No && !strings.Contains(answer, m.Label+" "+want) {
				t.Errorf("%q, want %s %s in it", answer, m.Label, want)
			}
		}
	}
	if checked < 40 || outside == 0 {
		t.Errorf("only %d changes were checked, %d of them outside their interval", checked, outside)
	}
}

// The columns of a page that every reader divides: the issue's own rows.
func TestSeenContradictions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base, arm, ratio, low, high float64
		want                        string
	}{
		{.0168, .0160, 1.043, 1.01, 1.09, "+1.0 % to +9.0 %"},
		{.0218, .0525, 1.22, 1.1, 1.5, "+10 % to +50 %"},
		{.0225, .0338, 2.08, 1.4, 3, "+50 %"},
	} {
		r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{P90: &tt.base}}, {Contestant: record.Contestant{Name: "b"}, Figures: record.Figures{P90: &tt.arm}}}}
		v := record.Verdict{Metric: stats.P90, Primary: true, Arm: "b", Baseline: "a", Verdict: stats.Decided(stats.Slower), Ratio: tt.ratio, Low: tt.low, High: tt.high}
		r.Verdicts = []record.Verdict{v}
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(changed(r, v), say.NBSP, " "); got != tt.want || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%g and %g, %g (%g to %g): got %s, want %s\n%s", tt.base, tt.arm, tt.ratio, tt.low, tt.high, got, tt.want, &b)
		}
	}
}
