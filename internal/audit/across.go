package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// across holds the runs of a text against each other, after judge has looked at each run alone.
// It adds its findings to a. guessed are the numbers of the lines, from 1, with table rows that
// are marked as approximate. There must be at least one run.
//
// The checks in this file fall into three kinds. Two runs can contradict each other: the same
// figures twice, or a server's report that does not fit the client's. A series of runs can have
// a simple explanation that needs no server: more connections in a closed loop, or a column of
// changes that was computed wrongly. And runs can be unable to differ, so that their comparison
// answers nothing.
func (a *audit) across(guessed []int) {
	seen := map[string]*Claim{}
	for i, c := range a.runs {
		if i > 0 {
			a.add(finding{Code: "audit-two-reports", Numbers: twoReports(c, a.runs[i-1]), Run: i, Line: c.Line})
		}
		// Runs that agree in every digit are no two measurements.
		print := c.fingerprint()
		if first := seen[print]; first != nil && print != "" {
			a.add(finding{Code: "audit-identical", Numbers: record.Values{"figures": float64(strings.Count(print, " ") + 1), "line": float64(first.Line)}, Run: i, Line: c.Line})
		} else {
			// Only the first run with these figures is kept, so that every copy points to the
			// original.
			seen[print] = c
		}
	}
	a.changes()
	a.backlog()
	a.growth()
	a.sameRate()
	a.repeats()
	if len(guessed) > 0 {
		a.addGroup("audit-approximate", guessed, record.Values{"rows": float64(len(guessed))})
	}
}

// addGroup adds a finding about several runs together. lines are the first lines of these runs,
// from 1; there is at least one. The finding lists them in its name "lines" and stands at the
// first. Its Run is -1, because it belongs to no single run.
func (a *audit) addGroup(code record.Code, lines []int, v record.Values) {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(lines), "[]"), " ", ", ")
	a.add(finding{Code: code, Numbers: v, Names: record.Names{"lines": list}, Run: -1, Line: lines[0]})
}

// linesOf returns the first line of each run, in the order of the group.
func linesOf(group []*Claim) (lines []int) {
	for _, c := range group {
		lines = append(lines, c.Line)
	}
	return lines
}

// twoReports compares a server's own report, which has times and no duration, with the
// client's report before it, if both have the same number of requests. A request takes no
// longer in the server than for its client, and the server holds no more requests at once
// than the connections do. It returns nil where that holds.
func twoReports(server, client *Claim) record.Values {
	// The server served n = sum/mean requests. By Little's law (Little 1961) sum/seconds of
	// them were inside the server at once on average, if both reports are about the same span
	// of time.
	sum, mean, seconds := server.value("sum"), server.get("mean"), client.value("seconds")
	n, inside, most := sum/mean.Value, sum/seconds, client.inFlight()
	tooMany := most > 0 && inside > most*(1+slack)
	switch {
	// Reports with another number of requests belong to other runs, so they are not compared.
	case server.has("seconds"), server.has("rate"), !server.has("sum"), mean.Value <= 0, seconds <= 0, !client.has("mean"),
		math.Abs(n-client.value("requests")) > .5+slack*n, !tooMany && !mean.exceeds(client.get("mean")):
		return nil
	}
	v := record.Values{"sum": sum, "seconds": seconds, "inside": inside, "server": mean.Value, "client": client.value("mean"), "line": float64(client.Line)}
	if tooMany {
		v["connections"] = most
	}
	// A client that opens connections one after another does not keep all of them open. cycle
	// is the response time of a closed loop with all of them open at once, N / X.
	if opened := client.value("opened"); opened > 0 {
		v["opened"], v["cycle"] = opened, opened*seconds/client.value("requests")
	}
	return v
}

// fingerprint joins what a run measured, to the last digit. It returns "" for fewer than
// four figures.
func (c *Claim) fingerprint() string {
	var parts []string
	// Only results count. Settings such as the number of connections are equal in honest
	// repetitions too.
	results := []string{"mean", "stdev", "max", "min", "thread_rate.mean", "thread_rate.max", "rate", "bytes", "sum"}
	for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
		if _, ok := quantileOf(name); ok || slices.Contains(results, name) {
			parts = append(parts, name+strconv.FormatFloat(c.value(name), 'g', -1, 64))
		}
	}
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts, " ")
}

// changes checks a column of changes of the rate, which people compute by hand. Each change
// must be right against the row before or against the first row of its column, because texts
// use both. A row without a change or without a rate begins a new column.
func (a *audit) changes() {
	// off is how far a change may be wrong beyond its rounding, a ratio: the rates in the text
	// are rounded as well.
	const off = .001
	first := 0
	for i, c := range a.runs {
		if i == 0 || !c.has("change", "rate") || !a.runs[i-1].has("rate") {
			first = i
			continue
		}
		said, rate, before := c.get("change"), c.value("rate"), a.runs[i-1].value("rate")
		change, whole := rate/before-1, rate/a.runs[first].value("rate")-1
		if min(math.Abs(said.Value-change), math.Abs(said.Value-whole)) > said.Half+off {
			a.add(finding{Code: "audit-change", Numbers: record.Values{"said": said.Value, "change": change, "whole": whole, "rate": rate, "before": before}, Run: i, Line: c.Line})
		}
	}
}

// backlog finds a difference of accepted and done that grows from run to run: the server takes
// in more than it finishes, and its queue never empties. It needs three runs that have both
// figures, and the difference must grow at each step. Two runs may differ by chance.
func (a *audit) backlog() {
	waiting := func(c *Claim) float64 { return c.value("accepted") - c.value("done") }
	var of []*Claim
	for _, c := range a.runs {
		if n := len(of); c.has("accepted", "done") {
			if n > 0 && waiting(c) <= waiting(of[n-1]) {
				return
			}
			of = append(of, c)
		}
	}
	if n := len(of); n >= 3 {
		a.addGroup("audit-backlog-grows", linesOf(of), record.Values{"first": waiting(of[0]), "last": waiting(of[n-1]), "times": float64(n)})
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
		x, y, from, to := first.rate().Value, last.rate().Value, first.value("connections"), last.value("connections")
		// mean and cycle are how many times longer the response time and N / X are at the end
		// of the series. Both must have grown by a fifth. Smaller changes are within the noise
		// of a run.
		mean, cycle := last.value("mean")/first.value("mean"), to/y/(from/x)
		if x > 0 && y > 0 && first.has("mean", "connections") && !first.paced() && mean >= 1.2 && cycle >= 1.2 {
			a.addGroup("audit-growth", linesOf(group), record.Values{"from": from, "to": to, "mean": mean, "cycle": cycle, "rate": y/x - 1})
		}
	}
}

// same adds a finding about two runs or more that cannot differ. It adds the number of runs to
// v, and the lowest and highest value of the figure called name. A group of fewer runs adds
// nothing.
func (a *audit) same(code record.Code, name string, group []*Claim, v record.Values) {
	if len(group) < 2 {
		return
	}
	by := func(x, y *Claim) int { return cmp.Compare(x.value(name), y.value(name)) }
	v["runs"], v["low"], v["high"] = float64(len(group)), slices.MinFunc(group, by).value(name), slices.MaxFunc(group, by).value(name)
	a.addGroup(code, linesOf(group), v)
}

// sameRate finds runs whose rate or times cannot differ: below capacity every server does
// the offered rate, and with one request in flight a second worker has nothing to do.
func (a *audit) sameRate() {
	// Runs with exactly the same planned rate form a group.
	byOffer := map[float64][]*Claim{}
	var single []*Claim
	for _, c := range a.runs {
		// A run that missed its planned rate has met the capacity, and such a run can tell
		// servers apart.
		if offered := c.value("offered"); c.has("offered", "rate") && c.value("rate") >= (1-missed)*offered && c.Tool != "vegeta" {
			byOffer[offered] = append(byOffer[offered], c)
		}
		if c.inFlight() == 1 {
			single = append(single, c)
		}
	}
	for _, offered := range slices.Sorted(maps.Keys(byOffer)) {
		a.same("audit-same-rate", "rate", byOffer[offered], record.Values{"offered": offered})
	}
	a.same("audit-one-in-flight", "mean", single, record.Values{})
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
	var middles []float64
	for _, all := range means {
		slices.Sort(all)
		repeated = repeated || len(all) > 1
		noise = max(noise, all[len(all)-1]/all[0]-1)
		middles = append(middles, all[len(all)/2])
	}
	// The finding stays without numbers where nothing is wrong, and add then drops it.
	f := finding{Code: "audit-one-trial", Run: -1, Line: a.runs[0].Line}
	if !repeated && len(a.runs) > 1 {
		f.Numbers = record.Values{"runs": float64(len(a.runs))}
	} else if len(means) > 1 {
		if difference := slices.Max(middles)/slices.Min(middles) - 1; difference <= noise {
			f.Code, f.Numbers = "audit-within-noise", record.Values{"noise": noise, "difference": difference, "runs": float64(len(means))}
		}
	}
	a.add(f)
}
