package model_test

import (
	"io"
	"log/slog"
	"runtime/debug"
	"testing"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// Go ends a process that has more threads than it is told to expect. Not
// parallel: the number is the process's.
func TestLockedWorkersAreExpected(t *testing.T) {
	const workers = 20_000
	for _, tc := range []struct {
		mode   string
		locked bool
	}{{"threadpool", false}, {"pool", true}, {"pool-requeue", true}, {"pool-request", true}} {
		was := debug.SetMaxThreads(10_000)
		mode, err := model.Lookup(tc.mode)
		if err != nil {
			t.Fatal(err)
		}
		mode.New(model.Config{
			Handle: func(*workload.Exchange) {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Limits: model.DefaultLimits(), Settings: dispatch.Settings{Workers: workers, Depth: 1, Locked: tc.locked},
		})
		if got := debug.SetMaxThreads(max(was, 10_000)); got < workers {
			t.Errorf("%s: got room for %d threads, want at least %d", tc.mode, got, workers)
		}
	}
}
