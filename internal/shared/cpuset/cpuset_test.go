package cpuset

import (
	"slices"
	"testing"
)

func TestCPUs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, again string
		want        Set
	}{
		{"0", "0", Set{0}},
		{"0-3,5", "0-3,5", Set{0, 1, 2, 3, 5}},
		{"5,0-1,1-3", "0-3,5", Set{0, 1, 2, 3, 5}},
		{"8-9,1023", "8-9,1023", Set{8, 9, 1023}},
	} {
		got, err := Parse(c.list)
		if err != nil || !slices.Equal(got, c.want) || got.String() != c.again {
			t.Errorf("%q: got %v (%s), %v, want %v (%s)", c.list, []int(got), got, err, []int(c.want), c.again)
		}
		if n := Count(c.list, 7); n != len(c.want) {
			t.Errorf("%q counts as %d CPUs, want %d", c.list, n, len(c.want))
		}
	}
	for _, bad := range []string{"", "x", "1-", "3-1", "0,,1", "0-99999999", "-1"} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
		if n := Count(bad, 4); n != 4 {
			t.Errorf("%q counts as %d CPUs, want all 4", bad, n)
		}
	}
	if n := Count("", 0); n != 1 {
		t.Errorf("got %d CPUs where none are known, want 1", n)
	}
	if got := (Set{0, 1, 2, 3}).Without(Set{1, 3, 9}); !slices.Equal(got, Set{0, 2}) {
		t.Errorf("got %v, want 0 and 2", got)
	}
}
