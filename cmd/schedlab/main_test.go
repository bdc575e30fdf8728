package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary stand in for every command that tests, scripts and
// benchmarks run as a process: each is in PATH under its name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"schedlab":    main,
		"bare-server": bareServer,
		"frail":       frail,
	})
}
