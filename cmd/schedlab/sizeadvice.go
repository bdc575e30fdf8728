package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/sizing"
	"schedlab/internal/stats"
)

// A sized pool is the answer, and what was asked.
type sized struct {
	sizing.Page
	flags *sizeFlags
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
	page := sizing.Page{Answer: a, Rate: f.rate.String()}
	if slo != nil && !strings.Contains(f.slo, "errors") {
		page.Assumed = assumed
	}
	if f.histogram == stdin || f.csv == stdin {
		page.Stdin = keptIn
	}
	return &sized{page, f}, err
}

// exit is the command's end: an error with the code that the answer deserves.
func (s *sized) exit() error {
	switch {
	case s.Hopeless(), s.Verified != nil && s.Verified.Verdict == sizing.AdviceWrong:
		return &exitError{code: exitExpectation}
	case s.Verified != nil && s.Verified.Verdict != sizing.AdviceRight:
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
