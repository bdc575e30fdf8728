package experiment

import (
	"fmt"
	"math"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A searched arm is what the record holds of it.
type searched struct {
	plan    record.PlanArm
	windows []capacity.Window
	beside  []beside // of each window
	jobs    []queueing.Job
}

// beside are a window's figures that the search does not take.
type beside struct {
	trial        int
	goodput, cpu float64 // per second; seconds a request, NaN not known
}

// judgeCapacity computes the result of a search from its record.
func judgeCapacity(dir *record.Dir, run record.Run) (*record.Result, error) {
	slo, err := stats.ParseSLO(run.Plan.SLO)
	if err != nil {
		return nil, fmt.Errorf("judging %q: run.json is damaged: %w", dir.Path(), err)
	}
	j, err := newJudge(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, err
	}
	arms := make([]*searched, len(run.Plan.Arms))
	for i, a := range run.Plan.Arms {
		arms[i] = &searched{plan: a}
	}
	found := 0
	for t, err := range dir.Trials() {
		found++
		j.takeSearched(arms, t, err, slo)
	}
	if missing := run.Trials - found; missing > 0 {
		j.doubt("", "%d of %d trials are missing from the record", missing, run.Trials)
	}
	c := &record.Capacity{SLO: run.Plan.SLO, Budget: run.Plan.Budget, Arms: []record.ArmCapacity{}}
	for _, t := range slo {
		c.Terms = append(c.Terms, record.SLOTerm{Text: stats.SLO{t}.String(), Metric: t.Metric, Limit: t.Limit, AtLeast: t.AtLeast})
	}
	for _, a := range arms {
		c.Arms = append(c.Arms, a.answer(run, slo))
		j.result.Arms = append(j.result.Arms, record.Arm{
			Name: a.plan.Name, Mode: a.plan.Mode, Role: a.plan.Role, Command: JoinCommand(a.plan.Command),
			Load: DescribeClients(a.plan.Clients), XMax: run.XMax[a.plan.Name], Blocks: map[string][]float64{}, Curve: []record.Point{},
		})
	}
	c.Lines = comparedCapacities(c.Arms)
	j.result.Capacity, j.result.Headline = c, capacityHeadline(c)
	j.capacityDoubts(arms, slo)
	return j.result, nil
}

// takeSearched puts a trial's window with those of its arm.
func (j *judge) takeSearched(arms []*searched, t record.TrialRecord, err error, slo stats.SLO) {
	switch {
	case err != nil:
		j.doubt("", "a trial could not be read and is left out: %v", err)
		return
	case t.Failure != "" || t.Omitted != "":
		j.doubt(t.Arm, "trial %d is left out: %s", t.Number, t.Failure+t.Omitted)
		return
	case t.Window != j.run.Plan.Window || t.Warmup != j.run.Plan.Warmup || t.Window <= 0 || !(t.Rate > 0):
		j.doubt(t.Arm, "trial %d is left out: it is none of this search", t.Number)
		return
	}
	for _, a := range arms {
		if a.plan.Name == t.Arm {
			w, figures := reduced(t, j.run.Env, a.plan.Clients, slo)
			w.Refused = firstOf(w.Refused, tooFew(w, slo))
			a.windows = append(a.windows, w)
			a.beside = append(a.beside, beside{t.Number, figures.values["goodput"], figures.values["cpu_per_request"]})
			if w.Refused == "" && w.Purpose != capacity.Overload {
				a.take(t, j.run.Env)
			}
			return
		}
	}
	j.doubt(t.Arm, "trial %d is left out: the plan has no such arm", t.Number)
}

// tooFew is the reason against a window that cannot tell one of the terms.
func tooFew(w capacity.Window, slo stats.SLO) string {
	for i, t := range slo {
		if math.IsNaN(w.Values[i]) && w.Purpose != capacity.Overload {
			return "too few requests to judge " + t.Metric
		}
	}
	return ""
}

// answer is an arm's, with all its windows.
func (a *searched) answer(run record.Run, slo stats.SLO) record.ArmCapacity {
	f := capacity.Judge(slo, a.windows)
	finite := func(v float64) float64 {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return 0
		}
		return v
	}
	r := record.ArmCapacity{
		Name: a.plan.Name, Mode: a.plan.Mode, Outcome: string(f.Outcome), XMax: run.XMax[a.plan.Name],
		Low: f.Low, LowKept: f.LowKept, LowOf: f.LowOf, High: f.High, HighBroken: f.HighBroken, HighOf: f.HighOf,
		Estimate: finite(f.Estimate), HalfWidth: finite(f.Half), AgainKept: f.AgainKept, AgainOf: f.AgainOf,
		Windows: []record.RateWindow{},
	}
	if r.Estimate > 0 {
		r.Term = stats.SLO{slo[f.Term]}.String()
	}
	if f.Line != nil {
		r.Line, r.Saturation = &record.RateLine{Intercept: f.Line.Intercept, Slope: f.Line.Slope}, f.Line.Saturation()
	}
	if yes, known := f.Recovers(); known {
		r.Recovers = map[bool]string{true: "yes", false: "no"}[yes]
	}
	var cpu []float64
	for i, w := range a.windows {
		row := record.RateWindow{
			Trial: a.beside[i].trial, Purpose: string(w.Purpose), Rate: w.Rate, Sent: w.Sent, Errors: w.Errors,
			Goodput: a.beside[i].goodput, Values: map[string]float64{}, Refused: w.Refused, Kept: w.Refused == "" && w.Keeps(slo),
		}
		for k, t := range slo {
			if !math.IsNaN(w.Values[k]) {
				row.Values[t.Metric] = w.Values[k]
			}
		}
		if v := a.beside[i].cpu; v > 0 && w.Refused == "" && w.Errors == 0 && w.Purpose != capacity.Overload {
			cpu = append(cpu, v)
		}
		r.Windows = append(r.Windows, row)
	}
	if len(cpu) > 0 {
		r.CPUPerRequest = stats.Median(cpu)
	}
	r.Text = a.sentence(f, run.Plan.SLO)
	r.Theories = a.theories(run, slo[f.Term], r)
	return r
}

// sentence is an arm's answer.
func (a *searched) sentence(f capacity.Finding, promise string) string {
	name := a.plan.Name
	switch f.Outcome {
	case capacity.Between:
		text := fmt.Sprintf("%s keeps %s up to between %s and %s", name, promise, perSecond(f.Low), perSecond(f.High))
		if yes, known := f.Recovers(); known && !yes {
			text += fmt.Sprintf("; it does not recover: overloaded once, it breaks it at %s, too", perSecond(f.Low))
		}
		return text
	case capacity.Beyond:
		text := fmt.Sprintf("%s keeps %s at %s, and no rate that could be offered breaks it", name, promise, perSecond(f.Low)) + a.end()
		for _, w := range a.windows {
			if w.Refused == "" && w.Rate == f.Low && w.Errors > errorLimit {
				return text + fmt.Sprintf("; %.2g %% of the requests get no good reply there, which no term forbids: add errors<=0.1%%", 100*w.Errors)
			}
		}
		return text
	case capacity.Never:
		return fmt.Sprintf("%s keeps %s at no rate: %d of %d windows at %s break it", name, promise, f.HighBroken, f.HighOf, perSecond(f.High))
	}
	text := fmt.Sprintf("%s is undecided for %s: ", name, promise)
	switch {
	case f.Used == 0 && f.Refused > 0:
		return text + fmt.Sprintf("all %s are refused, the last for %s%s", plural(f.Refused, "window"), a.lastRefusal(), calmer)
	case f.Low > 0:
		return text + fmt.Sprintf("%s is verified, and no higher rate is refuted", perSecond(f.Low)) + a.why(f)
	case f.High > 0:
		return text + fmt.Sprintf("%s is refuted, and no lower rate is verified", perSecond(f.High)) + a.why(f)
	}
	return text + fmt.Sprintf("no rate is verified or refuted in %s", plural(len(a.windows), "window")) + a.why(f)
}

// calmer is what helps against refused windows.
const calmer = " (stop other programs, or choose CPUs with --server-cpus and --load-cpus)"

// why is what most likely kept a search from its end.
func (a *searched) why(f capacity.Finding) string {
	if f.Refused > 0 {
		return fmt.Sprintf("; %d of %s are refused, the last for %s%s", f.Refused, plural(len(a.windows), "window"), a.lastRefusal(), calmer)
	}
	return "; windows of one rate differ too much, or the budget is too small: lengthen --window or raise --budget"
}

// end is why rates beyond those that count were none; "" when there are none.
func (a *searched) end() string {
	for _, w := range a.windows {
		if w.Refused != "" && w.Purpose == capacity.Reach {
			return fmt.Sprintf("; %s was refused for %s", perSecond(w.Rate), w.Refused)
		}
	}
	return ""
}

func (a *searched) lastRefusal() (why string) {
	for _, w := range a.windows {
		if w.Refused != "" {
			why = w.Refused
		}
	}
	return why
}

// decided reports whether an arm has an answer.
func decided(a record.ArmCapacity) bool { return a.Outcome != string(capacity.Undecided) }

// limits of a decided arm's capacity.
func limits(a record.ArmCapacity) (low, high float64) {
	switch capacity.Outcome(a.Outcome) {
	case capacity.Beyond:
		return a.Low, math.Inf(1)
	case capacity.Never:
		return 0, a.High
	}
	return a.Low, a.High
}

// comparedCapacities says which arms have more capacity than the first, and which
// cannot be told from it.
func comparedCapacities(arms []record.ArmCapacity) []string {
	lines, alike := []string{}, []string{}
	for i, a := range arms {
		base := arms[0]
		if i == 0 || !decided(a) || !decided(base) {
			continue
		}
		low, high := limits(a)
		baseLow, baseHigh := limits(base)
		switch {
		case low > baseHigh:
			lines = append(lines, fmt.Sprintf("%s has more capacity than %s: at least %s against at most %s", a.Name, base.Name, perSecond(low), perSecond(baseHigh)))
		case high < baseLow:
			lines = append(lines, fmt.Sprintf("%s has less capacity than %s: at most %s against at least %s", a.Name, base.Name, perSecond(high), perSecond(baseLow)))
		default:
			alike = append(alike, a.Name)
		}
	}
	if len(alike) > 0 {
		lines = append(lines, fmt.Sprintf("not told apart from %s, for their intervals overlap: %s", arms[0].Name, strings.Join(alike, ", ")))
	}
	return lines
}

// capacityHeadline is the answer in one sentence: the only arm's, or who has the
// most.
func capacityHeadline(c *record.Capacity) string {
	open := 0
	for _, a := range c.Arms {
		open += count(!decided(a))
	}
	switch {
	case len(c.Arms) == 1:
		return c.Arms[0].Text + "."
	case open == len(c.Arms):
		return "Undecided: " + c.Arms[0].Text + "."
	}
	for i, a := range c.Arms {
		low, _ := limits(a)
		most := decided(a) && open == 0
		next := 0.0
		for k, b := range c.Arms {
			_, high := limits(b)
			if k != i {
				most, next = most && low > high, max(next, high)
			}
		}
		if most {
			return fmt.Sprintf("%s has the most capacity for %s: at least %s, the others at most %s.", a.Name, c.SLO, perSecond(low), perSecond(next))
		}
	}
	var spans []string
	for _, a := range c.Arms[:min(len(c.Arms), mostSpans)] {
		spans = append(spans, a.Name+" "+span(a))
	}
	if more := len(c.Arms) - len(spans); more > 0 {
		spans = append(spans, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("No arm is sure to have the most capacity for %s: %s.", c.SLO, strings.Join(spans, ", "))
}

// mostSpans are as many arms as a headline can name.
const mostSpans = 4

// span is an arm's capacity in a few words.
func span(a record.ArmCapacity) string {
	switch capacity.Outcome(a.Outcome) {
	case capacity.Between:
		return perSecond(a.Low) + " to " + perSecond(a.High)
	case capacity.Beyond:
		return "above " + perSecond(a.Low)
	case capacity.Never:
		return "below " + perSecond(a.High)
	}
	return "undecided"
}

// capacityDoubts are what belongs beside every answer.
func (j *judge) capacityDoubts(arms []*searched, slo stats.SLO) {
	r := j.result
	if r.Status != record.Complete {
		j.doubt("", "the run is %s%s", r.Status, because(j.run.Failure))
	}
	if serverCPUs(r.Env) == 1 {
		j.doubt("", "the server had one CPU and so one P: accept, poller and handlers share a run queue; with more CPUs repeat on two or more")
	}
	for _, t := range slo {
		if t.Quantile > 0 && r.Env.Pause > (1-t.Quantile)*j.run.Plan.Window {
			j.doubt("", "platform-limited: the machine pauses a busy thread for %.1f ms, which alone can decide the %s of a window of %g s", 1e3*r.Env.Pause, t.Metric, j.run.Plan.Window)
		}
	}
	for _, a := range arms {
		refused := 0
		for _, w := range a.windows {
			refused += count(w.Refused != "" && w.Purpose != capacity.Overload)
		}
		if refused > 0 {
			j.doubt(a.plan.Name, "%d of %s are refused and count for nothing, the last for %s", refused, plural(len(a.windows), "window"), a.lastRefusal())
		}
	}
	r.Doubts = append(r.Doubts, j.run.Plan.Doubts...)
	if r.Env.Virtualised {
		j.doubt("", "a virtual machine: neighbours and the hypervisor are in the noise")
	}
	j.doubt("", "one host, loopback, synthetic demand")
}

// perSecond writes a rate with a comma between every three digits.
func perSecond(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.3g/s", rate)
	}
	digits := fmt.Sprintf("%.0f", rate)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + "/s"
}
