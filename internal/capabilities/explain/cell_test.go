package explain

import (
	"testing"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// In a cell of a grid an arm is started with the cell's flag if its command had it, and a test keeps it.
func TestAnArmOfACellHasItsFlags(t *testing.T) {
	t.Parallel()
	s := scenario.Scenario{Name: "demo", Cell: []record.Level{{Factor: "workers", Value: "8"}, {Factor: "cpu", Value: "1ms"}}}
	s.Arms = []scenario.Arm{{Name: "nethttp", Mode: "nethttp"}, {Name: "pool", Mode: "pool", Flags: map[string]string{"workers": "4"}}}
	for _, c := range []struct {
		name    string
		command []string
		want    string
		copyOf  string
	}{
		{"nethttp", []string{"schedlab", "serve", "--mode=nethttp"}, "", ""},
		{"pool", []string{"schedlab", "serve", "--mode=pool", "--workers=8"}, "8", ""},
		{"pool", []string{"schedlab", "serve", "--mode=pool", "--workers", "8"}, "8", ""},
		{"pool'", []string{"schedlab", "serve", "--mode=pool", "--workers=8"}, "8", "pool"},
		{"pool,workers=2", []string{"schedlab", "serve", "--mode=pool", "--workers=8"}, "8", ""}, // from the command line
	} {
		a, err := askedFor(record.PlanArm{Name: c.name, CopyOf: c.copyOf, Mode: "pool", Command: c.command}, s)
		if err != nil || a.Flags["workers"] != c.want || a.Flags["cpu"] != "" {
			t.Errorf("%s: got the flags %v, %v, want workers %q", c.name, a.Flags, err, c.want)
		}
	}
	if s.Arms[1].Flags["workers"] != "4" {
		t.Error("the scenario changed")
	}
	cell := &Case{scenario: s, arms: map[string]*arm{"pool": {}}}
	if test := cell.asMeasured("why-", nil, "pool").Scenario; test.Cell != nil {
		t.Errorf("a test is no cell, and got %v", test.Cell)
	}
}
