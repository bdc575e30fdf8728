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

// across compares the runs of a text with each other.
func (a *audit) across() {
	for i, c := range a.text.Claims {
		if i > 0 {
			a.add(i, twoReports(c, a.text.Claims[i-1]))
		}
	}
	a.identical()
	a.changes()
	a.backlog()
	a.growth()
	a.sameRate()
	a.repeats()
	if lines := a.text.Guessed; len(lines) > 0 {
		a.addAt(-1, lines[0], &finding{"audit-approximate", record.Values{"rows": float64(len(lines))}, record.Names{"lines": list(lines)}})
	}
}

func list(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}

// addGroup adds a finding about several runs together.
func (a *audit) addGroup(code record.Code, group []*Claim, v record.Values) {
	var lines []int
	for _, c := range group {
		lines = append(lines, c.Line)
	}
	a.addAt(-1, lines[0], &finding{code, v, record.Names{"lines": list(lines)}})
}

// twoReports compares a server's own report, which has times and no duration, with the
// client's report before it, if both have the same number of requests. A request takes no
// longer in the server than for its client, and the server holds no more requests at once
// than the connections do.
func twoReports(server, client *Claim) *finding {
	sum, mean, seconds := server.value(Sum), server.get(Mean), client.value(Seconds)
	if server.has(Seconds) || server.has(Rate) || !server.has(Sum) || mean.Value <= 0 || seconds <= 0 || !client.has(Mean) {
		return nil
	}
	if n := sum / mean.Value; math.Abs(n-client.value(Requests)) > .5+slack*n {
		return nil
	}
	inside, most := sum/seconds, client.inFlight()
	tooMany := most > 0 && inside > most*(1+slack)
	if !tooMany && !exceeds(mean, client.get(Mean)) {
		return nil
	}
	v := record.Values{"sum": sum, "seconds": seconds, "inside": inside, "server": mean.Value, "client": client.value(Mean), "line": float64(client.Line)}
	if tooMany {
		v["connections"] = most
	}
	if opened := client.value(Opened); opened > 0 {
		v["opened"], v["cycle"] = opened, opened*seconds/client.value(Requests)
	}
	return &finding{"audit-two-reports", v, nil}
}

// fingerprint joins what a run measured, to the last digit. It returns "" for fewer than
// four figures.
func (c *Claim) fingerprint() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
		if _, ok := quantileOf(name); ok || slices.Contains([]string{Mean, Stdev, Max, Min, ThreadRate + ".mean", ThreadRate + ".max", Rate, Bytes, Sum}, name) {
			parts = append(parts, name+strconv.FormatFloat(c.value(name), 'g', -1, 64))
		}
	}
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts, " ")
}

// identical finds runs that agree in every digit, which no two measurements do.
func (a *audit) identical() {
	seen := map[string]*Claim{}
	for i, c := range a.text.Claims {
		switch print := c.fingerprint(); {
		case print == "":
		case seen[print] == nil:
			seen[print] = c
		default:
			a.add(i, &finding{"audit-identical", record.Values{"figures": float64(strings.Count(print, " ") + 1), "line": float64(seen[print].Line)}, nil})
		}
	}
}

// changes checks a column of changes of the rate: each must be right against the row
// before or against the first row.
func (a *audit) changes() {
	const off = .001
	first := 0
	for i, c := range a.text.Claims {
		if i == 0 || !c.has(Change, Rate) || !a.text.Claims[i-1].has(Rate) {
			first = i
			continue
		}
		said, rate, before := c.get(Change), c.value(Rate), a.text.Claims[i-1].value(Rate)
		change, whole := rate/before-1, rate/a.text.Claims[first].value(Rate)-1
		if math.Abs(said.Value-change) > said.Half+off && math.Abs(said.Value-whole) > said.Half+off {
			a.add(i, &finding{"audit-change", record.Values{"said": said.Value, "change": change, "whole": whole, "rate": rate, "before": before}, nil})
		}
	}
}

// backlog finds a difference of accepted and done that grows from run to run.
func (a *audit) backlog() {
	var waiting []float64
	var of []*Claim
	for _, c := range a.text.Claims {
		if c.has(Accepted, Done) {
			waiting, of = append(waiting, c.value(Accepted)-c.value(Done)), append(of, c)
		}
	}
	grows := slices.IsSortedFunc(waiting, func(x, y float64) int { return cmp.Or(cmp.Compare(x, y), -1) })
	if n := len(waiting); n >= 3 && grows {
		a.addGroup("audit-backlog-grows", of, record.Values{"first": waiting[0], "last": waiting[n-1], "times": float64(n)})
	}
}

// growth finds series of runs with ever more connections and longer response times. In a
// closed loop more connections are enough to make them longer.
func (a *audit) growth() {
	for rest := a.text.Claims; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Tool == rest[0].Tool && rest[n].get(Depth) == rest[0].get(Depth) && rest[n].value(Connections) > rest[n-1].value(Connections) {
			n++
		}
		group, first, last := rest[:n], rest[0], rest[n-1]
		rest = rest[n:]
		x, y, from, to := first.rate().Value, last.rate().Value, first.value(Connections), last.value(Connections)
		if x <= 0 || y <= 0 || !first.has(Mean, Connections) || !last.has(Mean) || first.Loop == openLoop || first.Loop == pacedLoop {
			continue
		}
		mean, cycle := last.value(Mean)/first.value(Mean), to/y/(from/x)
		if mean >= 1.2 && cycle >= 1.2 {
			a.addGroup("audit-growth", group, record.Values{"from": from, "to": to, "mean": mean, "cycle": cycle, "rate": y/x - 1})
		}
	}
}

// ends returns the least and the most of a figure in some runs.
func ends(name string, group []*Claim) (low, high float64) {
	by := func(x, y *Claim) int { return cmp.Compare(x.value(name), y.value(name)) }
	return slices.MinFunc(group, by).value(name), slices.MaxFunc(group, by).value(name)
}

// sameRate finds runs whose rate or times cannot differ: below capacity every server does
// the offered rate, and with one request in flight a second worker has nothing to do.
func (a *audit) sameRate() {
	byOffer := map[float64][]*Claim{}
	var single []*Claim
	for _, c := range a.text.Claims {
		if offered := c.value(Offered); c.has(Offered, Rate) && c.value(Rate) >= (1-missed)*offered && c.Tool != "vegeta" {
			byOffer[offered] = append(byOffer[offered], c)
		}
		if c.inFlight() == 1 {
			single = append(single, c)
		}
	}
	for _, offered := range slices.Sorted(maps.Keys(byOffer)) {
		if group := byOffer[offered]; len(group) >= 2 {
			low, high := ends(Rate, group)
			a.addGroup("audit-same-rate", group, record.Values{"offered": offered, "low": low, "high": high, "runs": float64(len(group))})
		}
	}
	if len(single) >= 2 {
		low, high := ends(Mean, single)
		a.addGroup("audit-one-in-flight", single, record.Values{"runs": float64(len(single)), "low": low, "high": high})
	}
}

// repeats compares the spread of runs with one name with the difference between names. A
// difference within the spread is no finding, and without repeats there is no spread.
func (a *audit) repeats() {
	means := map[string][]float64{}
	for _, c := range a.text.Claims {
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
	switch {
	case repeated && len(means) > 1:
		if difference := slices.Max(middles)/slices.Min(middles) - 1; difference <= noise {
			a.add(-1, &finding{"audit-within-noise", record.Values{"noise": noise, "difference": difference, "runs": float64(len(means))}, nil})
		}
	case !repeated && len(a.text.Claims) > 1:
		a.add(-1, &finding{"audit-one-trial", record.Values{"runs": float64(len(a.text.Claims))}, nil})
	}
}
