package record_test

import (
	"testing"

	"schedlab/internal/shared/record"
)

// Of a load's CPUs those are shared that the servers have too, as long as the servers have
// others.
func TestSharedCPUs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, load, want string }{
		{"0-1", "1", "1"},
		{"0-3", "2-5", "2-3"},
		{"0", "1", ""},
		{"0-1", "0-1", ""},
		{"", "1", ""},
	} {
		e := record.Env{ServerCPUs: c.server, LoadCPUs: c.load}
		if got := e.SharedCPUs().String(); got != c.want {
			t.Errorf("servers on %q, load on %q: got %q, want %q", c.server, c.load, got, c.want)
		}
	}
}
