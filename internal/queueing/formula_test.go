package queueing

import (
	"math"
	"testing"
	"time"
)

// Which formula fits a station and a load, and what it gives: TestPredictAgreesWithItsTwin
// replays the same, without the borders.
func TestPredictPicksTheFormula(t *testing.T) {
	t.Parallel()
	pool := func(workers, cores int) Station { return Station{Workers: workers, Cores: cores, Turn: GoTurn} }
	with := func(s Station, change func(*Station)) Station {
		change(&s)
		return s
	}
	load := func(rate, service float64, change func(*Load)) Load {
		l := Poisson(rate, service)
		if change != nil {
			change(&l)
		}
		return l
	}
	scv := func(v float64) func(*Load) { return func(l *Load) { l.SCV = v } }
	block := func(d float64) func(*Load) { return func(l *Load) { l.Block = d } }
	longest := func(d float64) func(*Load) { return func(l *Load) { l.Long = d } }
	spawn := func(cores, places int) Station {
		return Station{Kind: Goroutines, Cores: cores, Places: places, Turn: GoTurn}
	}
	each := func(kind string, workers, cores int) Station {
		return Station{Kind: kind, Workers: workers, Cores: cores, Turn: GoTurn}
	}
	const s, tick = 0.001, 1.0 / 1024
	full := MMcK(1600, s, 2, 8)
	for _, c := range []struct {
		what      string
		station   Station
		load      Load
		formula   string
		mean      float64 // 0: none
		quantiles bool
		served    float64 // per second, 0: not asked
	}{
		{"a core for each worker", pool(2, 2), load(1600, s, nil), "M/M/c", MMc(1600, s, 2), true, 1600},
		{"more cores than workers", pool(2, 3), load(1600, s, block(s/8)), "M/M/c", MMc(1600, s+s/8, 2), true, 1600},
		{"saturated", pool(2, 2), load(2500, s, block(s)), "M/M/c", 0, false, 1000},
		{"cores in common, within a turn", pool(9, 2), load(100, 0.0014, nil), "M/M/c", MMc(100, 0.0014, 2), true, 100},
		{"cores in common, beyond it", pool(9, 2), load(100, 0.0015, nil), "M/M/c", MMc(100, 0.0015, 2), false, 100},
		{"the longest just fills a turn", pool(9, 2), load(100, s, longest(0.010)), "M/M/c", MMc(100, s, 2), true, 0},
		{"it just does not", pool(9, 2), load(100, s, longest(0.0101)), "M/M/c", MMc(100, s, 2), false, 0},
		{"not exponential, within a turn", pool(9, 2), load(1600, s, scv(0)), "G/G/c (Allen-Cunneen)", AllenCunneen(1600, s, 2, 1, 0), false, 1600},
		{"not exponential, beyond it", pool(9, 2), load(100, 0.02, scv(0)), "", 0, false, 0},
		{"waits for both", pool(9, 2), load(100, s, block(s)), "", 0, false, 0},
		{"mostly asleep", pool(64, 1), load(102.4, tick, block(9.5*tick)), "M/M/c", MMc(102.4, 10.5*tick, 64), true, 102.4},
		{"asleep for too little", pool(64, 1), load(102.4, tick, block(9*tick)), "", 0, false, 0},
		{"awake for too much", pool(64, 1), load(103, tick, block(9.5*tick)), "", 0, false, 0},
		{"mostly asleep on two cores", pool(64, 2), load(200, tick, block(9.5*tick)), "M/M/c", MMc(200, 10.5*tick, 64), true, 200},
		{"nearly exponential", pool(2, 2), load(1600, s, scv(1.04)), "M/M/c", MMc(1600, s, 2), true, 0},
		{"hardly exponential", pool(2, 2), load(1600, s, scv(1.06)), "G/G/c (Allen-Cunneen)", AllenCunneen(1600, s, 2, 1, 1.06), false, 0},

		{"patience that suffices", with(pool(1, 1), func(s *Station) { s.Patience = Span(13 * time.Millisecond) }), load(500, s, nil), "M/M/c", MMc(500, s, 1), true, 0},
		{"patience that does not", with(pool(1, 1), func(s *Station) { s.Patience = Span(12 * time.Millisecond) }), load(500, s, nil), "", 0, false, 0},
		{"patience for one core of nine workers", with(pool(9, 1), func(s *Station) { s.Patience = Span(12 * time.Millisecond) }), load(500, s, nil), "", 0, false, 0},
		{"patience of those that sleep", with(pool(9, 1), func(s *Station) { s.Patience = Span(2 * time.Millisecond) }), load(100, tick, block(20*tick)), "M/M/c", MMc(100, 21*tick, 9), true, 0},
		{"patience for one that is held", with(pool(1, 1), func(s *Station) { s.Patience = Span(20 * time.Millisecond) }), load(100, s, block(8*s)), "", 0, false, 0},
		{"aging", with(pool(1, 1), func(s *Station) { s.Target, s.Interval = Span(time.Second), Span(time.Second) }), load(500, s, nil), "", 0, false, 0},
		{"nowhere to wait outside of", with(pool(1, 1), func(s *Station) { s.Overflow = Blocks }), load(500, s, nil), "M/M/c", MMc(500, s, 1), true, 0},

		{"M/D/1", pool(1, 1), load(700, s, scv(1e-7)), "M/D/1", mg1(700, s, 0), false, 700},
		{"not quite", pool(1, 1), load(700, s, scv(1e-5)), "M/G/1 (Pollaczek-Khinchine)", mg1(700, s, 1e-5), false, 700},
		{"two servers of the same", pool(2, 2), load(700, s, scv(0)), "G/G/c (Allen-Cunneen)", AllenCunneen(700, s, 2, 1, 0), false, 700},
		{"even gaps", pool(1, 1), load(700, s, func(l *Load) { l.CA2, l.SCV = 0, 0 }), "G/G/1 (Kingman)", s, false, 700},

		{"eight places", with(pool(2, 2), func(s *Station) { s.Places = 8 }), load(1600, s, nil), "M/M/c/K", full.Response, true, full.Throughput},
		{"eight places, not exponential", with(pool(2, 2), func(s *Station) { s.Places = 8 }), load(1600, s, scv(0)), "", 0, false, 0},
		{"nowhere to wait", with(pool(2, 2), func(s *Station) { s.Places = 2 }), load(1600, s, scv(4)), "M/G/c/c (Erlang B)", s, false, 1600 * (1 - ErlangB(2, 1.6))},
		{"fewer places than workers", with(pool(3, 3), func(s *Station) { s.Places = 2 }), load(1600, s, scv(4)), "M/G/c/c (Erlang B)", s, false, 1600 * (1 - ErlangB(2, 1.6))},

		{"goroutines", spawn(2, 0), load(1600, s, nil), "M/M/c", MMc(1600, s, 2), true, 1600},
		{"goroutines of many turns", spawn(2, 0), load(10, 0.1, scv(4)), "M/G/c processor sharing", MMc(10, 0.1, 2), false, 10},
		{"goroutines of not so many", spawn(2, 0), load(10, 0.099, scv(4)), "", 0, false, 0},
		{"goroutines of some turns", spawn(2, 0), load(10, 0.02, nil), "M/M/c", MMc(10, 0.02, 2), false, 10},
		{"goroutines of many turns, bounded", spawn(2, 9), load(10, 0.1, scv(4)), "", 0, false, 0},
		{"goroutines of many turns, in no Poisson stream", spawn(2, 0), load(10, 0.1, func(l *Load) { l.CA2, l.SCV = 0, 4 }), "", 0, false, 0},
		{"goroutines that block", spawn(2, 0), load(1600, s, block(0.02)), "M/M/c", MMc(1600, s, 2) + 0.02, false, 1600},
		{"goroutines that only block", spawn(2, 0), load(1600, 0, block(0.02)), "no queue", 0.02, false, 1600},
		{"goroutines that block, bounded", spawn(2, 9), load(1600, s, block(0.02)), "", 0, false, 0},
		{"goroutines, bounded", spawn(2, 8), load(1600, s, nil), "M/M/c/K", full.Response, true, full.Throughput},

		{"dealt in turn", each(PerWorker, 4, 4), load(3200, s, block(s/8)), "E_c/M/1", RoundRobin(3200, s+s/8, 4), true, 3200},
		{"dealt in turn, saturated", each(PerWorker, 4, 4), load(5000, s, block(s)), "E_c/M/1", 0, false, 2000},
		{"dealt in turn, not exponential", each(PerWorker, 4, 4), load(3200, s, scv(0)), "G/G/1 (Kingman)", AllenCunneen(800, s, 1, 0.25, 0), false, 3200},
		{"dealt in turn, bounded", with(each(PerWorker, 4, 4), func(s *Station) { s.Places = 2 }), load(3200, s, nil), "", 0, false, 0},
		{"loops", each(Loops, 4, 4), load(2800, s, block(s/8)), "M/M/c", MMc(700, s+s/8, 1), true, 2800},
		{"loops of bursts", each(Loops, 4, 4), load(2800, s, func(l *Load) { l.CA2 = 5 }), "G/G/1 (Kingman)", AllenCunneen(700, s, 1, 2, 1), false, 2800},
		{"loops, bounded", with(each(Loops, 2, 2), func(s *Station) { s.Places = 3 }), load(2000, s, nil), "M/M/c/K", MMcK(1000, s, 1, 3).Response, true, 2 * MMcK(1000, s, 1, 3).Throughput},
		{"loops, saturated", each(Loops, 2, 2), load(3000, s, block(s)), "M/M/c", 0, false, 1000},
		{"loops that sleep", each(Loops, 4, 1), load(100, tick, block(20*tick)), "M/M/c", MMc(25, 21*tick, 1), true, 100},
		{"loops that share a core", each(Loops, 4, 3), load(100, s, nil), "", 0, false, 0},
	} {
		p := Predict(c.station, c.load)
		if p.Formula != c.formula || (p.Mean != nil) != (c.mean > 0) || (p.Quantile != nil) != c.quantiles || (p.P50 != nil) != c.quantiles || (p.P99 != nil) != c.quantiles {
			t.Errorf("%s: got %+v, want %q", c.what, p, c.formula)
			continue
		}
		if p.Mean != nil {
			near(t, c.what+": mean", *p.Mean, c.mean, 1e-9)
		}
		if c.served > 0 {
			near(t, c.what+": throughput", *p.Throughput, c.served, 1e-9)
			loss := 0.0 // without a bound none, of a queue that grows for ever either
			if c.station.Places > 0 {
				loss = 1 - c.served/c.load.Rate
			}
			near(t, c.what+": loss", *p.Loss, loss, 1e-9)
		}
	}
	dealt := Predict(each(PerWorker, 4, 4), Poisson(3200, s))
	near(t, "the response times of dealing in turn are exponential", *dealt.P90, *dealt.Mean*math.Log(10), 1e-9)
}
