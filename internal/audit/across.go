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

// across compares the runs of a text with each other; guessed are the lines of approximate rows.
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

// addGroup adds a finding about several runs together, given by their lines.
func (a *audit) addGroup(code record.Code, lines []int, v record.Values) {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(lines), "[]"), " ", ", ")
	a.add(finding{Code: code, Numbers: v, Names: record.Names{"lines": list}, Run: -1, Line: lines[0]})
}

// linesOf returns the first line of each run.
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
	sum, mean, seconds := server.value(Sum), server.get(Mean), client.value(Seconds)
	n, inside, most := sum/mean.Value, sum/seconds, client.inFlight()
	tooMany := most > 0 && inside > most*(1+slack)
	switch {
	case server.has(Seconds), server.has(Rate), !server.has(Sum), mean.Value <= 0, seconds <= 0, !client.has(Mean),
		math.Abs(n-client.value(Requests)) > .5+slack*n, !tooMany && !mean.exceeds(client.get(Mean)):
		return nil
	}
	v := record.Values{"sum": sum, "seconds": seconds, "inside": inside, "server": mean.Value, "client": client.value(Mean), "line": float64(client.Line)}
	if tooMany {
		v["connections"] = most
	}
	if opened := client.value(Opened); opened > 0 {
		v["opened"], v["cycle"] = opened, opened*seconds/client.value(Requests)
	}
	return v
}

// fingerprint joins what a run measured, to the last digit. It returns "" for fewer than
// four figures.
func (c *Claim) fingerprint() string {
	var parts []string
	results := []string{Mean, Stdev, Max, Min, ThreadRate + ".mean", ThreadRate + ".max", Rate, Bytes, Sum}
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

// changes checks a column of changes of the rate: each must be right against the row
// before or against the first row.
func (a *audit) changes() {
	const off = .001
	first := 0
	for i, c := range a.runs {
		if i == 0 || !c.has(Change, Rate) || !a.runs[i-1].has(Rate) {
			first = i
			continue
		}
		said, rate, before := c.get(Change), c.value(Rate), a.runs[i-1].value(Rate)
		change, whole := rate/before-1, rate/a.runs[first].value(Rate)-1
		if min(math.Abs(said.Value-change), math.Abs(said.Value-whole)) > said.Half+off {
			a.add(finding{Code: "audit-change", Numbers: record.Values{"said": said.Value, "change": change, "whole": whole, "rate": rate, "before": before}, Run: i, Line: c.Line})
		}
	}
}

// backlog finds a difference of accepted and done that grows from run to run.
func (a *audit) backlog() {
	waiting := func(c *Claim) float64 { return c.value(Accepted) - c.value(Done) }
	var of []*Claim
	for _, c := range a.runs {
		if n := len(of); c.has(Accepted, Done) {
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

// growth finds series of runs with ever more connections and longer response times. In a
// closed loop more connections are enough to make them longer.
func (a *audit) growth() {
	for rest := a.runs; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Tool == rest[0].Tool && rest[n].get(Depth) == rest[0].get(Depth) && rest[n].value(Connections) > rest[n-1].value(Connections) {
			n++
		}
		group, first, last := rest[:n], rest[0], rest[n-1]
		rest = rest[n:]
		x, y, from, to := first.rate().Value, last.rate().Value, first.value(Connections), last.value(Connections)
		mean, cycle := last.value(Mean)/first.value(Mean), to/y/(from/x)
		if x > 0 && y > 0 && first.has(Mean, Connections) && !first.paced() && mean >= 1.2 && cycle >= 1.2 {
			a.addGroup("audit-growth", linesOf(group), record.Values{"from": from, "to": to, "mean": mean, "cycle": cycle, "rate": y/x - 1})
		}
	}
}

// same adds a finding about two runs or more, with their number and the ends of a figure.
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
	byOffer := map[float64][]*Claim{}
	var single []*Claim
	for _, c := range a.runs {
		if offered := c.value(Offered); c.has(Offered, Rate) && c.value(Rate) >= (1-missed)*offered && c.Tool != "vegeta" {
			byOffer[offered] = append(byOffer[offered], c)
		}
		if c.inFlight() == 1 {
			single = append(single, c)
		}
	}
	for _, offered := range slices.Sorted(maps.Keys(byOffer)) {
		a.same("audit-same-rate", Rate, byOffer[offered], record.Values{"offered": offered})
	}
	a.same("audit-one-in-flight", Mean, single, record.Values{})
}

// repeats compares the spread of runs with one name with the difference between names. A
// difference within the spread is no finding, and without repeats there is no spread.
func (a *audit) repeats() {
	means := map[string][]float64{}
	for _, c := range a.runs {
		if c.Name != "" && c.value(Mean) > 0 {
			means[c.Name] = append(means[c.Name], c.value(Mean))
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
