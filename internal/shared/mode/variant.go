package mode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Part is one of the parts that a flag of serve may exchange in a mode: another queue, a thread for
// each worker, a single listener.
type Part struct {
	Flag   string
	Values []string // the values of the flag that choose the part
	Flags  []string // the flags that mean something with this part only
	// Change makes the mode one with the part. value is the one of Values that was given.
	Change func(m *Mode, value string)
}

// With returns the mode of a server with these flags of serve, given without dashes. Where an axis has
// alternatives, the flags choose one; the overflow policies stay, because a queue's default depends on the
// mode. Flags leaves out the flags of parts that were not chosen.
func (m Mode) With(flags map[string]string) Mode {
	a := &m.Axes
	for _, axis := range []*string{&a.Accept, &a.Queue, &a.Thread} {
		*axis, _, _ = strings.Cut(*axis, "|")
	}
	m.Flags, m.Spelling = slices.Clone(m.Flags), "--mode "+m.Name
	for _, p := range m.Parts {
		value := flags[p.Flag]
		if !slices.Contains(p.Values, value) || !m.Has(p.Flag) { // the flag may belong to a part that was not chosen
			m.Flags = slices.DeleteFunc(m.Flags, func(flag string) bool { return slices.Contains(p.Flags, flag) })
			continue
		}
		p.Change(&m, value)
		if m.Spelling += " --" + p.Flag; value != "true" {
			m.Spelling += " " + value
		}
	}
	return m
}

// PartOf returns the part without which the flag means nothing to the mode; false if there is none.
func (m Mode) PartOf(flag string) (Part, bool) {
	i := slices.IndexFunc(m.Parts, func(p Part) bool { return slices.Contains(p.Flags, flag) })
	if i < 0 {
		return Part{}, false
	}
	return m.Parts[i], true
}

// Takes reports whether the mode has that flag with that value. Every mode with --queue has the shared
// queue.
func (m Mode) Takes(flag, value string) bool {
	if flag != "queue" || value == "" || value == "shared" {
		return m.Has(flag)
	}
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Flag == flag && slices.Contains(p.Values, value) })
}

// An OldName is the name of a former mode that is now a mode with a flag. It is accepted wherever a
// mode is named.
type OldName struct {
	Name, Mode, Flag string
	Values           []string // the values of the flag that it may have; the first one if none is given
}

// OldNames are the names of the former modes. It must not be modified.
var OldNames = []OldName{
	{Name: "pool-perworker", Mode: "pool", Flag: "queue", Values: []string{"rr", "least", "p2c"}},
	{Name: "pool-ring", Mode: "pool", Flag: "queue", Values: []string{"ring"}},
	{Name: "pool-adaptive", Mode: "pool-request", Flag: "queue", Values: []string{"adaptive"}},
	{Name: "threadpool", Mode: "pool", Flag: "locked", Values: []string{"true"}},
	{Name: "threads", Mode: "goroutine", Flag: "locked", Values: []string{"true"}},
	{Name: "loop-single", Mode: "loop", Flag: "listeners", Values: []string{"1"}},
}

// String returns the present spelling, such as --mode pool --queue ring.
func (o OldName) String() string {
	if o.Values[0] == "true" {
		return "--mode " + o.Mode + " --" + o.Flag
	}
	return "--mode " + o.Mode + " --" + o.Flag + " " + o.Values[0]
}

// Old returns the entry of an old name; false for any other name.
func Old(name string) (OldName, bool) {
	i := slices.IndexFunc(OldNames, func(o OldName) bool { return o.Name == name })
	if i < 0 {
		return OldName{}, false
	}
	return OldNames[i], true
}

// Renamed returns a mode and its flags of serve in their present spelling, and leaves other names and
// flags as they are. It does not change the map. It returns an error if the flags contradict
// an old name.
func Renamed(name string, flags map[string]string) (string, map[string]string, error) {
	_, executor := flags["executor"]
	old, renamed := Old(name)
	if !renamed && !executor {
		return name, flags, nil
	}
	given := maps.Clone(flags)
	if given == nil {
		given = map[string]string{}
	}
	if executor { // the former flag of pool-request: own or ring
		delete(given, "executor")
		if value := flags["executor"]; value != "own" && given["queue"] == "" {
			given["queue"] = value
		} else if value == "ring" && given["queue"] != "ring" {
			return name, flags, fmt.Errorf("--executor ring is the old spelling of --queue ring, and --queue %s is given too; drop one", given["queue"])
		}
	}
	if !renamed {
		return name, given, nil
	}
	switch value := given[old.Flag]; {
	case value == "":
		given[old.Flag] = old.Values[0]
	case !slices.Contains(old.Values, value):
		return name, flags, fmt.Errorf("--%s %s contradicts --mode %s, the old name of %v; give --mode %s", old.Flag, value, name, old, old.Mode)
	}
	return old.Mode, given, nil
}
