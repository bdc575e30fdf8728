package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// markdown has a table of the ways, and one of what a TimeoutHandler costs.
func (r nobodyRecord) markdown() string {
	var b strings.Builder
	rounds, requests, lost := len(r.Cells[0].Rounds), 0, 0
	for _, c := range r.Cells {
		for _, round := range c.Rounds {
			requests, lost = requests+round.Requests, lost+round.Lost
		}
	}
	fmt.Fprintf(&b, "%s. Medians of %s and, in brackets, their 95 %% intervals (below six rounds: least and greatest). ", r.Origin, prose.Plural(rounds, "round"))
	fmt.Fprintf(&b, "%d requests a round%s. Of all %s requests %d got no answer though their clients had not left.\n\n",
		requests/(rounds*len(r.Cells)), r.seedsDiffer(), prose.Grouped(strconv.Itoa(requests)), lost)
	b.WriteString("| server | against a call that takes long | clients | answers taken | worked for nobody | of the CPU time, % | of the work if it hangs every 30 s, % | CPU time an answer | most goroutines | p99 | normal again after |\n")
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range r.Cells {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.Server, c.Way, c.Clients,
			c.spread(func(r nobodyRound) float64 { return float64(r.Taken) }, whole),
			c.spread(func(r nobodyRound) float64 { return float64(r.nobody()) }, whole),
			c.spread(nobodyRound.share, percent),
			c.spread(nobodyRound.shareOf30, percent),
			c.spread(func(r nobodyRound) float64 { return r.CPU / float64(r.Taken) }, prose.Seconds),
			c.spread(func(r nobodyRound) float64 { return float64(r.Goroutines) }, whole),
			c.spread(func(r nobodyRound) float64 { return r.P99 }, prose.Seconds),
			c.normal())
	}
	b.WriteString("\nA request to the same service without a call and without work, sixteen clients in a closed loop, and by how much a TimeoutHandler exceeds nothing, by pairs:\n\n")
	b.WriteString("| server | | CPU time a request | more | bytes allocated | objects allocated |\n|---|---|---:|---:|---:|---:|\n")
	for _, c := range r.Costs {
		more := "-"
		if i := slices.IndexFunc(r.Costs, func(than costCell) bool { return than.Server == c.Server && than.Way == doNothing }); c.Way != doNothing {
			more = c.more(r.Costs[i])
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.Server, c.Way, spreadOf(c.values(func(c cost) float64 { return c.CPU }), prose.Seconds), more,
			spreadOf(c.values(func(c cost) float64 { return c.Bytes }), whole), spreadOf(c.values(func(c cost) float64 { return c.Objects }), tenths))
	}
	return b.String()
}

// share returns which part of the service's CPU time was the work of requests for nobody. What they take besides their
// work is not in it.
func (r nobodyRound) share() float64 {
	return float64(r.nobody()) * workTime.Seconds() / r.CPU
}

// hangsEvery is the time from one stall to the next for which shareOf30 is.
const hangsEvery = 30 * time.Second

// shareOf30 returns which part of all requests that the service works for is for nobody if it has one stall in 30 s, and
// otherwise works for all that are sent.
func (r nobodyRound) shareOf30() float64 {
	calm := nobodyRate * (hangsEvery - roundTime).Seconds()
	return float64(r.nobody()) / (float64(r.Worked) + calm)
}

// spread is the median of a figure over the rounds, with its interval.
func (c nobodyCell) spread(figure func(nobodyRound) float64, format func(float64) string) string {
	var v []float64
	for _, r := range c.Rounds {
		v = append(v, figure(r))
	}
	return spreadOf(v, format)
}

// normal is when response times are normal again, or for how long they certainly are not.
func (c nobodyCell) normal() string {
	never := 0
	for _, r := range c.Rounds {
		never += stats.Count(r.Never)
	}
	if never > 0 {
		return fmt.Sprintf("not within %s in %d of %s", prose.Seconds(afterTime.Seconds()), never, prose.Plural(len(c.Rounds), "round"))
	}
	return c.spread(func(r nobodyRound) float64 { return r.Normal }, prose.Seconds)
}

func (c costCell) values(figure func(cost) float64) (v []float64) {
	for _, t := range c.Taken {
		v = append(v, figure(t))
	}
	return v
}

// more is by how much CPU time a request takes more than one of another cell, from costs that were measured in the same
// round.
func (c costCell) more(than costCell) string {
	var v []float64
	for i := range min(len(c.Taken), len(than.Taken)) {
		v = append(v, c.Taken[i].CPU-than.Taken[i].CPU)
	}
	return spreadOf(v, prose.Seconds)
}

// seedsDiffer says by how many requests for nobody the medians of a cell's two seeds differ at most. Of a single seed it says
// nothing.
func (r nobodyRecord) seedsDiffer() string {
	most := -1.0
	for _, c := range r.Cells {
		var seeds []uint64
		var requests []float64
		for _, round := range c.Rounds {
			seeds, requests = append(seeds, round.Seed), append(requests, float64(round.nobody()))
		}
		if medians := bySeed(seeds, requests); len(medians) > 1 {
			most = max(most, slices.Max(medians)-slices.Min(medians))
		}
	}
	if most < 0 {
		return ""
	}
	return fmt.Sprintf("; medians of the two seeds differ by at most %s for nobody", prose.Plural(int(most), "request"))
}

func whole(v float64) string { return prose.Grouped(fmt.Sprintf("%.0f", v)) }
