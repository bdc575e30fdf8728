package scenario

import (
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/scenario/demo"
)

// twoClasses is the demo scenario with two classes of requests.
var twoClasses = demo.Swap("  cpu: 100us", `  judge: light
  classes:
    - {name: light, share: 90%, cpu: 100us}
    - {name: heavy, share: 0.1, path: "/bytes/100", method: HEAD}`)

func TestClassErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"shares", "90%", "0.8", "6:5: workload.classes: have shares that add up to 0.9, not 1"},
		{"no share", "share: 90%, ", "", "6:7: workload.classes[0].share: is missing: the part of all requests, like 0.95"},
		{"a bad share", "90%", "90", `6:28: workload.classes[0].share: "90" is not a share like 0.95 or 95%, above 0 and up to 1`},
		{"a name twice", "heavy", "light", `7:14: workload.classes[1].name: "light" is taken`},
		{"all", "name: heavy", "name: all", `7:14: workload.classes[1].name: "all" stands for all requests together; take another`},
		{"path beside cpu", "method: HEAD", "cpu: 1ms", "7:39: workload.classes[1].path: excludes cpu and sleep, which ask /work"},
		{"unknown judge", "judge: light", "judge: lite", `4:10: workload.judge: "lite" is no class (want one of light, heavy)`},
		{"classes beside cpu", "judge: light", "cpu: 1ms", "6:5: workload.classes: exclude path, method, body, cpu, sleep, targets and requests: each class says what it asks"},
	} {
		wantError(t, c.name, strings.Replace(twoClasses, c.old, c.new, 1), c.want)
	}
	wantError(t, "expectation", twoClasses+"expect: ['p99(\"nethttp\", \"lite\") < 1s']\n", `13:26: expect[0]: no class "lite" (want one of light, heavy)`)
}

// Each request asks what its class does: the target, the demand and the class agree, the same each time.
func TestClassesAreDrawnByTheirShares(t *testing.T) {
	t.Parallel()
	s, err := Parse("demo.yaml", []byte(twoClasses))
	if err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	which, demand := s.Which(7)(n), s.Demands(7, func() float64 { return 1 })(n)
	targets := s.Targets("a:1")
	heavy := 0
	for i, c := range which {
		heavy += int(c)
		if want := []uint32{100, 0}[c]; demand[i].Iters != want || targets[c].Class != uint8(c) {
			t.Fatalf("request %d of class %d: got %d iterations and class %d", i, c, demand[i].Iters, targets[c].Class)
		}
	}
	if heavy < n/10-400 || heavy > n/10+400 { // four standard deviations
		t.Errorf("got %d heavy requests of %d, want a tenth", heavy, n)
	}
	if got := targets[1]; got.Method != "HEAD" || got.URL != "http://a:1/bytes/100" {
		t.Errorf("got %s %s, want HEAD of the class's path", got.Method, got.URL)
	}
	if got := s.Workload.MeanCPU(); got != 90*time.Microsecond {
		t.Errorf("got a mean of %v, want 90µs", got)
	}
	cycle := s.Cycle(7, func() float64 { return 1 })
	if len(cycle.Which) != len(cycle.Demand) {
		t.Errorf("a closed loop has %d classes and %d demands in turn, want as many", len(cycle.Which), len(cycle.Demand))
	}
	if got, want := s.Asked(), "p50, p90 and p99 are of light alone: 90 % of requests are light (compute 100us), 10 % are heavy (HEAD /bytes/100)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
