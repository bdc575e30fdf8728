package cgroup

import (
	"slices"
	"testing"
	"time"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []Place
	}{
		{"no groups", nil, nil},
		{"version 1: below its own", map[string]string{
			Self: "2:cpu,cpuacct:/a\n0::/\n", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, []Place{{"sys/fs/cgroup/cpu/a", true}}},
		{"version 1, the container's path on its host: where it is seen", map[string]string{
			Self: "2:cpu:/docker/1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, []Place{{"sys/fs/cgroup/cpu", true}}},
		{"version 2: groups that hand on the controller", map[string]string{
			Self: "0::/user.slice/app.slice/x.scope\n", "sys/fs/cgroup/user.slice/app.slice/x.scope/cgroup.subtree_control": "\n",
			"sys/fs/cgroup/user.slice/app.slice/cgroup.subtree_control": "cpu memory\n",
			"sys/fs/cgroup/user.slice/cgroup.subtree_control":           "cpuset memory\n",
			"sys/fs/cgroup/cgroup.subtree_control":                      "cpuset cpu\n",
		}, []Place{{"sys/fs/cgroup/user.slice/app.slice", false}, {"sys/fs/cgroup", false}}},
	} {
		if got := Places(func(name string) string { return c.files[name] }); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// The stops of a process are those of its own group, and not those that it shares with this process.
func TestStopsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, theirs string
		want         Stops
		ok           bool
	}{
		{"a group of its own", "0::/ours/theirs\n", Stops{3, 20 * time.Millisecond}, true},
		{"this process's group", "0::/ours\n", Stops{}, false},
		{"no such process", "", Stops{}, false},
		{"a group that is not seen here", "0::/../theirs\n", Stops{}, false},
		{"a group without a limit", "0::/free\n", Stops{}, false},
	} {
		files := map[string]string{
			Self: "0::/ours\n", "proc/7/cgroup": c.theirs, "sys/fs/cgroup/ours/cpu.stat": "nr_throttled 9\nthrottled_usec 1\n",
			"sys/fs/cgroup/ours/theirs/cpu.stat": "nr_periods 8\nnr_throttled 3\nthrottled_usec 20000\n", "sys/fs/cgroup/free/cpu.stat": "usage_usec 5\n",
		}
		if got, ok := StopsOf(func(name string) string { return files[name] }, 7); got != c.want || ok != c.ok {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
