package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/record"
)

// counters returns an arm's connections over time: medians over the valid blocks, and the readings
// of one typical block. It returns nil if a valid window has fewer than two readings, which give
// no rate. Rates are per second.
func (b blocks) counters(arm string) *record.Counters {
	for _, block := range b.valid {
		if len(b.readings(block, arm)) < 2 {
			return nil
		}
	}
	if len(b.valid) == 0 {
		return nil
	}
	median := func(figure func([]record.Reading) float64) float64 {
		return medianOf(b.valid, func(block int) float64 { return figure(b.readings(block, arm)) })
	}
	accepted := func(r record.Reading) int64 { return r.Accepted }
	done := func(r record.Reading) int64 { return r.Done }
	shown := b.middle()
	return &record.Counters{
		OpenPeak: median(func(all []record.Reading) float64 { return float64(mostOpen(all)) }),
		Accepted: median(meanRate(accepted)), AcceptedPeak: median(peakRate(accepted)),
		Done: median(meanRate(done)), DonePeak: median(peakRate(done)),
		Block: shown, Readings: b.readings(shown, arm),
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

// meanRate returns a function for the mean rate at which a counter rose from the first reading to the
// last, and peakRate one for its fastest rise between two neighbouring readings. Both are per second.
// There are two readings or more, in the order of time.
func meanRate(of func(record.Reading) int64) func([]record.Reading) float64 {
	return func(all []record.Reading) float64 {
		first, last := all[0], all[len(all)-1]
		return float64(of(last)-of(first)) / (last.At - first.At)
	}
}

func peakRate(of func(record.Reading) int64) func([]record.Reading) float64 {
	return func(all []record.Reading) (peak float64) {
		for i := range all[1:] {
			peak = max(peak, meanRate(of)(all[i:i+2]))
		}
		return peak
	}
}
