package judge

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/window"
)

// An unchecked rule silently passes a window that lacks the figure it needs. lacks gets a window
// and whether its server should have stamped.
//
// A rule that passes for lack of data looks like a rule that was kept. This file names such rules,
// so that the report does not claim more than was checked.
type unchecked struct {
	rule, why string
	machine   bool // about the machine and the load's process, and not about an arm
	lacks     func(w *modelled, stamped bool) bool
}

// rules holds the rules that need a figure which a record may lack.
var rules = []unchecked{
	{"unjoined requests and negative parts", "no server-side stamps were taken", false, func(w *modelled, stamped bool) bool { return !stamped || !w.Phases.Stamped }},
	{"imbalance of foreign load", "what others used of them is not known", false, func(w *modelled, _ bool) bool { return w.Trial.Server.Foreign < 0 }},
	{window.LawUtilisation, "the server's CPU time is not known", false, func(w *modelled, _ bool) bool { return w.Trial.Server.CPU < 0 }},
	{window.LawFlow + " (connections)", "the server shows no counters", false, func(w *modelled, _ bool) bool { return w.Trial.Server.Accepted < 0 }},
	{window.LawFlow + " (requests)", "the record does not tell what the load sent", false, func(w *modelled, _ bool) bool { return w.Trial.Client.Proof == nil }},
	{"imbalance of steal", "the kernel does not tell it", true, func(w *modelled, _ bool) bool { return w.Trial.Client.Steal < 0 }},
	{"imbalance of throttling", "the kernel does not tell it", true, func(w *modelled, _ bool) bool { return w.Trial.Client.Throttled < 0 }},
}

// notChecked lists the rules that could not be checked because the record lacks a figure. A rule
// about arms names the arms that lack it, unless all do. The list is for people, and is empty and
// not nil if all was checked.
func (b blocks) notChecked() []string {
	missing := []string{}
	for _, u := range rules {
		names, all := b.lacking(u)
		if len(names) == 0 {
			continue
		}
		of := ""
		if !all && !u.machine {
			of = " of " + strings.Join(names, ", ")
		}
		missing = append(missing, fmt.Sprintf("%s%s: %s", u.rule, of, u.why))
	}
	return missing
}

// lacking returns the arms that lack a figure in a valid window, or in any window if no block is
// valid. It names the copy only if the baseline has the figure. all reports that every arm lacks
// it.
func (b blocks) lacking(u unchecked) (names []string, all bool) {
	all = true
	for _, a := range b.run.Plan.Arms {
		stamped := Accounts(b.run.Plan, a.Name)
		lacks := false
		for block, arms := range b.windows {
			w, ok := arms[a.Name]
			if ok && (len(b.valid) == 0 || slices.Contains(b.valid, block)) {
				lacks = lacks || u.lacks(&w, stamped)
			}
		}
		all = all && lacks
		if lacks && (a.Role != record.Copy || len(names) == 0) {
			names = append(names, a.Name)
		}
	}
	return names, all
}
