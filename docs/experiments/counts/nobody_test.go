package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Requests count by how they end, and response times are normal again after the last tenth of a second in which more
// than one in ten was slow, unanswered or refused.
func TestReduce(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	stallsEnd := calmTime + stallTime
	replies := []reply{
		{due: 0, ended: ms(3), how: tookAnswer},
		{due: calmTime, ended: calmTime + patience, how: leftWithout}, // of the stall, so it does not count as late
		{due: stallsEnd + ms(1), ended: stallsEnd + ms(80), how: tookAnswer},
		{due: stallsEnd + ms(250), ended: stallsEnd + ms(251), how: gotRefusal},
		{due: stallsEnd + ms(310), ended: stallsEnd + ms(312), how: tookAnswer},
	}
	for i := range 9 { // with them the one late request of their tenth is a tenth
		replies = append(replies, reply{due: stallsEnd + ms(400+i), ended: stallsEnd + ms(403+i), how: tookAnswer})
	}
	replies = append(replies, reply{due: stallsEnd + ms(450), ended: stallsEnd + ms(501), how: lostAnswer})
	got := reduce(replies)
	want := nobodyRound{Requests: 15, Taken: 12, Refused: 1, Left: 1, Lost: 1, P99: .5, Normal: .3}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	replies = append(replies, reply{due: roundTime - 1, ended: roundTime + time.Second, how: tookAnswer})
	if got := reduce(replies); got.Normal != afterTime.Seconds() || !got.Never {
		t.Errorf("got normal after %v, never %v, want never in %v", got.Normal, got.Never, afterTime)
	}
}

// Requests are sent when they are due, and none after the context has ended. Who asks the measurement to end need not wait
// for clients that stay.
func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	c := nobodyCell{Method: http.MethodGet, Clients: clientsStay}
	due := []time.Duration{time.Millisecond}
	for want := 1; want >= 0; want-- { // again, when the context has ended
		got := c.load(ctx, s.Listener.Addr().String(), time.Now(), slices.Values(due))
		if len(got) != want {
			t.Fatalf("got %d replies, want %d", len(got), want)
		}
		for _, p := range got {
			if p.due != due[0] || p.ended < p.due || p.how != lostAnswer || !errors.Is(p.err, context.Canceled) {
				t.Errorf("got %+v, want a lost request", p)
			}
		}
	}
}

// What the service did beyond the answers that were taken is for nobody, and the costs are compared by pairs.
func TestNobodyTable(t *testing.T) {
	t.Parallel()
	c := nobodyCell{Server: "net/http", Way: doNothing, Clients: clientsLeave, Rounds: []nobodyRound{
		{Seed: 1, Requests: 1400, Taken: 700, Worked: 1400, CPU: 1.4, Goroutines: 2400, P99: .5, Normal: 1.2},
		{Seed: 2, Requests: 1360, Taken: 700, Worked: 1200, CPU: 1, Goroutines: 2500, P99: .5, Normal: 1.4, Lost: 2},
	}}
	r := nobodyRecord{Cells: []nobodyCell{c}, Costs: []costCell{
		{Server: "net/http", Way: doNothing, Taken: []cost{{20e-6, 1000, 10}, {30e-6, 1000, 10}}},
		{Server: "net/http", Way: timeout, Taken: []cost{{25e-6, 2000, 20.5}, {38e-6, 2000, 20.5}}},
	}}
	got := r.markdown()
	for _, want := range []string{
		"Medians of 2 rounds and,",
		"1380 requests a round; medians of the two seeds differ by at most 200 requests for nobody.",
		"Of all 2,760 requests 2 got no answer though their clients had not left.",
		"| net/http | nothing | leave after 500 ms | 700 | 600 (500 to 700) | 50 | 6.8 (5.7 to 7.9) | 1.71 ms (1.43 ms to 2.00 ms) | 2,450 (2,400 to 2,500) | 500 ms | 1.30 s (1.20 s to 1.40 s) |\n",
		"| net/http | nothing | 25.0 µs (20.0 µs to 30.0 µs) | - | 1,000 | 10.0 |\n",
		"| net/http | TimeoutHandler | 31.5 µs (25.0 µs to 38.0 µs) | 6.50 µs (5.00 µs to 8.00 µs) | 2,000 | 20.5 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	r.Cells[0].Rounds[1].Never = true
	if want := "| not within 2.60 s in 1 of 2 rounds |\n"; !strings.Contains(r.markdown(), want) {
		t.Errorf("no %q in\n%s", want, r.markdown())
	}
	r.Cells[0].Rounds = r.Cells[0].Rounds[:1]
	if want := " 1400 requests a round. Of all "; !strings.Contains(r.markdown(), want) {
		t.Errorf("no %q in\n%s", want, r.markdown())
	}
}
