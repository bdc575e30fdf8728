package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/queueing"
	"schedlab/internal/sizing"
	"schedlab/internal/stats"
)

// A sized pool is what was asked, what came of it, and how to say it.
type sized struct {
	flags  *sizeFlags
	demand sizing.Demand
	slo    stats.SLO // nil when none was given
	test   string    // the command that tests the advice

	ask      queueing.Ask
	advice   queueing.Advice
	waits    []queueing.Outcome // without an SLO
	knee     int                // of waits
	verified *verification      // with --verify

	unverified string // why --verify came to nothing
}

// advise works it out.
func (s *sized) advise() error {
	cores := s.flags.cores
	if cores == 0 {
		var err error
		if cores, err = experiment.ServerCPUs(s.flags.options); err != nil {
			return usage(err)
		}
	}
	rate := s.flags.rate.PerSecond
	s.ask = queueing.Ask{
		Load:        s.demand.Load(rate, traceOf(s.slo), s.flags.options.Seed),
		Exponential: s.demand.Exponential(), Cores: cores, Margin: s.flags.margin, Keep: keeps(s.slo, rate),
	}
	var err error
	if s.slo == nil {
		s.waits, s.knee, err = queueing.Waits(s.ask)
		return err
	}
	s.advice, err = queueing.Size(s.ask)
	return err
}

// assumed reports whether the SLO's errors term is ours.
func (s *sized) assumed() bool { return s.slo != nil && !strings.Contains(s.flags.slo, "errors") }

// doubts are what the demand's source, the replay and theory cannot tell, sentences
// without a full stop.
func (s *sized) doubts() []string {
	all := slices.Clone(s.demand.Doubts)
	if o := s.advice.Expected; s.slo != nil && o.Formula == "replay" {
		all = append(all, s.rare(o.Counted)...)
	}
	return append(all, "theory knows no cost of parsing, switching, timers or the collector, and takes arrivals for Poisson; bursts need more")
}

// rare are the doubts about terms that so many replayed requests say little of.
func (s *sized) rare(replayed int) (all []string) {
	n := float64(replayed)
	for _, t := range s.slo {
		switch {
		case t.Metric == "errors" && t.Limit*n < 10:
			// The rule of three: 3/n is the upper end of a 95 % interval for what was not seen.
			all = append(all, fmt.Sprintf("%s is rarer than %d replayed requests can tell: even where none was lost, up to %s may be", t, replayed, percentText(3/n)))
		case t.Quantile > 0 && (1-t.Quantile)*n < 100:
			all = append(all, fmt.Sprintf("%s rests on the %.0f slowest of %d replayed requests", quantileName(t.Quantile), (1-t.Quantile)*n, replayed))
		}
	}
	return all
}

// exit is the command's end: an error with the code that the answer deserves.
func (s *sized) exit() error {
	hopeless := s.slo != nil && s.advice.Workers == 0 || s.slo == nil && len(s.waits) == 0
	switch {
	case hopeless, s.verified != nil && s.verified.Verdict == adviceWrong:
		return &exitError{code: exitExpectation}
	case s.verified != nil && s.verified.Verdict != adviceRight:
		return &exitError{code: exitPartial}
	}
	return nil
}

// fromFileOf has read take a file, or standard input for -.
func fromFileOf(cmd *cobra.Command, name string, read func(io.Reader, string) (sizing.Demand, error)) (sizing.Demand, error) {
	if name == stdin {
		return read(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return sizing.Demand{}, err
	}
	defer file.Close()
	d, err := read(file, name)
	if info, bad := file.Stat(); err != nil && bad == nil && info.IsDir() {
		err = errors.New(name + " is a directory; name a file")
	}
	return d, err
}

// broken names the terms that an outcome does not keep, "kept" if it keeps all.
func (s *sized) broken(o queueing.Outcome) string {
	var names []string
	for _, t := range s.slo {
		if !t.Holds(figureOf(t, o, s.ask.Rate)) {
			names = append(names, t.Metric)
		}
	}
	if names == nil {
		return "kept"
	}
	return "BROKEN: " + strings.Join(names, ", ")
}

// quantiles are those to be shown: the usual three and the SLO's, ascending.
func (s *sized) quantiles() []float64 {
	all := []float64{0.5, 0.9, 0.99}
	for _, t := range s.slo {
		if t.Quantile > 0 {
			all = append(all, t.Quantile)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// formula names what an outcome is from.
func (s *sized) formula(o queueing.Outcome) string {
	switch {
	case o.Formula == "replay":
		return fmt.Sprintf("replay of %d requests", len(s.ask.Trace))
	case o.Approximate:
		return o.Formula + ", CPU counted as time held"
	}
	return o.Formula
}

func quantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// timeText is seconds for people, with three digits.
func timeText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "without end"
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case v < 1e-3:
		return digits(1e6*v) + " us"
	case v < 1:
		return digits(1e3*v) + " ms"
	}
	return digits(v) + " s"
}

// digits writes three of them, and all before the point.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func percentText(ratio float64) string {
	if 0 < ratio && ratio < 1e-6 {
		return "<0.0001 %"
	}
	return digits(100*ratio) + " %"
}
