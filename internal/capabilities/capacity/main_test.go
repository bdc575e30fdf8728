package capacity

import (
	"testing"

	"go.uber.org/goleak"

	"schedlab/internal/measuring/process/stub"
)

// TestMain makes this binary a server as well: `TESTBINARY stub ADDR HOW` is what foreign arms run.
func TestMain(m *testing.M) {
	stub.Main()
	goleak.VerifyTestMain(m)
}
