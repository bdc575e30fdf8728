package metrics

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// full is the registry of a server whose model has a queue.
func full() *Metrics {
	mode, _ := model.Lookup("pool")
	m := New(Options{Mode: mode.Name, Axes: mode.Axes, Version: "v1"})
	waited := m.QueueWait()
	waited(3 * time.Second)
	waited(time.Second)
	m.LoopLag()(time.Millisecond)
	m.LoopBusy()(time.Millisecond)
	m.Sojourn()(time.Millisecond)
	m.WatchQueue(stealing{}, func() time.Duration { return 1500 * time.Millisecond })
	m.WatchOverflows()
	m.WatchProcesses(func() (int, uint64) { return 2, 1 })
	m.WatchConnections(
		func() model.Counts {
			c := model.Counts{Accepted: 10, Done: 4, GaveUp: 1, Open: 3}
			c.Rejected[model.QueueFull], c.Dropped[model.ShedBusy] = 2, 1
			return c
		},
		func() model.RequestCounts {
			c := model.RequestCounts{Started: 9, Aborted: 1, GaveUp: 3, Panics: 2}
			c.Shed[model.Stale] = 6
			return c
		},
	)
	return m
}

type queue struct{}

func (queue) Depth() int    { return 5 }
func (queue) Capacity() int { return 1024 }
func (queue) Workers() int  { return 4 }
func (queue) Busy() int     { return 3 }

type stealing struct{ queue }

func (stealing) Steals() uint64 { return 7 }

func gather(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := m.gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// labels returns the names of a family's labels and their number of values.
func labels(f *dto.MetricFamily) map[string]int {
	values := map[string]map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if values[l.GetName()] == nil {
				values[l.GetName()] = map[string]bool{}
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	n := map[string]int{}
	for name, v := range values {
		n[name] = len(v)
	}
	return n
}

// The metrics are an interface: dashboards and rules name them.
func TestNamesAndLabels(t *testing.T) {
	t.Parallel()
	const routes = int(workload.NumRoutes)
	one := map[string]int{"mode": 1}
	with := func(more map[string]int) map[string]int {
		all := maps.Clone(one)
		maps.Copy(all, more)
		return all
	}
	reasons := with(map[string]int{"reason": int(model.NumReasons)})
	want := map[string]map[string]int{
		"schedlab_accept_queue_depth":                  with(map[string]int{"listener": 2}),
		"schedlab_accept_queue_limit":                  with(map[string]int{"listener": 2}),
		"schedlab_context_switches_total":              with(map[string]int{"kind": 2}),
		"schedlab_listen_overflows_total":              one,
		"schedlab_listener_connections_accepted_total": with(map[string]int{"listener": 2}),
		"schedlab_listener_connections_open":           with(map[string]int{"listener": 2}),
		"schedlab_process_restarts_total":              one,
		"schedlab_processes":                           one,
		"schedlab_build_info":                          with(map[string]int{"version": 1, "revision": 1, "goversion": 1}),
		"schedlab_connections_accepted_total":          one,
		"schedlab_connections_done_total":              one,
		"schedlab_connections_dropped_total":           reasons,
		"schedlab_connections_gave_up_total":           one,
		"schedlab_connections_open":                    one,
		"schedlab_connections_rejected_total":          reasons,
		"schedlab_cpu_throttled_seconds_total":         one,
		"schedlab_goroutines":                          with(map[string]int{"state": len(states)}),
		"schedlab_handler_panics_total":                one,
		"schedlab_host_steal_seconds_total":            one,
		"schedlab_loop_busy_seconds_total":             one,
		"schedlab_loop_lag_seconds":                    one,
		"schedlab_mode_info": with(map[string]int{"stack": 1, "accept": 1, "unit": 1, "executor": 1,
			"queue": 1, "overflow": 1, "thread": 1}),
		"schedlab_queue_capacity":             one,
		"schedlab_queue_depth":                one,
		"schedlab_queue_longest_wait_seconds": one,
		"schedlab_queue_oldest_wait_seconds":  one,
		"schedlab_queue_wait_seconds":         one,
		"schedlab_request_duration_seconds":   with(map[string]int{"route": routes}),
		"schedlab_requests_aborted_total":     one,
		"schedlab_requests_gave_up_total":     one,
		"schedlab_requests_refused_total":     {"mode": 1, "code": len(model.RefusalCodes())},
		"schedlab_requests_started_total":     one,
		"schedlab_requests_total":             with(map[string]int{"route": routes, "code": len(codes) + 1}),
		"schedlab_sched_latency_seconds":      one,
		"schedlab_sheds_total":                reasons,
		"schedlab_sojourn_seconds":            one,
		"schedlab_steals_total":               one,
		"schedlab_workers":                    one,
		"schedlab_workers_busy":               one,
	}
	got := map[string]map[string]int{}
	m := full()
	m.WatchSockets(listen(t))
	all := gather(t, m)
	for name, f := range all {
		if strings.HasPrefix(name, "schedlab_") {
			got[name] = labels(f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want, +got):\n%s", diff)
	}
	for name := range all {
		if strings.HasPrefix(name, "go_sched_latencies") || strings.HasPrefix(name, "go_sched_goroutines_") && name != "go_sched_goroutines_created_goroutines_total" {
			t.Errorf("%s is there, although client_golang tells it wrongly (scheduler.go)", name)
		}
	}
	for _, name := range []string{"go_sched_gomaxprocs_threads", "go_gc_duration_seconds", "go_sync_mutex_wait_total_seconds_total",
		"go_cpu_classes_gc_total_cpu_seconds_total", "go_goroutines", "process_open_fds", "process_cpu_seconds_total"} {
		if all[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	all := gather(t, full())
	value := func(name string, label ...string) float64 {
		for _, m := range all[name].GetMetric() {
			if len(label) == 0 || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label[0] }) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		t.Errorf("%s %v is missing", name, label)
		return 0
	}
	for _, tc := range []struct {
		name, label string
		want        float64
	}{
		{"schedlab_connections_accepted_total", "pool", 10},
		{"schedlab_connections_done_total", "pool", 4},
		{"schedlab_connections_gave_up_total", "pool", 1},
		{"schedlab_connections_rejected_total", "queue_full", 2},
		{"schedlab_connections_rejected_total", "shed_busy", 0},
		{"schedlab_connections_dropped_total", "queue_full", 0},
		{"schedlab_connections_dropped_total", "shed_busy", 1},
		{"schedlab_connections_open", "pool", 3},
		{"schedlab_requests_started_total", "pool", 9},
		{"schedlab_requests_aborted_total", "pool", 1},
		{"schedlab_requests_gave_up_total", "pool", 3},
		{"schedlab_handler_panics_total", "pool", 2},
		{"schedlab_queue_depth", "pool", 5},
		{"schedlab_queue_capacity", "pool", 1024},
		{"schedlab_workers", "pool", 4},
		{"schedlab_workers_busy", "pool", 3},
		{"schedlab_queue_wait_seconds", "pool", 2},
		{"schedlab_queue_longest_wait_seconds", "pool", 3},
		{"schedlab_queue_oldest_wait_seconds", "pool", 1.5},
		{"schedlab_sojourn_seconds", "pool", 1},
		{"schedlab_steals_total", "pool", 7},
		{"schedlab_sheds_total", "stale", 6},
		{"schedlab_sheds_total", "evicted", 0},
		{"schedlab_mode_info", "fasthttp", 1},
		{"schedlab_build_info", "v1", 1},
	} {
		if got := value(tc.name, tc.label); got != tc.want {
			t.Errorf("%s{%s}: got %g, want %g", tc.name, tc.label, got, tc.want)
		}
	}
}

// HELP and docs/guide/serve.md tell for every mode with workers what waits there, and where else a
// wait is.
func TestHelpTellsWhatWaits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/guide/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	all := gather(t, full())
	job := map[string]string{"connection": " a connection, once", "burst": " a connection each time", "request": " a request ("}
	for _, mode := range model.Modes() {
		if !mode.Has("workers") {
			continue
		}
		_, row, _ := strings.Cut(string(page), "\n| "+mode.Axes.Unit+" | ")
		if row, _, _ = strings.Cut(row, "\n"); !strings.Contains(row, "`"+mode.Name+"`") {
			t.Errorf("docs/guide/serve.md does not have %s among the modes in which a %s waits: %q", mode.Name, mode.Axes.Unit, row)
		}
		for _, name := range []string{"queue_wait_seconds", "queue_oldest_wait_seconds", "queue_longest_wait_seconds", "queue_depth",
			"queue_capacity", "workers_busy", "sojourn_seconds"} {
			_, jobs, _ := strings.Cut(all["schedlab_"+name].GetHelp(), " A job is, by mode,")
			if !slices.ContainsFunc(strings.Split(jobs, ";"), func(kind string) bool {
				_, modes, _ := strings.Cut(strings.TrimRight(kind, ")."), "(")
				return strings.HasPrefix(kind, job[mode.Axes.Unit]) && slices.Contains(strings.Split(modes, ", "), mode.Name)
			}) {
				t.Errorf("HELP of %s does not tell that jobs of %s are each a %s: %q", name, mode.Name, mode.Axes.Unit, jobs)
			}
		}
	}
	for name, want := range map[string]string{
		"request_duration_seconds":   "not where connections or bursts do",
		"requests_started_total":     "on a connection that waits for a worker, as in pool, is not read yet",
		"connections_accepted_total": "whether or not a worker has taken them yet",
		"connections_done_total":     "counts once, whatever the number of its requests",
		"connections_open":           "in service, idle between two requests, or waiting for a worker",
		"workers_busy":               "also while the connection is idle",
	} {
		if help := all["schedlab_"+name].GetHelp(); !strings.Contains(help, want) {
			t.Errorf("HELP of %s: got %q, want %q in it", name, help, want)
		}
	}
}

// The names of this package obey Prometheus's rules; go_ and process_ names are
// client_golang's.
func TestLint(t *testing.T) {
	t.Parallel()
	var ours []*dto.MetricFamily
	for name, f := range gather(t, full()) {
		if strings.HasPrefix(name, "schedlab_") {
			ours = append(ours, f)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// No client can make a series, whatever it asks for.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	m := full()
	series := func() (n int) {
		for _, f := range gather(t, m) {
			if strings.HasPrefix(f.GetName(), "schedlab_") {
				n += len(f.GetMetric())
			}
		}
		return n
	}
	before := series()
	app := workload.New(workload.Options{ItersPerMicro: 1})
	for i := range 1000 {
		x := &workload.Exchange{Method: fmt.Sprintf("METHOD%d", i), Path: fmt.Sprintf("/path/%d", i)}
		app.Serve(x)
		m.Observe(x.Route, x.Status, time.Duration(i)*time.Millisecond)
		m.Observe(workload.Route(i)%workload.NumRoutes, i, 0)
	}
	if after := series(); after != before {
		t.Errorf("got %d series, want %d as before", after, before)
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	m := New(Options{Mode: "nethttp"})
	m.Observe(workload.RouteKV, 204, 2*time.Millisecond)
	m.Observe(workload.RouteKV, 204, 4*time.Millisecond)
	m.Observe(workload.RouteKV, 418, 0)
	for _, code := range codes {
		m.Observe(workload.RouteOther, code, 0)
	}
	all := gather(t, m)
	counted := map[string]float64{}
	for _, c := range all["schedlab_requests_total"].GetMetric() {
		if n := c.GetCounter().GetValue(); n > 0 {
			var key []string
			for _, l := range c.GetLabel() {
				key = append(key, l.GetValue())
			}
			counted[strings.Join(key, " ")] = n
		}
	}
	want := map[string]float64{"204 nethttp /kv": 2, "other nethttp /kv": 1}
	for _, code := range codes {
		want[fmt.Sprint(code, " nethttp other")] = 1
	}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("requests (-want, +got):\n%s", diff)
	}
	for _, d := range all["schedlab_request_duration_seconds"].GetMetric() {
		h := d.GetHistogram()
		if d.GetLabel()[1].GetValue() != "/kv" {
			continue
		}
		if h.GetSampleCount() != 3 || h.GetSampleSum() != 0.006 || len(h.GetBucket()) != len(buckets) || h.Schema == nil {
			t.Errorf("got %v, want 3 samples, 6 ms, classic and native buckets", h)
		}
	}
}

// Buckets resolve 50 µs to 10 s: no step is wider than two.
func TestBuckets(t *testing.T) {
	t.Parallel()
	if buckets[0] != 50e-6 || buckets[len(buckets)-1] != 10 {
		t.Errorf("got %g to %g, want 50 µs to 10 s", buckets[0], buckets[len(buckets)-1])
	}
	for i := range buckets[1:] {
		if step := buckets[i+1] / buckets[i]; step <= 1 || step > 2 {
			t.Errorf("from %g to %g is a step of %g, want at most 2", buckets[i], buckets[i+1], step)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": "text/plain", "application/openmetrics-text; version=1.0.0": "application/openmetrics-text",
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		full().Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: got %d %q, want 200 %s", accept, w.Code, got, want)
		}
	}
}

// stuck is the connection of a client that does not read.
type stuck struct {
	*httptest.ResponseRecorder
	unstick <-chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.unstick
	return len(p), nil
}

// Clients that do not read their scrapes delay no other.
func TestScrapesDoNotWaitForClients(t *testing.T) {
	t.Parallel()
	h := full().Handler()
	unstick := make(chan struct{})
	var clients sync.WaitGroup
	defer clients.Wait()
	defer close(unstick)
	for range 20 {
		clients.Go(func() {
			h.ServeHTTP(stuck{httptest.NewRecorder(), unstick}, httptest.NewRequest("GET", "/metrics", nil))
		})
	}
	scraped := make(chan int, 100)
	for range cap(scraped) {
		clients.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			scraped <- w.Code
		})
	}
	late := time.After(20 * time.Second)
	for range cap(scraped) {
		select {
		case code := <-scraped:
			if code != 200 {
				t.Errorf("got %d, want 200", code)
			}
		case <-late:
			t.Fatal("a scrape waits for a client that does not read")
		}
	}
}

// Scrapes at the same time share a reading, which began after each of them came.
func TestScrapesShareReadings(t *testing.T) {
	t.Parallel()
	m := full()
	var begun atomic.Int64
	m.gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		n := begun.Add(1)
		time.Sleep(time.Millisecond)
		return make([]*dto.MetricFamily, n), nil
	})
	read := m.shared()
	const callers, rounds = 50, 20
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range rounds {
				came := begun.Load()
				if got, err := read(); err != nil || int64(len(got)) <= came {
					t.Errorf("came after %d readings and got number %d, %v", came, len(got), err)
				}
			}
		})
	}
	all.Wait()
	if got := begun.Load(); got > callers*rounds/2 {
		t.Errorf("%d scrapes took %d readings, want them shared", callers*rounds, got)
	}
}

// Not parallel: allocations are counted in the whole process.
func TestObserveAllocatesNothing(t *testing.T) {
	m := New(Options{Mode: "pool"})
	waited := m.QueueWait()
	if got := testing.AllocsPerRun(1000, func() {
		m.Observe(workload.RouteWork, 200, 123*time.Microsecond)
		waited(time.Microsecond)
	}); got != 0 {
		t.Errorf("got %g allocations, want 0", got)
	}
}

// BenchmarkObserve is what one request pays for its metrics: with the two clock
// readings that time it, without, and the readings alone.
func BenchmarkObserve(b *testing.B) {
	m := New(Options{Mode: "pool"})
	b.Run("part=all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			began := time.Now()
			m.Observe(workload.RoutePlaintext, 200, time.Since(began))
		}
	})
	b.Run("part=metrics", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Observe(workload.RoutePlaintext, 200, 123*time.Microsecond)
		}
	})
	b.Run("part=clock", func(b *testing.B) {
		for b.Loop() {
			began := time.Now()
			_ = time.Since(began)
		}
	})
}
