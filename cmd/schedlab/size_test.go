package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/advise"
	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// sizeOf is the advice for a workload, as the command gives it.
func sizeOf(t *testing.T, rate, workload, slo string) (*advise.Page, *sizeFlags) {
	t.Helper()
	f := &sizeFlags{workload: workload, margin: 0.15, mode: "pool-request"}
	f.slo, f.cores = slo, 1
	f.Seed, f.Budget = 1, time.Minute
	if err := f.rate.Set(rate); err != nil {
		t.Fatal(err)
	}
	d, err := advise.ParseWorkload(workload)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := advise.Objective(slo, f.rate.PerSecond, false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.advise(d, terms)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// What the blocks say decides the verdict on the advice, and the exit code.
func TestVerdictOnAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		advised, fewer record.Answer
		verdict        string
		code           int
	}{
		{record.Passed, record.Failed, advise.AdviceRight, exitDone},
		{record.Failed, record.Failed, advise.AdviceWrong, exitExpectation},
		{record.Passed, record.Passed, advise.AdviceWrong, exitExpectation},
		{record.Undecided, record.Passed, advise.AdviceWrong, exitExpectation},
		{record.Undecided, record.Failed, advise.AdviceUndecided, exitPartial},
		{record.Passed, record.Undecided, advise.AdviceUndecided, exitPartial},
	} {
		s := &advise.Page{Answer: advise.Answer{SLO: stats.SLO{{Metric: "mean", Limit: 1}}, Advice: queueing.Advice{Workers: 10}}}
		s.Verified = s.Verify(advise.PoolTest{}, queueing.Fewer(s.Advice.Workers), []judge.Keeping{{Answer: c.advised, Reason: record.Fact{Code: record.Unreadable, Names: record.Names{"error": "why"}}}, {Answer: c.fewer, Reason: record.Fact{Code: record.Unreadable, Names: record.Names{"error": "why"}}}})
		if s.Verified.Verdict != c.verdict || s.Verified.Why.None() != (c.verdict == advise.AdviceRight) {
			t.Errorf("%s and %s: %q because %q, want %q", c.advised, c.fewer, s.Verified.Verdict, s.Verified.Why, c.verdict)
		}
		code := exitDone
		if exit, ok := sizeExit(s).(*exitError); ok {
			code = exit.code
		}
		if code != c.code {
			t.Errorf("%s and %s: exit code %d, want %d", c.advised, c.fewer, code, c.code)
		}
	}
}

// Samples are tested by a stand-in, which the verification says.
func TestVerificationOfSamplesIsDoubted(t *testing.T) {
	t.Parallel()
	kept := []judge.Keeping{{Answer: record.Passed}, {Answer: record.Failed}}
	for text, want := range map[string]int{"10\n20\n30\n": 1, "": 0} {
		s := &advise.Page{Answer: advise.Answer{SLO: stats.SLO{{Metric: "mean", Limit: 1}}, Advice: queueing.Advice{Workers: 10}}}
		if text != "" {
			var err error
			if s.Demand, err = advise.ReadCSV(strings.NewReader(text), "t.csv", "", "ms"); err != nil {
				t.Fatal(err)
			}
		}
		v := s.Verify(advise.PoolTest{}, 8, kept)
		if len(v.Doubts) != want || v.Verdict != advise.AdviceRight {
			t.Errorf("samples %q: %s with the doubts %q, want %d", text, v.Verdict, v.Doubts, want)
		}
	}
}

// Every mode's scenario can be planned, with windows that carry the SLO's quantiles.
func TestScenarioOfVerify(t *testing.T) {
	t.Parallel()
	s, f := sizeOf(t, "300/s", "cpu=100us,sleep=exp(20ms)", "p99<=120ms")
	for _, name := range sizedModes() {
		f.mode = name
		question, err := s.Scenario(f.tested(0))
		if err != nil {
			t.Fatal(err)
		}
		c, err := experiment.Plan(question, experiment.Options{Self: "schedlab", Modes: modeFacts(), Iters: 100})
		if err != nil {
			t.Fatalf("%v\n%s", err, question.Source)
		}
		p := c.Planned()
		if n := 300 * p.Window; p.Blocks != advise.TestBlocks || n < 1.1*float64(stats.MinRequests(0.99)) {
			t.Errorf("%s: %d blocks of %g requests", name, p.Blocks, n)
		}
	}
}

// The page's examples are what the command prints.
func TestSizePageIsReal(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "size.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```text\n\\$ schedlab (.*?)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) != 2 {
		t.Errorf("%d examples on the page, want 2", len(examples))
	}
	for _, e := range examples {
		args, err := command.Split(e[1])
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitDone {
			t.Errorf("%s: exit code %d, %s", e[1], code, &stderr)
		}
		if diff := cmp.Diff(e[2], stdout.String()); diff != "" {
			t.Errorf("%s (-page +printed):\n%s", e[1], diff)
		}
	}
}

// The answer fits on a screen, and comes first.
func TestSizeAnswersOnAScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s, _ := sizeOf(t, "300/s", "cpu=exp(1500us),sleep=20ms", "p99<=60ms,errors<=0.5%")
	s.Test = "schedlab size --verify"
	if err := s.Write(&out, "text", false); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 24 || !strings.Contains(lines[0], " workers and a queue of ") {
		t.Errorf("got %d lines, want 24 at most, the answer first:\n%s", len(lines), text)
	}
	for _, want := range []string{"\nSure ", "\nTest it, in ", "\nDoubts ", "\nMore "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
