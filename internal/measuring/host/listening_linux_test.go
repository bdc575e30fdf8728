package host

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// A process listens where its socket is bound, or at every address where it is bound to
// none.
func TestListening(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network, bound, asked string
		want                  bool
	}{
		{"tcp4", "127.0.0.1:0", "127.0.0.1", true},
		{"tcp4", "127.0.0.1:0", "127.0.0.2", false},
		{"tcp4", "0.0.0.0:0", "127.0.0.1", true},
		{"tcp", "[::]:0", "127.0.0.1", true},
		{"tcp6", "[::1]:0", "::1", true},
		{"tcp6", "[::1]:0", "127.0.0.1", false},
	} {
		ln, err := net.Listen(c.network, c.bound)
		if err != nil {
			t.Logf("NOT RUN: %v", err)
			continue
		}
		defer ln.Close()
		port := ln.Addr().(*net.TCPAddr).AddrPort().Port()
		at := netip.AddrPortFrom(netip.MustParseAddr(c.asked), port)
		for _, among := range [][]int{nil, {os.Getpid()}} {
			if got := Listening(at, among); slices.Contains(got, os.Getpid()) != c.want {
				t.Errorf("bound to %s: processes %v of %v listen at %s, this one among them: want %v", c.bound, got, among, c.asked, c.want)
			}
		}
		if got := Listening(at, []int{os.Getppid()}); got != nil {
			t.Errorf("bound to %s: got %v for a process that does not listen", c.bound, got)
		}
	}
}
