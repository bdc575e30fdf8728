package main

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary stand in for every command that tests, scripts and
// benchmarks run as a process: each is in PATH under its name. Built with the race
// detector, each would sleep for a second before it ends.
func TestMain(m *testing.M) {
	if os.Getenv(raceOptions) == "" {
		os.Setenv("XDG_CONFIG_HOME", os.DevNull) // no key is left in the home of whoever runs the tests
		os.Setenv(raceOptions, endAtOnce)
	}
	flag.Set("test.parallel", strconv.Itoa(2*max(2, runtime.GOMAXPROCS(0)))) // tests here wait for windows to end more than they compute
	testscript.Main(m, map[string]func(){
		"schedlab":    main,
		"bare-server": bareServer,
		"frail":       frail,
		"hog":         hog,
	})
}

// The race detector's environment.
const raceOptions, endAtOnce = "GORACE", "atexit_sleep_ms=0"
