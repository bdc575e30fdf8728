package main

import (
	"fmt"
	"strconv"
	"strings"

	"schedlab/internal/experiment"
	"schedlab/internal/load"
)

// adhocFlags ask without a scenario: of any server, what a path or a file says.
type adhocFlags struct {
	path, targets, log, speed string
}

// given reports whether the command line asks something of its own.
func (f *adhocFlags) given() bool { return f.path != "" || f.targets != "" || f.log != "" }

// check tells what does not go together; scenarios are those named beside.
func (f *adhocFlags) check(scenarios []string) error {
	asks := 0
	for _, given := range []string{f.path, f.targets, f.log} {
		if given != "" {
			asks++
		}
	}
	switch {
	case asks > 1:
		return usagef("--path, --targets and --log each say what is asked; give one of them")
	case asks > 0 && len(scenarios) > 0:
		return usagef("scenario %q says what is asked, and --path, --targets and --log do too; drop one, or write path, targets or arrivals: log(FILE) into a scenario of your own", scenarios[0])
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
func (f *adhocFlags) scenario() (experiment.Scenario, error) {
	l := experiment.Load{KeepAlive: true, Rate: experiment.Rate{OfSlowest: .7}}
	name, asks := "path", fmt.Sprintf("%q", f.path)
	w := experiment.Workload{Path: f.path, Targets: f.targets}
	switch {
	case f.targets != "":
		name, asks = "targets", fmt.Sprintf("what %q asks", f.targets)
	case f.log != "":
		name, asks = "log", fmt.Sprintf("what was asked in %q", f.log)
		l.Rate = experiment.Rate{}
		l.Arrivals = (load.Arrivals{Kind: load.KindLog, File: f.log}).String()
		if f.speed != "" {
			l.Arrivals = strings.TrimSuffix(l.Arrivals, ")") + "," + f.speed + ")"
		}
	}
	s, err := experiment.Ask(name, "Which of the arms serves "+asks+" best?", w, l)
	return s, usage(err)
}

// question is a named scenario, or what the flags ask without one.
func (f *compareFlags) question(name string) (experiment.Scenario, error) {
	if f.adhoc.given() {
		return f.adhoc.scenario()
	}
	s, _, err := findScenario(name)
	return s, err
}
