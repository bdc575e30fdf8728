package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"schedlab/internal/arrivals"
	"schedlab/internal/scenario"
)

// adhocFlags ask without a scenario: of any server, what a path or a file says.
type adhocFlags struct {
	path, targets, log, speed string
}

// given reports whether the command line asks something of its own.
func (f *adhocFlags) given() bool { return len(f.names()) > 0 }

// names are the flags that say what is asked.
func (f *adhocFlags) names() (given []string) {
	for _, flag := range [][2]string{{"--path", f.path}, {"--targets", f.targets}, {"--log", f.log}} {
		if flag[1] != "" {
			given = append(given, flag[0])
		}
	}
	return given
}

// bind declares the flags that every command has which asks of its own.
func (f *adhocFlags) bind(fl *pflag.FlagSet) {
	fl.StringVar(&f.path, "path", "", "ask GET of this path, without a scenario")
	fl.StringVar(&f.targets, "targets", "", "ask what this file in vegeta's http format says, without a scenario; whose server it names does not matter")
}

// checkEmpty refuses those that were given without a value.
func checkEmpty(fl *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if fl.Changed(name) && fl.Lookup(name).Value.String() == "" {
			return usagef("--%s is empty; give it a value or leave it out", name)
		}
	}
	return nil
}

// check tells what does not go together; scenarios are those named beside.
func (f *adhocFlags) check(scenarios []string) error {
	given := f.names()
	switch {
	case len(given) > 1:
		return usagef("%s each say what is asked; give one of them", strings.Join(given, " and "))
	case len(given) > 0 && len(scenarios) > 0:
		return usagef("scenario %q says what is asked, and %s does too; drop one, or write path, targets or arrivals: log(FILE) into a scenario of your own", scenarios[0], given[0])
	case f.speed != "" && f.log == "":
		return usagef("--speed %s is how fast a log is replayed; give --log FILE", f.speed)
	case f.speed != "":
		factor, ok := strings.CutSuffix(f.speed, "x")
		if v, err := strconv.ParseFloat(factor, 64); !ok || err != nil || !(v > 0) {
			return usagef("--speed %q is not a factor like 10x", f.speed)
		}
	}
	return nil
}

// scenario is the question that the flags ask, over kept connections at 0.7 of what
// the slowest arm can do; a log has a pace of its own. It has no arms.
func (f *adhocFlags) scenario() (scenario.Scenario, error) {
	l := scenario.Load{KeepAlive: true, Rate: scenario.Rate{OfSlowest: .7}}
	name, asks := "path", fmt.Sprintf("%q", f.path)
	w := scenario.Workload{Path: f.path, Targets: f.targets}
	switch {
	case f.targets != "":
		name, asks = "targets", fmt.Sprintf("what %q asks", f.targets)
	case f.log != "":
		name, asks = "log", fmt.Sprintf("what was asked in %q", f.log)
		l.Rate = scenario.Rate{}
		l.Arrivals = (arrivals.Process{Kind: arrivals.KindLog, File: f.log}).String()
		if f.speed != "" {
			l.Arrivals = strings.TrimSuffix(l.Arrivals, ")") + "," + f.speed + ")"
		}
	}
	s, err := scenario.Ask(name, "Which of the arms serves "+asks+" best?", w, l)
	return s, usage(err)
}

// question is a named scenario, or what the flags ask without one.
func (f *compareFlags) question(name string) (scenario.Scenario, error) {
	if f.adhoc.given() {
		return f.adhoc.scenario()
	}
	s, _, err := findScenario(name)
	return s, err
}
