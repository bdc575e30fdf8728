package load

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

// Who starves is a matter of its turn, not of the window: a client whose turn did
// not come in a short one does not, and one that was answered before it and then
// never again does, as soon as the others had ten turns.
func TestClosedTellsStarvedClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		takes   time.Duration // a request, of one server for all
		mute    int           // connections below this number are answered this often, and no more
		answers int
		window  time.Duration
		starved int
	}{
		{"turns longer than the window", 300 * time.Millisecond, 0, 0, 400 * time.Millisecond, 0},
		{"never answered", time.Millisecond, 2, 0, time.Second, 2},
		{"never answered in a short window", 300 * time.Millisecond, 2, 0, 400 * time.Millisecond, 2},
		{"answered once, in the warm-up", time.Millisecond, 3, 1, time.Second, 3},
		{"answered once, and nobody often", 300 * time.Millisecond, 3, 1, time.Second, 0},
	} {
		for _, depth := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				turn := make(chan struct{}, 1)
				asked := map[int]int{}
				s := newPipeServer(t, func(conn int, requests string) string {
					n := strings.Count(requests, "\r\n\r\n")
					turn <- struct{}{}
					time.Sleep(time.Duration(n) * test.takes / time.Duration(depth))
					asked[conn]++
					silent := conn < test.mute && asked[conn] > test.answers
					<-turn
					if silent {
						time.Sleep(time.Hour)
					}
					return strings.Repeat(okReply, n)
				})
				o := closedOptions(s)
				o.Pipeline, o.Warmup, o.Duration, o.Timeout = depth, 2*time.Second, test.window, time.Minute
				res := closedRun(t, o)
				if res.Asked != 4 || res.Starved != test.starved {
					t.Errorf("%s, depth %d: %d of %d starved, answers %v; want %d of 4", test.name, depth, res.Starved, res.Asked, res.ConnAnswers, test.starved)
				}
				if test.name == "turns longer than the window" && !slices.Contains(res.ConnAnswers, 0) {
					t.Errorf("depth %d: answers %v, want a client without one in the window", depth, res.ConnAnswers)
				}
			})
		}
	}
}

// A client whose requests all failed got no answer either, and one that thinks
// through the window waits for none.
func TestStarvedClientsWait(t *testing.T) {
	t.Parallel()
	from, to := time.Second, 2*time.Second
	for name, test := range map[string]struct {
		does            func(*tally)
		asked, starved  int
		silent, replies int
	}{
		"nothing":                   {does: func(*tally) {}},
		"failures":                  {does: func(c *tally) { ended(c, 100, 200, false); ended(c, 1300, 1400, false) }, asked: 1, starved: 1},
		"an answer, then thought":   {does: func(c *tally) { ended(c, 100, 200, true) }, asked: 1},
		"a late request":            {does: func(c *tally) { ended(c, 100, 200, true); c.cutOff(1900 * time.Millisecond) }, asked: 1},
		"a wait through the window": {does: func(c *tally) { ended(c, 100, 200, true); c.cutOff(900 * time.Millisecond) }, asked: 1, silent: 1},
		"failures through it": {does: func(c *tally) {
			ended(c, 100, 200, true)
			ended(c, 900, 1400, false)
			c.cutOff(1500 * time.Millisecond)
		}, asked: 1, silent: 1},
		"an answer within": {does: func(c *tally) { ended(c, 900, 1100, true); c.cutOff(1200 * time.Millisecond) }, asked: 1, replies: 1},
	} {
		c := &tally{from: from, to: to}
		test.does(c)
		var res ClosedResult
		res.add(c, 0)
		if res.Asked != test.asked || res.Starved != test.starved || res.silent != test.silent || int(c.replies) != test.replies {
			t.Errorf("%s: %d asked, %d starved, %d silent, %d replies; want %+v", name, res.Asked, res.Starved, res.silent, c.replies, test)
		}
	}
}

// ended counts a request from one millisecond to another.
func ended(c *tally, sent, done int, answered bool) {
	out := record.Reset
	if answered {
		out = record.Answered
	}
	ms := int64(time.Millisecond)
	c.count(record.Request{Scheduled: int64(sent) * ms, Sent: int64(sent) * ms, Done: int64(done) * ms, Status: 200, Outcome: out}, Mark{})
}
