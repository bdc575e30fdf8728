package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/model"
	"schedlab/internal/workload"
)

func snapshot(t *testing.T, m *Metrics) []byte {
	t.Helper()
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A scrape of a parent is the sum of its processes: counters, gauges, histograms;
// what is a setting or an identity stays one.
func TestSnapshotsAddUp(t *testing.T) {
	t.Parallel()
	part := func(n int) *Metrics {
		m := New(Options{Mode: "prefork", Version: "v1"})
		m.WatchQueue(queue{})
		m.WatchOldest(func() time.Duration { return time.Duration(n) * time.Second })
		m.QueueWait()(time.Duration(n) * time.Minute)
		for range n {
			m.Observe(workload.RouteWork, 200, time.Duration(n)*time.Millisecond)
		}
		return m
	}
	one, two := part(1), part(2)
	parent := New(Options{Mode: "prefork", Version: "v1"})
	parent.WatchConnections(func() model.Counts { return model.Counts{Accepted: 7, Done: 7} },
		func() model.RequestCounts { return model.RequestCounts{} })
	scrapes := 0
	parent.AddSnapshots(func() [][]byte {
		scrapes++
		return [][]byte{nil, snapshot(t, one), snapshot(t, two)}
	})
	all := gather(t, parent)
	if scrapes != 1 {
		t.Errorf("read the processes %d times for a scrape, want once", scrapes)
	}
	value := func(name, label, want string) float64 {
		for _, m := range all[name].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == want {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
		t.Errorf("%s{%s=%q} is missing", name, label, want)
		return 0
	}
	for _, tc := range []struct {
		name, label, value string
		want               float64
	}{
		{"schedlab_request_duration_seconds", "route", "/work", 3},
		{"schedlab_queue_depth", "mode", "prefork", 10},
		{"schedlab_workers", "mode", "prefork", 8},
		{"schedlab_queue_oldest_wait_seconds", "mode", "prefork", 2},
		{"schedlab_queue_longest_wait_seconds", "mode", "prefork", 120},
		{"schedlab_connections_accepted_total", "mode", "prefork", 7},
		{"schedlab_mode_info", "mode", "prefork", 1},
		{"schedlab_build_info", "version", "v1", 1},
	} {
		if got := value(tc.name, tc.label, tc.value); got != tc.want {
			t.Errorf("%s{%s=%q}: got %g, want %g", tc.name, tc.label, tc.value, got, tc.want)
		}
	}
	var answered float64
	for _, m := range all["schedlab_requests_total"].GetMetric() {
		answered += m.GetCounter().GetValue()
	}
	if answered != 3 {
		t.Errorf("got %g requests, want 3", answered)
	}
	own := gather(t, one)
	for _, name := range []string{"process_max_fds", "process_start_time_seconds", "go_gc_gogc_percent", "go_gc_gomemlimit_bytes"} {
		if got, want := all[name].GetMetric()[0].GetGauge().GetValue(), own[name].GetMetric()[0].GetGauge().GetValue(); got != want {
			t.Errorf("%s: got %g, want %g of one process", name, got, want)
		}
	}
	if got, least := all["go_goroutines"].GetMetric()[0].GetGauge().GetValue(), own["go_goroutines"].GetMetric()[0].GetGauge().GetValue(); got < 2*least {
		t.Errorf("go_goroutines: got %g, want those of all processes", got)
	}
}

// What a process counted stays counted when it has gone; what it held does not.
func TestRetire(t *testing.T) {
	t.Parallel()
	m := New(Options{Mode: "prefork"})
	m.WatchQueue(queue{})
	m.QueueWait()(time.Minute)
	m.Observe(workload.RouteKV, 204, time.Millisecond)
	var retired []byte
	for range 3 {
		var err error
		if retired, err = Retire(retired, snapshot(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	families, err := decode(retired)
	if err != nil {
		t.Fatal(err)
	}
	var seen, longest float64
	for _, f := range families {
		if f.GetName() == longestWait {
			longest = f.GetMetric()[0].GetGauge().GetValue()
			continue
		}
		if f.GetType() == dto.MetricType_GAUGE {
			t.Errorf("the gauge %s outlived its process", f.GetName())
		}
		if f.GetName() == "schedlab_request_duration_seconds" {
			for _, s := range f.GetMetric() {
				seen += float64(s.GetHistogram().GetSampleCount())
			}
		}
	}
	if seen != 3 {
		t.Errorf("got %g requests of three processes, want 3", seen)
	}
	if longest != 60 {
		t.Errorf("got %g s as the longest wait, want the minute of each", longest)
	}
	if got, err := Retire(nil, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: got %q %v", got, err)
	}
	if _, err := Retire(nil, []byte("nonsense")); err == nil {
		t.Error("nonsense was taken for a snapshot")
	}
}

// histogram is one with both kinds of buckets, as the server's.
func histogram(t *testing.T, values ...float64) *dto.Histogram {
	t.Helper()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: buckets, NativeHistogramBucketFactor: nativeFactor,
		NativeHistogramMaxBucketNumber: nativeBuckets})
	for _, v := range values {
		h.Observe(v)
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Histogram
}

// The sum of two histograms is the histogram of all observations.
func TestHistogramsAddUp(t *testing.T) {
	t.Parallel()
	spread := func(n int, from, to float64) (values []float64) {
		for i := range n {
			values = append(values, from*math.Pow(to/from, float64(i)/float64(n)))
		}
		return values
	}
	for _, tc := range []struct {
		name string
		a, b []float64
	}{
		{"both empty", nil, nil},
		{"one empty", []float64{0.001, 0.002}, nil},
		{"the other empty", nil, []float64{0.001, 0.002}},
		{"apart", spread(100, 1e-5, 1e-4), spread(50, 1, 10)},
		{"over each other", spread(300, 1e-4, 1e-2), spread(200, 1e-3, 1e-1)},
		{"zeros and negatives", []float64{0, 0, -1, 2}, []float64{0, -3, -1, 2}},
		{"different resolutions", spread(5000, 1e-9, 1e6), spread(100, 1e-3, 1e-2)},
		{"different resolutions, the finer first", spread(100, 1e-3, 1e-2), spread(5000, 1e-9, 1e6)},
	} {
		got := histogram(t, tc.a...)
		addHistogram(got, histogram(t, tc.b...))
		want := histogram(t, append(tc.a, tc.b...)...)
		if got.GetSampleCount() != want.GetSampleCount() || math.Abs(got.GetSampleSum()-want.GetSampleSum()) > 1e-9*math.Abs(want.GetSampleSum()) {
			t.Errorf("%s: got %d observations of %g, want %d of %g", tc.name,
				got.GetSampleCount(), got.GetSampleSum(), want.GetSampleCount(), want.GetSampleSum())
		}
		for i := range want.Bucket {
			if g, w := got.Bucket[i].GetCumulativeCount(), want.Bucket[i].GetCumulativeCount(); g != w {
				t.Errorf("%s: bucket %d: got %d, want %d", tc.name, i, g, w)
			}
		}
		schema := min(got.GetSchema(), want.GetSchema()) // of all at once it may be coarser still
		native := func(h *dto.Histogram) (positive, negative map[int32]int64) {
			coarser := h.GetSchema() - schema
			return nativeBucketsOf(h.PositiveSpan, h.PositiveDelta, coarser), nativeBucketsOf(h.NegativeSpan, h.NegativeDelta, coarser)
		}
		gotPositive, gotNegative := native(got)
		wantPositive, wantNegative := native(want)
		if diff := cmp.Diff(wantPositive, gotPositive); diff != "" {
			t.Errorf("%s: positive native buckets (-want, +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(wantNegative, gotNegative); diff != "" {
			t.Errorf("%s: negative native buckets (-want, +got):\n%s", tc.name, diff)
		}
		if got.GetZeroCount() != want.GetZeroCount() {
			t.Errorf("%s: got %d zeros, want %d", tc.name, got.GetZeroCount(), want.GetZeroCount())
		}
		if got.Schema == nil || len(got.PositiveSpan) == 0 && len(got.NegativeSpan) == 0 {
			t.Errorf("%s: the sum is no native histogram any more", tc.name)
		}
	}
}
