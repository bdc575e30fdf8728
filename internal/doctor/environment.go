package doctor

import (
	"slices"
	"strings"
)

// shaping are the variables that the Go runtime of every server reads.
var shaping = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"}

// building are the words of GOFLAGS that make another program of the same source.
var building = []string{"-race", "-gcflags", "-ldflags", "-cover", "-tags", "-msan", "-asan", "-pgo"}

func (m *Machine) environment() seen {
	var set, names []string
	for _, v := range m.Environ {
		name, value, _ := strings.Cut(v, "=")
		shapes := slices.Contains(shaping, name) && value != ""
		if name == "GOFLAGS" {
			shapes = slices.ContainsFunc(building, func(word string) bool { return strings.Contains(value, word) })
		}
		if shapes {
			set, names = append(set, v), append(names, name)
		}
	}
	if len(set) == 0 {
		return fine("nothing set that shapes Go programs")
	}
	slices.Sort(set)
	slices.Sort(names)
	return seen{Warn, strings.Join(set, ", "), "env -u " + strings.Join(names, " -u ") + " schedlab ...; keep what is meant, and say so with --note"}
}
