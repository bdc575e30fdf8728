// Command counts measures what needs no quiet machine: memory, counts, CPU time, and response times of 100 ms and more. What
// is a connection's memory in each state (memory.md), how many requests are lost when a server stops under load
// (shutdown.md), for how many does a service work after their clients have gone, and how long do others wait for that
// (nobody.md), and what do TLS and HTTP/2 cost (tls.md)? tools/counts builds the servers and runs it, at the top of the tree.
//
//	go run ./docs/experiments/counts memory [-connections 10000] [-repeats 2]
//	go run ./docs/experiments/counts shutdown [-stops 200]
//	go run ./docs/experiments/counts nobody [-rounds 6]
//	go run ./docs/experiments/counts tls [-rounds 10] [-rate 2000] [-busy 6000] [-new 400]
//	go run ./docs/experiments/counts pages
//
// All but the last write a record, as memory.json, after each round, and pages writes the tables of the pages.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const dir = "docs/experiments/counts"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "counts: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	what := ""
	if len(args) > 0 {
		what, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("counts "+what, flag.ContinueOnError)
	var measure func() error
	switch what {
	case "memory":
		n := flags.Int("connections", 10_000, "connections of a cell")
		repeats := flags.Int("repeats", 2, "rounds, with a fresh server for each cell")
		measure = func() error { return measureMemory(ctx, *n, *repeats, out) }
	case "shutdown":
		stops := flags.Int("stops", 200, "stops of each server and way to stop, half of them with another seed")
		measure = func() error { return measureStops(ctx, *stops, out) }
	case "nobody":
		rounds := flags.Int("rounds", 6, "rounds, with a fresh service for each cell; half of them have another seed")
		measure = func() error { return measureNobody(ctx, *rounds, out) }
	case "tls":
		rounds := flags.Int("rounds", 10, "rounds, with a fresh server for each cell; half of them have another seed")
		var rates tlsRates
		flags.Float64Var(&rates.kept, "rate", 2000, "requests a second on kept connections")
		flags.Float64Var(&rates.busy, "busy", 6000, "requests a second of a busier server, on kept connections, too")
		flags.Float64Var(&rates.fresh, "new", 400, "connections a second where each has one request")
		measure = func() error { return measureTLS(ctx, *rounds, rates, out) }
	case "pages":
		measure = func() error { return nil }
	default:
		return fmt.Errorf("got %q, want memory, shutdown, nobody, tls or pages", what)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	return errors.Join(measure(), writePages(dir))
}

// An origin says where and with what a record was measured.
type origin struct {
	Day, Commit, Go, Kernel string
	CPUs                    int
}

func newOrigin(ctx context.Context) (o origin, err error) {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return o, fmt.Errorf("asking git for the commit: %w", err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return o, err
	}
	return origin{
		Day: time.Now().Format(time.DateOnly), Commit: strings.TrimSpace(string(commit)),
		Go: runtime.Version(), Kernel: strings.TrimSpace(string(kernel)), CPUs: runtime.NumCPU(),
	}, nil
}

func (o origin) String() string {
	return fmt.Sprintf("%s, commit `%s`, %s, Linux %s, %d CPUs", o.Day, o.Commit, o.Go, o.Kernel, o.CPUs)
}

func save(name string, record any) error {
	text, err := json.MarshalIndent(record, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
}

func readRecord[R any](dir, name string) (record R, err error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return record, err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return record, fmt.Errorf("%s: %w", name, err)
	}
	return record, nil
}
