// Package closedloop makes trials of clients that wait for their replies, for tests.
package closedloop

import (
	"math"

	"schedlab/internal/record"
)

// Clients describes N clients. Each waits Took seconds for its reply and then pauses for Pause
// seconds. The first Starved of them have waited since the warm-up.
type Clients struct {
	N           int
	Took, Pause float64
	Starved     int
	Stall       float64 // seconds into the window from which on no reply comes within it; 0: never
}

// Window returns a trial with one second of warm-up and a window of one second, and its clients.
// The clients begin spread over one cycle.
func (l Clients) Window() (record.TrialRecord, record.Clients) {
	t := record.TrialRecord{Trial: record.Trial{Warmup: 1, Window: 1, Server: record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}}}
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
					t.Requests = append(t.Requests, record.Request{Scheduled: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64(done * 1e9), Status: 200})
				}
			}
			if at < 2 && at+l.Took >= 2 || at+l.Took >= 1+l.Stall && at < 2 {
				pending.Add(record.Pending{Requests: 1, Time: 2 - at, Squares: (2 - at) * (2 - at)})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, answers)
	}
	t.Client.Asked, t.Client.Starved = l.N, l.Starved
	return t, record.Clients{Loop: "closed", Connections: l.N, KeepAlive: true, Think: l.Pause}
}
