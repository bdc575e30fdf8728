package report

import (
	"strings"
	"testing"

	"schedlab/internal/record"
)

// Where an arm's environment gives its server other Ps, every line that speaks of
// them says so.
func TestProcsOfTheArmsAreTold(t *testing.T) {
	t.Parallel()
	e := record.Env{CPUs: 2, ServerCPUs: "0", ServerProcs: 1, LoadCPUs: "1", LoadProcs: 2}
	arm := func(name string, procs int) record.Arm { return record.Arm{Name: name, Procs: procs} }
	base, twin := arm("a", 0), record.Arm{Name: "a'", Role: record.Copy}
	for _, c := range []struct {
		arms []record.Arm
		want string
	}{
		{nil, "1 CPU, 1 P"},
		{[]record.Arm{base, twin, arm("b", 0)}, "1 CPU, 1 P"},
		{[]record.Arm{base, twin, arm("b", 1)}, "1 CPU, 1 P"},
		{[]record.Arm{arm("a", 2), twin, arm("b", 2)}, "1 CPU, 2 Ps"},
		{[]record.Arm{base, twin, arm("b", 4), arm("c", 2), arm("d", 2)}, "1 CPU, 1 P in a, 2 Ps in c, d, 4 Ps in b"},
	} {
		r := &record.Result{Env: e, Arms: c.arms}
		if got, want := strings.ReplaceAll(conditions(r), nbsp, " "), "server: "+c.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := strings.ReplaceAll(machine(e, c.arms), nbsp, " "), "server on CPU 0 ("+c.want+"); load on CPU 1 (1 CPU, 2 Ps)"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q first", got, want)
		}
	}
}
