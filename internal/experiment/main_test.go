package experiment

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"schedlab/internal/process/stub"
)

// TestMain makes this binary a server as well: `TESTBINARY stub ADDR HOW` is
// what foreign arms run.
func TestMain(m *testing.M) {
	stub.Main()
	flag.Parse()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(m.Run()) // the fuzzer's own goroutines linger
	}
	goleak.VerifyTestMain(m)
}
