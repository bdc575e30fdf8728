package doctor

import (
	"slices"
	"strings"

	"schedlab/internal/record"
)

// shaping are the environment variables that the Go runtime of every server reads.
var shaping = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"}

// building are the flags in GOFLAGS that compile the same source to a different program.
var building = []string{"-race", "-gcflags", "-ldflags", "-cover", "-tags", "-msan", "-asan", "-pgo"}

// environment warns of variables that change how Go programs are built or run.
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
	slices.Sort(set)
	slices.Sort(names)
	return fine(goSettings, nil, record.Names{"set": strings.Join(set, ", "), "unset": strings.Join(names, " -u ")}).graded(false, len(set) > 0)
}
