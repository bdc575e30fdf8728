package explain

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/record"
)

// Pauses and waits come from sums that are exact or nearly so, and not from the sums that client_golang
// makes of the lower ends of wide buckets. A program that publishes no others has no figure.
func TestWitnessesOfTheRuntime(t *testing.T) {
	t.Parallel()
	const lowerEnds = `# TYPE go_sched_latencies_seconds histogram
go_sched_latencies_seconds_bucket{le="0.0009175"} 0
go_sched_latencies_seconds_bucket{le="+Inf"} 1000
go_sched_latencies_seconds_sum 0.9175
go_sched_latencies_seconds_count 1000
# TYPE go_sched_pauses_total_gc_seconds histogram
go_sched_pauses_total_gc_seconds_bucket{le="+Inf"} 100
go_sched_pauses_total_gc_seconds_sum 0.00529
go_sched_pauses_total_gc_seconds_count 100
`
	const exact = `# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0.5"} 0.0002
go_gc_duration_seconds_sum 0.0227
go_gc_duration_seconds_count 100
# TYPE schedlab_sched_latency_seconds histogram
schedlab_sched_latency_seconds_bucket{mode="pool",le="0.01048576"} 1000
schedlab_sched_latency_seconds_bucket{mode="pool",le="+Inf"} 1000
schedlab_sched_latency_seconds_sum{mode="pool"} 5
schedlab_sched_latency_seconds_count{mode="pool"} 1000
`
	const earlier = `# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds_sum 0.0127
go_gc_duration_seconds_count 80
`
	for name, c := range map[string]struct {
		page, before string
		pause, wait  float64
	}{
		"a server of ours":              {lowerEnds + exact, "", .0227 / 2, 5e-3},
		"a program that ran before":     {lowerEnds + exact, earlier, .01 / 2, 5e-3},
		"wide buckets alone":            {lowerEnds, "", math.NaN(), math.NaN()},
		"no metrics that anybody knows": {"other_total 1\n", "", math.NaN(), math.NaN()},
	} {
		dir := t.TempDir()
		if c.before != "" {
			if err := os.WriteFile(filepath.Join(dir, beforeFile), []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, metricsFile), []byte(c.page), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := readCounters(dir)
		if err != nil {
			t.Fatal(err)
		}
		a := &arm{counters: []counters{read}, windows: []window.Window{{Trial: record.Trial{Warmup: record.Lasting(500 * time.Millisecond), Window: record.Lasting(1500 * time.Millisecond)}}}}
		same := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 || math.IsNaN(got) && math.IsNaN(want) }
		if pause, wait := gcPause.of(a, 0), schedWait.of(a, 0); !same(pause, c.pause) || !same(wait, c.wait) {
			t.Errorf("%s: got pauses of %v of a second and waits of %v s, want %v and %v", name, pause, wait, c.pause, c.wait)
		}
	}
}
