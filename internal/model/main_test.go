package model_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"schedlab/internal/dispatch"
	"schedlab/internal/model"
)

func TestMain(m *testing.M) {
	dispatch.ReleaseDefault()
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

// eachMode runs f as a parallel subtest of every mode.
func eachMode(t *testing.T, f func(t *testing.T, mode model.Mode)) {
	t.Parallel()
	for _, mode := range model.Modes() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			f(t, mode)
		})
	}
}

// lookup returns the mode of that name.
func lookup(t *testing.T, name string) model.Mode {
	t.Helper()
	mode, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return mode
}
