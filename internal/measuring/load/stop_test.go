package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
)

// generatorEnv makes the test binary a generator for TestStoppedGenerator.
const generatorEnv = "SCHEDLAB_LOAD_TEST_GENERATOR"

// generated is what it prints.
type generated struct {
	Proof   Proof
	Late    int           // requests sent more than 100 ms after their time
	Service time.Duration // median
	Good    int
}

func generator(url string) {
	res, err := Attack(context.Background(), Options{
		Clients: record.Clients{Engine: EngineVegeta, Connections: 64, KeepAlive: true},
		Targets: []Target{{Method: "GET", URL: url}}, Trace: arrivals.Trace{At: evenly(200, 3*time.Second)},
		Started: func(time.Time) { fmt.Println("started") },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := generated{Proof: res.Proof}
	var service []int64
	for _, r := range res.Requests {
		service = append(service, r.Done-r.Sent)
		if r.Sent-r.Scheduled > int64(100*time.Millisecond) {
			out.Late++
		}
		if r.Good() {
			out.Good++
		}
	}
	slices.Sort(service)
	out.Service = time.Duration(service[len(service)/2])
	json.NewEncoder(os.Stdout).Encode(out)
}

// A generator that was stopped for a second says so: the second is in its lag
// and in the proof's, not in the service times.
func TestStoppedGenerator(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds of wall-clock time")
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), generatorEnv+"="+startBareServer(t))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("got %q, %v; want it started", line, err)
	}
	time.Sleep(500 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(time.Second)
	cmd.Process.Signal(syscall.SIGCONT)
	var got generated
	if err := json.NewDecoder(out).Decode(&got); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	p := got.Proof
	if p.LongestLag < .9 || p.LagAt < .1 || p.LagAt > 2 || got.Late < 150 {
		t.Errorf("lag up to %v s at %v s, %d requests late; want about 1s at about 500ms, 180 late", p.LongestLag, p.LagAt, got.Late)
	}
	if got.Good != 600 || got.Service > 500*time.Millisecond {
		t.Errorf("%d good, median service time %v; want all 600, and the stop not in it", got.Good, got.Service)
	}
}
