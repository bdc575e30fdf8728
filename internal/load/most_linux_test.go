package load

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// One load holds as many connections as it promises, open and closed.
func TestMostConnections(t *testing.T) {
	if limit, known := descriptorLimit(); testing.Short() || !known || limit < MaxConnections+2*spareDescriptors {
		t.Skipf("NOT RUN: needs %d descriptors here and in the server, and seconds of wall-clock time", MaxConnections)
	}
	targets := []Target{{Method: "GET", URL: startBareServer(t)}}
	begun := time.Now()
	lap := func(what string) {
		t.Logf("%s: %v", what, time.Since(begun).Round(time.Millisecond))
		begun = time.Now()
	}
	res, err := Attack(t.Context(), Options{
		Targets: targets, Trace: Trace{At: Constant(1000, 500*time.Millisecond)},
		Connections: MaxConnections / 2, Idle: MaxConnections / 2, KeepAlive: true, Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := res.Idle; res.Dialled != MaxConnections || i.Answered != MaxConnections/2 || i.Lost != 0 || res.Proof.Sent != 500 {
		t.Errorf("open loop: %d dialled, idle %+v, %d sent; want %d, all answered, 500", res.Dialled, i, res.Proof.Sent, MaxConnections)
	}
	lap("open loop")
	var closed ClosedResult
	for _, long := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} { // a busy machine opens them, and answers later
		closed, err = Closed(t.Context(), ClosedOptions{Targets: targets, Connections: MaxConnections, KeepAlive: true, Spin: true, Duration: long, Timeout: time.Minute})
		if err != nil || closed.Answered > 0 {
			break
		}
	}
	if err != nil || closed.Failed > 0 || closed.Dialled != MaxConnections || len(closed.ConnAnswers) != MaxConnections || closed.Answered == 0 {
		t.Errorf("closed loop: %d answered, %d failed, %d dialled, %v", closed.Answered, closed.Failed, closed.Dialled, err)
	}
	lap(fmt.Sprintf("closed loop, %.0f requests/s", closed.Rate()))
}

// A limit that the load would meet is told before it, with the fix.
func TestDescriptorsAreCheckedBefore(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 512, Max: was.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	targets := []Target{{Method: "GET", URL: "http://127.0.0.1:1/"}}
	const want = "preparing the attack: 500 connections need 564 file descriptors and this process may open 512; raise the limit with `ulimit -n 564`, or use fewer connections"
	if res, err := Attack(t.Context(), Options{Targets: targets, Connections: 400, Idle: 100, KeepAlive: true}); res != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v; want %s", res, err, want)
	}
	if _, err := Closed(t.Context(), ClosedOptions{Targets: targets, Connections: 500, Duration: time.Second}); err == nil {
		t.Error("the closed loop began")
	}
}
