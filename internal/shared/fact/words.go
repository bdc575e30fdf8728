package fact

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"text/template"
	"time"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// sentences are the words of all kinds, as one set of templates, so that a sentence can use a part of any other. functions are
// the functions that sentences can call; one that takes a reflect.Value takes any number. Values in facts are in base units:
// seconds, ratios, bytes. init sets both, since functions call methods of Fact, which execute sentences.
var (
	sentences *template.Template
	functions template.FuncMap
)

func init() {
	functions = template.FuncMap{
		// Facts.
		"say":   Fact.String,
		"words": Fact.Part,
		"gist":  func(f Fact) string { return f.Part("gist") },
		"fix":   func(f Fact) string { return f.Part("fix") },
		// Counts and ratios.
		"count":      of(func(v float64) string { return fmt.Sprintf("%.0f", v) }),
		"plural":     func(v reflect.Value, noun string) string { return prose.Plural(int(number(v)), noun) },
		"digits":     of(prose.Digits),
		"change":     of(stats.Change),
		"percent":    of(func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }),
		"hundredths": of(func(v float64) string { return fmt.Sprintf("%.4g", math.Floor(1e4*v+1e-6)/100) }), // never more than v; in audit/findings.txt
		"percentf":   func(format string, v reflect.Value) string { return fmt.Sprintf(format+" %%", 100*number(v)) },
		"part": of(func(v float64) string { // a percentage with a decimal where it is below 1
			if v < .0095 {
				return fmt.Sprintf("%.1f %%", 100*v)
			}
			return fmt.Sprintf("%.0f %%", 100*v)
		}),
		"mib": of(func(bytes float64) string { return fmt.Sprintf("%.0f", math.Floor(bytes/(1<<20))) }),
		// Times, all of seconds, and rates per second.
		"per":     of(prose.PerSecond),
		"millisf": func(format string, v reflect.Value) string { return fmt.Sprintf(format+" ms", 1e3*number(v)) },
		"time":    of(func(v float64) string { return nearest(v).String() }),
		"round":   func(v reflect.Value, to float64) string { return nearest(number(v)).Round(nearest(to)).String() },
		"lasts":   of(prose.Seconds),
		"printed": of(printed),                                                   // in what enters no record
		"short":   of(func(v float64) string { return threeDigits(v).String() }), // records have it in signed plans, so its form stays
		"as": func(unit string, v reflect.Value) string { // a time, or a figure without a unit
			if unit == "s" {
				return printed(number(v))
			}
			if math.Abs(number(v)) < 1e6 {
				return strconv.FormatFloat(number(v), 'g', 6, 64)
			}
			return prose.Digits(number(v))
		},
		"metric": func(name string) string { return stats.MetricOf(name).Label },
	}
	sentences = template.New("").Option("missingkey=zero").Funcs(functions)
	Part("because", `{{range .Because}}{{say .}}{{end}}`)
	list = Plain("list", 0, `{{range $i, $f := .Because}}{{if $i}}; {{end}}{{say $f}}{{end}}`)
}

// list is the fact that [List] returns. Other sentences use its words as a part.
var list Fact

// List returns one fact that lists several, with semicolons between them.
func List(of ...Fact) Fact { return list.Since(of...) }

// of makes say take any number.
func of(say func(float64) string) func(reflect.Value) string {
	return func(v reflect.Value) string { return say(number(v)) }
}

// nearest converts seconds to a duration, rounded to the nanosecond.
func nearest(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// printed formats a time of a tool's report, in seconds, with about three digits.
func printed(seconds float64) string { return prose.RoundTime(threeDigits(seconds).Seconds()) }

// threeDigits rounds seconds to about three digits.
func threeDigits(seconds float64) time.Duration {
	unit := 100 * time.Nanosecond
	switch d := nearest(seconds); {
	case d >= time.Second:
		unit = 10 * time.Millisecond
	case d >= time.Millisecond:
		unit = 10 * time.Microsecond
	}
	return nearest(seconds).Round(unit)
}
