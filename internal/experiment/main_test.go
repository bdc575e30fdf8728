package experiment

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"schedlab/internal/process/stub"
)

// tooLong is a limit that no healthy server reaches on a busy machine.
const tooLong = 30 * time.Second

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
