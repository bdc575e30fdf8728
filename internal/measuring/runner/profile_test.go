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
	all, err := c.Profile(t.Context(), c.Planned(), func(string, int, int, time.Duration) {})
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
	var steps []string
	before := asked.Load()
	all, err := c.Profile(t.Context(), c.Planned(), func(doing string, done, total int, _ time.Duration) {
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
		if arm.Module != "schedlab" { // this test's binary
			t.Errorf("%s: its module is %q", arm.Arm, arm.Module)
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
