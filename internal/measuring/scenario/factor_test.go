package scenario

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/mode"
)

func TestParseFactor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"workers=1,2,4":                        {"1", "2", "4"},
		"sleep=lognormal(10ms,4), exp(5ms)":    {"lognormal(10ms,4)", "exp(5ms)"},
		"sleep-share=0.1,0.2":                  {"0.1", "0.2"},
		"arrivals=ramp(500/s,3000/s),constant": {"ramp(500/s,3000/s)", "constant"},
	} {
		if got, err := ParseFactor(text); err != nil || !slices.Equal(got.Values, want) {
			t.Errorf("%s: got %q, %v, want %q", text, got.Values, err, want)
		}
	}
	for text, want := range map[string]string{
		"workers":                             "is not of the form FACTOR=V1,V2",
		"frob=1,2":                            `unknown factor "frob" (want one of cpu, sleep, sleep-share, workers, `,
		"workers=1":                           "workers has 1 value; give 2 to 25",
		"workers=1,,2":                        "workers has an empty value; list them, like workers=1,2,4",
		"workers=1,2,1":                       "workers has the value 1 twice",
		"sleep=exp(1ms,2ms":                   "sleep has 1 value; give 2 to 25",
		"workers=" + strings.Repeat("1,", 30): "workers has ",
	} {
		if _, err := ParseFactor(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseFactor(f *testing.F) {
	f.Add("workers=1,2,4")
	f.Add("sleep=lognormal(10ms,4), exp(5ms)")
	f.Add("cpu=),(,a")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseFactor(text)
		if err != nil {
			return
		}
		again, err := ParseFactor(got.Name + "=" + strings.Join(got.Values, ","))
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%q: read again %v, %s", text, err, diff)
		}
	})
}

// pooled are modes of which pool has workers, 1 to 100.
var pooled = map[string]mode.Mode{
	"nethttp": {Station: "goroutines", Check: func(flags map[string]string) error {
		if flags["workers"] != "" {
			return errors.New("--workers means nothing to nethttp")
		}
		return nil
	}},
	"pool": {Flags: []string{"workers"}, Station: "pool", Sticky: true, Check: func(flags map[string]string) error {
		if flags["workers"] == "0" {
			return errors.New("--workers 0 must be 1 to 100")
		}
		return nil
	}},
}

func cellular(t *testing.T) Scenario {
	t.Helper()
	s, err := Parse("demo", []byte(`name: demo
question: Who wins?
workload: {cpu: 100us, sleep: 0.9*0s+0.1*20ms}
load: {rate: 500/s, keepalive: false}
arms: [nethttp, {name: pool, mode: pool, workers: 4, rate: 300/s}]
expect: [p50("pool") < 1s]
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestACellHasItsValues(t *testing.T) {
	t.Parallel()
	s := cellular(t)
	share := Factor{Name: "sleep-share", Values: []string{"0", "0.5"}}
	sleep := Factor{Name: "sleep", Values: []string{"1ms", "exp(2ms)"}}
	workers := Factor{Name: "workers", Values: []string{"2", "4", "8"}}
	rate := Factor{Name: "rate", Values: []string{"100/s", "200/s"}}

	// The cell of the last value of both factors.
	last := func(factors ...Factor) Scenario {
		t.Helper()
		cells, err := s.Grid(factors, pooled)
		if err != nil {
			t.Fatal(err)
		}
		return cells[len(cells)-1]
	}
	c := last(share, workers)
	// A record has the scenario and the cell apart.
	if again, err := s.OfCell(c.Cell); err != nil || again.Workload.Sleep.String() != "0.5*0s+0.5*20ms" || again.Arms[1].Flags["workers"] != "4" {
		t.Errorf("from a record: %+v, %v, want the cell's sleep, and the scenario's workers", again, err)
	}
	if got := c.Workload.Sleep.String(); got != "0.5*0s+0.5*20ms" {
		t.Errorf("sleep is %s", got)
	}
	if got := c.Arms[1].Flags["workers"]; got != "8" || c.Arms[0].Flags["workers"] != "" || c.Arms[1].Name != "pool" {
		t.Errorf("arms are %+v, want 8 workers for pool alone, and its name as it was", c.Arms)
	}
	if len(c.Expect) > 0 {
		t.Errorf("the cell expects %q", c.Expect)
	}
	if s.Arms[1].Flags["workers"] != "4" || s.Workload.Sleep.String() != "0.9*0s+0.1*20ms" {
		t.Errorf("the scenario changed: %+v", s)
	}

	// A share is one of the cell's own sleep, in whatever order the factors stand.
	for _, pair := range [][2]Factor{{share, sleep}, {sleep, share}} {
		if c := last(pair[0], pair[1]); c.Workload.Sleep.String() != "0.5*0s+0.5*exp(2ms)" {
			t.Errorf("%s first: sleep is %v", pair[0].Name, c.Workload.Sleep)
		}
	}
	for _, a := range last(Factor{Name: "limit", Values: []string{"0.5", "1.5"}}).Arms {
		if a.CPULimit() != 1.5 {
			t.Errorf("%s is limited to %v CPUs, want 1.5 like all of the cell", a.Name, a.CPULimit())
		}
	}
	c = last(rate)
	for _, a := range c.Arms {
		again, bad := s.OfCell(c.Cell)
		if l, err := again.Clients(again.Arms[1]); bad != nil || err != nil || l.Rate.PerSecond != 200 {
			t.Errorf("from a record %s has the rate %v, %v, %v", a.Name, l.Rate, err, bad)
		}
		if l, err := c.Clients(a); err != nil || l.Rate.PerSecond != 200 {
			t.Errorf("%s has the rate %v, %v, want 200/s like all of the cell", a.Name, l.Rate, err)
		}
	}
}

func TestACellThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ x, y, want string }{
		{"workers=1,2", "sleep-share=0.1,2", "sleep-share=2: 2 is not a share from 0 to 1"},
		{"workers=1,2", "cpu=1ms,fast", "cpu=fast: parsing demand"},
		{"connections=4,8", "cpu=1ms,2ms", "load.connections needs keepalive: true"},
		{"steal=true,false", "rate=1/s,fast", `rate=fast: "fast" is not a rate`},
		{"limit=0.5,all", "cpu=1ms,2ms", `limit "all" is not a number of CPUs`},
		{"keepalive=true,yes", "rate=1/s,2/s", `"yes" is neither true nor false`},
	} {
		var factors []Factor
		for _, text := range []string{c.x, c.y} {
			f, err := ParseFactor(text)
			if err != nil {
				t.Fatal(err)
			}
			factors = append(factors, f)
		}
		_, bad := cellular(t).Grid(factors, pooled)
		if bad == nil || !strings.Contains(bad.Error(), c.want) {
			t.Errorf("%s by %s: got %v, want %q", c.x, c.y, bad, c.want)
		}
	}
	two := []string{"1", "2"}
	grid := func(s Scenario, factors ...string) error {
		var all []Factor
		for _, f := range factors {
			all = append(all, Factor{Name: f, Values: two})
		}
		_, err := s.Grid(all, pooled)
		return err
	}
	// Each name that an axis may have is known to the scenario: its values are possible, or told to be not.
	for _, name := range factors() {
		if err := grid(cellular(t), name); err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
	s := cellular(t)
	s.Arms = s.Arms[:1]
	if err := grid(s, "workers", "rate"); err == nil || !strings.Contains(err.Error(), "no arm takes it: --workers means nothing to nethttp") {
		t.Errorf("workers without a pool: %v", err)
	}
	s = cellular(t)
	s.Arms[1].Vary = varied{"queue-depth": two}
	if err := grid(s, "workers", "rate"); err == nil || !strings.Contains(err.Error(), `arm "pool" varies queue-depth itself`) {
		t.Errorf("an arm that varies: %v", err)
	}
	s = cellular(t)
	s.Workload = Workload{Path: "/json", Method: "GET"}
	if err := grid(s, "cpu", "workers"); err == nil || !strings.Contains(err.Error(), "asks /json, which has no such demand") {
		t.Errorf("cpu of a path: %v", err)
	}
}
