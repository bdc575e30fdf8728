package audit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// across holds the runs of a text to each other.
func (a *audit) across() {
	a.twoReports()
	a.identical()
	a.changes()
	a.backlog()
	a.growth()
	a.sameRate()
	a.trials()
	if lines := a.text.Guessed; len(lines) > 0 {
		a.add(-1, lines[0], &finding{auditApproximate, record.Values{"rows": float64(len(lines))}, record.Names{"lines": numbers(lines)}})
	}
}

// numbers writes lines, or whatever has a number.
func numbers(all []int) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

// lines are the first lines of some runs.
func lines(all []*Claim) string {
	var at []int
	for _, c := range all {
		at = append(at, c.Line)
	}
	return numbers(at)
}

// twoReports: a report with times and no duration, as a server prints it, is held to the
// one before of as many requests. Inside the server a request takes no longer than for
// its client, and no more are there than the connections hold.
func (a *audit) twoReports() {
	for i := 1; i < len(a.text.Claims); i++ {
		server, client := a.text.Claims[i], a.text.Claims[i-1]
		if server.has(Seconds) || server.has(Rate) || !server.has(Sum, Mean) || !client.has(Seconds, Requests, Mean) || server.get(Mean).Value <= 0 {
			continue
		}
		n := server.get(Sum).Value / server.get(Mean).Value
		if math.Abs(n-client.get(Requests).Value) > .5+slack*n {
			continue
		}
		inside := server.get(Sum).Value / client.get(Seconds).Value
		most, ok := client.inFlight()
		tooMany, longer := ok && inside > most*(1+slack), exceeds(server.get(Mean), client.get(Mean))
		if !tooMany && !longer {
			continue
		}
		v := record.Values{"sum": server.get(Sum).Value, "seconds": client.get(Seconds).Value, "inside": inside, "server": server.get(Mean).Value, "client": client.get(Mean).Value, "line": float64(client.Line)}
		if tooMany {
			v["connections"] = most
		}
		if opened := client.get(Opened).Value; opened > 0 {
			v["opened"], v["cycle"] = opened, opened*client.get(Seconds).Value/client.get(Requests).Value
		}
		a.add(i, server.Line, &finding{auditTwoReports, v, nil})
	}
}

// fingerprint is what a run measured, to the last digit; "" for too little to tell.
func (c *Claim) fingerprint() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
		if _, isQuantile := quantileOf(name); !isQuantile && !slices.Contains([]string{Mean, Stdev, Max, Min, ThreadRate, ThreadMax, Rate, Bytes, Sum}, name) {
			continue
		}
		parts = append(parts, name+strconv.FormatFloat(c.get(name).Value, 'g', -1, 64))
	}
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts, " ")
}

// identical: two runs agree in no five figures to the last digit.
func (a *audit) identical() {
	seen := map[string][]*Claim{}
	for i, c := range a.text.Claims {
		print := c.fingerprint()
		if print == "" {
			continue
		}
		if len(seen[print]) > 0 {
			a.add(i, c.Line, &finding{auditIdentical, record.Values{"figures": float64(strings.Count(print, " ") + 1), "line": float64(seen[print][0].Line)}, nil})
		}
		seen[print] = append(seen[print], c)
	}
}

// changes: a column that says how a rate changed is right against the row before, or
// against the first.
func (a *audit) changes() {
	first := 0
	for i, c := range a.text.Claims {
		if i == 0 || !c.has(Change, Rate) || !a.text.Claims[i-1].has(Rate) {
			first = i
			continue
		}
		said := c.get(Change)
		change := c.get(Rate).Value/a.text.Claims[i-1].get(Rate).Value - 1
		whole := c.get(Rate).Value/a.text.Claims[first].get(Rate).Value - 1
		if off := .001; math.Abs(said.Value-change) > said.Half+off && math.Abs(said.Value-whole) > said.Half+off {
			a.add(i, c.Line, &finding{auditChange, record.Values{"said": said.Value, "change": change, "whole": whole, "rate": c.get(Rate).Value, "before": a.text.Claims[i-1].get(Rate).Value}, nil})
		}
	}
}

// several notes what was found of some runs together.
func (a *audit) several(code record.Code, group []*Claim, v record.Values) {
	a.add(-1, group[0].Line, &finding{code, v, record.Names{"lines": lines(group)}})
}

// backlog: accepted less done is what waits.
func (a *audit) backlog() {
	var waiting []float64
	var of []*Claim
	for _, c := range a.text.Claims {
		if c.has(Accepted, Done) {
			waiting, of = append(waiting, c.get(Accepted).Value-c.get(Done).Value), append(of, c)
		}
	}
	if n := len(waiting); n >= 3 && slices.IsSortedFunc(waiting, func(x, y float64) int { return cmp.Or(cmp.Compare(x, y), -1) }) {
		a.several(auditBacklogGrows, of, record.Values{"first": waiting[0], "last": waiting[n-1], "times": float64(n)})
	}
}

// growth: in a closed loop the response time grows with the connections by itself.
func (a *audit) growth() {
	for begin := 0; begin < len(a.text.Claims); {
		group := a.text.Claims[begin : begin+1]
		for _, c := range a.text.Claims[begin+1:] {
			if before := group[len(group)-1]; c.Tool != before.Tool || c.get(Depth) != before.get(Depth) || c.get(Connections).Value <= before.get(Connections).Value {
				break
			}
			group = a.text.Claims[begin : begin+len(group)+1]
		}
		begin += len(group)
		first, last := group[0], group[len(group)-1]
		x, known := first.rate()
		y, too := last.rate()
		if !known || !too || !first.has(Mean, Connections) || !last.has(Mean) || first.Loop == openLoop || first.Loop == pacedLoop || x.Value <= 0 || y.Value <= 0 {
			continue
		}
		grown := last.get(Mean).Value / first.get(Mean).Value
		cycle := last.get(Connections).Value / y.Value / (first.get(Connections).Value / x.Value)
		if grown >= 1.2 && cycle >= 1.2 {
			a.several(auditGrowth, group, record.Values{
				"from": first.get(Connections).Value, "to": last.get(Connections).Value, "mean": grown, "cycle": cycle, "rate": y.Value/x.Value - 1,
			})
		}
	}
}

// ends are the least and the most of a figure in some runs.
func ends(name string, group []*Claim) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, c := range group {
		low, high = min(low, c.get(name).Value), max(high, c.get(name).Value)
	}
	return low, high
}

// sameRate: below capacity every server does what it is asked to, and with one request at a
// time a second worker has nothing to do.
func (a *audit) sameRate() {
	byOffer := map[float64][]*Claim{}
	var one []*Claim
	for _, c := range a.text.Claims {
		if c.has(Offered, Rate) && c.get(Rate).Value >= (1-missed)*c.get(Offered).Value && c.Tool != toolVegeta {
			byOffer[c.get(Offered).Value] = append(byOffer[c.get(Offered).Value], c)
		}
		if n, ok := c.inFlight(); ok && n == 1 {
			one = append(one, c)
		}
	}
	for _, offered := range slices.Sorted(maps.Keys(byOffer)) {
		if group := byOffer[offered]; len(group) >= 2 {
			low, high := ends(Rate, group)
			a.several(auditSameRate, group, record.Values{"offered": offered, "low": low, "high": high, "runs": float64(len(group))})
		}
	}
	if len(one) >= 2 {
		low, high := ends(Mean, one)
		a.several(auditOneInFlight, one, record.Values{"runs": float64(len(one)), "low": low, "high": high})
	}
}

// trials: what repeats of one run differ by is no difference between two.
func (a *audit) trials() {
	means := map[string][]float64{}
	for _, c := range a.text.Claims {
		if c.Name != "" && c.get(Mean).Value > 0 {
			means[c.Name] = append(means[c.Name], c.get(Mean).Value)
		}
	}
	noise, repeated := 0., false
	var low, high float64
	for _, all := range means {
		middle := all[0]
		if len(all) > 1 {
			repeated = true
			noise = max(noise, slices.Max(all)/slices.Min(all)-1)
			slices.Sort(all)
			middle = all[len(all)/2]
		}
		if low == 0 || middle < low {
			low = middle
		}
		high = max(high, middle)
	}
	switch {
	case repeated && len(means) > 1 && high/low-1 <= noise:
		a.add(-1, a.text.Claims[0].Line, &finding{auditWithinNoise, record.Values{"noise": noise, "difference": high/low - 1, "runs": float64(len(means))}, nil})
	case !repeated && len(a.text.Claims) > 1:
		a.add(-1, a.text.Claims[0].Line, &finding{auditOneTrial, record.Values{"runs": float64(len(a.text.Claims))}, nil})
	}
}
