package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"schedlab/internal/queueing"
	"schedlab/internal/sizing"
)

// A sizePage is the answer in words and tables, for text and Markdown alike.
type sizePage struct {
	lead   string
	facts  [][2]string // what, and how it comes about
	tables []sizeTable
	notes  []string
}

// A sizeTable is rows of cells, its header first.
type sizeTable [][]string

func (s *sized) page() sizePage {
	p := sizePage{lead: s.lead()}
	a := s.Ask
	p.fact("asked", "%s, Poisson; %s: %s held, %s of it on a core, C² %s",
		s.flags.rate.String(), s.Demand.From, timeText(a.Service+a.Block), timeText(a.Service), digits(a.SCV))
	p.fact("cores", "%d: %s/s x %s = %s of them busy (utilisation law)", a.Cores, digits(a.Rate), timeText(a.Service), digits(a.Rate*a.Service))
	busy := queueing.Little(a.Rate, a.Service+a.Block)
	p.fact("workers", "%s/s x %s = %s busy on average, so %d at least (Little's law)",
		digits(a.Rate), timeText(a.Service+a.Block), digits(busy), queueing.Workers(a.Rate, a.Service+a.Block))
	switch {
	case s.SLO == nil:
		p.waits(s)
	case s.Advice.Workers == 0:
		p.fact("SLO", "%s", s.promise())
		p.expected(s, "a worker for each request", "")
	default:
		p.advised(s)
	}
	for _, d := range s.Doubts() {
		p.notes = append(p.notes, "Doubt: "+d+".")
	}
	return p
}

func (s *sized) lead() string {
	rate, slo := s.flags.rate.String(), s.SLO.String()
	switch {
	case s.SLO == nil && len(s.Waits) == 0:
		return fmt.Sprintf("No number of workers keeps up with %s: the requests need %s cores, and there are %d; below %s/s they could.",
			rate, digits(s.Ask.Rate*s.Ask.Service), s.Ask.Cores, digits(float64(s.Ask.Cores)/s.Ask.Service))
	case s.SLO == nil:
		return fmt.Sprintf("No SLO given: %s at least for %s; from %d on a request waits, on average, less than a tenth of the time it is held.",
			counted(s.Waits[0].Workers, "worker"), rate, s.Waits[s.Knee].Workers)
	case s.Advice.Workers > 0:
		return fmt.Sprintf("%s and a queue of %d keep %s at %s.", counted(s.Advice.Workers, "worker"), s.Advice.Queue, slo, rate)
	case s.Advice.MostRate > 0:
		return fmt.Sprintf("No number of workers keeps %s at %s: %s. About %s/s could be promised.", slo, rate, s.Advice.Hopeless, digits(s.Advice.MostRate))
	}
	return fmt.Sprintf("No number of workers keeps %s at any rate: %s.", slo, s.Advice.Hopeless)
}

// promise is the SLO, and what of it was assumed.
func (s *sized) promise() string {
	if s.assumed() {
		return s.SLO.String() + " (its errors term is assumed: a server that refuses every request has no slow ones)"
	}
	return s.SLO.String()
}

func (p *sizePage) fact(what, format string, args ...any) {
	p.facts = append(p.facts, [2]string{what, fmt.Sprintf(format, args...)})
}

func (p *sizePage) advised(s *sized) {
	a := s.Advice
	strained := digits(a.Strained.Rate) + "/s"
	p.fact("SLO", "%s", s.promise())
	p.fact("margin", "kept at %s too, %s more than asked, for what theory leaves out and a short window may meet; without it %s would do",
		strained, percentText(s.Ask.Margin), counted(a.Least, "worker"))
	p.fact("queue", "%d is the least that loses no more than promised at %s; a longer one serves no more, it only lets more wait under overload", a.Queue, strained)
	p.expected(s, fmt.Sprintf("%s, queue of %d", counted(a.Workers, "worker"), a.Queue), strained)

	header := []string{"20 % off", "workers"}
	for _, q := range s.Quantiles() {
		header = append(header, sizing.QuantileName(q))
	}
	t := sizeTable{append(header, "mean", "lost", "workers busy", "cores busy", "SLO")}
	for _, c := range append([]queueing.Case{{What: "as asked", Outcome: a.Expected}}, a.Wrong...) {
		row := []string{c.What, fmt.Sprint(c.Workers)}
		for _, q := range s.Quantiles() {
			row = append(row, timeText(c.Response(q)))
		}
		t = append(t, append(row, timeText(c.Mean), percentText(c.Loss), percentText(c.Busy/float64(c.Workers)), percentText(c.Cores), s.broken(c.Outcome)))
	}
	p.tables = append(p.tables, t)
	if s.verified != nil {
		p.notes = append(p.notes, s.verified.text()...)
		return
	}
	if s.unverified != "" {
		p.notes = append(p.notes, "Not tested: "+s.unverified+".")
	}
	test := "Test it: "
	if s.flags.histogram == stdin || s.flags.csv == stdin {
		test = "Test it, with what came on standard input kept in " + keptIn + ": "
	}
	p.notes = append(p.notes, test+s.test)
}

// expected is the table of what to expect at the rate, and at a higher one if there
// is advice.
func (p *sizePage) expected(s *sized, title, strained string) {
	at := []queueing.Outcome{s.Advice.Expected}
	header := []string{title, "at " + s.flags.rate.String()}
	if strained != "" {
		at, header = append(at, s.Advice.Strained), append(header, "at "+strained)
	}
	t := sizeTable{append(header, "by")}
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
		row("response time, "+sizing.QuantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Response(q)) })
	}
	if strained != "" {
		row("wait for a worker, mean", by, func(o queueing.Outcome) string { return timeText(o.Wait) })
		for _, q := range s.Quantiles() {
			row("wait for a worker, "+sizing.QuantileName(q), by, func(o queueing.Outcome) string { return timeText(o.Waited(q)) })
		}
		row("lost", by, func(o queueing.Outcome) string { return percentText(o.Loss) })
		row("workers busy", "Little's law", func(o queueing.Outcome) string {
			return fmt.Sprintf("%s, %s", digits(o.Busy), percentText(o.Busy/float64(o.Workers)))
		})
	}
	row("cores busy", "utilisation law", func(o queueing.Outcome) string { return percentText(o.Cores) })
	if second := s.Comparison(); second.Mean != nil {
		t = append(t, append(append([]string{"for comparison: mean", timeText(*second.Mean)}, make([]string, len(at)-1)...), second.Formula+", no bound"))
	}
	p.tables = append(p.tables, t)
}

// waits is the table without an SLO.
func (p *sizePage) waits(s *sized) {
	if len(s.Waits) == 0 {
		return
	}
	t := sizeTable{{"workers", "busy", "wait, mean", "wait, p99", "response, mean", "p99", "by"}}
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
	p.tables = append(p.tables, t)
	p.notes = append(p.notes, "Say what must be kept for a number: --slo 'p99<="+strings.ReplaceAll(timeText(2*s.Waits[s.Knee].Response(0.99)), " ", "")+"'.")
}

// writeText writes the page for a terminal.
func (p sizePage) writeText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n\n", p.lead)
	for _, f := range p.facts {
		fmt.Fprintf(tw, "%s\t%s\n", f[0], f[1])
	}
	for _, t := range p.tables {
		fmt.Fprintln(tw)
		for _, row := range t {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
	}
	fmt.Fprintln(tw)
	for _, n := range p.notes {
		fmt.Fprintln(tw, n)
	}
	return tw.Flush()
}

// writeMarkdown writes the page for a document.
func (p sizePage) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n", p.lead)
	for _, f := range p.facts {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], f[1])
	}
	for _, t := range p.tables {
		for i, row := range t {
			if i == 0 {
				fmt.Fprintln(&b)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
	}
	fmt.Fprintln(&b)
	for _, n := range p.notes {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}
