package experiment

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// everyCPU lists the CPUs this process may use.
func everyCPU(t *testing.T) cpuSet {
	t.Helper()
	all, err := affinity()
	if err != nil && !errors.Is(err, errNoAffinity) {
		t.Fatal(err)
	}
	return all
}

func TestCPULists(t *testing.T) {
	t.Parallel()
	all := cpuSet{0, 1, 2, 3, 4, 5, 8, 9, 1023}
	for _, c := range []struct {
		list, again string
		want        cpuSet
	}{
		{"0", "0", cpuSet{0}},
		{"0-3,5", "0-3,5", cpuSet{0, 1, 2, 3, 5}},
		{"5,0-1,1-3", "0-3,5", cpuSet{0, 1, 2, 3, 5}},
		{"8-9,1023", "8-9,1023", cpuSet{8, 9, 1023}},
	} {
		got, err := parseCPUs("--server-cpus", c.list, all)
		if err != nil || !slices.Equal(got, c.want) || got.String() != c.again {
			t.Errorf("%q: got %v (%s), %v, want %v (%s)", c.list, []int(got), got, err, []int(c.want), c.again)
		}
		if n := cpuCount(c.list, 1); c.list == c.again && n != len(c.want) {
			t.Errorf("%q counts as %d CPUs, want %d", c.list, n, len(c.want))
		}
	}
	if n := cpuCount("", 4); n != 4 {
		t.Errorf("no list counts as %d CPUs, want all 4", n)
	}
	for list, want := range map[string]string{
		"x":      `--load-cpus "x" is not a list of CPUs like 0-3,5`,
		"1-":     `--load-cpus "1-" is not a list of CPUs like 0-3,5`,
		"3-1":    `--load-cpus "3-1" is not a list of CPUs like 0-3,5`,
		"0,,1":   `--load-cpus "0,,1" is not a list of CPUs like 0-3,5`,
		"0-1024": `--load-cpus "0-1024" is not a list of CPUs like 0-3,5`,
		"0-7":    `--load-cpus "0-7": CPU 6 is not one this process may use (0-5,8-9,1023)`,
	} {
		_, err := parseCPUs("--load-cpus", list, all)
		var bad *Impossible
		if !errors.As(err, &bad) || err.Error() != want {
			t.Errorf("%q: got %v, want %s", list, err, want)
		}
	}
}

func TestChooseCPUs(t *testing.T) {
	t.Parallel()
	all := everyCPU(t)
	if len(all) < 2 {
		t.Skip("NOT RUN: one CPU cannot be split")
	}
	half := len(all) / 2
	low, high, one := all[:half].String(), all[half:].String(), fmt.Sprint(all[0])
	for _, c := range []struct {
		o            Options
		server, load string
		pin, shared  bool
	}{
		{Options{}, low, high, true, false},
		{Options{Pin: "auto"}, low, high, true, false},
		{Options{Pin: "none"}, all.String(), all.String(), false, true},
		{Options{ServerCPUs: one}, one, all[1:].String(), true, false},
		{Options{LoadCPUs: one}, all[1:].String(), one, true, false},
		{Options{ServerCPUs: one, LoadCPUs: one}, one, one, true, true},
		{Options{ServerCPUs: all.String()}, all.String(), all.String(), true, true},
	} {
		got, err := chooseCPUs(c.o)
		if err != nil || got.server.String() != c.server || got.load.String() != c.load || got.pin != c.pin || got.shared != c.shared {
			t.Errorf("%+v: got server %s, load %s, pin %v, shared %v, %v", c.o, got.server, got.load, got.pin, got.shared, err)
		}
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Pin: "some"}, `--pin "some" is none of auto, none`},
		{Options{Pin: "none", LoadCPUs: "0"}, "--pin none leaves no use for --server-cpus and --load-cpus; drop one of them"},
		{Options{ServerCPUs: "zero"}, `--server-cpus "zero" is not a list of CPUs like 0-3,5`},
	} {
		_, err := chooseCPUs(c.o)
		var bad *Impossible
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
}
