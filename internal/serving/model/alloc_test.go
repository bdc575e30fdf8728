package model_test

import (
	"slices"
	"testing"
	"time"

	"schedlab/internal/serving/metrics"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// servable are the modes that serve a request on any connection. loop-offload suspends connections of
// a loop; but for the queue its requests go the way of loop's.
func servable() []model.Mode {
	return slices.DeleteFunc(model.Variants(), func(m model.Mode) bool { return m.Loops && m.Depth != nil })
}

// observed is a model with real handlers and all its telemetry, and the way a
// request takes through it.
func observed(t testing.TB, mode model.Mode) func(*workload.Exchange) {
	telemetry := metrics.New(metrics.Options{Mode: mode.Name, Axes: mode.Axes})
	s := start(t, mode, func(with *setup) {
		count := with.Observe
		with.Observe = func(r workload.Route, status int, took time.Duration) {
			telemetry.Observe(r, status, took)
			count(r, status, took)
		}
		if mode.Depth != nil {
			with.Waited = telemetry.QueueWait()
		}
	})
	return model.ServeExchange(s.model, s.ln)
}

// Counting, timing and observing a request allocates nothing, and no model does
// on its way to the handler and back. Not parallel: allocations are counted in
// the whole process.
func TestTelemetryAllocatesNothing(t *testing.T) {
	for _, mode := range servable() {
		serve := observed(t, mode)
		x := &workload.Exchange{Method: "GET", Path: "/plaintext"}
		if got := testing.AllocsPerRun(1000, func() { serve(x) }); got != 0 || x.Status != 200 {
			t.Errorf("%s: got %g allocations and %d, want 0 and 200", mode.Name, got, x.Status)
		}
	}
}

// BenchmarkRequest is what a model and its telemetry add to a handler that does
// nothing: the HTTP library is not in it.
func BenchmarkRequest(b *testing.B) {
	for _, mode := range servable() {
		b.Run("mode="+mode.Name, func(b *testing.B) {
			serve := observed(b, mode)
			x := &workload.Exchange{Method: "GET", Path: "/plaintext"}
			b.ReportAllocs()
			for b.Loop() {
				serve(x)
			}
		})
	}
}
