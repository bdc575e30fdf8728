package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// files are the kernel's on a healthy machine of two cores with two threads each.
func files() map[string]string {
	all := map[string]string{
		"proc/self/cgroup":                      "0::/user.slice",
		"sys/fs/cgroup/cpu.max":                 "max 100000",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
		"proc/net/sockstat":                     "sockets: used 528\nTCP: inuse 5 orphan 0 tw 28 alloc 5 mem 6\n",
		"proc/sys/net/core/somaxconn":           "4096\n",
		"proc/sys/net/ipv4/tcp_max_syn_backlog": "1024\n",
		"proc/meminfo":                          "MemTotal: 8000000 kB\nMemAvailable: 4194304 kB\nSwapTotal: 2097152 kB\nSwapFree: 2097152 kB\n",
		"proc/pressure/cpu":                     "some avg10=0.10 avg60=7.44 avg300=7.15 total=5061361953\nfull avg10=0.00\n",
		"proc/pressure/memory":                  "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/loadavg":                          "0.10 0.20 0.30 1/200 4242",
		"sys/devices/system/cpu/online":         "0-3",
		"sys/devices/system/cpu/cpufreq/boost":  "0",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
	}
	for cpu, threads := range []string{"0-1", "0-1", "2,3", "2,3"} {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", cpu)
		all[dir+"topology/thread_siblings_list"] = threads
		all[dir+"cpufreq/scaling_governor"] = "performance"
	}
	return all
}

func root(files map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

// healthy is a machine in which no check finds anything to mend.
func healthy(t *testing.T) *Machine {
	t.Helper()
	return &Machine{
		Root: root(files()), ServerCPUs: []int{0, 1}, LoadCPUs: []int{2, 3}, Pinned: true,
		Files: unix.Rlimit{Cur: 65536, Max: 65536}, Environ: []string{"HOME=/root", "GOFLAGS=-mod=mod"},
		Out: filepath.Join(t.TempDir(), "runs"), Need: 1,
		Others:   others(program(7, "sshd", 2, .02)),
		Clock:    Steps{Watched: time.Second},
		Lateness: slices.Repeat([]time.Duration{60 * time.Microsecond}, 100),
		Pause:    200 * time.Microsecond,
		Gap:      Gap{Longest: time.Millisecond, Replies: 20_000, Span: 2 * time.Second},
		Engine:   Engine{Rate: 10_000, P50: 25e-6, P99: 90e-6},
		Noise:    NewNoise("quick", []AA{alike(4, 1.02)}, plans),
	}
}

// others are causes seen over half a second.
func others(all ...record.Trouble) *record.Others {
	return &record.Others{Seconds: .5, Troubles: all}
}

func program(pid int, name string, cpu int, share float64) record.Trouble {
	return record.Trouble{Cause: record.Program, PID: pid, Program: name, CPU: cpu, Share: share}
}

// unseen is of the four CPUs of files, in CPUs.
func unseen(cpus float64) record.Trouble {
	return record.Trouble{Cause: record.Passing, Share: cpus / 4}
}

func stolen(share float64) record.Trouble { return record.Trouble{Cause: record.Stolen, Share: share} }

func finding(t *testing.T, r Report, check string) Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("no finding of %q among %+v", check, r.Findings)
	}
	return r.Findings[i]
}

// fit tells a finding's outcome, and its doubt.
func fit(f Finding) string {
	if f.Doubt {
		return map[outcome.Outcome]string{outcome.Yes: "doubt"}[f.Outcome]
	}
	return string(f.Outcome)
}

func TestHealthyMachineIsFit(t *testing.T) {
	t.Parallel()
	r := Examine(healthy(t))
	for _, f := range r.Findings {
		if f.Outcome != outcome.Yes || f.Doubt || f.Fix != "" || f.Spoils == "" || f.Found == "" {
			t.Errorf("got %+v, want it ok, with what it would spoil and without a fix", f)
		}
	}
	if len(r.Findings) != len(checks()) || !strings.HasPrefix(r.Sentence, "fit; ") || r.Answer != "fit" || !r.Quiet() {
		t.Errorf("got %d findings and %q, want %d and fit", len(r.Findings), r.Sentence, len(checks()))
	}
}

// A fit verdict names the load behind it, and the limits of the machine that no check calls wrong.
func TestFitNamesLoadAndLimits(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	all := files()
	all["proc/cpuinfo"] = "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n"
	m.Root, m.ServerCPUs, m.Others = root(all), []int{0}, others(stolen(.012))
	m.Noise.Sleeps = true
	r := Examine(m)
	want := "fit; noise measured with scenario quick (each request computes 20us and sleeps 28ms); requests that only compute may see more: `schedlab doctor pool-cpu`"
	if r.Sentence != want {
		t.Errorf("got %q\nwant %q", r.Sentence, want)
	}
	want = "Limits: one server CPU (GOMAXPROCS 1), a virtual machine, 0.4 % steal, pauses of up to 1ms"
	if got := r.Limits.String(); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Examine(&Machine{Root: root(files())}).Limits; !got.None() {
		t.Errorf("got %q of a machine that nothing was seen of, want no limits", got)
	}
}

// What is not measured is not told of, and a machine that tells nothing is not
// called unfit for that, nor fit.
func TestNothingKnown(t *testing.T) {
	t.Parallel()
	r := Examine(&Machine{Root: fstest.MapFS{}})
	if want := "open: the machine does not tell 12 of 13 things that were looked for"; r.Outcome != outcome.Open || r.Sentence != want {
		t.Errorf("got %s, %q, want %q", r.Outcome, r.Sentence, want)
	}
	for _, f := range r.Findings {
		if f.Outcome != outcome.Open && f.Check != "environment" {
			t.Errorf("got %+v, want it unknown", f)
		}
	}
}

// Every fault is found by one check, which names the fix.
func TestFaults(t *testing.T) {
	t.Parallel()
	set := func(name, text string) func(*Machine) {
		return func(m *Machine) {
			all := files()
			all[name] = text
			m.Root = root(all)
		}
	}
	for _, c := range []struct {
		check      string
		fault      func(*Machine)
		fit        string
		found, fix string
	}{
		{"descriptors", func(m *Machine) { m.Files = unix.Rlimit{Cur: 256, Max: 256} }, "no", "256 descriptors, hard limit 256: 192 connections", "prlimit --nofile=65536:65536 --pid $$"},
		{"descriptors", func(m *Machine) { m.Files = unix.Rlimit{Cur: 4096, Max: 524288} }, "doubt", "4032 connections", "ulimit -n 65536"},
		{"ports", set("proc/sys/net/ipv4/ip_local_port_range", "40000 40999"), "no", "1000 local ports, so as many connections a window, 1429/s in a quick one", "sysctl -w net.ipv4.ip_local_port_range='1024 65535'"},
		{"ports", set("proc/sys/net/ipv4/ip_local_port_range", "32768 36767"), "doubt", "4000 local ports, so as many connections a window, 5714/s in a quick one; 28 sockets in TIME_WAIT", "1024 65535"},
		{"backlog", set("proc/sys/net/core/somaxconn", "16"), "no", "somaxconn 16 and tcp_max_syn_backlog 1024", "sysctl -w net.core.somaxconn=4096"},
		{"backlog", set("proc/sys/net/core/somaxconn", "128"), "doubt", "somaxconn 128", "sysctl -w net.core.somaxconn=4096"},
		{"backlog", set("proc/sys/net/ipv4/tcp_max_syn_backlog", "64"), "doubt", "tcp_max_syn_backlog 64", "sysctl -w net.ipv4.tcp_max_syn_backlog=4096"},
		{"memory", set("proc/meminfo", "MemAvailable: 102400 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB"), "no", "100 MiB available", "end programs"},
		{"swap", set("proc/meminfo", "MemAvailable: 4194304 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB"), "doubt", "1024 of 2048 MiB in use", "swapoff -a && swapon -a"},
		{"cpus", func(m *Machine) { m.ServerCPUs, m.LoadCPUs = []int{1}, []int{1} }, "no", "one CPU only (1)", "4 CPUs are online: taskset -c 0-3 schedlab"},
		{"cpus", func(m *Machine) { m.ServerCPUs, m.LoadCPUs = []int{0, 2}, []int{2} }, "doubt", "the load shares CPU 2 with the servers: server 0,2, load 2", "a question for GOMAXPROCS 2 on two CPUs needs it; otherwise leave --cpus out"},
		{"cpus", func(m *Machine) { m.ServerCPUs, m.LoadCPUs = []int{0, 1}, []int{0, 1} }, "no", "server and load share CPUs: server 0-1, load 0-1", "--cpus 0/1"},
		{"cpus", func(m *Machine) { m.Pinned = false }, "doubt", "not pinned", "leave --cpus none out"},
		{"siblings", func(m *Machine) { m.ServerCPUs, m.LoadCPUs = []int{0, 2}, []int{1, 3} }, "doubt", "CPU 0 of the server and 1 of the load are threads of one core", "--cpus 0-1/2-3"},
		{"siblings", func(m *Machine) { m.ServerCPUs, m.LoadCPUs = []int{2}, []int{3} }, "doubt", "threads of one core", "the only core"},
		{"cpu limit", set("sys/fs/cgroup/cpu.max", "150000 100000"), "no", "1.50 CPUs (sys/fs/cgroup/cpu.max), for 4 in use", "echo max > /sys/fs/cgroup/cpu.max"},
		{"cpu limit", set("sys/fs/cgroup/user.slice/cpu.max", "50000 100000"), "no", "0.50 CPUs", "echo max > /sys/fs/cgroup/user.slice/cpu.max"},
		{"governor", set("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave"), "doubt", "powersave on CPU 3", "echo performance"},
		{"governor", set("sys/devices/system/cpu/cpufreq/boost", "1"), "doubt", "turbo on", "echo 0 > /sys/devices/system/cpu/cpufreq/boost"},
		{"other programs", func(m *Machine) { m.Others = others(program(1234, "hog", 1, .98)) }, "no", "hog (pid 1234) 98 % of CPU 1", "measure when they are idle, or stop them if they are yours"},
		{"other programs", func(m *Machine) { m.Others = others(program(1234, "hog", 1, 1.97)) }, "no", "hog (pid 1234) 197 % of a CPU, last on CPU 1", "measure when they are idle, or stop them if they are yours"},
		{"other programs", func(m *Machine) {
			m.Others = others(program(12, "a", 1, .04), program(13, "b", 2, .05))
		}, "doubt", "b (pid 13)", "measure when they are idle"},
		{"other programs", func(m *Machine) {
			m.Others = others(slices.Repeat([]record.Trouble{program(12, "a", 1, .009)}, 40)...)
		}, "no", "", "look for them on the host"},
		{"other programs", func(m *Machine) { m.Others = others(unseen(.8)) }, "no", "0.8 CPUs busy with programs that are not seen", "on the host"},
		{"other programs", func(m *Machine) { // the headline has room for the first: what takes more
			m.Others = others(program(77, "kdamond.0", 0, .02), unseen(.8))
		}, "no", "0.8 CPUs busy with programs that are not seen from here, kdamond.0", "on the host"},
		{"steal", func(m *Machine) { m.Loaded = others(stolen(.06), stolen(.06)) }, "doubt", "3.0 %", "CPUs of its own"},
		{"steal", func(m *Machine) { m.Others = others(stolen(.52)) }, "no", "13.0 %", "CPUs of its own"},
		{"pressure", set("proc/pressure/cpu", "some avg10=31.00 avg60=0.00"), "doubt", "31.0 %", "ask again after ten seconds"},
		{"pressure", set("proc/pressure/memory", "some avg10=2.00 avg60=0.00"), "doubt", "for memory in 2.0 %", "end programs that hold memory"},
		{"environment", func(m *Machine) { m.Environ = []string{"GOGC=off", "GODEBUG=gctrace=1", "GOFLAGS=-race"} }, "doubt", "GODEBUG=gctrace=1, GOFLAGS=-race, GOGC=off", "env -u GODEBUG -u GOFLAGS -u GOGC schedlab"},
		{"clock source", set("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"), "doubt", "hpet", "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"clock steps", func(m *Machine) { m.Clock = Steps{time.Second, -30 * time.Millisecond, 2} }, "doubt", "stepped 2 times over 1s, by -30ms", "chronyd"},
		{"timer", func(m *Machine) { m.Lateness = slices.Repeat([]time.Duration{2 * time.Millisecond}, 100) }, "doubt", "a hundredth of sleeps end 2ms late or more", "--cpus"},
		{"timer", func(m *Machine) { m.Lateness[99] = 500 * time.Microsecond }, "doubt", "500µs late or more, half of them 60µs", "--cpus"},
		{"pause", func(m *Machine) { m.Pause = 20 * time.Millisecond }, "doubt", "up to 20ms: the p99 of any window shorter than 2s that it falls into", "--window 2s"},
		{"null server", func(m *Machine) { m.Gap.Longest = 30 * time.Millisecond }, "doubt", "the longest gap between two of 20000 replies in 2s is 30ms", "isolcpus"},
		{"output", func(m *Machine) { m.Need = 1 << 62 }, "doubt", "; a record takes up to 4398046511104 MiB", "make room"},
		{"noise", func(m *Machine) { m.Noise = NewNoise("quick", []AA{alike(4, 1.5)}, plans) }, "no", "cannot tell p50, p90, p99 10 % apart", "compare --window 9.5s --budget 10m;"},
		{"noise", func(m *Machine) { m.Noise = NewNoise("quick", []AA{alike(4, 8)}, plans) }, "no", "cannot tell p50, p90, p99 10 % apart", "quieter machine: no --window up to a minute will do;"},
		{"noise", func(m *Machine) { m.Noise = NewNoise("quick", []AA{alike(4, 1.15)}, plans) }, "doubt", "p99 in a quick comparison", "compare --window 3.6s --budget 10m;"},
		{"noise", func(m *Machine) {
			m.Noise = NewNoise("quick", []AA{{Result: &record.Comparison{Ran: 4, Refused: refused(1, 7)}}}, plans)
		}, "no", "only 0 of 4 blocks count: block 1 of nethttp had replies 7, below 8", "mend what else"},
	} {
		m := healthy(t)
		c.fault(m)
		r := Examine(m)
		f := finding(t, r, c.check)
		if fit(f) != c.fit || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Fix, c.fix) {
			t.Errorf("%s: got %+v, want it %s, found %q, fix %q", c.check, f, c.fit, c.found, c.fix)
		}
		for _, other := range r.Findings {
			if other.Check != c.check && fit(other) != "yes" {
				t.Errorf("%s: %s is %s as well: %s", c.check, other.Check, fit(other), other.Found)
			}
		}
		verdict := map[string]string{"doubt": "fit with reservations", "no": "unfit"}[c.fit]
		if r.Answer != verdict || !strings.HasPrefix(r.Sentence, verdict+": "+c.check+": ") {
			t.Errorf("%s: got %q, want %s", c.check, r.Sentence, verdict)
		}
	}
}

// A longer window is advised only where it is at least a tenth longer than the scenario's own.
func TestWindowsThatDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pause, window time.Duration
		fit           string
		found, fix    string
	}{
		{5500 * time.Microsecond, 530 * time.Millisecond, "yes", "for up to 5.5ms: the windows of quick, 530ms, do", ""},
		{5900 * time.Microsecond, 530 * time.Millisecond, "doubt", "the p99 of any window shorter than 590ms", "compare --window 590ms"},
		{5400 * time.Microsecond, 0, "yes", "for up to 5.4ms: the windows of quick, 500ms, do", ""},
		{5500 * time.Microsecond, 0, "doubt", "the p99 of any window shorter than 550ms", "compare --window 550ms"},
		{5 * time.Millisecond, 530 * time.Millisecond, "yes", "for up to 5ms", ""},
		{20 * time.Millisecond, 3 * time.Second, "yes", "for up to 20ms: the windows of quick, 3s, do", ""},
	} {
		m := healthy(t)
		m.Pause, m.Window = c.pause, c.window
		f := finding(t, Examine(m), "pause")
		if fit(f) != c.fit || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Fix, c.fix) || c.fix == "" && f.Fix != "" {
			t.Errorf("%v in windows of %v: got %+v, want %s, %q, %q", c.pause, c.window, f, c.fit, c.found, c.fix)
		}
	}
}

// On one CPU nothing is said to be apart, and the pauses that come of it are its own.
func TestPausesOfTakingTurns(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	m.ServerCPUs, m.LoadCPUs = []int{1}, []int{1}
	m.Pause, m.Gap.Longest = 20*time.Millisecond, 30*time.Millisecond
	r := Examine(m)
	if f := finding(t, r, "siblings"); fit(f) != "yes" || strings.Contains(f.Found, "no core") {
		t.Errorf("got %+v, want that they share a CPU", f)
	}
	for _, check := range []string{"pause", "null server"} {
		f := finding(t, r, check)
		if fit(f) != "doubt" || !strings.Contains(f.Found, "where server and load take turns on CPU 1: the p99 of any window shorter than ") || f.Fix != finding(t, r, "cpus").Fix {
			t.Errorf("got %+v, want the CPU that they share, and the fix of that", f)
		}
	}
}

func refused(block int, replies float64) []record.Refusal {
	return []record.Refusal{{Block: block, Arm: "nethttp", Rule: "replies", Value: replies, Limit: 8}}
}

// Blocks that were left out are told of, with the reason, on a fit machine too.
func TestBlocksLeftOutAreSaid(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	three := alike(3, 1.02)
	three.Comparison().Ran, three.Comparison().Refused = 4, refused(2, 9)
	m.Noise = NewNoise("quick", []AA{three}, plans)
	r := Examine(m)
	if f := finding(t, r, "noise"); r.Answer != "fit" || !strings.HasSuffix(f.Found, "; 1 of 4 blocks left out, the first since block 2 of nethttp had replies 9, above 8") {
		t.Errorf("got %q: %+v, want why a block does not count", r.Answer, f)
	}
	var b strings.Builder
	if err := Formats(false, document.Options{}).Render(&b, "text", r); err != nil || !strings.Contains(b.String(), "from 3 of 4 blocks") {
		t.Errorf("written is %v\n%s", err, b.String())
	}
}

// A cgroup of the first version limits as well, on any level.
func TestOldCgroup(t *testing.T) {
	t.Parallel()
	all := files()
	all["proc/self/cgroup"] = "4:memory:/x\n2:cpu,cpuacct:/jobs/a\n0::/\n"
	all["sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us"] = "200000"
	all["sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us"] = "100000"
	all["sys/fs/cgroup/cpu/jobs/a/cpu.cfs_quota_us"] = "-1"
	all["sys/fs/cgroup/cpu/jobs/a/cpu.cfs_period_us"] = "100000"
	m := healthy(t)
	m.Root = root(all)
	if f := finding(t, Examine(m), "cpu limit"); fit(f) != "no" || !strings.Contains(f.Found, "2.00 CPUs (sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us)") {
		t.Errorf("got %+v, want the limit of two CPUs", f)
	}
}

// A record cannot be made where a file is in the way, below one, or where nothing
// may be written.
func TestOutputInTheWay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{file, filepath.Join(file, "runs")} {
		m := healthy(t)
		m.Out = out
		f := finding(t, Examine(m), "output")
		if fit(f) != "no" || !strings.Contains(f.Found, out+" cannot be written") || !strings.Contains(f.Fix, "--out DIR") {
			t.Errorf("got %+v, want that %s cannot be written", f, out)
		}
		if got := Examine(m).Sentence; !strings.Contains(got, "output: "+out+" cannot be written: "+file+" is no directory") && !strings.Contains(got, "not a directory") {
			t.Errorf("got %q, want the cause in it", got)
		}
	}
}

// The line of a verdict has the reason, not the half of the finding that is well.
func TestSentenceOfTooLittleRoom(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	m.Out, m.Need, m.Noise = t.TempDir(), 1<<62, nil
	if got := Examine(m).Sentence; !strings.HasPrefix(got, "fit with reservations: output: only ") || !strings.HasSuffix(got, " MiB free in "+m.Out) {
		t.Errorf("got %q, want how little is free", got)
	}
}

// A verdict tells whether other programs are all that is behind it: they may end before the first block.
func TestVerdictOnWhatPasses(t *testing.T) {
	t.Parallel()
	others := Finding{Outcome: outcome.No, Fact: othersNow.Of(lookedAt{})}
	steal := Finding{Outcome: outcome.No, Fact: stealNow.Of(stolenTime{})}
	for _, c := range []struct {
		findings []Finding
		want     bool
	}{{[]Finding{others}, true}, {[]Finding{steal}, false}, {[]Finding{others, steal}, false}, {nil, false}} {
		if got, _ := fact.In(doubt.MachineVerdict, Report{Outcome: outcome.No, Findings: c.findings}.Summary(9)); got.Passing != c.want {
			t.Errorf("%d findings: got %t, want %t", len(c.findings), got.Passing, c.want)
		}
	}
}
