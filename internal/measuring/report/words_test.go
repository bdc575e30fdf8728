package report

import (
	"fmt"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A rate that the generator limits is not left to look like the share that was asked
// for, and the highest rate has its spread beside it.
func TestRateOfTheGeneratorIsTold(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{Rate: 31900, Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{XMax: new(92000.), Apart: .042}}, {Contestant: record.Contestant{Name: "b"}, Figures: record.Figures{XMax: new(82125.)}}}, Common: record.Common{Env: record.Env{LoadCPUs: "1"}}}
	for _, c := range []struct {
		sendable float64
		want     string
	}{
		{0, "31,900 requests/s to each arm (about 39 % of the slowest arm's highest rate), "},
		{31900, "31,900 requests/s to each arm (about 39 % of the slowest arm's highest rate, what the load's CPUs can send), "},
	} {
		r.Sendable = c.sendable
		if got := strings.ReplaceAll(offered(r), say.NBSP, " "); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q first", got, c.want)
		}
	}
	if got, want := plainText(fmt.Sprint(moreFigures(r))), "[[arm highest halves apart errors] [a 92,000/s 4 % 0 of 0] [b 82,125/s - 0 of 0]]"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// Of requests that failed it is told how they ended, the commonest first, and in how many blocks if not in all.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	arm := record.Arm{Contestant: record.Contestant{Name: "new"}, Figures: record.Figures{Errors: 2007, Requests: 6023, Failures: map[string]int{"timed out": 7, "status 500": 2000}}}
	if got, want := complaints(&record.Comparison{Arms: []record.Arm{arm}})[0], "new: 2,007 requests of 6,023 without a good reply (status 500: 2,000, timed out: 7)"; strings.ReplaceAll(got, say.NBSP, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	arm.ErrorBlocks, arm.Blocks = 1, stats.Series{stats.Goodput: {200, 210, 205}}
	if got, want := complaints(&record.Comparison{Arms: []record.Arm{arm}})[0], "of 6,023 without a good reply, all in 1 of 3 blocks (status 500"; !strings.Contains(strings.ReplaceAll(got, say.NBSP, " "), want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Connections without an answer in one block of many are named with it, and are not called starved.
func TestStarvationIsToldWithItsBlocks(t *testing.T) {
	t.Parallel()
	arm := record.Arm{Contestant: record.Contestant{Name: "new"}, Figures: record.Figures{StarvedConnections: 67, Blocks: stats.Series{stats.Goodput: make([]float64, 20)}}}
	for blocks, want := range map[int]string{
		0: "new STARVED 67 connections that waited", 20: "new STARVED 67 connections that waited", 3: "new STARVED 67 connections in 3 of 20 blocks that waited",
		1: "new: 67 connections got no answer in 1 of 20 blocks, too few blocks to call it starving",
	} {
		arm.StarvedBlocks = blocks
		if got := strings.ReplaceAll(complaints(&record.Comparison{Arms: []record.Arm{arm}})[0], say.NBSP, " "); !strings.HasPrefix(got, want) {
			t.Errorf("%d blocks: got %q, want %q", blocks, got, want)
		}
	}
}

// An arm that ran already is not said to have the servers' CPUs and Ps.
func TestServersElsewhereAreTold(t *testing.T) {
	t.Parallel()
	e := record.Env{CPUs: 2, ServerCPUs: "0", ServerProcs: 1, LoadCPUs: "1", LoadProcs: 2}
	own := record.Arm{Contestant: record.Contestant{Name: "new"}}
	for _, c := range []struct {
		arm  record.Arm
		want string
	}{
		{record.Arm{Contestant: record.Contestant{Name: "prod", Attached: true, CPUs: "0-1"}}, "prod: CPU 0-1, not pinned; new: "},
		{record.Arm{Contestant: record.Contestant{Name: "prod", Attached: true}}, "prod: ran already, not pinned; new: "},
		{record.Arm{Contestant: record.Contestant{Name: "prod", CPUs: "1"}}, "prod: CPU 1 by its own choice; new: "},
	} {
		twin := c.arm
		twin.Name, twin.Role = "prod'", record.Copy
		if got, want := strings.ReplaceAll(machine(&record.Comparison{Common: record.Common{Env: e}, Arms: []record.Arm{c.arm, twin, own}}), say.NBSP, " "), "server "+c.want+"on CPU 0 (1 CPU, GOMAXPROCS 1); load on CPU 1 (1 CPU, GOMAXPROCS 2)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Where an arm's environment gives its server other Ps, the line on the machine says so.
func TestProcsOfTheArmsAreTold(t *testing.T) {
	t.Parallel()
	e := record.Env{CPUs: 2, ServerCPUs: "0", ServerProcs: 1, LoadCPUs: "1", LoadProcs: 2}
	arm := func(name string, procs int) record.Arm {
		return record.Arm{Contestant: record.Contestant{Name: name, Procs: procs}}
	}
	base, twin := arm("a", 0), record.Arm{Contestant: record.Contestant{Name: "a'", Role: record.Copy}}
	for _, c := range []struct {
		arms []record.Arm
		want string
	}{
		{nil, "on CPU 0 (1 CPU, GOMAXPROCS 1)"},
		{[]record.Arm{base, twin, arm("b", 0)}, "on CPU 0 (1 CPU, GOMAXPROCS 1)"},
		{[]record.Arm{base, twin, arm("b", 1)}, "on CPU 0 (1 CPU, GOMAXPROCS 1)"},
		{[]record.Arm{arm("a", 2), twin, arm("b", 2)}, "on CPU 0 (1 CPU, GOMAXPROCS 2)"},
		{[]record.Arm{base, twin, arm("b", 4), arm("c", 4)}, "a: on CPU 0 (1 CPU, GOMAXPROCS 1); b, c: on CPU 0 (1 CPU, GOMAXPROCS 4)"},
	} {
		if got, want := strings.ReplaceAll(machine(&record.Comparison{Common: record.Common{Env: e}, Arms: c.arms}), say.NBSP, " "), "server "+c.want+"; load on CPU 1 (1 CPU, GOMAXPROCS 2)"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q first", got, want)
		}
	}
}

func TestSizesSayWhatNamesLeaveOut(t *testing.T) {
	t.Parallel()
	arm := func(name, mode, flags string) record.Arm {
		return record.Arm{Contestant: record.Contestant{Name: name, Mode: mode, Command: "schedlab serve --mode " + mode + " --addr {addr}" + flags}}
	}
	pool := arm("pool", "pool", " --queue-depth 1024 --workers 64")
	for _, c := range []struct {
		arms []record.Arm
		want string
	}{
		{[]record.Arm{arm("nethttp", "nethttp", ""), pool}, "pool has 64 workers"},
		{[]record.Arm{arm("pool", "pool-request", " --workers 4")}, "pool is pool-request with 4 workers"},
		{[]record.Arm{arm("plain", "nethttp", "")}, "plain is nethttp"},
		{[]record.Arm{arm("one", "goroutine", " --kv-locks 1"), arm("locks", "goroutine", " --kv-locks 8")}, "one is goroutine with 1 lock; locks is goroutine with 8 locks"},
		{[]record.Arm{arm("pool,workers=4", "pool", " --workers 4"), arm("nethttp,connections=8", "nethttp", "")}, ""},
		{[]record.Arm{arm("prefork", "prefork", " --processes 1 --threads 2")}, "prefork has 1 process and 2 threads"},
		{[]record.Arm{pool, {Contestant: record.Contestant{Name: "mine", Command: "./mine --workers 4"}}, {Contestant: record.Contestant{Name: "pool'", Mode: "pool", Command: pool.Command, Role: record.Copy}}}, "pool has 64 workers"},
		{[]record.Arm{pool, pool, pool, pool}, ""},
	} {
		if got := strings.ReplaceAll(sizes(contestants(c.arms)), say.NBSP, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A few machines of a site are named, many are counted.
func TestMachinesOfASiteAreTold(t *testing.T) {
	t.Parallel()
	c := &record.Site{Senders: 300, ServerCPUs: 1, ServerMachines: []string{"a"}, LoadMachines: []string{"b", "c", "d"}}
	few := elsewhere(c)
	c.LoadMachines = append(c.LoadMachines, "e")
	for got, want := range map[string]string{
		few:          "each server with 1 CPU on a, load from 300 senders on b, c, d",
		elsewhere(c): "each server with 1 CPU on a, load from 300 senders on 4 machines",
	} {
		if strings.ReplaceAll(got, say.NBSP, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The share of an arm's highest rate is of what its workers allow, where its probe ended with one turn of them more.
func TestShareIsOfWhatWorkersAllow(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{Rate: 2170, Arms: []record.Arm{
		{Contestant: record.Contestant{Name: "nethttp", Mode: "nethttp"}, Figures: record.Figures{XMax: new(8000.)}},
		{Contestant: record.Contestant{Name: "pool", Mode: "pool", Command: "schedlab serve --mode pool --workers 64", Busy: 60.8}, Figures: record.Figures{XMax: new(2359.)}},
	}}
	if got, want := loadOnEach(r), "2,170 requests/s to each arm (about 95 % of the slowest arm's highest rate)"; strings.ReplaceAll(got, say.NBSP, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Arms[1].Command = "./pool"
	if got, want := loadOnEach(r), "(about 92"; !strings.Contains(strings.ReplaceAll(got, say.NBSP, " "), want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// A time of the scenario looks like every other figure, and a path stays as it was typed.
func TestAskedHasOneFormOfTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"each request computes 20us and sleeps exp(1.5ms)": "each request computes 20" + say.NBSP + "µs and sleeps exp(1.5" + say.NBSP + "ms)",
		`each request is GET /work?sleep=10ms`:             `each request is GET /work?sleep=10ms`,
		`each request is GET /work?cpu=exp(200us)`:         `each request is GET /work?cpu=exp(200us)`,
		"each request sleeps 0.8*0s+0.2*10ms":              "each request sleeps 0.8*0" + say.NBSP + "s+0.2*10" + say.NBSP + "ms",
		"":                                                 "",
	} {
		if got := asked(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What was refused for one reason is said once, between the verdicts that have another; a row of the page refers to the first.
func TestRefusedForOneReason(t *testing.T) {
	t.Parallel()
	r := quick()
	few := func(m stats.Figure) record.Verdict {
		return record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: m, Primary: true, Verdict: stats.Decision{Outcome: outcome.Refused}, Reason: doubt.Overloaded.Of(doubt.Overload{}).On("pool"), Ratio: 33, Low: 20, High: 40}
	}
	same := record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: stats.Goodput, Verdict: stats.Decided(stats.Same), Ratio: 1, Low: .99, High: 1.01}
	r.Verdicts, r.AA = []record.Verdict{few(stats.P50), few(stats.P90), same}, nil
	got := sentences(r, r.Verdicts)
	if len(got) != 2 || !strings.HasPrefix(got[0], "pool against nethttp is refused at p50, p90: overloaded: ") || !strings.HasPrefix(got[1], "pool is the SAME as nethttp") {
		t.Errorf("got %q", got)
	}
	rows := forestOf(r).Groups[0].Rows
	if rows[0].Drawn || rows[0].Change != "" || !strings.HasPrefix(rows[0].Note, "overloaded: ") || rows[1].Note != "as p50" || !rows[2].Drawn {
		t.Errorf("got %+v", rows)
	}
}

// Where other programs took much of the servers' CPU, an arm is not said to be the cause of its backlog.
func TestBacklogBesideOthers(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Doubts = nil
	if got := grew(r, "pool"); strings.Contains(got, "other programs") {
		t.Errorf("nobody else: got %q", got)
	}
	r.Doubts = []fact.Fact{doubt.Overloaded.Of(doubt.Overload{Others: .62}).On("pool")}
	if got := grew(r, "pool"); !strings.HasSuffix(got, ", while other programs took 62 % of the servers' CPU: which of them is the cause cannot be told") {
		t.Errorf("got %q", got)
	}
}
