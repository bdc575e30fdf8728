package runner

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"schedlab/internal/measuring/load/null"
	"schedlab/internal/measuring/process/stub"
)

// tooLong is a limit that no healthy server reaches on a busy machine.
const tooLong = 30 * time.Second

// TestMain makes this binary a server as well: `TESTBINARY stub ADDR HOW` is
// what foreign arms run, `TESTBINARY null-server --addr ADDR` the null server.
func TestMain(m *testing.M) {
	stub.Main()
	if len(os.Args) > 3 && os.Args[1] == NullServer {
		ln, err := net.Listen("tcp4", os.Args[3])
		if err == nil {
			err = null.Serve(context.Background(), ln.(*net.TCPListener), 0, 0)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	flag.Parse()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(m.Run()) // the fuzzer's own goroutines linger
	}
	goleak.VerifyTestMain(m)
}
