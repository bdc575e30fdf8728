package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Say writes a fact in words, without a full stop: its code's template, filled in. Of a
// code that this version does not know it is the text that the fact came with, or the code.
func Say(f record.Fact) string { return fill(f, "") }

// gist is the beginning of what was found of a machine, which has the figure that matters.
func gist(f record.Fact) string { return fill(f, " gist") }

// fill fills a template in: the code's, or the part of it that is asked for.
func fill(f record.Fact, part string) string {
	t := templates().Lookup(string(f.Code) + part)
	if f.Code == "" || t == nil {
		return cmp.Or(f.Text, string(f.Code))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil { // a record that was written by another version
		return fmt.Sprintf("%s (%v %v)", f.Code, f.Values, f.Names)
	}
	return b.String()
}

// Doubt is a fact in a line, the arm it is about in front.
func Doubt(f record.Fact) string {
	if f.Arm == "" {
		return Say(f)
	}
	return f.Arm + ": " + Say(f)
}

// InWords is the result with the text of all its facts, and its headline.
func InWords(r *record.Result) *record.Result {
	all := *r
	all.Headline = Headline(r)
	all.Doubts = Texts(r.Doubts)
	all.Verdicts, all.AA, all.Duels, all.Expectations = reasoned(r.Verdicts), reasoned(r.AA), reasoned(r.Duels), list(r.Expectations)
	for i := range all.Expectations {
		say(&all.Expectations[i].Reason)
	}
	say(&all.Answer.Reason)
	all.Answer.Duels = slices.Clone(r.Answer.Duels)
	for i := range all.Answer.Duels {
		d := &all.Answer.Duels[i]
		d.Verdicts = reasoned(d.Verdicts)
	}
	all.Arms = list(r.Arms)
	for i := range all.Arms {
		a := &all.Arms[i]
		a.Predictions = slices.Clone(a.Predictions)
		for k := range a.Predictions {
			say(&a.Predictions[k].Why)
		}
		if a.Twin != nil {
			twin := *a.Twin
			say(&twin.Why)
			a.Twin = &twin
		}
	}
	if r.Capacity != nil {
		c := *r.Capacity
		c.Lines = Texts(c.Lines)
		c.Arms = slices.Clone(c.Arms)
		for i := range c.Arms {
			a := &c.Arms[i]
			say(&a.NoTheory)
			say(&a.Answer)
			a.Windows = slices.Clone(a.Windows)
			for k := range a.Windows {
				say(&a.Windows[k].Refused)
			}
			a.Theories = slices.Clone(a.Theories)
			for k := range a.Theories {
				say(&a.Theories[k].Why)
			}
		}
		all.Capacity = &c
	}
	return &all
}

// mapInWords is the same of a map.
func mapInWords(m *record.Map) *record.Map {
	all := *m
	all.Doubts, all.Cells = Texts(m.Doubts), slices.Clone(m.Cells)
	for i := range all.Cells {
		say(&all.Cells[i].Reason)
	}
	return &all
}

// say sets a fact's text, if it says anything.
func say(f *record.Fact) {
	if !f.None() {
		f.Text = Say(*f)
	}
}

// Texts are facts with their text.
func Texts(facts []record.Fact) []record.Fact {
	all := list(facts)
	for i := range all {
		say(&all[i])
	}
	return all
}

func reasoned(verdicts []record.Verdict) []record.Verdict {
	all := list(verdicts)
	for i := range all {
		say(&all[i].Reason)
	}
	return all
}

var (
	parseOnce sync.Once
	parsed    *template.Template
)

// templates are the messages, parsed.
func templates() *template.Template {
	parseOnce.Do(func() { parsed = parse() })
	return parsed
}

func parse() *template.Template {
	all := template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
		"n":       func(v float64) string { return fmt.Sprintf("%.0f", v) },
		"g":       func(v float64) string { return fmt.Sprintf("%g", v) },
		"three":   func(v float64) string { return fmt.Sprintf("%.3g", v) },
		"two":     func(v float64) string { return fmt.Sprintf("%.2g %%", 100*v) },
		"percent": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"share":   func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) },
		"signed":  func(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) },
		"ms":      func(v float64) string { return fmt.Sprintf("%.3g ms", 1e3*v) },
		"ms1":     func(v float64) string { return fmt.Sprintf("%.1f ms", 1e3*v) },
		"time":    func(v float64) string { return record.Duration(v).String() },
		"plural":  func(v float64, word string) string { return prose.Plural(int(v), word) },
		"per":     prose.PerSecond,
		"change":  stats.Change,
		"part": func(v float64) string {
			if v < .0095 {
				return fmt.Sprintf("%.1f %%", 100*v)
			}
			return fmt.Sprintf("%.0f %%", 100*v)
		},
		"percent3": func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) },
		"off":      func(v float64) string { return fmt.Sprintf("%+.0f %%", 100*v) },
		"four":     func(v float64) string { return fmt.Sprintf("%.4g", v) },
		"digits":   prose.Digits,
		"one":      func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
		"pct":      func(v float64) string { return fmt.Sprintf("%.4g", 100*v) },
		"mib":      func(bytes float64) string { return fmt.Sprintf("%.0f", math.Floor(bytes/(1<<20))) },
		"round":    func(v, to float64) string { return lasting(v).Round(lasting(to)).String() },
		"short":    short,
		"as": func(unit string, v float64) string { // a time, or what has no unit
			if unit == "s" {
				return short(v)
			}
			if math.Abs(v) < 1e6 {
				return strconv.FormatFloat(v, 'g', 6, 64)
			}
			return prose.Digits(v)
		},
		"lasts":   func(v float64) string { return strings.ReplaceAll(seconds(v), nbsp, " ") },
		"digits2": digits2,
		"sub":     func(a, b float64) float64 { return a - b },
		"say":     Say,
		"gist":    gist,
		"fix":     Fix,
		"untold":  func(check string) string { return checks[check].untold },
		"kind":    func(does string) string { return kindsOfRequests[does].name },
		"outcome": func(kind string) string { return outcomeWords(record.AnswerKind(kind)) },
		"metric":  choiceMetric,
		"quote":   func(s string) string { return fmt.Sprintf("%q", s) },
	})
	template.Must(all.Parse(parts + findingParts))
	for code, f := range findings {
		template.Must(all.New(string(code)).Parse(f.gist + f.rest))
		template.Must(all.New(string(code) + " gist").Parse(f.gist))
		template.Must(all.New(string(code) + " fix").Parse(f.fix))
	}
	for code, text := range messages {
		template.Must(all.New(string(code)).Parse(text))
	}
	return all
}

// lasting is seconds as a duration.
func lasting(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// short keeps three digits or so of seconds.
func short(seconds float64) string {
	unit := 100 * time.Nanosecond
	switch d := lasting(seconds); {
	case d >= time.Second:
		unit = 10 * time.Millisecond
	case d >= time.Millisecond:
		unit = 10 * time.Microsecond
	}
	return lasting(seconds).Round(unit).String()
}

// digits2 keeps two digits, which is what differs from run to run.
func digits2(seconds float64) string {
	d, unit := lasting(seconds), time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit).String()
}
