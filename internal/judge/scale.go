package judge

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// USL is the one model under predict that is fitted, and that is about several arms:
// the Universal Scalability Law, over the clients of closed loops.
const USL = "usl"

// usersFactor is the factor that the law is a law of.
const usersFactor = "connections"

// lineOf names the family an arm belongs to when its clients are varied, with its
// values of other factors; "" when they are not, or wait for nothing.
func lineOf(a record.PlanArm) string {
	line, varied := a.Family, false
	for _, l := range a.Levels {
		if l.Factor == usersFactor {
			varied = true
		} else {
			line += "," + l.Factor + "=" + l.Value
		}
	}
	if !varied || !a.Clients.Closed() {
		return ""
	}
	return line
}

// Families are the arms of each line in plan order, with the lines in theirs.
func Families(arms []record.PlanArm) (lines []string, of map[string][]record.PlanArm) {
	of = map[string][]record.PlanArm{}
	for _, a := range arms {
		line := lineOf(a)
		if line == "" {
			continue
		}
		if of[line] == nil {
			lines = append(lines, line)
		}
		of[line] = append(of[line], a)
	}
	return lines, of
}

// scales fits the law to each family, when the scenario asks for it.
func (b blocks) scales(arms []record.Arm) (all []record.Scale) {
	if !slices.Contains(b.run.Plan.Predict, USL) {
		return nil
	}
	lines, of := Families(b.run.Plan.Arms)
	for _, line := range lines {
		s := record.Scale{Line: line, Points: []record.ScalePoint{}}
		for _, a := range of[line] {
			if len(b.valid) > 0 {
				s.Points = append(s.Points, b.scalePoint(a, arms))
			}
		}
		slices.SortStableFunc(s.Points, func(a, b record.ScalePoint) int { return cmp.Compare(a.N, b.N) })
		if s.Why = b.unscalable(of[line], arms, s.Points); s.Why.None() {
			fit(&s)
		}
		all = append(all, s)
	}
	return all
}

func (b blocks) scalePoint(a record.PlanArm, arms []record.Arm) record.ScalePoint {
	p := record.ScalePoint{N: float64(a.Clients.Connections)}
	if served := stats.Median(b.series(a.Name, "served")); served > 0 {
		p.N = served
	}
	if arm := armOf(arms, a.Name); arm != nil && arm.Goodput != nil {
		p.Goodput = *arm.Goodput
		if arm.CPUPerRequest != nil {
			p.CPU = *arm.CPUPerRequest
		}
	}
	return p
}

// unscalable says why the law cannot be fitted to these points, if it cannot.
func (b blocks) unscalable(line []record.PlanArm, arms []record.Arm, points []record.ScalePoint) (why record.Fact) {
	if len(b.valid) == 0 {
		return record.Fact{Code: scaleNoBlock}
	}
	for _, a := range line {
		if a.Clients.Rate > 0 {
			return record.Fact{Code: scalePaced, Arm: a.Name}
		}
		if r := armOf(arms, a.Name); float64(r.Errors) > errorLimit*float64(r.Requests) {
			return record.Fact{Code: scaleBadReplies, Arm: a.Name, Values: record.Values{"errors": float64(r.Errors), "requests": float64(r.Requests)}}
		}
	}
	different := map[float64]bool{}
	for _, p := range points {
		different[p.N] = true
	}
	if n := len(different); n < queueing.LeastUSL {
		return record.Fact{Code: scaleTooFew, Values: record.Values{"values": float64(n), "needed": queueing.LeastUSL}}
	}
	return why
}

// fit fills in the law's parameters, or why they are not identified.
func fit(s *record.Scale) {
	var n, x []float64
	for _, p := range s.Points {
		n, x = append(n, p.N), append(x, p.Goodput)
	}
	u, err := queueing.FitUSL(n, x)
	switch {
	case err != nil:
		s.Why = record.Fact{Code: record.Unreadable, Names: record.Names{"error": err.Error()}}
		return
	case u.Unidentified != "":
		s.Why = record.Fact{Code: scaleUnidentified, Names: record.Names{"why": u.Unidentified}}
		return
	}
	estimate := func(e queueing.Estimate) *record.Estimate {
		return &record.Estimate{Value: e.Value, Low: e.Low, High: e.High}
	}
	s.Gain, s.Contention, s.Coherence = estimate(u.Gain), estimate(u.Contention), estimate(u.Coherence)
	s.PeakAt, s.Peak = u.Peak, u.At(u.Peak)
	squares := 0.0
	for i := range s.Points {
		p := &s.Points[i]
		p.Fitted = u.At(p.N)
		squares += math.Pow(math.Log(p.Goodput/p.Fitted), 2)
	}
	s.Off = math.Sqrt(squares / float64(len(s.Points)-parameters))
}

// parameters of the law.
const parameters = 3
