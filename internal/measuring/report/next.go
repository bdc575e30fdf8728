package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// A step is the one command that a report advises to run next, and what for. The zero value advises none.
type step struct{ why, command string }

// nextOf returns the step after a run: the same again on a quiet machine, in full, or for longer if that may decide what is open;
// else, or if the record has no command line, the search for the causes of a sure difference.
func nextOf(r record.Result) step {
	if again := againOf(r); again.command != "" || r.Head().Status == record.Interrupted {
		return again
	}
	c, compared := r.(*record.Comparison)
	// The cause of a gate's difference is in the code of the new build.
	if !compared || reasonOf(&c.Common) != nil || len(c.Gate) > 0 ||
		!slices.ContainsFunc(c.Verdicts, func(v record.Verdict) bool { return v.Primary && differs(v) }) {
		return step{}
	}
	return step{"to see why they differ", "schedlab explain " + cmdline.Quote(runName(&c.Common))}
}

// againOf returns the step that repeats a run; one without a command if that would tell no more.
func againOf(r record.Result) step {
	head := r.Head()
	again := func(why string, flags ...string) step { return step{why, withFlags(head.Command, flags)} }
	switch {
	case !doubt.TooBusy(head.Doubts).None():
		if hasWaited(head) {
			return step{} // the same again would meet the same programs
		}
		return again("it starts as soon as other programs leave the CPUs alone", "wait-idle 2m")
	case head.Status == record.Interrupted:
		return again("to measure all of the plan")
	}
	switch r := r.(type) {
	case Content:
		if longer := r.Longer(); longer > 0 {
			return again("for longer, to find what is open", "budget "+typed(longer))
		}
	case *record.Comparison:
		if tooFast(r) {
			return again("at a rate that all arms can carry", fmt.Sprintf("rate %gx", carriedShare))
		}
		if flags := longer(r); flags != nil {
			return again("for longer, to decide what is open", flags...)
		}
	}
	return step{}
}

// carriedShare is the share of the slowest arm's highest rate that is advised after an overload.
const carriedShare = .6

// tooFast reports whether a comparison has no answer because an arm, or the load, was overloaded at more than carriedShare of the
// slowest arm's highest rate, so that the same rate would tell no more. It is false where a grid or an arm has the rate.
func tooFast(r *record.Comparison) bool {
	decided := r.Answer.Outcome.Decided()
	if len(r.Gate) > 0 {
		decided = r.GateOutcome().Decided()
	}
	if decided || len(r.Verdicts) == 0 || !slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return a.Behind || loadAtLimit(r, a) }) {
		return false
	}
	slowest := math.Inf(1)
	for _, a := range r.Arms {
		if a.XMax != nil {
			slowest = min(slowest, *a.XMax)
		}
	}
	if !math.IsInf(slowest, 1) && r.Rate <= carriedShare*slowest {
		return false
	}
	words, err := cmdline.Split(r.Command)
	return err == nil && !slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(word, "rate=") && !strings.HasPrefix(word, "--rate=")
	})
}

// choosesRate reports whether a run's probes chose the rate of all arms, by its command line.
func choosesRate(r *record.Comparison) bool {
	words, err := cmdline.Split(r.Command)
	if err != nil || len(words) == 0 {
		return false
	}
	for i, word := range words {
		value, is := strings.CutPrefix(word, "--rate=")
		if word == "--rate" && i+1 < len(words) {
			value, is = words[i+1], true
		}
		if is && strings.HasSuffix(value, "/s") || !is && strings.Contains(word, "rate=") || strings.HasPrefix(word, "--log") {
			return false
		}
	}
	return slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return a.XMax != nil })
}

// hasWaited reports whether a run waited for a quiet machine before it started.
func hasWaited(r *record.Common) bool {
	words, err := cmdline.Split(r.Command)
	return err == nil && slices.ContainsFunc(words, func(word string) bool { return word == "--wait-idle" || strings.HasPrefix(word, "--wait-idle=") })
}

// wayOut tells what to do about the others that kept a run from an answer; "" if none did.
func wayOut(r *record.Common) string {
	busy := doubt.TooBusy(r.Doubts)
	switch {
	case busy.None():
		return ""
	case hasWaited(r):
		return busy.Part("after waiting")
	}
	return busy.Part("do")
}

// longer returns the flags with which the same run may decide what is open; nil if the answer does not depend on that, or if they are
// not known.
func longer(r *record.Comparison) []string {
	needed := 0
	if r.GateOutcome() == outcome.Open {
		needed = neededByGate(r)
	}
	var open []record.Verdict
	if len(r.Gate) == 0 {
		open = openAsked(r)
	}
	for _, v := range open {
		needed = max(needed, v.Needed)
	}
	if _, flags := needs(r, needed); flags != nil {
		if len(r.Gate) > 0 {
			flags = append(flags, sameRate(r)...)
		}
		return flags
	}
	// No block decides what is open, but windows are too short for a quantile, and there is no answer, or not the whole one, without it.
	var refused []fact.Fact
	switch {
	case r.GateOutcome() == outcome.Open:
		for _, g := range r.Gate {
			if !g.Watched {
				refused = append(refused, g.Reason)
			}
		}
	case len(r.Gate) == 0 && (r.Answer.Outcome == outcome.Refused || len(open) == 0 && !r.Answer.Outcome.Decided()):
		for _, v := range r.Verdicts {
			refused = append(refused, v.Reason)
		}
	}
	for _, why := range refused {
		if few, is := fact.In(doubt.FewRequests, why); is && few.Longer != nil {
			flags := append([]string{"window " + typed(few.Window)}, sameRate(r)...)
			if few.Budget > 0 {
				flags = append(flags, "budget "+typed(few.Budget))
			}
			return flags
		}
	}
	return nil
}

// sameRate returns the flag that keeps the rate which a run's probes chose: those of the next may choose another, at which the window is
// too short again, or the answer another one. nil if they chose none.
func sameRate(r *record.Comparison) []string {
	if rate := math.Round(r.Rate); rate > 0 && choosesRate(r) {
		return []string{fmt.Sprintf("rate %.0f/s", rate)}
	}
	return nil
}

// withFlags returns a command line with these flags, each a name and a value, in place of its own of those names; "" if there is no
// command line.
func withFlags(line string, flags []string) string {
	words, err := cmdline.Split(line)
	if err != nil {
		return ""
	}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, " ")
		words = slices.DeleteFunc(words, func(word string) bool { return strings.HasPrefix(word, "--"+name+"=") })
		if i := slices.Index(words, "--"+name); i >= 0 && i+1 < len(words) {
			words = slices.Delete(words, i, i+2)
		}
		words = append(words, "--"+name, value)
	}
	return cmdline.Join(words)
}

// typed returns a time as somebody would type it: 2m and not 2m0s.
func typed(seconds float64) string {
	text := record.Duration(seconds).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// facts returns the step for one screen.
func (s step) facts() document.Facts {
	if s.command == "" {
		return nil
	}
	return document.Facts{{Label: "Next", Text: document.Unbroken(s.command)}}
}

// parts returns the step for a page; nil for none.
func (s step) parts() []document.Part {
	if s.command == "" {
		return nil
	}
	return []document.Part{document.Page{document.Commands{{Label: "Run this next, " + s.why, Text: s.command}}}}
}
