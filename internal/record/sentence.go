package record

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"schedlab/internal/prose"
	"schedlab/internal/stats"
)

// sentences are the templates by code. Packages register them with [Sentence] when the program
// starts.
var sentences = map[Code]string{
	"because": `{{range .Because}}{{say .}}{{end}}`,
	"list":    `{{range $i, $f := .Because}}{{if $i}}; {{end}}{{say $f}}{{end}}`,
}

// Sentence registers the words for a code, without a full stop, and returns the code. text is a
// [text/template]; its dot is the [Fact], and a value or name that the fact lacks is 0 or "". A
// sentence can use another with {{template "code" .}}. Call Sentence only to initialise package
// variables. It panics if the code has a sentence already.
func Sentence(code Code, text string) Code {
	if _, twice := sentences[code]; twice {
		panic("two sentences for " + code)
	}
	sentences[code] = text
	return code
}

// String returns the fact in words. For a code that this program does not know it returns the
// fact's Text or, without one, the code.
func (f Fact) String() string { return f.Part("") }

// Part returns the fact in the words of another sentence: Part("fix") uses the sentence with the
// code "CODE fix".
func (f Fact) Part(name string) string {
	t := templates().Lookup(strings.TrimSpace(string(f.Code) + " " + name))
	if f.Code == "" || t == nil {
		return cmp.Or(f.Text, string(f.Code))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil { // recorded by another version, with other values
		return fmt.Sprintf("%s (%v %v)", f.Code, f.Values, f.Names)
	}
	return b.String()
}

var (
	parseOnce sync.Once
	parsed    *template.Template
)

// templates returns the sentences, parsed at the first call.
func templates() *template.Template {
	parseOnce.Do(func() { parsed = parse() })
	return parsed
}

// parse compiles all sentences, with the functions that they can call. Values in facts are in
// base units: seconds, ratios, bytes.
func parse() *template.Template {
	all := template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
		// Facts.
		"say":  Fact.String,
		"gist": func(f Fact) string { return f.Part("gist") },
		"fix":  func(f Fact) string { return f.Part("fix") },
		// Counts and ratios.
		"count":      func(v float64) string { return fmt.Sprintf("%.0f", v) },
		"plural":     func(v float64, noun string) string { return prose.Plural(int(v), noun) },
		"digits":     prose.Digits,
		"change":     stats.Change,
		"percent":    func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"percentf":   func(format string, v float64) string { return fmt.Sprintf(format+" %%", 100*v) },
		"hundredths": func(v float64) string { return fmt.Sprintf("%.4g", 100*v) },
		"part": func(v float64) string { // a percentage with a decimal where it is below 1
			if v < .0095 {
				return fmt.Sprintf("%.1f %%", 100*v)
			}
			return fmt.Sprintf("%.0f %%", 100*v)
		},
		"mib": func(bytes float64) string { return fmt.Sprintf("%.0f", math.Floor(bytes/(1<<20))) },
		// Times, all of seconds, and rates per second.
		"per":     prose.PerSecond,
		"millisf": func(format string, v float64) string { return fmt.Sprintf(format+" ms", 1e3*v) },
		"time":    func(v float64) string { return Duration(v).String() },
		"round":   func(v, to float64) string { return nearest(v).Round(nearest(to)).String() },
		"lasts":   prose.Seconds,
		"short":   threeDigits,
		"twoDigits": func(v float64) string {
			d, unit := nearest(v), time.Duration(1)
			for d/unit >= 100 {
				unit *= 10
			}
			return d.Round(unit).String()
		},
		"as": func(unit string, v float64) string { // a time, or a figure without a unit
			if unit == "s" {
				return threeDigits(v)
			}
			if math.Abs(v) < 1e6 {
				return strconv.FormatFloat(v, 'g', 6, 64)
			}
			return prose.Digits(v)
		},
		// Words of the advice of choose.
		"kind":    func(does string) string { return KindsOfRequests[does].Name },
		"outcome": func(kind string) string { return AnswerKind(kind).Words() },
		"metric":  func(name string) string { return stats.MetricOf(name).Label },
	})
	for code, text := range sentences {
		template.Must(all.New(string(code)).Parse(text))
	}
	return all
}

// nearest converts seconds to a duration, rounded to the nanosecond.
func nearest(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// threeDigits formats seconds with about three digits.
func threeDigits(seconds float64) string {
	unit := 100 * time.Nanosecond
	switch d := nearest(seconds); {
	case d >= time.Second:
		unit = 10 * time.Millisecond
	case d >= time.Millisecond:
		unit = 10 * time.Microsecond
	}
	return nearest(seconds).Round(unit).String()
}
