package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// A turn is one client's request in a tallied loop: from one millisecond to another, 0 where it
// was never answered.
type turn struct {
	client, sent, done int
	outcome            request.End
	ends               bool
}

// tallyOf tallies a loop of two clients with a warm-up of 1 s, measured for another.
func tallyOf(t *testing.T, session, depth int, turns ...turn) ClosedResult {
	t.Helper()
	log := newRequestLog(len(turns))
	for _, turn := range turns {
		_, e := log.add()
		e.conn, e.sent, e.due = int32(turn.client), int64(turn.sent)*1e6, int64(turn.sent)*1e6
		e.wrote, e.ready = e.sent+1, e.sent+1
		e.done, e.outcome, e.ends = int64(turn.done)*1e6, turn.outcome, turn.ends
		if e.outcome == request.Answered && e.done > 0 {
			e.status = 200
		}
	}
	a, err := newScript([]Target{{Method: "GET", URL: "http://127.0.0.1:1/"}}, true, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tallied(log, a, &Options{Clients: record.Clients{Connections: 2, Session: session, Pipeline: depth}, Warmup: time.Second, Duration: time.Second}, 2*time.Second)
}

// A request counts where it ends: before the measured time nowhere, after it as cut.
func TestTallyCountsTheMeasuredTime(t *testing.T) {
	t.Parallel()
	res := tallyOf(t, 0, 1,
		turn{0, 100, 999, request.Answered, false},
		turn{1, 200, 1000, request.Answered, false},
		turn{0, 999, 1999, request.TimedOut, true},
		turn{1, 1000, 2000, request.Answered, false}, // ended while the loop did
		turn{0, 1999, 0, request.Answered, false},
	)
	if res.Answered != 1 || res.Failed != 1 || len(res.Requests) != 2 || !slices.Equal(res.Seqs, []uint64{1, 2}) || res.Elapsed != time.Second {
		t.Errorf("%d answered, %d failed, numbers %d in %v; want the second and the third", res.Answered, res.Failed, res.Seqs, res.Elapsed)
	}
	c := res.Cut
	if c.Requests != 2 || c.Early != 0 || c.Time < 1.0009 || c.Time > 1.0011 || c.Squares < 1 || c.Squares > 1.00001 {
		t.Errorf("cut %+v, want one of 1 s and one of 1 ms", c)
	}
	if res.FirstReply != 899*time.Millisecond || !slices.Equal(res.ConnAnswers, []uint32{0, 1}) || res.Asked != 2 || res.Starved != 0 {
		t.Errorf("first reply after %v, answers %v, %d of %d starved", res.FirstReply, res.ConnAnswers, res.Starved, res.Asked)
	}
}

// A client that waits for its first answer starves, and so does one that waits through a
// measured time in which the others had ten turns each. One that thinks does not.
func TestTallyTellsStarvedClients(t *testing.T) {
	t.Parallel()
	good := func(client, sent, done int) turn { return turn{client, sent, done, request.Answered, false} }
	lost := func(client, sent, done int) turn { return turn{client, sent, done, request.TimedOut, true} }
	reset := func(client, sent, done int) turn { return turn{client, sent, done, request.Reset, true} }
	cut := func(client, sent int) turn { return turn{client, sent, 0, request.Answered, false} }
	busy := func(turns int) (all []turn) { // the other client
		for i := range turns {
			all = append(all, good(1, 1000+i*10, 1005+i*10))
		}
		return all
	}
	for name, test := range map[string]struct {
		does           []turn
		others, depth  int
		asked, starved int
	}{
		"nothing":                                {nil, 20, 1, 1, 0},
		"nothing but timeouts":                   {[]turn{lost(0, 100, 200), lost(0, 1300, 1400)}, 5, 1, 2, 1},
		"nothing but resets":                     {[]turn{reset(0, 100, 200), reset(0, 1300, 1400)}, 20, 1, 2, 0},
		"resets all through it":                  {[]turn{good(0, 100, 200), reset(0, 900, 1400), reset(0, 1400, 1900)}, 20, 1, 2, 0},
		"no answer in a short time":              {[]turn{cut(0, 1900)}, 1, 1, 2, 1},
		"an answer, then thought":                {[]turn{good(0, 100, 200)}, 20, 1, 2, 0},
		"a late request":                         {[]turn{good(0, 100, 200), cut(0, 1900)}, 20, 1, 2, 0},
		"a wait through the time":                {[]turn{good(0, 100, 200), cut(0, 900)}, 20, 1, 2, 1},
		"the same where the others had nine":     {[]turn{good(0, 100, 200), cut(0, 900)}, 9, 1, 2, 0},
		"a timeout in it":                        {[]turn{good(0, 100, 200), lost(0, 900, 1400), cut(0, 1500)}, 20, 1, 2, 1},
		"an answer within":                       {[]turn{good(0, 900, 1100), cut(0, 1200)}, 20, 1, 2, 0},
		"a pipeline of ten has ten turns in one": {[]turn{good(0, 100, 200), cut(0, 900)}, 20, 10, 2, 0},
	} {
		turns := append(slices.Clone(test.does), busy(test.others)...)
		slices.SortStableFunc(turns, func(a, b turn) int { return a.sent - b.sent })
		if res := tallyOf(t, 0, test.depth, turns...); res.Asked != test.asked || res.Starved != test.starved {
			t.Errorf("%s: %d of %d starved, answers %v; want %d of %d", name, res.Starved, res.Asked, res.ConnAnswers, test.starved, test.asked)
		}
	}
}

// A session ends with its size or its connection, and counts where it ends.
func TestTallySessions(t *testing.T) {
	t.Parallel()
	ms := int64(time.Millisecond)
	for name, test := range map[string]struct {
		turns []turn
		want  []Session
	}{
		"complete": {[]turn{{0, 1000, 1010, 0, false}, {0, 1010, 1020, 0, false}, {0, 1020, 1030, 0, false}, {0, 1030, 1040, 0, false}},
			[]Session{{Began: 1000 * ms, Ended: 1030 * ms, Good: 3}}},
		"ended before":     {[]turn{{0, 10, 20, 0, false}, {0, 20, 30, 0, false}, {0, 30, 40, 0, false}}, nil},
		"begun before":     {[]turn{{0, 10, 20, 0, false}, {0, 20, 30, 0, false}, {0, 30, 1040, 0, false}}, []Session{{Began: 10 * ms, Ended: 1040 * ms, Good: 3}}},
		"closed early":     {[]turn{{1, 1000, 1010, 0, true}, {1, 1010, 1020, 0, false}}, []Session{{Client: 1, Began: 1000 * ms, Ended: 1010 * ms, Good: 1, Broken: true}}},
		"a broken request": {[]turn{{0, 1000, 1010, 0, false}, {0, 1010, 1020, request.Reset, true}}, []Session{{Began: 1000 * ms, Ended: 1020 * ms, Good: 1, Failed: 1, Broken: true}}},
		"two clients": {[]turn{{1, 1000, 1001, 0, true}, {0, 1001, 1002, request.Refused, true}, {1, 1002, 1003, request.TimedOut, true}},
			[]Session{{Client: 1, Began: 1000 * ms, Ended: 1001 * ms, Good: 1, Broken: true}, {Began: 1001 * ms, Ended: 1002 * ms, Failed: 1, Broken: true}, {Client: 1, Began: 1002 * ms, Ended: 1003 * ms, Failed: 1, Broken: true}}},
	} {
		if got := tallyOf(t, 3, 1, test.turns...).Sessions; !slices.Equal(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestSumSessions(t *testing.T) {
	t.Parallel()
	var all []Session
	for i := range 100 {
		all = append(all, Session{Began: 5, Ended: 5 + int64(i+1)*int64(time.Millisecond), Good: 9, Failed: 1})
	}
	all = append(all, Session{Began: 5, Ended: int64(time.Hour), Good: 2, Failed: 1, Broken: true})
	s := sumSessions(all)
	if s.Complete != 100 || s.Broken != 1 || s.Good != 902 || s.Failed != 101 || s.Duration.Count != 100 || math.Abs(s.Duration.P90-.09) > .001 || s.Duration.Max > .101 {
		t.Errorf("got %+v; want 100 complete ones of up to 100ms, and the broken one in no time", s)
	}
}
