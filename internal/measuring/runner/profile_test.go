package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// A server that has no profiles is no failure, even if it answers any path.
func TestProfileOfAServerWithoutAny(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	defer server.Close()
	c := comparison(t, "good", "good", func(s *scenario.Scenario, _ *Options) {
		for i, name := range []string{"one", "two"} {
			s.Arms[i] = scenario.Arm{Name: name, URL: server.URL}
		}
	})
	without, err := c.WithoutProfiles(t.Context())
	if diff := cmp.Diff([]string{"one", "two"}, without); err != nil || diff != "" {
		t.Errorf("%v, without profiles (-want +got):\n%s", err, diff)
	}
	all, err := c.Profile(t.Context(), c.Planned(), 2, func(string, int, int, time.Duration) {})
	if diff := cmp.Diff([]Captured{{Arm: "one"}, {Arm: "two"}}, all); err != nil || diff != "" {
		t.Errorf("%v, profiles (-want +got):\n%s", err, diff)
	}
}

// Every arm's profiles are captured while its load goes on beside them: at the address of its metrics, or where it serves.
func TestProfileUnderLoad(t *testing.T) {
	t.Parallel()
	pages := http.NewServeMux()
	pages.HandleFunc("/metrics", func(http.ResponseWriter, *http.Request) {})
	pages.HandleFunc("/debug/pprof/", pprof.Index)
	pages.HandleFunc("/debug/pprof/profile", pprof.Profile)
	pages.HandleFunc("/debug/pprof/trace", pprof.Trace)
	var asked atomic.Int64 // by clients
	pages.HandleFunc("/", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	server := httptest.NewServer(pages)
	defer server.Close()
	c := comparison(t, "good", "good", func(s *scenario.Scenario, _ *Options) {
		for i, name := range []string{"one", "two"} {
			s.Arms[i] = scenario.Arm{Name: name, URL: server.URL}
		}
		s.Arms[0].Metrics = "/metrics"
	})
	if without, err := c.WithoutProfiles(t.Context()); err != nil || without != nil {
		t.Errorf("without profiles: got %q, %v, want none", without, err)
	}
	var steps []string
	before := asked.Load()
	all, err := c.Profile(t.Context(), c.Planned(), 2, func(doing string, done, total int, _ time.Duration) {
		steps = append(steps, fmt.Sprintf("%s %d/%d", doing, done, total))
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"profiling one 0/2", "profiling two 1/2"}; !slices.Equal(steps, want) {
		t.Errorf("progress: got %q, want %q", steps, want)
	}
	if n := asked.Load() - before; n < 100 {
		t.Errorf("%d requests came meanwhile, want some hundreds for each arm", n)
	}
	var got []string
	for _, arm := range all {
		if !slices.Equal(arm.Modules, []string{"schedlab"}) { // this test's binary
			t.Errorf("%s: its modules are %q", arm.Arm, arm.Modules)
		}
		for _, f := range arm.Files {
			if len(f.Data) == 0 {
				t.Errorf("%s: %s is empty", arm.Arm, f.Name)
			}
			got = append(got, arm.Arm+" "+f.Name)
		}
	}
	var want []string
	for _, arm := range []string{"one", "two"} {
		for _, name := range []string{"cpu.pb.gz", "allocs.pb.gz", "mutex.pb.gz", "block.pb.gz", "goroutine.pb.gz", "wall.pb.gz", "trace.out"} {
			want = append(want, arm+" "+name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A CPU profile is as long as 400 samples of the arm with the least CPU time take, from 2 to 20 s, and longer than 2 s
// only within what the run has left of its budget.
func TestCPUSeconds(t *testing.T) {
	t.Parallel()
	arm := func(role record.Role, cpu, rate float64) record.Arm {
		return record.Arm{Contestant: record.Contestant{Role: role}, Figures: record.Figures{CPUPerRequest: &cpu, Goodput: &rate}}
	}
	for _, tc := range []struct {
		name     string
		old, new float64 // CPU seconds per request, of 1,000 requests a second
		room     time.Duration
		want     int
	}{
		{"both have 400 samples in 5 s", 800e-6, 900e-6, time.Minute, 5},
		{"busy", 2e-3, 2e-3, time.Minute, 2},
		{"the new one has 100 samples in 5 s", 800e-6, 200e-6, time.Minute, 20},
		{"next to nothing", 800e-6, 1e-6, time.Minute, 20},
		{"no CPU time", 0, 0, time.Minute, 20},
		{"room for 3 s of each", 800e-6, 200e-6, 6 * time.Second, 5},
		{"no room", 800e-6, 200e-6, -time.Second, 2},
	} {
		r := &record.Comparison{Arms: []record.Arm{arm(record.Baseline, tc.old, 1000), arm(record.Copy, 1e-6, 1000), arm(record.Challenger, tc.new, 1000)}}
		if got := CPUSeconds(r, tc.room); got != tc.want {
			t.Errorf("%s: got %d s, want %d s", tc.name, got, tc.want)
		}
	}
	unknown := &record.Comparison{Arms: []record.Arm{{}, {}}}
	if got := CPUSeconds(unknown, time.Minute); got != 2 {
		t.Errorf("no CPU time known: got %d s, want 2 s", got)
	}
}
