package main

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/record"
)

// vegetaReport is what of `vegeta report -type=json` is compared.
type vegetaReport struct {
	Requests  uint64
	Success   float64
	Latencies struct {
		P50 time.Duration `json:"50th"`
		P90 time.Duration `json:"90th"`
		P99 time.Duration `json:"99th"`
		Max time.Duration
	}
	StatusCodes map[string]int `json:"status_codes"`
	Errors      []string
}

// vegetaCommand is the real vegeta, as `go tool` builds it from the module.
func vegetaCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := builtVegeta()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), args...)
	cmd.Dir = moduleRoot(t) // where the targets' body files are found from
	return cmd
}

// builtVegeta builds vegeta and returns its path. It asks `go tool` once, since that takes longer than an attack.
var builtVegeta = sync.OnceValues(func() ([]byte, error) { return exec.Command("go", "tool", "-n", "vegeta").Output() })

func reportOf(t *testing.T, results string) (r vegetaReport) {
	t.Helper()
	text := output(t, vegetaCommand(t, "report", "-type=json", results))
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

// TestVegetaAttacks drives every mode by vegeta's command line with the shipped
// targets: all requests succeed, and vegeta and the server count the same.
func TestVegetaAttacks(t *testing.T) {
	t.Parallel()
	const rate, seconds, conns = 100, 1, 8
	targets, err := filepath.Glob(filepath.Join(moduleRoot(t), "loadtests", "targets", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	targets = slices.DeleteFunc(targets, func(f string) bool { return strings.HasSuffix(f, "-value.txt") })
	if len(targets) != 3 {
		t.Fatalf("targets %v, want plaintext, work and kv", targets)
	}
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if slices.Contains(mode.Flags, "workers") {
				flags = []string{"--workers", strconv.Itoa(conns)} // a sticky pool starves the connections beyond
			}
			if mode.Processes {
				flags = []string{"--processes", "1"} // each process has a /kv of its own
			}
			s := serve(t, mode.Name, flags...)
			var want float64
			for _, key := range []string{"a", "b"} { // a first read may overtake its write
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+s.addr+"/kv/"+key, strings.NewReader("before"))
				if err != nil {
					t.Fatal(err)
				}
				req.Close = true
				reply, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				reply.Body.Close()
				want++
			}
			for _, file := range targets {
				here := filepath.Join(t.TempDir(), "targets.txt")
				text := strings.ReplaceAll(read(t, file), "127.0.0.1:8080", s.addr)
				if err := os.WriteFile(here, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				results := here + ".bin"
				output(t, vegetaCommand(t, "attack", "-targets", here, "-rate", strconv.Itoa(rate), "-duration", strconv.Itoa(seconds)+"s",
					"-max-connections", strconv.Itoa(conns), "-timeout", "20s", "-output", results))
				got := reportOf(t, results)
				// vegeta leaves out what it has no time to send on a busy machine.
				if got.Requests == 0 || got.Requests > rate*seconds || got.Success != 1 {
					t.Errorf("%s: %d requests, success %v, statuses %v, errors %v; want up to %d, all good",
						filepath.Base(file), got.Requests, got.Success, got.StatusCodes, got.Errors, rate*seconds)
				}
				want += float64(got.Requests)
			}
			// The answer is on its way before it is counted.
			eventually(t, "requests the server counts", func() (bool, string) {
				got := sum(t, s.metrics(t), "schedlab_requests_total")
				return got == want, strconv.FormatFloat(got, 'f', 0, 64)
			})
		})
	}
}

// TestVegetaReadsResults has vegeta report on the results that `schedlab attack`
// wrote: the same requests, and the quantiles of the same response times.
func TestVegetaReadsResults(t *testing.T) {
	t.Parallel()
	s := serve(t, "nethttp")
	results := filepath.Join(t.TempDir(), "results.bin")
	var sum record.Comparison
	text := output(t, exec.Command("schedlab", "attack", "--target", "http://"+s.addr+"/work?sleep=exp(2ms)",
		"--rate", "600/s", "--duration", "2s", "--seed", "7", "--connections", "16", "--results", results, "--output", "json"))
	if err := json.Unmarshal([]byte(text), &sum); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	theirs, ours := reportOf(t, results), sum.Arms[0]
	if theirs.Requests != uint64(ours.Requests) || ours.Errors > 0 || ours.Generator.Missing > 0 || theirs.Success != 1 {
		t.Errorf("vegeta has %d requests and success %v; schedlab %d, %d failed, %d not sent", theirs.Requests, theirs.Success, ours.Requests, ours.Errors, ours.Generator.Missing)
	}
	if ours.P50 == nil || ours.P90 == nil || ours.P99 == nil {
		t.Fatalf("p50 %v, p90 %v, p99 %v of %d requests", ours.P50, ours.P90, ours.P99, ours.Requests)
	}
	latencies := latenciesIn(t, results)
	for _, q := range []struct {
		quantile     float64
		theirs, ours float64
	}{
		{0.5, theirs.Latencies.P50.Seconds(), *ours.P50},
		{0.9, theirs.Latencies.P90.Seconds(), *ours.P90},
		{0.99, theirs.Latencies.P99.Seconds(), *ours.P99},
	} {
		// vegeta estimates ranks with a t-digest; ours are exact to one, with values of
		// three digits.
		for who, c := range map[string]struct{ got, ranks float64 }{"vegeta": {q.theirs, 0.008}, "schedlab": {q.ours, 0.001}} {
			low, high := nearest(latencies, q.quantile-c.ranks)*0.998, nearest(latencies, q.quantile+c.ranks)*1.002
			if c.got < low || c.got > high {
				t.Errorf("%s's %v quantile is %.6f s, want %.6f to %.6f s", who, q.quantile, c.got, low, high)
			}
		}
	}
}

// nearest is the nearest-rank quantile, in seconds, of ascending latencies.
func nearest(latencies []time.Duration, q float64) float64 {
	n := float64(len(latencies))
	return latencies[int(max(1, math.Ceil(min(1, q)*n)))-1].Seconds()
}

// latenciesIn reads a results file with vegeta's decoder, ascending.
func latenciesIn(t *testing.T, results string) (all []time.Duration) {
	t.Helper()
	decode := vegeta.NewDecoder(strings.NewReader(read(t, results)))
	for {
		var r vegeta.Result
		err := decode.Decode(&r)
		if errors.Is(err, io.EOF) {
			slices.Sort(all)
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Latency)
	}
}
