package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/capabilities/attack"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// An attacker is a running `schedlab attack` that writes results.
type attacker struct {
	cmd            *exec.Cmd
	results        string
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// attackChild starts an attack that writes results.
func attackChild(t *testing.T, target string, flags ...string) *attacker {
	t.Helper()
	a := &attacker{results: filepath.Join(t.TempDir(), "out.bin"), ended: make(chan struct{})}
	a.cmd = exec.Command("schedlab", append([]string{"attack", "--target", target, "--results", a.results, "--output", "json"}, flags...)...)
	a.cmd.Stdout, a.cmd.Stderr = &a.stdout, &a.stderr
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		a.cmd.Wait()
		close(a.ended)
	}()
	t.Cleanup(func() {
		a.cmd.Process.Kill()
		<-a.ended
	})
	return a
}

// underWay waits until results of an open loop are on disk.
func (a *attacker) underWay(t *testing.T) *attacker {
	t.Helper()
	eventually(t, "results of a running attack", func() (bool, string) {
		text, err := os.ReadFile(a.results + ".part")
		return len(text) > 0, errorText(err)
	})
	return a
}

func errorText(err error) string {
	if err == nil {
		return "an empty file"
	}
	return err.Error()
}

// end waits for the attack's end.
func (a *attacker) end(t *testing.T, code int) (sum record.Comparison) {
	t.Helper()
	select {
	case <-a.ended:
	case <-time.After(childLimit):
		t.Fatalf("the attack does not end within %v:\n%s", childLimit, &a.stderr)
	}
	if got := a.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, &a.stderr)
	}
	if code >= 0 {
		if err := json.Unmarshal(a.stdout.Bytes(), &sum); err != nil {
			t.Fatalf("%v in %s", err, &a.stdout)
		}
	}
	return sum
}

// resultsIn are vegeta's results in a file, up to its last whole one.
func resultsIn(t *testing.T, file string) (all []vegeta.Result) {
	t.Helper()
	decode := vegeta.NewDecoder(strings.NewReader(read(t, file)))
	for {
		var r vegeta.Result
		switch err := decode.Decode(&r); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// An interrupted attack stops at once, says so, and accounts for every request.
func TestAttackInterrupted(t *testing.T) {
	t.Parallel()
	for _, loop := range []string{"open", "closed"} {
		t.Run(loop, func(t *testing.T) {
			t.Parallel()
			c := serve(t, "nethttp")
			a := attackChild(t, "http://"+c.addr+"/work?sleep=20ms", "--rate", "500/s", "--duration", "30s", "--loop", loop)
			if loop == "open" {
				a.underWay(t)
			} else { // it writes its results at the end
				eventually(t, "requests answered", func() (bool, string) {
					n := sum(t, c.metrics(t), "schedlab_requests_started_total")
					return n >= 100, fmt.Sprint(n)
				})
			}
			a.cmd.Process.Signal(os.Interrupt)
			sum := a.end(t, session.Interrupted)
			arm, cut := sum.Arms[0], 0 // an open loop tells what was cut off
			for _, d := range sum.Doubts {
				if of, is := fact.In(attack.CutOff, d); is {
					cut = of.Requests
				}
			}
			if sum.Status != record.Interrupted || arm.Requests == 0 || arm.Errors > 0 {
				t.Errorf("%s: %d requests, %d failed; want an interrupted attack without a failure", sum.Status, arm.Requests, arm.Errors)
			}
			if n := len(resultsIn(t, a.results)); n != arm.Requests+cut || loop == "open" && arm.Generator.Missing == 0 {
				t.Errorf("%d results of %d requests and %d cut off, %d not sent; want what was sent and not all sent", n, arm.Requests, cut, arm.Generator.Missing)
			}
			want := float64(arm.Requests) / float64(arm.Requests+cut)
			if got := reportOf(t, a.results); math.Abs(got.Success-want) > 1e-9 || got.Latencies.P50 <= 0 {
				t.Errorf("vegeta reports success %v and p50 %v, want success %v, that of the sent requests", got.Success, got.Latencies.P50, want)
			}
			if strings.Contains(a.stdout.String(), "got no reply") {
				t.Errorf("doubts %v; want none on failures, as the server answered", sum.Doubts)
			}
		})
	}
}

// What a killed attack leaves is under a name that says so, and vegeta reads it.
func TestAttackKilled(t *testing.T) {
	t.Parallel()
	a := attackChild(t, "http://"+serve(t, "nethttp").addr+"/", "--rate", "500/s", "--duration", "30s").underWay(t)
	a.cmd.Process.Signal(syscall.SIGKILL)
	a.end(t, -1)
	if _, err := os.Stat(a.results); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v; want it not to exist", a.results, err)
	}
	left := resultsIn(t, a.results+".part")
	for _, r := range left {
		if r.Code != 200 || r.Latency <= 0 {
			t.Fatalf("got %+v, want a good reply", r)
		}
	}
	if got := reportOf(t, a.results+".part"); len(left) == 0 || got.Requests != uint64(len(left)) {
		t.Errorf("vegeta reports %d requests of %d, want all of at least one", got.Requests, len(left))
	}
}

// A server that dies and comes back: its errors by kind and from when, its times
// from good replies alone, and the attack goes on with it.
func TestAttackOutlivesTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, "nethttp")
	a := attackChild(t, "http://"+s.addr+"/", "--rate", "100/s", "--duration", "10s", "--timeout", "5s").underWay(t)
	s.cmd.Process.Kill()
	<-s.ended
	time.Sleep(500 * time.Millisecond)
	serve(t, "nethttp", "--addr", s.addr)
	sum := a.end(t, session.NoAnswer)
	arm, failed := sum.Arms[0], 0
	for end, n := range request.Lost(arm.Failures) {
		if failed += n; end == "malformed reply" || end == "cut off" {
			t.Errorf("%d requests ended as %q", n, end)
		}
	}
	if arm.Failures["refused"] == 0 || failed != arm.Errors || arm.Generator.Missing > 0 || arm.GoodMean == nil {
		t.Errorf("failures %v of %d, %d not sent, mean of the good %v; want refusals, and all sent", arm.Failures, arm.Requests, arm.Generator.Missing, arm.GoodMean)
	}
	if !strings.Contains(a.stdout.String(), "requests got no reply") {
		t.Errorf("doubts %v, want the lost requests", sum.Doubts)
	}
	all := resultsIn(t, a.results)
	late := 0
	for _, r := range all {
		if r.Seq >= uint64(len(all)-20) && r.Code == 200 {
			late++
		}
	}
	if late < 15 {
		t.Errorf("%d of the last 20 requests are good, want nearly all: the server is back", late)
	}
}

// A generator that was stopped says when and for how long, and that the rate it
// was asked for was not reached.
func TestAttackStopped(t *testing.T) {
	t.Parallel()
	a := attackChild(t, "http://"+serve(t, "nethttp").addr+"/", "--rate", "200/s", "--duration", "2s").underWay(t)
	a.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(2500 * time.Millisecond) // past its end
	a.cmd.Process.Signal(syscall.SIGCONT)
	sum := a.end(t, session.Done)
	if g := sum.Arms[0].Generator; g.LongestLag < 0.5 {
		t.Errorf("generator %+v; want the stop in its lag", g)
	}
	for _, want := range []string{"the generator stood still", "requests per second were wanted and"} {
		if !strings.Contains(a.stdout.String(), want) {
			t.Errorf("no doubt %q among %v", want, sum.Doubts)
		}
	}
}
