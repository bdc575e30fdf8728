package sizing

import (
	"fmt"
	"math"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// A Page is the output of `schedlab size`.
type Page struct {
	Answer
	Rate    string // as the user wrote it
	Assumed string // the SLO term that was added by default; "" for none
	Stdin   string // file name that Test uses for data read from standard input; "" if none was read
	Test    string // the command that tests the advice

	Verified   *Verification // result of the test; nil without one
	Unverified string        // why the test has no result
}

// document returns the page as words and tables: the short form, or everything if verbose.
func (s *Page) document(verbose bool) document.Document {
	d := document.Document{Answer: s.lead().String() + "."}
	var doubts []string
	for _, f := range s.Doubts() {
		doubts = append(doubts, f.String())
	}
	if !verbose {
		d.Parts = []document.Part{document.Facts{fact("Asked", "%s, Poisson; %s", s.Rate, s.Demand.From)}}
		switch {
		case s.SLO == nil:
			d.Parts = append(d.Parts, s.waits()...)
		case s.Advice.Workers == 0:
			d.Parts = append(d.Parts, s.expected("a worker for each request", "", false))
		default:
			d.Parts = append(d.Parts, s.expected(fmt.Sprintf("%s, queue of %d", prose.Plural(s.Advice.Workers, "worker"), s.Advice.Queue), s.strained(), false), s.sure())
			d.Parts = append(d.Parts, s.tests()...)
		}
		d.Parts = append(d.Parts, document.Below(doubts))
		return d
	}
	a := s.Ask
	busy := queueing.Little(a.Rate, a.Service+a.Block)
	facts := document.Facts{
		fact("asked", "%s, Poisson; %s: %s held, %s of it on a core, C² %s",
			s.Rate, s.Demand.From, timeText(a.Service+a.Block), timeText(a.Service), prose.Digits(a.SCV)),
		fact("cores", "%d: %s/s x %s = %s of them busy (utilisation law)", a.Cores, prose.Digits(a.Rate), timeText(a.Service), prose.Digits(a.Rate*a.Service)),
		fact("workers", "%s/s x %s = %s busy on average, so %d at least (Little's law)",
			prose.Digits(a.Rate), timeText(a.Service+a.Block), prose.Digits(busy), queueing.Workers(a.Rate, a.Service+a.Block)),
	}
	switch {
	case s.SLO == nil:
		d.Parts = append([]document.Part{facts}, s.waits()...)
	case s.Advice.Workers == 0:
		d.Parts = []document.Part{append(facts, fact("SLO", "%s", s.promise())), s.expected("a worker for each request", "", true)}
	default:
		d.Parts = s.advised(facts)
	}
	var says document.Lines
	for _, x := range doubts {
		says = append(says, "Doubt: "+x+".")
	}
	d.Parts = append(d.Parts, says)
	return d
}

func fact(what, format string, args ...any) document.Fact {
	return document.Fact{Label: what, Text: fmt.Sprintf(format, args...)}
}

// strained returns the higher rate at which the advice still keeps the SLO: the rate asked for plus
// the margin.
func (s *Page) strained() string { return prose.Digits(s.Advice.Strained.Rate) + "/s" }

// off returns the fact that describes one case in which an assumption is off, like the rate by +20 %.
func off(c queueing.Case) record.Fact {
	return record.Fact{Code: sizeOff, Metric: c.What, Values: record.Values{"by": c.By}}
}

// sure returns the lines that say how far off the assumptions may be before the SLO breaks.
func (s *Page) sure() document.Facts {
	var broken []string
	for _, c := range s.Advice.Wrong {
		switch {
		case s.Ask.Keep(c.Outcome):
		case c.What == "workers":
			broken = append(broken, fmt.Sprintf("%s instead of %d", prose.Plural(c.Workers, "worker"), s.Advice.Workers))
		default:
			broken = append(broken, off(c).String())
		}
	}
	text := fmt.Sprintf("the SLO is kept at %s requests/s too, %s more than asked; with rate, time held or workers 20 %% off it is kept in %d of %d cases",
		prose.Digits(s.Advice.Strained.Rate), percentText(s.Ask.Margin), len(s.Advice.Wrong)-len(broken), len(s.Advice.Wrong))
	if len(broken) > 0 {
		text += ", and BROKEN by " + strings.Join(broken, ", ")
	}
	facts := document.Facts{{Label: "Sure", Text: strings.ReplaceAll(text, " %", "\u00a0%")}}
	if s.Verified != nil {
		for _, line := range s.Verified.text() {
			facts = append(facts, document.Fact{Label: "Tested", Text: line})
		}
	}
	return facts
}

// tests returns the command that tests the advice and, if a test failed, the reason. It returns nil
// if the advice was tested.
func (s *Page) tests() []document.Part {
	if s.Verified != nil {
		return nil
	}
	var untested document.Lines
	if s.Unverified != "" {
		untested = document.Lines{"Not tested: " + s.Unverified + "."}
	}
	test := "Test it:"
	if s.Stdin != "" {
		test = "Test it, with what came on standard input kept in " + s.Stdin + ":"
	}
	return []document.Part{untested, document.Commands{{Label: test, Text: s.Test}}}
}

// lead returns the headline as a fact.
func (s *Page) lead() record.Fact {
	f := record.Fact{Code: sizeHopeless, Names: record.Names{"rate": s.Rate, "slo": s.SLO.String()}, Values: record.Values{"most_rate": s.Advice.MostRate}}
	switch {
	case s.SLO == nil && len(s.Waits) == 0:
		f.Code, f.Values = sizeNoCores, record.Values{
			"cores": s.Ask.Rate * s.Ask.Service, "have": float64(s.Ask.Cores), "most_rate": float64(s.Ask.Cores) / s.Ask.Service,
		}
	case s.SLO == nil:
		f.Code, f.Values = sizeWaits, record.Values{"workers": float64(s.Waits[0].Workers), "knee": float64(s.Waits[s.Knee].Workers)}
	case s.Advice.Workers > 0:
		f.Code, f.Values = sizeAdvice, record.Values{"workers": float64(s.Advice.Workers), "queue": float64(s.Advice.Queue)}
	default:
		f.Because = []record.Fact{s.hopeless()}
	}
	return f
}

// hopeless returns the reason why no number of workers keeps the SLO.
func (s *Page) hopeless() record.Fact {
	cores := s.Ask.Rate * s.Ask.Service
	var names record.Names
	if s.Demand.Exponential() {
		names = record.Names{"exponential": s.Demand.Held().String()}
	}
	return record.Fact{Code: record.Code(s.Advice.Hopeless), Names: names, Values: record.Values{
		"cores": cores, "with_margin": cores * (1 + s.Ask.Margin), "have": float64(s.Ask.Cores),
		"queue": queueing.MostTried, "workers": float64(s.Advice.Tried),
	}}
}

// promise returns the SLO as text, with a note if its errors term was added by default.
func (s *Page) promise() string {
	if s.Assumed != "" {
		return s.SLO.String() + " (its errors term is assumed: a server that refuses every request has no slow ones)"
	}
	return s.SLO.String()
}

// advised returns the long form of the advice, with its derivation. It appends to facts.
func (s *Page) advised(facts document.Facts) []document.Part {
	a := s.Advice
	facts = append(facts, fact("SLO", "%s", s.promise()),
		fact("margin", "kept at %s too, %s more than asked, for what theory leaves out and a short window may meet; without it %s would do",
			s.strained(), percentText(s.Ask.Margin), prose.Plural(a.Least, "worker")),
		fact("queue", "%d is the least that loses no more than promised at %s; a longer one serves no more, it only lets more wait under overload", a.Queue, s.strained()))

	header := []string{"20 % off", "workers"}
	for _, q := range s.Quantiles() {
		header = append(header, QuantileName(q))
	}
	t := [][]string{append(header, "mean", "lost", "workers busy", "cores busy", "SLO")}
	for _, c := range append([]queueing.Case{{Outcome: a.Expected}}, a.Wrong...) {
		what := "as asked"
		if c.What != "" {
			what = off(c).String()
		}
		row := []string{what, fmt.Sprint(c.Workers)}
		for _, q := range s.Quantiles() {
			row = append(row, timeText(c.Response(q)))
		}
		t = append(t, append(row, timeText(c.Mean), percentText(c.Loss), percentText(c.Busy/float64(c.Workers)), s.cores(c.Outcome), s.broken(c.Outcome)))
	}
	parts := []document.Part{
		facts, s.expected(fmt.Sprintf("%s, queue of %d", prose.Plural(a.Workers, "worker"), a.Queue), s.strained(), true), document.Table{Rows: t, Words: true},
	}
	if s.Verified != nil {
		parts = append(parts, document.Lines(s.Verified.text()))
	}
	return append(parts, s.tests()...)
}

// expected returns the table of expected figures at the rate asked for and, if strained is not "",
// at that higher rate. Waits for a worker are included only if whole.
func (s *Page) expected(title, strained string, whole bool) document.Part {
	at := []queueing.Outcome{s.Advice.Expected}
	header := []string{title, "at " + s.Rate}
	if strained != "" {
		at, header = append(at, s.Advice.Strained), append(header, "at "+strained)
	}
	t := [][]string{append(header, "by")}
	row := func(what, by string, figure func(queueing.Outcome) string) {
		cells := []string{what}
		for _, o := range at {
			cells = append(cells, figure(o))
		}
		t = append(t, append(cells, by))
	}
	by := s.formula(at[0])
	row("response time, mean", by, func(o queueing.Outcome) string { return timeText(o.Mean) })
	for _, q := range s.Quantiles() {
		row("response time, "+QuantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Response(q)) })
	}
	if strained != "" && whole {
		row("wait for a worker, mean", by, func(o queueing.Outcome) string { return timeText(o.Wait) })
		for _, q := range s.Quantiles() {
			row("wait for a worker, "+QuantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Waited(q)) })
		}
	}
	if strained != "" {
		row("lost", by, func(o queueing.Outcome) string { return percentText(o.Loss) })
		row("workers busy", "Little's law", func(o queueing.Outcome) string {
			return fmt.Sprintf("%s, %s", prose.Digits(o.Busy), percentText(o.Busy/float64(o.Workers)))
		})
	}
	by = "utilisation law"
	if s.Ask.Service == 0 {
		by = "no CPU time was given"
	}
	row("cores busy", by, s.cores)
	if second := s.Comparison(); whole && second.Mean != nil {
		t = append(t, append(append([]string{"for comparison: mean", timeText(*second.Mean)}, make([]string, len(at)-1)...), second.Formula+", no bound"))
	}
	return document.Table{Rows: t, Words: true}
}

// cores returns the ratio of the cores that is busy, as text; "-" without a CPU time.
func (s *Page) cores(o queueing.Outcome) string {
	if s.Ask.Service == 0 {
		return "-"
	}
	return percentText(o.Cores)
}

// waits returns the table of waits by number of workers, for a page without an SLO.
func (s *Page) waits() []document.Part {
	if len(s.Waits) == 0 {
		return nil
	}
	t := [][]string{{"workers", "busy", "wait, mean", "wait, p99", "response, mean", "p99", "by"}}
	for i, o := range s.Waits {
		workers := fmt.Sprint(o.Workers)
		if i == s.Knee {
			workers += " (the knee)"
		}
		t = append(t, []string{
			workers, percentText(o.Busy / float64(o.Workers)), timeText(o.Wait), timeText(o.Waited(0.99)),
			timeText(o.Mean), timeText(o.Response(0.99)), s.formula(o),
		})
	}
	say := "Say what must be kept for a number: --slo 'p99<=" + strings.ReplaceAll(timeText(2*s.Waits[s.Knee].Response(0.99)), " ", "") + "'."
	return []document.Part{document.Table{Rows: t, Words: true}, document.Lines{say}}
}

// broken returns a phrase that names the SLO terms that an outcome breaks, "kept" if it keeps all.
func (s *Page) broken(o queueing.Outcome) string {
	if names := s.Broken(o); names != nil {
		return "BROKEN: " + strings.Join(names, ", ")
	}
	return "kept"
}

// formula returns the name of the formula, or of the replay, that gave an outcome.
func (s *Page) formula(o queueing.Outcome) string {
	switch {
	case o.Formula == "replay":
		return fmt.Sprintf("replay of %d requests", len(s.Ask.Trace))
	case o.Approximate:
		return o.Formula + ", CPU counted as time held"
	}
	return o.Formula
}

// timeText returns v seconds with three digits and a unit.
func timeText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "without end"
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case v < 1e-3:
		return prose.Digits(1e6*v) + " us"
	case v < 1:
		return prose.Digits(1e3*v) + " ms"
	}
	return prose.Digits(v) + " s"
}

// percentText formats a ratio as a percentage.
func percentText(ratio float64) string {
	if 0 < ratio && ratio < 1e-6 {
		return "<0.0001 %"
	}
	return prose.Digits(100*ratio) + " %"
}
