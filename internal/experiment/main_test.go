package experiment

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes this binary a server as well: `TESTBINARY stub ADDR HOW` is
// what foreign arms run.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "stub" {
		os.Exit(stub(os.Args[2], os.Args[3]))
	}
	flag.Parse()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(m.Run()) // the fuzzer's own goroutines linger
	}
	goleak.VerifyTestMain(m)
}
