package judge

import (
	"cmp"
	"fmt"
	"math"

	"schedlab/internal/capacity"
	"schedlab/internal/prose"
	"schedlab/internal/window"
)

// calmer is what helps against windows that the machine spoiled.
const calmer = " (stop other programs, or choose CPUs with --server-cpus and --load-cpus)"

// calmer is what helps against this arm's refused windows.
func (a *searched) calmer() string { return cmp.Or(a.outrun(), calmer) }

// crowded is the share of the load's CPUs from which on its own lateness is no longer
// put down to other programs: half of what a window allows it.
const crowded = window.GeneratorLimit / 2

// outrun says that the arm is too fast for the generator, where most refusals are its
// and came while it was busy itself; "" where not.
func (a *searched) outrun() string {
	refused, late := 0, 0
	least, full := math.Inf(1), 0.0
	for i, w := range a.windows {
		if w.Refused == "" || w.Purpose == capacity.Overload {
			continue
		}
		refused++
		if i < len(a.beside) && ofGenerator(w.Refused) && a.beside[i].generator >= crowded {
			late++
			least, full = min(least, w.Rate), max(full, a.beside[i].generator)
		}
	}
	if 2*late <= refused {
		return ""
	}
	return fmt.Sprintf("; the generator is the limit: from %s on it cannot keep its schedule, its CPUs up to %.0f %% busy, and so cannot overload this arm; give it more of them with --load-cpus, or ask for what costs the server more",
		prose.PerSecond(least), 100*min(full, 1))
}

// stopped says what ended all searches; "" for nothing.
func (a *searched) stopped() string {
	if a.cut == "" || len(a.windows) >= a.options.Windows {
		return ""
	}
	return fmt.Sprintf("%s after %s", a.cut, prose.Plural(len(a.windows), "window"))
}

// recovery says that a server was overloaded and it is open whether it recovers; "" else.
func (a *searched) recovery(f capacity.Finding) string {
	if _, known := f.Recovers(); known || f.AgainOf == 0 || a.diedOverloaded(f) {
		return ""
	}
	why := "no more could be used"
	switch {
	case a.stopped() != "":
		why = "the search was " + a.cut
	case len(a.windows) >= a.options.Windows:
		why = "the budget ended"
	}
	return fmt.Sprintf("; recovery undecided: after the overload %d of %s at %s kept it, and %s", f.AgainKept, prose.Plural(f.AgainOf, "window"), prose.PerSecond(f.Low), why)
}

// after puts a clause behind others, "" for none.
func after(clause string) string {
	if clause == "" {
		return ""
	}
	return "; " + clause
}

// refusals are those of the arm, the last with its reason and what helps; "" for none.
func (a *searched) refusals(f capacity.Finding) string {
	if f.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %s are refused, the last for %s%s", f.Refused, prose.Plural(len(a.windows), "window"), a.lastRefusal(), a.calmer())
}

// why is what most likely kept a search from its end.
func (a *searched) why(f capacity.Finding) string {
	if text := after(a.stopped()) + a.refusals(f); text != "" {
		return text
	}
	return "; windows of one rate differ too much, or the budget is too small: lengthen --window or raise --budget"
}

func (a *searched) lastRefusal() (why string) {
	for _, w := range a.windows {
		if w.Refused != "" {
			why = w.Refused
		}
	}
	return why
}
