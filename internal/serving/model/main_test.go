package model_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"schedlab/internal/serving/model"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(processMode); mode != "" {
		os.Exit(serveInProcess(mode))
	}
	flag.Parse()
	flag.Set("test.parallel", "16") // tests here wait for timers more than they compute
	goleak.VerifyTestMain(m, lingering()...)
}

// lingering are the goroutines fasthttp never gives back: its clock for Date,
// one per process, and the cleaner of idle workers, which sleeps out its ten
// seconds after Serve has returned.
func lingering() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	}
}

// variants are every mode, and each that has loops once more with their batches in reverse.
func variants() []model.Mode {
	all := model.Variants()
	for _, mode := range all {
		if mode.Has("batch") {
			plain := mode.New
			mode.Name += ",batch=newest-first"
			mode.New = func(cfg model.Config) model.Model {
				cfg.Batch = model.NewestFirst
				return plain(cfg)
			}
			all = append(all, mode)
		}
	}
	return all
}

// eachMode runs f as a parallel subtest of every mode and variant.
func eachMode(t *testing.T, f func(t *testing.T, mode model.Mode)) {
	t.Parallel()
	for _, mode := range variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			f(t, mode)
		})
	}
}

// lookup returns the mode or variant of that name, of which there must be one.
func lookup(_ *testing.T, name string) model.Mode {
	all := variants()
	return all[slices.IndexFunc(all, func(m model.Mode) bool { return m.Name == name })]
}
