package queueing

import "testing"

// Which formula fits a pool and a load, and what it gives: TestFormulaAgreesWithTheReplay
// replays the same, without the borders.
func TestMeanByFormula(t *testing.T) {
	t.Parallel()
	load := func(rate, service float64, change func(*Load)) Load {
		l := exponentials(rate, service)
		if change != nil {
			change(&l)
		}
		return l
	}
	scv := func(v float64) func(*Load) { return func(l *Load) { l.SCV = v } }
	block := func(d float64) func(*Load) { return func(l *Load) { l.Block = d } }
	longest := func(d float64) func(*Load) { return func(l *Load) { l.Long = d } }
	const s, tick = 0.001, 1.0 / 1024
	for _, c := range []struct {
		what           string
		workers, cores int // 0 workers: a goroutine for each request
		load           Load
		formula        string
		mean           float64
	}{
		{"a core for each worker", 2, 2, load(1600, s, nil), "M/M/c", MMc(1600, s, 2)},
		{"more cores than workers", 2, 3, load(1600, s, block(s/8)), "M/M/c", MMc(1600, s+s/8, 2)},
		{"saturated", 2, 2, load(2500, s, block(s)), "", 0},
		{"one saturated", 1, 1, load(1500, s, scv(0)), "", 0},
		{"cores in common, within a turn", 9, 2, load(100, 0.0014, nil), "M/M/c", MMc(100, 0.0014, 2)},
		{"cores in common, beyond it", 9, 2, load(100, 0.0015, nil), "M/M/c", MMc(100, 0.0015, 2)},
		{"the longest just fills a turn", 9, 2, load(100, s, func(l *Load) { l.SCV, l.Long = 0, 0.010 }), "G/G/c (Allen-Cunneen)", AllenCunneen(100, s, 2, 1, 0)},
		{"it just does not", 9, 2, load(100, s, func(l *Load) { l.SCV, l.Long = 0, 0.0101 }), "", 0},
		{"not exponential, within a turn", 9, 2, load(1600, s, scv(0)), "G/G/c (Allen-Cunneen)", AllenCunneen(1600, s, 2, 1, 0)},
		{"not exponential, beyond it", 9, 2, load(100, 0.02, scv(0)), "", 0},
		{"waits for both", 9, 2, load(100, s, block(s)), "", 0},
		{"mostly asleep", 64, 1, load(102.4, tick, block(9.5*tick)), "M/M/c", MMc(102.4, 10.5*tick, 64)},
		{"asleep for too little", 64, 1, load(102.4, tick, block(9*tick)), "", 0},
		{"awake for too much", 64, 1, load(103, tick, block(9.5*tick)), "", 0},
		{"mostly asleep on two cores", 64, 2, load(200, tick, block(9.5*tick)), "M/M/c", MMc(200, 10.5*tick, 64)},
		{"nearly exponential", 2, 2, load(1600, s, scv(1.04)), "M/M/c", MMc(1600, s, 2)},
		{"hardly exponential", 2, 2, load(1600, s, scv(1.06)), "G/G/c (Allen-Cunneen)", AllenCunneen(1600, s, 2, 1, 1.06)},

		{"M/D/1", 1, 1, load(700, s, scv(1e-7)), "M/D/1", mg1(700, s, 0)},
		{"not quite", 1, 1, load(700, s, scv(1e-5)), "M/G/1 (Pollaczek-Khinchine)", mg1(700, s, 1e-5)},
		{"two servers of the same", 2, 2, load(700, s, scv(0)), "G/G/c (Allen-Cunneen)", AllenCunneen(700, s, 2, 1, 0)},

		{"goroutines", 0, 2, load(1600, s, nil), "M/M/c", MMc(1600, s, 2)},
		{"goroutines, saturated", 0, 1, load(1500, s, nil), "", 0},
		{"goroutines of many turns", 0, 2, load(10, 0.1, scv(4)), "M/G/c processor sharing", MMc(10, 0.1, 2)},
		{"goroutines of not so many", 0, 2, load(10, 0.099, scv(4)), "", 0},
		{"goroutines of some turns", 0, 2, load(10, 0.02, nil), "M/M/c", MMc(10, 0.02, 2)},
		{"goroutines within a turn", 0, 2, load(10, s, func(l *Load) { l.SCV, l.Long = 0, 0.010 }), "G/G/c (Allen-Cunneen)", AllenCunneen(10, s, 2, 1, 0)},
		{"goroutines just beyond it", 0, 2, load(10, s, func(l *Load) { l.SCV, l.Long = 0, 0.0101 }), "", 0},
		{"exponential goroutines just beyond it", 0, 2, load(10, s, longest(0.0101)), "M/M/c", MMc(10, s, 2)},
		{"goroutines that block", 0, 2, load(1600, s, block(0.02)), "M/M/c", MMc(1600, s, 2) + 0.02},
		{"goroutines that only block", 0, 2, load(1600, 0, block(0.02)), "no queue", 0.02},
	} {
		mean, formula := MeanByFormula(c.workers, c.cores, c.load)
		if formula != c.formula {
			t.Errorf("%s: got %q, want %q", c.what, formula, c.formula)
		}
		near(t, c.what+": mean", mean, c.mean, 1e-9)
	}
}
