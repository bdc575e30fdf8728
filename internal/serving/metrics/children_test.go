package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// A scrape of a parent has the series of its processes, which their numbers tell apart,
// and its own: it is the parent that says what the server is.
func TestSnapshotsAreTold(t *testing.T) {
	t.Parallel()
	part := func(number string, requests int) Snapshot {
		m := New(Options{Mode: "prefork", Version: "v1", Process: number})
		m.WatchQueue(queue{}, func() time.Duration { return 0 })
		for range requests {
			m.Observe(workload.RouteWork, 200, time.Millisecond)
		}
		s, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := part("0", 1), part("1", 2)
	parent := New(Options{Mode: "prefork", Version: "v1", Parent: true})
	parent.WatchConnections(func() model.Counts { return model.Counts{Accepted: 7, Done: 7} },
		func() model.RequestCounts { return model.RequestCounts{} })
	scrapes := 0
	parent.AddSnapshots(func() []Snapshot {
		scrapes++
		return []Snapshot{nil, one, two} // the first has not reported
	})
	all := gather(t, parent)
	if scrapes != 1 {
		t.Errorf("read the processes %d times for a scrape, want once", scrapes)
	}
	of := func(f *dto.MetricFamily) map[string]float64 {
		sums := map[string]float64{}
		for _, m := range f.GetMetric() {
			process := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "process" {
					process = l.GetValue()
				}
			}
			sums[process] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		return sums
	}
	for name, want := range map[string]map[string]float64{
		"schedlab_requests_total":             {"0": 1, "1": 2},
		"schedlab_request_duration_seconds":   {"0": 1, "1": 2},
		"schedlab_workers":                    {"0": 4, "1": 4},
		"schedlab_connections_accepted_total": {"": 7},
		"schedlab_mode_info":                  {"": 1},
		"schedlab_build_info":                 {"": 1},
	} {
		if diff := cmp.Diff(want, of(all[name])); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", name, diff)
		}
	}
	if got := of(all["go_goroutines"]); len(got) != 3 || got["0"] == 0 {
		t.Errorf("go_goroutines: got %v, want those of each process and of the parent", got)
	}
	for _, m := range all["schedlab_request_duration_seconds"].GetMetric() {
		if h := m.GetHistogram(); h.GetSampleCount() > 0 && len(h.GetPositiveSpan()) == 0 {
			t.Errorf("got %v, want a native histogram", h)
		}
	}
}

func TestSnapshotIsChecked(t *testing.T) {
	t.Parallel()
	if _, err := Snapshot("nonsense").Gather(); err == nil {
		t.Error("nonsense was taken for a snapshot")
	}
}
