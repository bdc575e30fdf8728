package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/command"
	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Settings for the measurement of the load's own response time, with a server that does next to
// nothing. Rates are in requests per second.
const (
	floorRate   = 10_000
	floorConns  = 64
	floorWarmup = 50 * time.Millisecond
	floorWindow = 300 * time.Millisecond
	// For a load that shares its CPU, and can send far less.
	sharedFloorRate   = 2000
	sharedFloorWindow = time.Second
)

// NullServer is the name of this program's hidden command that runs the null server.
const NullServer = "null-server"

// floor measures the part of every response time that is due to the load and the kernel. It measures
// the null server, on the servers' CPUs, with the given engine.
func floor(ctx context.Context, l *process.Launcher, self, engine string, shared bool) (*record.Floor, error) {
	server, err := l.Start(ctx, []string{self, NullServer, "--addr", command.AddrMark}, "/")
	if err != nil {
		return nil, fmt.Errorf("starting the null server: %w", err)
	}
	defer server.Kill()
	rate, window := float64(floorRate), floorWindow
	if shared {
		rate, window = sharedFloorRate, sharedFloorWindow
	}
	quiet := quietCollector()
	defer quiet()
	got, err := load.Attack(ctx, load.Options{
		Clients: record.Clients{Engine: engine, Connections: floorConns, KeepAlive: true},
		Targets: []load.Target{{Method: "GET", URL: "http://" + server.Addr + "/"}}, Shared: shared,
		Trace: arrivals.Trace{At: arrivals.Poisson(rate, floorWarmup+window, rand.New(rand.NewPCG(1, 1)))},
	})
	if err != nil {
		return nil, fmt.Errorf("measuring the null server: %w", err)
	}
	var response, lag []float64
	for _, r := range got.Requests {
		if r.Good() && r.Scheduled >= int64(floorWarmup) {
			response = append(response, time.Duration(r.Done-r.Scheduled).Seconds())
			lag = append(lag, time.Duration(r.Sent-r.Scheduled).Seconds())
		}
	}
	if len(response) < stats.MinRequests(.99) {
		return nil, fmt.Errorf("measuring the null server: %d good replies, too few", len(response))
	}
	slices.Sort(response)
	slices.Sort(lag)
	return &record.Floor{
		Rate: rate, P50: stats.Quantile(response, .5), P99: stats.Quantile(response, .99),
		LagP50: stats.Quantile(lag, .5), LagP99: stats.Quantile(lag, .99), Rest: got.Proof.Rest,
	}, nil
}

// runnable returns the path of a program if it can be started, else "".
func runnable(path string) string {
	found, err := exec.LookPath(path)
	if err != nil {
		return ""
	}
	return found
}

// Floor measures, in half a second, the time that the load itself adds to every response time. It uses
// a server that does next to nothing.
func (s *Survey) Floor(ctx context.Context) (f *record.Floor, err error) {
	err = withLauncher(s.CPUs, func(l *process.Launcher) error {
		f, err = floor(ctx, l, s.self, load.DefaultEngine, s.CPUs.Shared)
		return err
	})
	return f, err
}
