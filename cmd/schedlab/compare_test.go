package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/stats"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	refused, same := record.Verdict{Primary: true, Verdict: stats.Decision{Outcome: outcome.Refused}}, record.Verdict{Primary: true, Verdict: stats.Decided(stats.Same)}
	goodput := record.Verdict{Metric: stats.Goodput, Verdict: stats.Decided(stats.Same)}
	for _, c := range []struct {
		verdicts     []record.Verdict
		answers      []outcome.Outcome
		code, strict int
	}{
		{[]record.Verdict{refused, goodput}, nil, exitPartial, exitPartial},
		{[]record.Verdict{refused, {Metric: stats.Goodput, Verdict: stats.Decided(stats.Lower)}}, nil, exitDone, exitDone}, // it does not keep up
		{[]record.Verdict{refused, same}, nil, exitDone, exitDone},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Open}, exitDone, exitPartial},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Open}, exitPartial, exitPartial},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Refused, outcome.Refused}, exitPartial, exitPartial}, // nothing that was asked
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Refused, outcome.Open}, exitDone, exitPartial},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Yes, outcome.Open}, exitDone, exitPartial},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Yes}, exitDone, exitDone},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Open, outcome.No}, exitExpectation, exitExpectation},
	} {
		r := &record.Result{Verdicts: c.verdicts}
		for _, a := range c.answers {
			r.Expectations = append(r.Expectations, record.Expectation{Outcome: a})
		}
		for strict, want := range map[bool]int{false: c.code, true: c.strict} {
			packed := exitDone
			if err, ok := packOutcome([]report.PackEntry{{Result: r}}, nil, strict).(*exitError); ok {
				packed = err.code
			}
			if got, _ := deserved([]report.PackEntry{{Result: r}}, strict); got != want || packed != want {
				t.Errorf("%v, strict %v: got %d, as a pack %d, want %d", c, strict, got, packed, want)
			}
		}
	}
}

// One error's exit code hides neither the words around it nor an error beside it.
func TestEveryErrorIsTold(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	err := errors.Join(about("a.yaml", 2, usagef("--rate is missing")), errors.New("the disk is full"))
	if code := tell(&cobra.Command{}, err, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	if want := "schedlab: scenario \"a.yaml\": --rate is missing\nschedlab: the disk is full\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
	stderr.Reset()
	if code := tell(&cobra.Command{}, exit(exitPartial), &stderr); code != exitPartial || stderr.String() != "" {
		t.Errorf("of a report that says everything: exit code %d and %q", code, stderr.String())
	}
}
