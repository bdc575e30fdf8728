package host

import (
	"schedlab/internal/shared/cpuset"
	"testing"
)

// Procs is what Go's runtime makes of GOMAXPROCS, the CPUs of a server and the limit of its control
// group: a limit lowers the number of Ps, never below two.
func TestProcs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		cpus  int
		limit float64
		want  int
	}{
		{"", 1, 0, 1}, {"", 4, 0, 4},
		{"", 4, 1, 2}, {"", 4, .5, 2}, {"", 4, 2, 2}, {"", 4, 2.1, 3}, {"", 4, 3.9, 4}, {"", 4, 4, 4}, {"", 4, 16, 4},
		{"", 1, 1, 1}, {"", 1, .5, 1}, {"", 2, 1e300, 2},
		{"1", 4, 0, 1}, {"1", 4, 1, 1}, {"8", 4, 1, 8},
		{"0", 4, 1, 2}, {"-1", 4, 3, 3}, {"none", 4, 0, 4}, {"9999999999", 4, 0, 4},
	} {
		s := Sides{Server: make(cpuset.Set, c.cpus), Inherited: Inherited{Limit: c.limit}}
		if got := s.Procs(c.value); got != c.want {
			t.Errorf("GOMAXPROCS=%q on %d CPUs with a limit of %v: got %d Ps, want %d", c.value, c.cpus, c.limit, got, c.want)
		}
	}
}
