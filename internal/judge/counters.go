package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// counters returns an arm's connections over time: medians over the valid blocks, and the readings
// of one typical block. It returns nil if a valid window has fewer than two readings, which give
// no rate. Rates are per second.
func (b blocks) counters(arm string) *record.Counters {
	var open, accepted, done, acceptedPeak, donePeak []float64
	for _, block := range b.valid {
		all := b.readings(block, arm)
		if len(all) < 2 {
			return nil
		}
		open = append(open, float64(mostOpen(all)))
		mean, peak := rates(all, func(r record.Reading) int64 { return r.Accepted })
		accepted, acceptedPeak = append(accepted, mean), append(acceptedPeak, peak)
		mean, peak = rates(all, func(r record.Reading) int64 { return r.Done })
		done, donePeak = append(done, mean), append(donePeak, peak)
	}
	if len(open) == 0 {
		return nil
	}
	shown := b.middle()
	return &record.Counters{
		OpenPeak: stats.Median(open), Accepted: stats.Median(accepted), AcceptedPeak: stats.Median(acceptedPeak),
		Done: stats.Median(done), DonePeak: stats.Median(donePeak), Block: shown, Readings: b.readings(shown, arm),
	}
}

// readings returns the readings of the server's counters during a window.
func (b blocks) readings(block int, arm string) []record.Reading {
	return b.windows[block][arm].Trial.Server.Readings
}

// middle returns the valid block with the median peak of open connections, summed over the arms.
// There is at least one valid block.
func (b blocks) middle() int {
	open := func(block int) (sum int64) {
		for _, a := range b.run.Plan.Arms {
			sum += mostOpen(b.readings(block, a.Name))
		}
		return sum
	}
	sorted := slices.SortedStableFunc(slices.Values(b.valid), func(x, y int) int { return cmp.Compare(open(x), open(y)) })
	return sorted[(len(sorted)-1)/2]
}

// mostOpen returns the largest number of open connections in any reading.
func mostOpen(all []record.Reading) (most int64) {
	for _, r := range all {
		most = max(most, r.Open)
	}
	return most
}

// rates returns how fast a counter rose, per second. mean is from the first reading to the last,
// peak the fastest rise between two neighbouring readings. There are two readings or more, in the
// order of time.
func rates(all []record.Reading, of func(record.Reading) int64) (mean, peak float64) {
	per := func(from, to record.Reading) float64 { return float64(of(to)-of(from)) / (to.At - from.At) }
	for i := range all[1:] {
		peak = max(peak, per(all[i], all[i+1]))
	}
	return per(all[0], all[len(all)-1]), peak
}
