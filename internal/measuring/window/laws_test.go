package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// looping describes N clients that wait for their replies. Each waits Took seconds for its reply and then pauses for Pause
// seconds. The first Starved of them have waited since the warm-up.
type looping struct {
	N           int
	Took, Pause float64
	Starved     int
	Stall       float64 // seconds into the window from which on no reply comes within it; 0: never
}

// window returns a trial with one second of warm-up and a window of one second, and its clients.
// The clients begin spread over one cycle.
func (l looping) window() (record.TrialRecord, record.Clients) {
	t := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}}}
	pending := &t.Client.Pending
	if l.Stall == 0 {
		l.Stall = math.Inf(1)
	}
	for i := range l.N {
		answers := uint32(0)
		if i < l.Starved {
			pending.Add(record.Pending{Requests: 1, Early: 1})
		} else {
			at := (l.Took + l.Pause) * float64(i) / float64(l.N)
			for ; at < 2 && at+l.Took < 1+l.Stall; at += l.Took + l.Pause {
				if done := at + l.Took; done >= 2 {
					break
				} else if done >= 1 {
					answers++
					t.Requests = append(t.Requests, request.Request{Scheduled: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64(done * 1e9), Status: 200})
				}
			}
			if at < 2 && at+l.Took >= 2 || at+l.Took >= 1+l.Stall && at < 2 {
				pending.Add(record.Pending{Requests: 1, Time: 2 - at, Squares: (2 - at) * (2 - at)})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, answers)
	}
	t.Client.Asked, t.Client.Starved = l.N, l.Starved
	return t, record.Clients{Loop: "closed", Connections: l.N, KeepAlive: true, Think: record.Lasting(time.Duration(l.Pause * 1e9))}
}

// The laws of a closed loop hold with requests at the window's ends as long as they
// are, so that they can fail however many clients there are and however few cycles.
func TestClosedLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		loop  looping
		think float64 // that the record tells of
		edit  func(*record.Trial, *record.Clients)
		broke string
	}{
		{"no pause", looping{N: 8, Took: .005}, 0, nil, ""},
		{"a pause", looping{N: 8, Took: .005, Pause: .02}, .02, nil, ""},
		{"a pause not told", looping{N: 8, Took: .005, Pause: .02}, 0, nil, LawInteractive},
		{"a short one not told", looping{N: 8, Took: .005, Pause: .001}, 0, nil, LawInteractive},
		{"starved clients", looping{N: 8, Took: .005, Starved: 6}, 0, nil, ""},
		{"thousands of clients, three cycles", looping{N: 4096, Took: .3}, 0, nil, ""},
		{"the same, and the load late for a tenth", looping{N: 4096, Took: .3, Pause: .033}, 0, nil, LawInteractive},
		{"clients that never came", looping{N: 4096, Took: .3}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections = 5000 }, LawInteractive},
		{"paced", looping{N: 8, Took: .005, Pause: .02}, 0, func(_ *record.Trial, c *record.Clients) { c.Rate = 320 }, ""},
		{"a pipeline that is never full", looping{N: 8, Took: .005, Pause: .001}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections, c.Pipeline = 4, 2 }, ""},
		{"a server that stops", looping{N: 64, Took: .001, Stall: .8}, 0, nil, LawLittle},
		{"requests that are lost", looping{N: 8, Took: .005}, 0, func(t *record.Trial, _ *record.Clients) { t.Client.Proof = &record.Proof{Sent: 1} }, LawFlow},
	} {
		trial, clients := c.loop.window()
		clients.Think = record.Lasting(time.Duration(c.think * 1e9))
		if c.edit != nil {
			c.edit(&trial.Trial, &clients)
		}
		w := Reduce(trial, record.Env{CPUs: 2}, clients)
		var broke []string
		for _, b := range w.Breaches(1, nil, false) {
			broke = append(broke, b.Rule)
		}
		if c.broke == "" && len(broke) > 0 || c.broke != "" && !slices.ContainsFunc(broke, func(rule string) bool { return strings.HasPrefix(rule, c.broke) }) {
			t.Errorf("%s: breaks %q among %+v, want %q", c.name, broke, w.Laws(1), c.broke)
		}
	}
}

// A queue that goes up and down is told from one that grows by how far it swings.
func TestSwing(t *testing.T) {
	t.Parallel()
	const second = int64(1e9)
	for name, c := range map[string]struct {
		gone func(at float64) float64 // when a request that came then goes, s
		want float64                  // the swing over what the number under way grows by
	}{
		"even growth":              {func(at float64) float64 { return 2 * at }, 1 / math.Sqrt(12)},
		"a pile in the last tenth": {func(at float64) float64 { return at + max(0, at-.9)*1e9 }, math.Sqrt(.1/3 - .0025)},
	} {
		p := presence{from: 0, to: second}
		n, under := 10_000, 0
		for i := range n {
			at := float64(i) / float64(n)
			gone := c.gone(at)
			p.add(int64(at*1e9), int64(min(gone, 10)*1e9)+1, true)
			under += stats.Count(gone > 1)
		}
		if got := p.swing() / float64(under); math.Abs(got/c.want-1) > .05 {
			t.Errorf("%s: swings by %.3f of its growth, want %.3f", name, got, c.want)
		}
	}
	p := presence{from: 0, to: second}
	for i := range int64(1000) { // ten stalls of 50 ms, the last at the end
		at := i * second / 1000
		p.add(at, at+100*second/1000-(at%(100*second/1000)), true)
	}
	if got := p.swing(); got < 25 || got > 33 { // 0 to 100 evenly: 100/√12
		t.Errorf("a sawtooth of 100 swings by %.1f, want about 29", got)
	}
}

// A connection of an open loop that starves from the warm-up on takes no part in the flow, so it breaks
// no law. A request that is lost on a connection with answers does.
func TestStarvedOpenLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		starved, unclocked int
		broke              []string
	}{{55, 55, nil}, {64, 55, nil}, {0, 0, []string{LawLittle + " (ratio)"}}} {
		trial := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(500 * time.Millisecond), Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: -1, Accepted: -1}}}
		for i := range int64(450) { // 300/s, of which the first 55 are never answered
			r := request.Request{Scheduled: i * 1e9 / 300, Sent: i * 1e9 / 300, Done: i*1e9/300 + 20e6, Status: 200}
			if i < 55 {
				r.Done, r.Status, r.Outcome = 11e9, 0, request.TimedOut
			}
			trial.Requests = append(trial.Requests, r)
		}
		trial.Client.Asked, trial.Client.Starved = 64, c.starved
		w := Reduce(trial, record.Env{CPUs: 2}, record.Clients{Loop: "open", Connections: 64, KeepAlive: true})
		var broke []string
		for _, b := range w.Breaches(1, nil, false) {
			broke = append(broke, b.Rule)
		}
		if !slices.Equal(broke, c.broke) || w.Unclocked != c.unclocked {
			t.Errorf("%d starved: breaks %q, %d without a time; want %q, %d", c.starved, broke, w.Unclocked, c.broke, c.unclocked)
		}
	}
}

func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) || math.IsNaN(got) && math.IsNaN(want)
}

// The sums are those that counting nanosecond by nanosecond gives, of requests that begin
// and end anywhere, also at the window's very ends and at the instants.
func TestPresence(t *testing.T) {
	t.Parallel()
	const from, to = 200, 200 + 10*instants
	rng := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		p := presence{from: from, to: to}
		var took, longest, edges, outside, inside float64
		counted, ends := 0, 0
		var under [instants]float64
		for range rng.IntN(40) {
			began := 5 * rng.Int64N(200)
			done := began + 5*rng.Int64N(60)
			if rng.IntN(10) == 0 {
				done += to
			}
			counts := rng.IntN(2) == 0
			p.add(began, done, counts)

			seconds := func(ns int64) float64 { return time.Duration(ns).Seconds() }
			for at := began; at < done; at++ {
				if at >= from && at < to {
					inside += 1e-9
				}
			}
			if counts {
				counted++
				took += seconds(done - began)
				longest = max(longest, seconds(done-began))
			}
			early, late := began < from && done >= from, began < to && done >= to
			edge := int64(0)
			if early {
				ends++
			}
			if late {
				ends++
			}
			if early != late { // both: longer than the window
				switch {
				case early && counts:
					edge = from - began
				case early:
					edge = done - from
				default:
					edge = done - to
				}
			}
			edges += seconds(edge)
			outside += seconds(edge) * seconds(edge)
			for i := range under {
				if at := int64(from + 10*i + 5); began <= at && at < done {
					under[i]++
				}
			}
		}
		mean, swing := 0.0, 0.0
		for _, n := range under {
			mean += n / instants
		}
		for _, n := range under {
			swing += (n - mean) * (n - mean) / instants
		}
		if p.counted != counted || p.ends != ends {
			t.Fatalf("%d counted and %d at the ends, want %d and %d", p.counted, p.ends, counted, ends)
		}
		for name, c := range map[string][2]float64{
			"time": {p.time * 1e9, inside * 1e9}, "took": {p.took * 1e9, took * 1e9}, "longest": {p.longest * 1e9, longest * 1e9},
			"edges": {p.edges * 1e9, edges * 1e9}, "outside": {p.outside * 1e18, outside * 1e18}, "swing": {p.swing() / 100, math.Sqrt(swing) / 100},
		} {
			if math.Abs(c[0]-c[1]) > 1e-6*max(1, c[1]) {
				t.Fatalf("%s is %v, want %v", name, c[0], c[1])
			}
		}
	}
	for at, want := range map[int64]bool{from - 1: false, from: true, to - 1: true, to: false} {
		if p := (presence{from: from, to: to}); p.within(at) != want {
			t.Errorf("%d is within %d to %d: %v, want %v", at, from, to, !want, want)
		}
	}
}

// Little's law: what an open loop saw is off by what lies outside the window at most, and
// by nothing when nothing does.
func TestLittlesLaw(t *testing.T) {
	t.Parallel()
	open := func(requests ...request.Request) *Window {
		w := Reduce(record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(time.Second)}, Requests: requests}, record.Env{}, record.Clients{Loop: "open"})
		return &w
	}
	at := func(began, done float64) request.Request {
		return request.Request{Scheduled: int64(began * 1e9), Sent: int64(began * 1e9), Done: int64(done * 1e9), Status: 200}
	}
	for name, c := range map[string]struct {
		w          *Window
		off, limit float64
		ok         bool
	}{
		"nothing":                 {open(), 0, 0, false},
		"all inside":              {open(at(1.1, 1.2), at(1.5, 1.8)), 0, littleLimit, true},
		"one goes on after it":    {open(at(1.1, 1.5), at(1.9, 2.5)), .5, littleLimit + .5, true},               // .5 of 1 s is outside; 1 of 2 at an end
		"one came before it":      {open(at(.8, 1.2), at(1.5, 1.9)), .5, littleLimit + 1, true},                 // 1 at an end, of 1 counted
		"many, and a long one":    {open(at(1, 1.1), at(1.2, 1.3), at(1.5, 3.3)), .65, littleLimit + .65, true}, // 1.3 of 2 s is outside
		"done as the window ends": {open(at(1.5, 2), at(1, 1.5)), 0, littleLimit + .5, true},
	} {
		if off, limit, ok := c.w.littlesLaw(); !near(off, c.off) || !near(limit, c.limit) || ok != c.ok {
			t.Errorf("%s: off %v of %v, %v; want %v of %v, %v", name, off, limit, ok, c.off, c.limit, c.ok)
		}
	}

	// Of a closed loop, one stall may delay all: each end may be as long as the longest request.
	closed := Window{Clients: record.Clients{Loop: "closed"}, presence: presence{time: 1.8, took: 2, longest: .75, counted: 4, ends: 1}}
	closed.presence.pending(record.Pending{Requests: 3, Early: 1, Time: .4, Squares: .04})
	if off, limit, _ := closed.littlesLaw(); !near(off, .1) || !near(limit, littleLimit+3*.75/2) {
		t.Errorf("closed: off %v of %v, want 0.1 of %v", off, limit, littleLimit+3*.75/2)
	}
	closed.presence.longest, closed.presence.outside = 0, 4
	if _, limit, _ := closed.littlesLaw(); !near(limit, littleLimit+3) {
		t.Errorf("closed, with much outside: limit %v, want %v", limit, littleLimit+3)
	}
}

// The interactive law is that of clients: each of them waits or thinks all the time.
func TestInteractiveLaw(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clients     record.Clients
		pending     record.Pending
		time        float64 // under way, s
		completions int
		off, limit  float64
		ok          bool
	}{
		"waiting all the time":    {record.Clients{Loop: "closed", Connections: 4}, record.Pending{}, 8, 100, 0, .05, true},
		"a quarter is missing":    {record.Clients{Loop: "closed", Connections: 4}, record.Pending{}, 6, 100, .25, .05, true},
		"more than all":           {record.Clients{Loop: "closed", Connections: 4}, record.Pending{}, 9, 100, .125, .05, true},
		"waiting and thinking":    {record.Clients{Loop: "closed", Connections: 4, Think: record.Lasting(30 * time.Millisecond)}, record.Pending{}, 5, 100, 0, .05 + .09*math.Sqrt(104)/8, true},
		"one starves":             {record.Clients{Loop: "closed", Connections: 4}, record.Pending{Early: 1}, 6, 100, 0, .05, true},
		"all starve":              {record.Clients{Loop: "closed", Connections: 4}, record.Pending{Early: 4}, 0, 100, 0, 0, false},
		"no answer":               {record.Clients{Loop: "closed", Connections: 4}, record.Pending{}, 8, 0, 0, 0, false},
		"a pace":                  {record.Clients{Loop: "closed", Connections: 4, Rate: 1}, record.Pending{}, 8, 100, 0, 0, false},
		"an open loop":            {record.Clients{Loop: "open", Connections: 4}, record.Pending{}, 8, 100, 0, 0, false},
		"pipelines, not full":     {record.Clients{Loop: "closed", Connections: 4, Pipeline: 2}, record.Pending{}, 12, 100, 0, .05, true},
		"pipelines, overfull":     {record.Clients{Loop: "closed", Connections: 4, Pipeline: 2}, record.Pending{}, 20, 100, .25, .05, true},
		"pipelines of one, empty": {record.Clients{Loop: "closed", Connections: 4, Pipeline: 1}, record.Pending{}, 6, 100, .25, .05, true},
	} {
		w := Window{Trial: record.Trial{Window: record.Lasting(2 * time.Second), Client: record.ClientSide{Pending: c.pending}}, Clients: c.clients, completions: c.completions, presence: presence{time: c.time}}
		if off, limit, ok := w.interactiveLaw(); !near(off, c.off) || !near(limit, c.limit) || ok != c.ok {
			t.Errorf("%s: off %v of %v, %v; want %v of %v, %v", name, off, limit, ok, c.off, c.limit, c.ok)
		}
	}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	unknown := record.ServerSide{CPU: -1, Accepted: -1}
	for name, c := range map[string]struct {
		server record.ServerSide
		proof  *record.Proof
		want   []record.Law
	}{
		"nothing is known":         {unknown, nil, nil},
		"no CPU time":              {record.ServerSide{CPU: 0, Accepted: -1}, nil, []record.Law{{Name: LawUtilisation, Unit: "ratio of CPU time", Windows: 1, Value: 0, Limit: cpuSlack}}},
		"CPU time":                 {record.ServerSide{CPU: 6, Accepted: -1}, nil, []record.Law{{Name: LawUtilisation, Unit: "ratio of CPU time", Windows: 1, Value: 1.5, Limit: cpuSlack}}},
		"CPU time, on other CPUs":  {record.ServerSide{CPU: 6, CPUs: "0-2", Accepted: -1}, nil, []record.Law{{Name: LawUtilisation, Unit: "ratio of CPU time", Windows: 1, Value: 1, Limit: cpuSlack}}},
		"requests":                 {unknown, &record.Proof{Sent: 10}, []record.Law{{Name: LawFlow, Unit: "requests", Windows: 1, Value: 3, Limit: 0}}},
		"more requests than sent":  {unknown, &record.Proof{Sent: 5}, []record.Law{{Name: LawFlow, Unit: "requests", Windows: 1, Value: 2, Limit: 0}}},
		"connections":              {record.ServerSide{CPU: -1, Accepted: 10, Done: 4, Rejected: 3, Dropped: 2, Open: 1}, nil, []record.Law{{Name: LawFlow, Unit: "connections", Windows: 1, Value: 0, Limit: 0}}},
		"connections that are not": {record.ServerSide{CPU: -1, Accepted: 0, Open: 1}, nil, []record.Law{{Name: LawFlow, Unit: "connections", Windows: 1, Value: 1, Limit: 0}}},
	} {
		w := Window{Trial: record.Trial{Window: record.Lasting(2 * time.Second), Server: c.server, Client: record.ClientSide{Proof: c.proof}}, outcomes: 7, Clients: record.Clients{Loop: "open"}}
		got := w.Laws(2)
		if len(got) != len(c.want) || len(got) == 1 && got[0] != c.want[0] {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got := RuleOf(record.Law{Name: LawInteractive, Unit: "ratio"}); got != "interactive law T = N/X - Z (ratio)" {
		t.Errorf("got %q", got)
	}
	if got := RuleOf(record.Law{Name: LawFlow, Unit: "requests"}); got != "flow law (requests)" {
		t.Errorf("got %q", got)
	}
}
