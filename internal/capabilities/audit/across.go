package audit

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/shared/fact"
)

// This file holds the runs of a text against each other. A series of runs can have a simple
// explanation that needs no server, as more connections in a closed loop. And runs can be unable
// to differ, so that their comparison answers nothing. Each check needs at least one run.

// addGroup adds a finding about one or more runs together. Its Run is -1, because it belongs to no
// single run.
func (a *audit) addGroup(f fact.Fact, group []*Claim) {
	var all []string
	for _, c := range group {
		all = append(all, strconv.Itoa(c.Line))
	}
	found := findingOf(f.And(lines{strings.Join(all, ", ")}))
	found.Run, found.Line = -1, group[0].Line
	a.add(found)
}

// backlog finds a difference of accepted and done that grows from run to run: the server takes
// in more than it finishes, and its queue never empties. It needs three runs that have both
// figures, and the difference must grow at each step. Two runs may differ by chance.
func (a *audit) backlog() {
	waiting := func(c *Claim) float64 { return c.value("accepted") - c.value("done") }
	of := slices.DeleteFunc(slices.Clone(a.runs), func(c *Claim) bool { return !c.has("accepted", "done") })
	n := len(of)
	for i := 1; i < n; i++ {
		if waiting(of[i]) <= waiting(of[i-1]) {
			return
		}
	}
	if n >= 3 {
		a.addGroup(backlogGrows.Of(backlog{First: waiting(of[0]), Last: waiting(of[n-1]), Times: n}), of)
	}
}

// growth finds series of runs with ever more connections and longer response times. In a closed
// loop with N connections and rate X the response time is N / X less the pause between requests
// (interactive law, Denning and Buzen 1978). So once the server is busy, more connections are
// enough to make times longer, and the growth tells nothing about the server.
func (a *audit) growth() {
	for rest := a.runs; len(rest) > 0; {
		// A series is a stretch of runs of one tool with one depth, in which only the
		// connections grow.
		n := 1
		for n < len(rest) && rest[n].Tool == rest[0].Tool && rest[n].get("depth") == rest[0].get("depth") && rest[n].value("connections") > rest[n-1].value("connections") {
			n++
		}
		group, first, last := rest[:n], rest[0], rest[n-1]
		rest = rest[n:]
		x, y, from, to := first.value("throughput"), last.value("throughput"), first.value("connections"), last.value("connections")
		// mean and cycle are how many times longer the response time and N / X are at the end
		// of the series. Both must have grown by a fifth. Smaller changes are within the noise
		// of a run.
		mean, cycle := last.value("mean")/first.value("mean"), to/y/(from/x)
		if x > 0 && y > 0 && first.has("mean", "connections") && first.Loop != openLoop && first.Loop != pacedLoop && mean >= 1.2 && cycle >= 1.2 {
			a.addGroup(timesGrow.Of(growth{From: from, To: to, Mean: mean, Cycle: cycle, Rate: y/x - 1}), group)
		}
	}
}

// sameRate finds runs whose rate or times cannot differ: below capacity every server completes
// the offered rate, and with one request in flight a second worker has nothing to do.
func (a *audit) sameRate() {
	// vegeta prints the rate that it sent at, and not the one that was asked for.
	//
	// Runs with exactly the same planned rate form a group. A run that missed its rate has met
	// the capacity, and such a run can tell servers apart.
	byOffer := map[float64][]*Claim{}
	var single []*Claim
	for _, c := range a.runs {
		if offered := c.value("offered"); c.has("offered", "rate") && c.value("rate") >= (1-missed)*offered && c.Tool != "vegeta" {
			byOffer[offered] = append(byOffer[offered], c)
		}
		if c.value("slots") == 1 {
			single = append(single, c)
		}
	}
	// of returns the lowest and the highest value of the figure called name.
	of := func(name string, group []*Claim) alike {
		by := func(x, y *Claim) int { return cmp.Compare(x.value(name), y.value(name)) }
		return alike{Runs: len(group), Low: slices.MinFunc(group, by).value(name), High: slices.MaxFunc(group, by).value(name)}
	}
	for _, offered := range slices.Sorted(maps.Keys(byOffer)) {
		if group := byOffer[offered]; len(group) > 1 {
			a.addGroup(sameRate.Of(alikeAt{of("rate", group), offered}), group)
		}
	}
	if len(single) > 1 {
		a.addGroup(oneInFlight.Of(of("mean", single)), single)
	}
}

// repeats compares the noise with the difference between names. noise is the largest spread of
// mean response times among runs with one name, as a ratio of the highest to the lowest, less
// 1. The largest difference between the middle runs of two names must be larger, or it is no
// finding about the names. Where no name has two runs the noise is unknown, and no difference
// of these runs means anything.
func (a *audit) repeats() {
	means := map[string][]float64{}
	for _, c := range a.runs {
		if c.Name != "" && c.value("mean") > 0 {
			means[c.Name] = append(means[c.Name], c.value("mean"))
		}
	}
	noise, repeated := 0., false
	var middles []float64 // the middle run of each name; the upper one of two
	for _, all := range means {
		slices.Sort(all)
		repeated = repeated || len(all) > 1
		noise = max(noise, all[len(all)-1]/all[0]-1)
		middles = append(middles, all[len(all)/2])
	}
	// Both findings stand at the first run, because they are about all.
	if !repeated && len(a.runs) > 1 {
		a.addGroup(oneTrial.Of(trials{Runs: len(a.runs)}), a.runs[:1])
	} else if len(means) > 1 {
		if difference := slices.Max(middles)/slices.Min(middles) - 1; difference <= noise {
			a.addGroup(withinNoise.Of(noisy{Noise: noise, Difference: difference, Runs: len(means)}), a.runs[:1])
		}
	}
}
