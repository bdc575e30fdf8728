package record_test

import (
	"slices"
	"testing"

	"schedlab/internal/record"
)

func TestCPUs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, again string
		want        record.CPUs
	}{
		{"0", "0", record.CPUs{0}},
		{"0-3,5", "0-3,5", record.CPUs{0, 1, 2, 3, 5}},
		{"5,0-1,1-3", "0-3,5", record.CPUs{0, 1, 2, 3, 5}},
		{"8-9,1023", "8-9,1023", record.CPUs{8, 9, 1023}},
	} {
		got, err := record.ParseCPUs(c.list)
		if err != nil || !slices.Equal(got, c.want) || got.String() != c.again {
			t.Errorf("%q: got %v (%s), %v, want %v (%s)", c.list, []int(got), got, err, []int(c.want), c.again)
		}
		if n := record.CountCPUs(c.list, 7); n != len(c.want) {
			t.Errorf("%q counts as %d CPUs, want %d", c.list, n, len(c.want))
		}
	}
	for _, bad := range []string{"", "x", "1-", "3-1", "0,,1", "0-99999999", "-1"} {
		if got, err := record.ParseCPUs(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
		if n := record.CountCPUs(bad, 4); n != 4 {
			t.Errorf("%q counts as %d CPUs, want all 4", bad, n)
		}
	}
	if n := record.CountCPUs("", 0); n != 1 {
		t.Errorf("got %d CPUs where none are known, want 1", n)
	}
	if got := (record.CPUs{0, 1, 2, 3}).Without(record.CPUs{1, 3, 9}); !slices.Equal(got, record.CPUs{0, 2}) {
		t.Errorf("got %v, want 0 and 2", got)
	}
}

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
