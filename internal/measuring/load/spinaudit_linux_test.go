package load

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
)

// The audit measures how long bytes waited in the kernel.
func TestReadAuditKnowsTheWait(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	raw, err := here.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const lay = 20 * time.Millisecond
	a := readAudit{waits: responses.NewHistogram()}
	in := make([]byte, 64)
	if err := raw.Control(func(fd uintptr) {
		if errno := turnOn(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS); errno != 0 {
			t.Fatal(errno)
		}
		took := time.Duration(0)
		for range 100 { // the first to ask has the kernel begin to stamp, a moment later
			began := time.Now()
			if _, err := there.Write([]byte("reply")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lay)
			n, errno := a.receive(int(fd), in)
			if took = time.Since(began); errno != 0 || string(in[:n]) != "reply" {
				t.Fatalf("received %q, %v", in[:n], errno)
			}
			if a.waits.Count() > 0 {
				break
			}
		}
		if got := a.waits.Quantile(1); a.waits.Count() != 1 || got < lay*99/100 || got > took*101/100 {
			t.Errorf("%d waits, %v; want one from %v to %v", a.waits.Count(), got, lay, took)
		}
		if n, errno := a.receive(int(fd), in); errno != unix.EAGAIN || a.waits.Count() != 1 {
			t.Errorf("with nothing there: %d bytes, %v, %d waits", n, errno, a.waits.Count())
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// An open loop audits four of its kept connections, which it uses in turn.
func TestSpinAuditsItsReads(t *testing.T) {
	t.Parallel()
	o := Options{
		Clients: record.Clients{Connections: 8, KeepAlive: true},
		Targets: []Target{{Method: "GET", URL: startBareServer(t)}}, Trace: arrivals.Trace{At: evenly(2000, 100*time.Millisecond)},
	}
	res, err := Attack(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if l := res.Proof.ReadLate; l == nil || l.Replies < 50 || l.Replies > 150 || l.P50 <= 0 || l.P99 < l.P50 {
		t.Errorf("%+v, want about 100 of 200 replies, of 4 connections of 8", l)
	}
	o.KeepAlive = false
	if res, err = Attack(t.Context(), o); err != nil || res.Proof.ReadLate != nil {
		t.Errorf("with a connection for each request: %+v, %v; want none", res.Proof.ReadLate, err)
	}
}
