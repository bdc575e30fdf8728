package report

import (
	"strings"
	"testing"

	"schedlab/internal/record"
)

// An arm that ran already is not said to have the servers' CPUs and Ps.
func TestServersElsewhereAreTold(t *testing.T) {
	t.Parallel()
	e := record.Env{CPUs: 2, ServerCPUs: "0", ServerProcs: 1, LoadCPUs: "1", LoadProcs: 2}
	own := record.Arm{Name: "new"}
	for _, c := range []struct {
		arm  record.Arm
		want string
	}{
		{record.Arm{Name: "prod", Attached: true, CPUs: "0-1"}, "prod: CPUs 0-1, not pinned; new: "},
		{record.Arm{Name: "prod", Attached: true}, "prod: ran already, not pinned; new: "},
		{record.Arm{Name: "prod", CPUs: "1"}, "prod: CPU 1 by its own choice; new: "},
	} {
		twin := c.arm
		twin.Name, twin.Role = "prod'", record.Copy
		r := &record.Result{Env: e, Arms: []record.Arm{c.arm, twin, own}}
		if got, want := strings.ReplaceAll(conditions(r), nbsp, " "), "server: "+c.want+"1 CPU, GOMAXPROCS 1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := strings.ReplaceAll(machine(e, r.Arms), nbsp, " "), "server "+c.want+"on CPU 0 (1 CPU, GOMAXPROCS 1); load on CPU 1 (1 CPU, GOMAXPROCS 2)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

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
		{nil, "1 CPU, GOMAXPROCS 1"},
		{[]record.Arm{base, twin, arm("b", 0)}, "1 CPU, GOMAXPROCS 1"},
		{[]record.Arm{base, twin, arm("b", 1)}, "1 CPU, GOMAXPROCS 1"},
		{[]record.Arm{arm("a", 2), twin, arm("b", 2)}, "1 CPU, GOMAXPROCS 2"},
		{[]record.Arm{base, twin, arm("b", 4), arm("c", 2), arm("d", 2)}, "1 CPU, GOMAXPROCS 1 in a, GOMAXPROCS 2 in c, d, GOMAXPROCS 4 in b"},
	} {
		r := &record.Result{Env: e, Arms: c.arms}
		if got, want := strings.ReplaceAll(conditions(r), nbsp, " "), "server: "+c.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := strings.ReplaceAll(machine(e, c.arms), nbsp, " "), "server on CPU 0 ("+c.want+"); load on CPU 1 (1 CPU, GOMAXPROCS 2)"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q first", got, want)
		}
	}
}
