package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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
	sizing.Answer
	flags *sizeFlags
	test  string // the command that tests the advice

	verified   *verification // with --verify
	unverified string        // why --verify came to nothing
}

// advise works it out.
func (f *sizeFlags) advise(d sizing.Demand, slo stats.SLO) (*sized, error) {
	cores := f.cores
	if cores == 0 {
		var err error
		if cores, err = experiment.ServerCPUs(f.options); err != nil {
			return nil, usage(err)
		}
	}
	a, err := sizing.Advise(d, slo, sizing.Options{Rate: f.rate.PerSecond, Cores: cores, Margin: f.margin, Seed: f.options.Seed})
	return &sized{Answer: a, flags: f}, err
}

// assumed reports whether the SLO's errors term is ours.
func (s *sized) assumed() bool { return s.SLO != nil && !strings.Contains(s.flags.slo, "errors") }

// exit is the command's end: an error with the code that the answer deserves.
func (s *sized) exit() error {
	switch {
	case s.Hopeless(), s.verified != nil && s.verified.Verdict == sizing.AdviceWrong:
		return &exitError{code: exitExpectation}
	case s.verified != nil && s.verified.Verdict != sizing.AdviceRight:
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
	if names := s.Broken(o); names != nil {
		return "BROKEN: " + strings.Join(names, ", ")
	}
	return "kept"
}

// formula names what an outcome is from.
func (s *sized) formula(o queueing.Outcome) string {
	switch {
	case o.Formula == "replay":
		return fmt.Sprintf("replay of %d requests", len(s.Ask.Trace))
	case o.Approximate:
		return o.Formula + ", CPU counted as time held"
	}
	return o.Formula
}

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
