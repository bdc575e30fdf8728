package process

import (
	"testing"

	"go.uber.org/goleak"

	"schedlab/internal/measuring/process/stub"
)

func TestMain(m *testing.M) {
	stub.Main()
	goleak.VerifyTestMain(m)
}
