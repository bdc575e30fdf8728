package size

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
)

// A Page is the output of `schedlab size`. The zero value is no page: Answer must come from Size.
//
// The file has two forms of a page. document makes words and tables, for text and Markdown; json
// makes the fields of --output json. Both take their sentences from facts.go and their figures from
// the Answer.
//
// Test is the comparison that tests the advice, as a command. Untestable is the reason why there is
// none, a sentence without a full stop; both are "" without an advice.
type Page struct {
	Answer
	Rate    string // as the user wrote it
	Assumed string // the SLO term that was added by default; "" for none
	Test    string
	// TestTakes is the longest that Test takes.
	TestTakes  time.Duration
	Untestable string
}

// document returns the page as words and tables: the short form, or everything if verbose. The
// short form tells the answer, its table and how sure it is; the long one adds the derivation, the
// waits, all cases in which an assumption is off, and the doubts in full.
func (s *Page) document(verbose bool) document.Document {
	facts, holds := document.Facts{labelled("Asked", "%s, Poisson; %s", s.Rate, s.Demand.From)}, "Holds"
	if verbose {
		facts, holds = s.derivation(), "holds"
	}
	if s.Outcome() == outcome.Yes {
		facts = append(facts, document.Fact{Label: holds, Text: sizePools.String()})
	}
	parts := []document.Part{facts}
	// Three kinds of answers: a table of waits, no advice, and an advice.
	if s.SLO == nil {
		parts = append(parts, s.waits()...)
	} else {
		parts = append(parts, s.expected(verbose))
	}
	if s.Advice.Workers > 0 {
		if verbose {
			parts = append(parts, s.off())
		} else {
			parts = append(parts, s.sure())
		}
	}
	var doubts []string
	var says document.Lines
	for _, f := range s.Doubts() {
		doubts = append(doubts, f.String())
		says = append(says, "Doubt: "+f.String()+".")
	}
	if verbose {
		parts = append(parts, says)
	} else {
		parts = append(parts, document.Below(doubts))
	}
	if s.Advice.Workers > 0 {
		parts = append(parts, s.test())
	}
	return document.Document{Answer: s.lead().String() + ".", Parts: parts}
}

// derivation returns the facts of the long form: how the advice follows from the demand.
func (s *Page) derivation() document.Facts {
	a, held := s.Ask, s.Ask.Service+s.Ask.Block
	facts := document.Facts{
		labelled("asked", "%s, Poisson; %s: %s held, %s of it on a core, C² %s",
			s.Rate, s.Demand.From, timeText(held), timeText(a.Service), prose.Digits(a.SCV)),
		labelled("cores", "%d: %s/s x %s = %s of them busy (utilisation law)", a.Cores, prose.Digits(a.Rate), timeText(a.Service), prose.Digits(a.Rate*a.Service)),
		labelled("workers", "%s/s x %s = %s busy on average, so %d at least (Little's law)",
			prose.Digits(a.Rate), timeText(held), prose.Digits(queueing.Little(a.Rate, held)), queueing.Workers(a.Rate, held)),
	}
	if s.SLO == nil {
		return facts
	}
	promise := s.SLO.String()
	if s.Assumed != "" {
		promise += " (its errors term is assumed: a server that refuses every request has no slow ones)"
	}
	facts = append(facts, labelled("SLO", "%s", promise))
	if s.Advice.Workers == 0 {
		return facts
	}
	return append(facts,
		labelled("margin", "kept at %s too, %s more than asked, for what theory leaves out and a short window may meet; without it %s would do",
			s.strained(), percentText(a.Margin), prose.Plural(s.Advice.Least, "worker")),
		labelled("queue", "%d is the least that loses no more than promised at %s; a longer one loses fewer, of requests that then wait longer", s.Advice.Queue, s.strained()))
}

func labelled(what, format string, args ...any) document.Fact {
	return document.Fact{Label: what, Text: fmt.Sprintf(format, args...)}
}

// strained returns the higher rate at which the advice still keeps the SLO: the rate asked for plus
// the margin.
func (s *Page) strained() string { return prose.Digits(s.Advice.Strained.Rate) + "/s" }

// wrong returns the fact that describes one case in which an assumption is off, like the rate by +20 %.
func wrong(c queueing.Case) fact.Fact {
	return sizeOff.Of(off{c.By}).At(c.What)
}

// sure returns the lines that say how far off the assumptions may be before the SLO breaks: for the
// short form, in which off has no table.
func (s *Page) sure() document.Facts {
	var broken []string
	for _, c := range s.Advice.Wrong {
		switch {
		case c.Kept:
		case c.What == "workers":
			broken = append(broken, fmt.Sprintf("%s instead of %d (%s)", prose.Plural(c.Workers, "worker"), s.Advice.Workers, s.brokenTerms(c.Outcome)))
		default:
			broken = append(broken, fmt.Sprintf("%s (%s)", wrong(c), s.brokenTerms(c.Outcome)))
		}
	}
	text := fmt.Sprintf("the SLO is kept at %s requests/s too, %s more than asked; with this queue, and rate, time held or workers 20 %% off, it is kept in %d of %d cases",
		prose.Digits(s.Advice.Strained.Rate), percentText(s.Ask.Margin), len(s.Advice.Wrong)-len(broken), len(s.Advice.Wrong))
	if len(broken) > 0 {
		text += ", not with " + strings.Join(broken, ", ")
	}
	if s.Advice.Least < s.Advice.Workers {
		text += fmt.Sprintf("; without the margin %s would do", prose.Plural(s.Advice.Least, "worker"))
	}
	// A no-break space keeps a number and its % on one line.
	return document.Facts{{Label: "Sure", Text: strings.ReplaceAll(text, " %", "\u00a0%")}}
}

// test returns the command that tests the advice, or the reason why there is none.
func (s *Page) test() document.Part {
	if s.Test == "" {
		return document.Lines{"No test: " + s.Untestable + "."}
	}
	return document.Commands{{Label: fmt.Sprintf("Test it, in %v at most:", s.TestTakes), Text: s.Test}}
}

// lead returns the headline as a fact: the advice, or the reason why there is none.
func (s *Page) lead() fact.Fact {
	asked := question{Rate: s.Rate, SLO: s.SLO.String()}
	switch {
	case s.SLO == nil && len(s.Waits) == 0:
		return sizeNoCores.Of(tooFewCores{asked, s.Ask.Rate * s.Ask.Service, s.Ask.Cores, float64(s.Ask.Cores) / s.Ask.Service})
	case s.SLO == nil:
		return sizeWaits.Of(leastWorkers{asked, s.Waits[0].Workers, s.Waits[s.Knee].Workers})
	case s.Advice.Workers > 0:
		return sizeAdvice.Of(advice{asked, s.Advice.Workers, s.Advice.Queue, s.Assumed})
	}
	return sizeHopeless.Of(noAdvice{asked, s.Advice.MostRate}).Since(s.hopeless())
}

// hopeless returns the reason why no number of workers keeps the SLO; none if there is an advice.
func (s *Page) hopeless() fact.Fact {
	kind, is := reasons[s.Advice.Hopeless]
	if !is {
		return fact.Fact{}
	}
	cores := s.Ask.Rate * s.Ask.Service
	l := limit{Cores: cores, WithMargin: cores * (1 + s.Ask.Margin), Have: s.Ask.Cores, Queue: queueing.MostTried, Workers: s.Advice.Tried}
	if s.Demand.exponential() {
		l.Exponential = s.Demand.held().String()
	}
	return kind.Of(l)
}

// off returns the table of the cases in which an assumption is off, after the case as asked: rate,
// time held and workers, each 20 % more and less.
func (s *Page) off() document.Part {
	a := s.Advice
	header := []string{"20 % off", "workers"}
	for _, q := range s.quantiles() {
		header = append(header, quantileName(q))
	}
	t := [][]string{append(header, "mean", "lost", "workers busy", "cores busy", "SLO")}
	for _, c := range append([]queueing.Case{{Outcome: a.Expected}}, a.Wrong...) {
		what := "as asked"
		if c.What != "" {
			what = wrong(c).String()
		}
		row := []string{what, fmt.Sprint(c.Workers)}
		for _, q := range s.quantiles() {
			row = append(row, timeText(c.Response(q)))
		}
		kept := outcome.Expectation.Phrase(outcome.Yes)
		if terms := s.brokenTerms(c.Outcome); terms != "" {
			kept = outcome.Expectation.Phrase(outcome.No) + ": " + terms
		}
		t = append(t, append(row, timeText(c.Mean), percentText(c.Loss), percentText(c.Busy/float64(c.Workers)), s.cores(c.Outcome), kept))
	}
	return document.Table{Rows: t, Words: true}
}

// expected returns the table of expected figures at the rate asked for and, with an advice, at the
// rate with its margin. Waits for a worker are included only if whole. The last column names the
// formula or law of each row.
func (s *Page) expected(whole bool) document.Part {
	at, header := []queueing.Outcome{s.Advice.Expected}, []string{"a worker for each request", "at " + s.Rate}
	advised := s.Advice.Workers > 0
	if advised {
		at, header = append(at, s.Advice.Strained), append(header, "at "+s.strained())
		header[0] = fmt.Sprintf("%s, queue of %d", prose.Plural(s.Advice.Workers, "worker"), s.Advice.Queue)
	}
	t := [][]string{append(header, "by")}
	// row adds one figure, at each of the rates.
	row := func(what, by string, figure func(queueing.Outcome) string) {
		cells := []string{what}
		for _, o := range at {
			cells = append(cells, figure(o))
		}
		t = append(t, append(cells, by))
	}
	by := s.formula(at[0])
	row("response time, mean", by, func(o queueing.Outcome) string { return timeText(o.Mean) })
	for _, q := range s.quantiles() {
		row("response time, "+quantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Response(q)) })
	}
	if advised && whole {
		row("wait for a worker, mean", by, func(o queueing.Outcome) string { return timeText(o.Wait) })
		for _, q := range s.quantiles() {
			row("wait for a worker, "+quantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Waited(q)) })
		}
	}
	if advised {
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
	// The textbook's formula, next to the replay, shows how much the two differ.
	if mean, formula := queueing.MeanByFormula(s.Advice.Workers, s.Ask.Cores, s.Ask.Load); whole && formula != "" {
		t = append(t, append(append([]string{"for comparison: mean", timeText(mean)}, make([]string, len(at)-1)...), formula+", no bound"))
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

// waits returns the table of waits by number of workers, for a page without an SLO, and a proposal
// for an SLO: twice the p99 at the knee. It returns nil if no number keeps up.
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

// brokenTerms returns the metrics of the SLO's terms that an outcome breaks, "" if it keeps the SLO.
func (s *Page) brokenTerms(o queueing.Outcome) string {
	var broken []string
	for _, t := range s.SLO {
		if !t.Holds(figureOf(t, o, s.Ask.Rate)) {
			broken = append(broken, t.Metric.String())
		}
	}
	return strings.Join(broken, ", ")
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

// timeText returns v seconds with three digits, without zeros at the end, and a unit.
func timeText(v float64) string {
	const rounded = 1.0005 // what three digits round up to 1000 has the next unit
	switch {
	case math.IsInf(v, 1):
		return "without end"
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case v*rounded < 1e-3:
		return prose.Digits(1e6*v) + " µs"
	case v*rounded < 1:
		return prose.Digits(1e3*v) + " ms"
	}
	return prose.Digits(v) + " s"
}

func percentText(ratio float64) string {
	if 0 < ratio && ratio < 1e-6 {
		return "<0.0001 %"
	}
	return prose.Digits(100*ratio) + " %"
}

// sizeJSON is the schema of `size --output json`. Times are in seconds, rates per second, ratios
// 0..1. If no number of workers keeps the SLO, workers is 0 and most_rate is present. Strained,
// Wrong, Test and Untestable are present only with an advice, Waits and Knee only without an SLO.
type sizeJSON struct {
	Schema   int             `json:"schema"`
	Outcome  outcome.Outcome `json:"outcome"` // whether a number of workers will do
	Headline string          `json:"headline"`
	Answer   string          `json:"answer"` // the outcome's phrase
	Fact     fact.Fact       `json:"fact"`   // the headline as data
	SLO      string          `json:"slo,omitempty"`
	Assumed  string          `json:"slo_assumed,omitempty"` // the SLO term that was added by default
	From     string          `json:"from"`                  // source of the demand
	Rate     float64         `json:"rate"`
	Held     float64         `json:"held"`
	CPU      float64         `json:"cpu"`
	SCV      float64         `json:"scv"`
	Cores    int             `json:"cores"`
	Margin   float64         `json:"margin"`
	Workers  int             `json:"workers"`
	Queue    int             `json:"queue"`
	Least    int             `json:"least_without_margin,omitempty"`
	Hopeless string          `json:"hopeless,omitempty"`
	MostRate float64         `json:"most_rate,omitempty"`
	Expected *outcomeJSON    `json:"expected,omitempty"`
	Strained *outcomeJSON    `json:"strained,omitempty"`
	Wrong    []outcomeJSON   `json:"wrong,omitempty"`
	Waits    []outcomeJSON   `json:"waits,omitempty"`
	Knee     int             `json:"knee,omitempty"` // number of workers at the knee of waits
	// Comparison is the result of the formula for such a station, to compare with Expected. It is not a
	// bound.
	Comparison *formulaJSON `json:"comparison,omitempty"`
	Holds      *fact.Fact   `json:"holds,omitempty"` // for which kind of pool the workers are right
	Doubts     []fact.Fact  `json:"doubts"`
	Test       string       `json:"test,omitempty"`
	Untestable string       `json:"untestable,omitempty"` // why there is no Test
}

// formulaJSON is a mean response time by a formula, like "M/M/c".
type formulaJSON struct {
	Formula string  `json:"formula"`
	Mean    float64 `json:"mean"` // response time, seconds
}

// outcomeJSON holds the figures of one setting. A figure that grows without bound is null. Response
// and Wait are by quantile, like p99: the response time, and the wait for a worker. Kept tells
// whether the SLO is kept, and is absent without one.
type outcomeJSON struct {
	What     string              `json:"what,omitempty"`
	Workers  int                 `json:"workers"` // 0: one for each request
	Queue    *int                `json:"queue"`   // null: no bound
	Rate     float64             `json:"rate"`
	Formula  string              `json:"formula"`
	Mean     *float64            `json:"mean"`
	Response map[string]*float64 `json:"response"`
	WaitMean *float64            `json:"wait_mean"`
	Wait     map[string]*float64 `json:"wait"`
	Loss     float64             `json:"loss"`
	Busy     float64             `json:"workers_busy"`
	Cores    float64             `json:"cores_busy"`
	Kept     *bool               `json:"kept,omitempty"`
}

// outcome converts the figures of one setting, at the page's quantiles.
func (s *Page) outcome(o queueing.Outcome) *outcomeJSON {
	j := outcomeJSON{
		Workers: o.Workers, Rate: o.Rate, Formula: s.formula(o), Mean: finite(o.Mean), WaitMean: finite(o.Wait),
		Response: map[string]*float64{}, Wait: map[string]*float64{}, Loss: o.Loss, Busy: o.Busy, Cores: o.Cores,
	}
	if o.Queue != queueing.Unbounded {
		j.Queue = &o.Queue
	}
	for _, q := range s.quantiles() {
		j.Response[quantileName(q)], j.Wait[quantileName(q)] = finite(o.Response(q)), finite(o.Waited(q))
	}
	if s.SLO != nil {
		j.Kept = new(s.Ask.Keep(o))
	}
	return &j
}

// finite returns a pointer to v; nil, which JSON shows as null, if v is infinite or not a number.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// json returns the page's fields. It holds everything, as the long form does.
func (s *Page) json() sizeJSON {
	a := s.Advice
	j := sizeJSON{
		Schema: 1, Outcome: s.Outcome(), Headline: s.lead().String() + ".", Answer: outcome.Workers.Phrase(s.Outcome()), Fact: s.lead(), SLO: s.SLO.String(), From: s.Demand.From, Rate: s.Ask.Rate, Held: s.Ask.Service + s.Ask.Block, CPU: s.Ask.Service,
		SCV: s.Ask.SCV, Cores: s.Ask.Cores, Margin: s.Ask.Margin, Workers: a.Workers, Queue: a.Queue, Least: a.Least,
		Hopeless: s.hopeless().String(), MostRate: a.MostRate, Doubts: s.Doubts(), Assumed: s.Assumed,
	}
	for i, o := range s.Waits {
		j.Waits = append(j.Waits, *s.outcome(o))
		if i == s.Knee {
			j.Knee = o.Workers
		}
	}
	if s.Outcome() == outcome.Yes {
		j.Holds = &sizePools
	}
	if s.SLO == nil {
		return j
	}
	j.Expected = s.outcome(a.Expected)
	if mean, formula := queueing.MeanByFormula(a.Workers, s.Ask.Cores, s.Ask.Load); formula != "" {
		j.Comparison = &formulaJSON{formula, mean}
	}
	if a.Workers == 0 {
		return j
	}
	j.Strained, j.Test, j.Untestable = s.outcome(a.Strained), s.Test, s.Untestable
	for _, c := range a.Wrong {
		o := s.outcome(c.Outcome)
		o.What = wrong(c).String()
		j.Wrong = append(j.Wrong, *o)
	}
	return j
}

// Write writes the page to w. format is text, json or markdown; any other is text. Text is brief
// unless verbose, and fits o; the other formats are always complete.
func (s *Page) Write(w io.Writer, format string, verbose bool, o document.Options) error {
	switch format {
	case "json":
		return record.WriteJSON(w, s.json())
	case "markdown":
		_, err := io.WriteString(w, s.document(true).Markdown())
		return err
	}
	_, err := io.WriteString(w, s.document(verbose).Text(o))
	return err
}
