package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/prose"
	"schedlab/internal/record"
)

// machine describes the CPUs, the machine and the Go version that servers and load had, in one
// line. A result holds for the machine that it was measured on.
func machine(e record.Env, arms []record.Arm) string {
	if e.CPUs == 0 {
		return "the machine was not recorded"
	}
	parts := []string{"server " + servers(e, arms, func(procs string) string { return side(e.ServerCPUs, e.CPUs, procs) }), "load " + side(e.LoadCPUs, e.CPUs, procs(e.LoadProcs))}
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	}
	if e.Virtualised {
		parts = append(parts, "virtual machine")
	}
	if e.Go != "" {
		parts = append(parts, e.Go)
	}
	return strings.Join(parts, "; ")
}

// side describes the CPUs and the GOMAXPROCS of one side, servers or load. list is a set of
// CPUs such as "0-3"; a list that is none means that the side is not pinned and may use all
// cpus CPUs. procs is GOMAXPROCS in words.
func side(list string, cpus int, procs string) string {
	set, err := record.ParseCPUs(list)
	if err != nil {
		return fmt.Sprintf("not pinned (%s, %s)", plural(cpus, "CPU"), procs)
	}
	return fmt.Sprintf("on CPU%s%s (%s, %s)", nbsp, list, plural(len(set), "CPU"), procs)
}

// servers describes where the arms' servers ran. here formats the place that the plan has for
// servers, given their GOMAXPROCS; it is used for all servers that ran there. Servers elsewhere
// are named one by one, since arms on other CPUs do not compare equally.
func servers(e record.Env, arms []record.Arm, here func(procs string) string) string {
	var parts, rest []string
	var placed []record.Arm
	for _, a := range choices(arms) {
		if where := elsewhere(a); where != "" {
			parts = append(parts, a.Name+": "+where)
		} else {
			placed, rest = append(placed, a), append(rest, a.Name)
		}
	}
	switch {
	// Most runs have all servers in one place, which is then told once.
	case len(parts) == 0:
		return here(serverProcs(e, arms))
	case len(placed) > 0:
		parts = append(parts, strings.Join(rest, ", ")+": "+here(serverProcs(e, placed)))
	}
	return strings.Join(parts, "; ")
}

// elsewhere describes where an arm's server ran, if not where the plan has servers; "" if it
// ran there. A server may run elsewhere because it ran before schedlab did, or because its own
// command pins it.
func elsewhere(a record.Arm) string {
	switch {
	case a.CPUs == "" && !a.Attached:
		return ""
	case a.CPUs == "":
		return "ran already, not pinned"
	case a.Attached:
		return cpus(a.CPUs) + nbsp + a.CPUs + ", not pinned"
	}
	return cpus(a.CPUs) + nbsp + a.CPUs + " by its own choice"
}

// serverProcs returns the GOMAXPROCS of the servers, with the arms' names behind each number if
// they differ.
func serverProcs(e record.Env, arms []record.Arm) string {
	of := map[int][]string{}
	for _, a := range choices(arms) {
		n := cmp.Or(a.Procs, e.ServerProcs)
		of[n] = append(of[n], a.Name)
	}
	var all []string
	for _, n := range slices.Sorted(maps.Keys(of)) {
		all = append(all, procs(n))
		if len(of) > 1 {
			all[len(all)-1] += " in " + strings.Join(of[n], ", ")
		}
	}
	if len(all) == 0 {
		return procs(e.ServerProcs)
	}
	return strings.Join(all, ", ")
}

// procs returns "GOMAXPROCS 4".
func procs(n int) string { return fmt.Sprintf("GOMAXPROCS%s%d", nbsp, n) }

// Load describes a load in a few words, for the plan and the reports: the kind of loop, and
// then each setting that is not the usual one. A closed loop sends when it is answered; an open
// loop keeps to arrivals.
func Load(c record.Clients) string {
	if c.Closed() {
		parts := []string{"closed loop of " + prose.Plural(c.Connections, "client")}
		for _, extra := range []struct {
			on   bool
			text string
		}{
			{c.Rate > 0, fmt.Sprintf("paced at %.0f/s together", c.Rate)},
			{c.Think > 0, fmt.Sprintf("that think %v", record.Duration(c.Think))},
			{c.Session > 0, fmt.Sprintf("sessions of %d", c.Session)},
			{c.Pipeline > 1, fmt.Sprintf("%d requests under way each", c.Pipeline)},
			{c.Ramp > 0, fmt.Sprintf("started over %v", record.Duration(c.Ramp))},
			{!c.KeepAlive, "a connection for each request"},
		} {
			if extra.on {
				parts = append(parts, extra.text)
			}
		}
		return strings.Join(parts, ", ")
	}
	text := "open loop, " + c.Arrivals
	if c.Rate > 0 {
		text += fmt.Sprintf(" at %.0f/s", c.Rate)
	}
	if c.KeepAlive {
		text += " over " + prose.Plural(c.Connections, "connection")
	} else {
		text += ", a connection for each request"
	}
	if c.Idle > 0 {
		text += fmt.Sprintf(", %d idle ones beside them", c.Idle)
	}
	if c.Engine != "" {
		text += ", sent by the engine " + c.Engine
	}
	return text
}

// sizeFlags are the flags of `schedlab serve` that bound how much a server does at a time, with
// the word for one of them. They are the settings that a reader needs to compare two modes.
var sizeFlags = []struct{ flag, one string }{{"workers", "worker"}, {"listeners", "listener"}, {"processes", "process"}, {"threads", "thread"}}

// mostSizes is how many arms the line may name. A line that names more of them is too long to
// read.
const mostSizes = 3

// sizes tells what the arms' names leave out: the mode behind another name, and how many workers,
// listeners or processes an arm has: "mine is pool-request with 4 workers". "" if the names say it
// all, or if it would name more than mostSizes arms.
func sizes(arms []record.Arm) string {
	var all []string
	for _, a := range choices(arms) {
		// The sizes are only in the command. A command of another program, without a mode, has
		// flags of its own.
		words, err := command.Split(a.Command)
		if a.Mode == "" || err != nil {
			continue
		}
		var has []string
		for _, s := range sizeFlags {
			i := slices.Index(words, "--"+s.flag)
			if i >= 0 && i+1 < len(words) && !strings.Contains(a.Name, s.flag+"=") {
				noun := s.flag
				if words[i+1] == "1" {
					noun = s.one
				}
				has = append(has, words[i+1]+nbsp+noun)
			}
		}
		text := a.Name
		// The name of an arm begins with its mode unless the user chose another name.
		if first, _, _ := strings.Cut(a.Name, ","); first != a.Mode {
			text += " is " + a.Mode
			if len(has) > 0 {
				text += " with " + strings.Join(has, " and ")
			}
		} else if text += " has " + strings.Join(has, " and "); len(has) == 0 {
			continue
		}
		all = append(all, text)
	}
	if len(all) > mostSizes {
		return ""
	}
	return strings.Join(all, "; ")
}
