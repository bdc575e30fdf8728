package judge

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// arms returns the figures of each arm over the valid blocks, in plan order: one value per block for each compared
// metric, and medians, sums or extremes over the blocks for everything else. A figure that one block lacks is unknown as
// a whole, because a median over other blocks than the verdicts' would contradict them.
func (b blocks) arms(s servers) (all []record.Arm) {
	for _, pa := range b.run.Plan.Arms {
		a := record.Arm{
			Contestant: s.contestant(b.run, pa), Figures: record.Figures{Apart: b.run.Apart[pa.Name], Failures: map[string]int{}},
			Details: record.Details{Curve: []responses.Point{}},
		}
		if x := b.run.XMax[pa.Name]; x > 0 {
			a.XMax = &x
		}
		for _, m := range append(stats.Metrics(), stats.Capacity.Row()) {
			v := b.series(pa.Name, m.Figure)
			// Without a value in every block it cannot be paired with another arm's.
			if !slices.ContainsFunc(v, math.IsNaN) {
				a.Blocks[m.Figure] = v
			}
		}
		// A quantile is shown only if windows hold enough requests for it.
		for _, m := range stats.Metrics() {
			if m.Quantile == 0 || b.judged[m.Figure] {
				a.SetMedian(m.Figure, b.median(pa.Name, m.Figure))
			}
		}
		a.Mean = stats.Known(meanOver(b.series(pa.Name, stats.Mean))).Pointer()
		a.InTime, a.Recovered = b.median(pa.Name, stats.InTime).Pointer(), b.median(pa.Name, stats.Recovered).Pointer()
		a.Loops, a.Switches = b.median(pa.Name, stats.Loops).Pointer(), b.median(pa.Name, stats.Switches).Pointer()
		a.Throttled, a.Stops = b.median(pa.Name, stats.Throttled).Pointer(), b.median(pa.Name, stats.Stops).Pointer()
		// The curve shows all requests of all valid windows together.
		hist, overflows, joined, good := responses.NewHistogram(), 0., 0, 0
		for _, w := range b.of(pa.Name) {
			hist.Merge(w.Hist)
			a.Requests += w.Requests
			a.TooLate, a.Retries = a.TooLate+w.TooLate, a.Retries+w.Retries
			a.Errors += w.Requests - w.Good
			a.ErrorBlocks += stats.Count(w.Good < w.Requests)
			for end, n := range w.Failures {
				a.Failures[end] += n
			}
			// Requests of a queue are correlated: w.Tau requests have the information of one independent request.
			a.NEff += float64(w.Judged()) / w.Tau / float64(len(b.valid))
			// The worst block counts, for starvation and for fairness.
			a.StarvedConnections = max(a.StarvedConnections, w.Starved)
			a.StarvedBlocks += stats.Count(w.Starved > 0)
			if w.Jain > 0 && (a.Jain == nil || w.Jain < *a.Jain) {
				a.Jain = &w.Jain
			}
			overflows += w.Values[stats.Overflows].Float() // NaN where they are unknown
			joined, good = joined+w.Phases.Joined, good+w.Phases.Good
		}
		a.Joined = float64(joined) / float64(max(good, 1))
		// With failures, the mean of all requests has timeouts in it, so show the good ones on their own.
		if float64(a.Errors) > ErrorLimit*float64(a.Requests) {
			a.GoodMean = stats.Known(meanOver(b.series(pa.Name, stats.GoodMean))).Pointer()
		}
		if len(b.valid) > 0 {
			a.Curve, a.Overflows = hist.Curve(), stats.Known(overflows).Pointer()
		}
		// The heat map also shows windows of blocks that were left out, so that a reader sees why.
		for _, block := range slices.Sorted(maps.Keys(b.windows)) {
			if w, ok := b.windows[block][pa.Name]; ok {
				a.Heat = append(a.Heat, responses.Heat{Block: block, Valid: slices.Contains(b.valid, block), Counts: w.Heat})
			}
		}
		a.Disturbed, a.Generator = b.disturbed(pa.Name), b.generator(pa.Name)
		a.Footprint, a.Counters, a.Phases = b.footprint(pa.Name), b.counters(pa.Name), b.armPhases(pa.Name)
		a.Classes = b.classes(pa.Name)
		a.Fairness, a.Sessions = b.fairness(pa.Name), b.sessions(pa.Name)
		a.Twin, a.Behind = b.twin(pa, a), b.behind[pa.Name]
		all = append(all, a)
	}
	return all
}

// Alone returns the result of a run of one arm in one window: its figures, compared with nothing. The plan of run has
// that arm only.
func Alone(run record.Run, w window.Window) *record.Comparison {
	arm, judged := run.Plan.Arms[0], map[stats.Figure]bool{}
	for _, m := range stats.Quantiles() {
		judged[m.Figure] = w.Requests >= stats.MinRequests(m.Quantile)
	}
	taken := windows{1: {arm.Name: model(w, record.TrialRecord{Trial: w.Trial}, arm, run)}}
	b := blocks{run: run, windows: taken, judged: judged, valid: []int{1}}
	r := (&Trials{run: run}).newComparison()
	r.Valid, r.Ran, r.Arms = 1, 1, b.arms(servers{})
	r.Arms[0].Twin = nil
	if f := b.redirects(r.Arms[0]); !f.None() {
		r.Doubts = append(r.Doubts, f)
	}
	return r
}

// classes returns the figures of an arm's requests by class over the valid blocks, all requests first; nil without classes.
func (b blocks) classes(arm string) (all []record.ClassFigures) {
	windows := b.of(arm)
	if len(windows) == 0 {
		return nil
	}
	for i, c := range windows[0].Classes {
		f, hist := record.ClassFigures{Class: c.Name}, responses.NewHistogram()
		for _, w := range windows {
			of := w.Classes[i]
			f.Requests, f.Errors = f.Requests+of.Requests, f.Errors+of.Requests-of.Good
			hist.Merge(of.Hist)
		}
		median := func(q stats.Figure) *float64 {
			return stats.Known(medianOf(windows, func(w *modelled) float64 { return w.Classes[i].Values[q].Float() })).Pointer()
		}
		f.P50, f.P90, f.P99, f.Curve = median(stats.P50), median(stats.P90), median(stats.P99), hist.Curve()
		all = append(all, f)
	}
	return all
}

// median returns the median of a figure over an arm's valid windows; unknown if one lacks the figure, or none is valid.
func (b blocks) median(arm string, f stats.Figure) stats.Opt {
	return stats.Known(stats.Median(b.series(arm, f)))
}

// meanOver returns the mean of values; NaN for none, and if one is NaN. The mean time of an arm is the mean over its windows on
// every page, because the parts of the time add up to that mean.
func meanOver(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	if len(values) == 0 {
		return math.NaN()
	}
	return mean
}

// ofWindows returns a part of each of an arm's valid windows, in block order; nil if one lacks it, or none is valid.
func ofWindows[T any](b blocks, arm string, part func(*modelled) *T) (all []*T) {
	for _, w := range b.of(arm) {
		p := part(w)
		if p == nil {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// generator sums up what the load generator did in an arm's valid windows: medians of ratios and of read lateness, sums
// of counts, the longest pause and the longest lag. It returns nil if a window did not record this. Times are seconds.
func (b blocks) generator(arm string) *record.Proofs {
	all := ofWindows(b, arm, func(w *modelled) *record.Proof { return w.Trial.Client.Proof })
	if all == nil {
		return nil
	}
	g := &record.Proofs{Busy: medianOf(all, func(p *record.Proof) float64 { return p.Busy })}
	var audited []*record.ReadLate
	replies := int64(0)
	for _, p := range all {
		g.GCs += p.GCs
		g.LongestPause, g.LongestLag = max(g.LongestPause, p.LongestPause), max(g.LongestLag, p.LongestLag)
		g.Rest = p.Rest
		g.Missing += max(0, p.Planned-p.Sent)
		if p.ReadLate != nil {
			audited, replies = append(audited, p.ReadLate), replies+p.ReadLate.Replies
		}
	}
	if replies > 0 {
		g.ReadLate = &record.ReadLate{
			Replies: replies, P50: medianOf(audited, func(l *record.ReadLate) float64 { return l.P50 }),
			P99: medianOf(audited, func(l *record.ReadLate) float64 { return l.P99 }),
		}
	}
	return g
}

// footprint returns the medians of the footprint of an arm's server over its valid windows; nil if it is unknown in one.
// Resident is set if a window has only the larger figure.
func (b blocks) footprint(arm string) *record.Footprint {
	all := ofWindows(b, arm, func(w *modelled) *record.Footprint { return w.Trial.Server.Footprint })
	if all == nil {
		return nil
	}
	return &record.Footprint{
		Memory:    int64(medianOf(all, func(f *record.Footprint) float64 { return float64(f.Memory) })),
		Peak:      int64(medianOf(all, func(f *record.Footprint) float64 { return float64(f.Peak) })),
		Threads:   int(medianOf(all, func(f *record.Footprint) float64 { return float64(f.Threads) })),
		Processes: int(medianOf(all, func(f *record.Footprint) float64 { return float64(f.Processes) })),
		Resident:  slices.ContainsFunc(all, func(f *record.Footprint) bool { return f.Resident }),
	}
}

// armPhases returns the mean of each phase over an arm's valid windows, in seconds per request and in the order of
// window.Phases.List. All windows count equally, so the phases still add up to the response time. It returns nil if a
// window has no stamps or no good reply.
func (b blocks) armPhases(arm string) []timeline.Phase {
	var sum []timeline.Phase
	for _, w := range b.of(arm) {
		if !w.Phases.Stamped || w.Phases.Good == 0 {
			return nil
		}
		for i, p := range w.Phases.List() {
			// All windows have the same phases.
			if len(sum) <= i {
				sum = append(sum, timeline.Phase{Name: p.Name})
			}
			sum[i].Mean += p.Mean
			sum[i].Tail += p.Tail
		}
	}
	for i := range sum {
		sum[i].Mean /= float64(len(b.valid))
		sum[i].Tail /= float64(len(b.valid))
	}
	return sum
}

// fairness returns how the server spread its replies over an arm's connections. The numbers of connections come from the
// valid window with the most starved ones, and FirstReply is the longest of all. It returns nil if none recorded this.
func (b blocks) fairness(arm string) *record.Fairness {
	var f *record.Fairness
	for _, w := range b.of(arm) {
		if w.Asked == 0 {
			continue
		}
		if f == nil {
			f = &record.Fairness{Asked: w.Asked, Served: w.Asked}
		}
		if w.Starved > f.Asked-f.Served {
			f.Asked, f.Served, f.Turns = w.Asked, w.Asked-w.Starved, 0
			for _, n := range w.Trial.Client.ConnAnswers {
				f.Turns += float64(n) / float64(max(f.Served, 1))
			}
		}
		f.FirstReply = max(f.FirstReply, w.Trial.Client.FirstReply)
	}
	// In an open loop a request without a reply has waited until its timeout.
	if p := planned(b.run.Plan, arm); f != nil && p != nil && p.Clients.Closed() {
		f.Short = f.Served < f.Asked && f.Turns < fullTurns && !slices.ContainsFunc(b.run.Plan.Doubts, func(d fact.Fact) bool {
			return doubt.StickyPool.Code.Is(d) && d.Arm == cmp.Or(p.CopyOf, arm)
		})
	}
	return f
}

// fullTurns is the number of replies for each served connection from which a connection without a reply is surely starved: if
// clients were picked at random, only one in e^10 would have had no turn by chance.
const fullTurns = 10

// sessions returns the session times of an arm over its valid windows, in seconds: sums of complete and broken sessions,
// the fewest complete ones of a window, and medians of the quantiles, nil where a window has too few sessions for one. It
// returns nil if a window recorded no sessions.
func (b blocks) sessions(arm string) *record.SessionTimes {
	all := ofWindows(b, arm, func(w *modelled) *record.Sessions { return w.Trial.Client.Sessions })
	if all == nil {
		return nil
	}
	t := &record.SessionTimes{PerWindow: all[0].Complete}
	for _, s := range all {
		t.Complete, t.Broken, t.PerWindow = t.Complete+s.Complete, t.Broken+s.Broken, min(t.PerWindow, s.Complete)
	}
	if t.PerWindow >= stats.MinRequests(.5) {
		t.P50 = new(medianOf(all, func(s *record.Sessions) float64 { return s.Duration.P50 }))
	}
	if t.PerWindow >= stats.MinRequests(.9) {
		t.P90 = new(medianOf(all, func(s *record.Sessions) float64 { return s.Duration.P90 }))
	}
	return t
}

// counters returns an arm's connections over time, rates per second: medians over the valid blocks, and the readings of
// one typical block. It returns nil if a valid window has fewer than two readings, which give no rate.
func (b blocks) counters(arm string) *record.Counters {
	windows, shown := b.of(arm), b.middle()
	if len(windows) == 0 || slices.ContainsFunc(windows, func(w *modelled) bool { return len(w.Trial.Server.Readings) < 2 }) {
		return nil
	}
	c := &record.Counters{OpenPeak: medianOf(windows, mostOpen), Block: b.valid[shown], Readings: windows[shown].Trial.Server.Readings}
	c.Accepted, c.AcceptedPeak = rates(windows, func(r record.Reading) int64 { return r.Accepted })
	c.Done, c.DonePeak = rates(windows, func(r record.Reading) int64 { return r.Done })
	return c
}

// middle returns the index of the valid block with the median peak of open connections, summed over the arms; 0 if there is
// none.
func (b blocks) middle() (middle int) {
	open := make([]float64, len(b.valid))
	for _, a := range b.run.Plan.Arms {
		for i, w := range b.of(a.Name) {
			open[i] += mostOpen(w)
		}
	}
	if sorted := ascending(open); len(sorted) > 0 {
		middle = sorted[(len(sorted)-1)/2]
	}
	return middle
}

// mostOpen returns the largest number of open connections in any reading of a window.
func mostOpen(w *modelled) (most float64) {
	for _, r := range w.Trial.Server.Readings {
		most = max(most, float64(r.Open))
	}
	return most
}

// rates returns two rates at which a counter rose, per second and as medians over windows: from the first reading in the window to
// the last, and between the two neighbours with the fastest rise. Each window has two readings or more, in the order of time. A
// reading before the window can be older than the load, so the mean uses it only if the window has fewer than two others.
func rates(windows []*modelled, count func(record.Reading) int64) (mean, peak float64) {
	rate := func(all []record.Reading) float64 {
		first, last := all[0], all[len(all)-1]
		return float64(count(last)-count(first)) / (last.At - first.At)
	}
	fastest := func(w *modelled) (peak float64) {
		for i := range w.Trial.Server.Readings[1:] {
			peak = max(peak, rate(w.Trial.Server.Readings[i:i+2]))
		}
		return peak
	}
	over := func(w *modelled) float64 {
		all := w.Trial.Server.Readings
		if inside := all[1:]; all[0].At < 0 && len(inside) >= 2 {
			return rate(inside)
		}
		return rate(all)
	}
	return medianOf(windows, over), medianOf(windows, fastest)
}

// A Block holds the phases of two arms' good requests in one block, the same phases in the same order.
type Block struct {
	From, To []timeline.Phase
}

// Waterfall divides the difference of two arms' means over one or more blocks by stretch and phase. of is [MeanOf] or
// [TailOf]. Each piece is the mean over the blocks of how much longer, in seconds, the arm takes there. The pieces add up
// to the difference, because the phases add up to a response time (docs/reference/timeline.md).
func Waterfall(blocks []Block, stretches []timeline.Stretch, of func(timeline.Phase) float64) (w record.Waterfall) {
	in := func(names []string) stats.Step {
		part := timeline.Stretch{Phases: names}
		return Paired(
			figures(blocks, func(b Block) float64 { return part.In(b.From, of) }), figures(blocks, func(b Block) float64 { return part.In(b.To, of) }),
		)
	}
	var all []string
	for _, p := range blocks[0].From {
		all = append(all, p.Name)
	}
	w.Step = in(all)
	for _, st := range stretches {
		piece := record.Piece{Stretch: st.Name, Step: in(st.Phases)}
		if len(st.Phases) > 1 {
			for _, name := range st.Phases {
				piece.Phases = append(piece.Phases, record.PhaseStep{Phase: name, Step: in([]string{name})})
			}
		}
		w.Pieces = append(w.Pieces, piece)
	}
	return w
}

// Paired returns the mean difference to - from over the blocks, with Student's 95 % interval, infinite for a single block.
// The slices have one length, 1 or more. The interval assumes that the differences are about normal, which means over many
// requests are (Student, "The Probable Error of a Mean", Biometrika 6, 1908).
func Paired(from, to []float64) (s stats.Step) {
	n := float64(len(from))
	for i := range from {
		s.From += from[i] / n
		s.To += to[i] / n
	}
	s.By = s.To - s.From
	squares, all := 0.0, make([]float64, len(from))
	for i := range from {
		all[i] = to[i] - from[i]
		squares += (all[i] - s.By) * (all[i] - s.By)
	}
	s.Middle = stats.Median(all)
	half := math.Inf(1)
	if n > 1 {
		half = stats.StudentT(len(from)-1) * math.Sqrt(squares/(n-1)/n)
	}
	s.Low, s.High = s.By-half, s.By+half
	return s
}

// MeanOf is a phase's mean over all requests of a window.
func MeanOf(p timeline.Phase) float64 { return p.Mean }

// TailOf is a phase's mean over the slowest 1 % of a window's requests.
func TailOf(p timeline.Phase) float64 { return p.Tail }

// Noise is the largest difference of means, in seconds, that needs no explanation: the far end of the A/A interval, or the load
// engine's own p50 if that is larger. floor is nil if it was not measured.
func Noise(copied stats.Step, floor *record.Floor) float64 {
	least := max(math.Abs(copied.Low), math.Abs(copied.High))
	if floor != nil {
		least = max(least, floor.P50)
	}
	return least
}

// The smallest difference of means that is worth explaining, and the smallest piece of it.
const (
	leastShare   = .05 // of the mean of the arm that is compared with
	leastSeconds = 20e-6
	leastPiece   = .02 // of the difference
)

// differences returns a waterfall for each challenger with a mean, or a slowest 1 %, that surely differs from its
// reference. Both arms need stamps, and the challenger a quantile that could be judged: a server that starves clients
// has none, and its mean is only of the clients it served.
func (b blocks) differences(arms []record.Arm, verdicts []record.Verdict) (all []record.Difference) {
	for i, a := range arms {
		base := arms[Reference(b.run.Plan.Arms, i)]
		judged := slices.ContainsFunc(verdicts, func(v record.Verdict) bool {
			return v.Arm == a.Name && v.Primary && v.Verdict.Outcome != outcome.Refused && v.Metric.Row().Quantile > 0
		})
		if a.Role != record.Challenger || a.Joined == 0 || base.Joined == 0 || !judged {
			continue
		}
		for i, of := range []func(timeline.Phase) float64{MeanOf, TailOf} {
			w := b.waterfall(base.Name, a.Name, of)
			noise := Noise(b.waterfall(arms[0].Name, arms[1].Name, of).Step, b.run.Env.Floor)
			// The difference must be sure, larger than the noise, and large enough to matter.
			if !w.Sure() || math.Abs(w.By) < max(leastShare*w.From, leastSeconds, noise) {
				continue
			}
			w.Pieces = slices.DeleteFunc(w.Pieces, func(p record.Piece) bool { return !p.Sure() || math.Abs(p.By) < leastPiece*math.Abs(w.By) })
			all = append(all, record.Difference{Arm: a.Name, Baseline: base.Name, Tail: i == 1, Waterfall: w})
		}
	}
	return all
}

// waterfall returns the waterfall from one arm to another over the valid blocks.
func (b blocks) waterfall(from, to string, of func(timeline.Phase) float64) record.Waterfall {
	var all []Block
	for _, block := range b.valid {
		f, t := b.windows[block][from], b.windows[block][to]
		all = append(all, Block{f.Phases.List(), t.Phases.List()})
	}
	return Waterfall(all, timeline.Stretches(), of)
}
