package cgroup

import (
	"testing"
	"time"
)

func machine(files map[string]string) Reader { return func(name string) string { return files[name] } }

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		files     map[string]string
		groups    int
		cpus      float64
		file      string
		own       float64
		throttled time.Duration
	}{
		{"nothing told", map[string]string{"sys/fs/cgroup/cpu.max": "100000 100000"}, 0, 0, "", 0, 0},
		{"no limit", map[string]string{Self: "0::/user.slice/me\n", "sys/fs/cgroup/user.slice/me/cpu.max": "max 100000\n"}, 3, 0, "", 0, 0},
		{"a container's root", map[string]string{
			Self: "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n", "sys/fs/cgroup/cpu.stat": "usage_usec 9\nthrottled_usec 1500\n",
		}, 1, 1.5, "sys/fs/cgroup/cpu.max", 1.5, 1500 * time.Microsecond},
		{"a slice above", map[string]string{
			Self:                             "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/cpu.max":  "50000 100000\n",
			"sys/fs/cgroup/a.slice/cpu.stat": "nr_throttled 3\nthrottled_usec 20000\n",
			"sys/fs/cgroup/a.slice/b.service/cpu.max":  "100000 100000\n",
			"sys/fs/cgroup/a.slice/b.service/cpu.stat": "throttled_usec 5000\n",
		}, 3, .5, "sys/fs/cgroup/a.slice/cpu.max", 1, 25 * time.Millisecond},
		{"version 1", map[string]string{
			Self: "5:memory:/x\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n",
			"sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us":  "200000\n",
			"sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us":    "-1\n",
			"sys/fs/cgroup/cpu/docker/cpu.cfs_period_us":   "100000\n",
			"sys/fs/cgroup/cpu/docker/1/cpu.stat":          "nr_throttled 1\nthrottled_time 7000000\n",
		}, 3, 2, "sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", 2, 7 * time.Millisecond},
		{"nonsense", map[string]string{Self: "garbage\n0::/\n:\n", "sys/fs/cgroup/cpu.max": "0 0", "sys/fs/cgroup/cpu.stat": "throttled_usec x"}, 1, 0, "", 0, 0},
	} {
		read := machine(c.files)
		cpus, file, ok := Least(read)
		if len(groups(read, Self)) != c.groups || cpus != c.cpus || file != c.file || ok != (c.file != "") || Own(read) != c.own || Throttled(read) != c.throttled {
			t.Errorf("%s: %d groups, %v CPUs by %q, %v in its own, %v throttled; want %d, %v by %q, %v, %v",
				c.name, len(groups(read, Self)), cpus, file, Own(read), Throttled(read), c.groups, c.cpus, c.file, c.own, c.throttled)
		}
	}
}
