package experiment

import (
	"math"

	"schedlab/internal/record"
)

// A closedLoop is n clients that wait took for each reply, seconds, and then pause.
// The first starved of them have waited since the warm-up.
type closedLoop struct {
	n           int
	took, pause float64
	starved     int
	stall       float64 // from then on no reply comes within the window; 0: never
}

// window is a second of it, after one of warm-up; the clients began spread over a cycle.
func (l closedLoop) window() (record.TrialRecord, record.Clients) {
	t := record.TrialRecord{Trial: record.Trial{Warmup: 1, Window: 1, Server: record.ServerSide{CPU: -1, RunWait: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}, Client: record.ClientSide{Pending: &record.Pending{}}}}
	pending := t.Client.Pending
	if l.stall == 0 {
		l.stall = math.Inf(1)
	}
	for i := range l.n {
		answers := uint32(0)
		if i < l.starved {
			pending.Add(record.Pending{Requests: 1, Early: 1})
		} else {
			at := (l.took + l.pause) * float64(i) / float64(l.n)
			for ; at < 2 && at+l.took < 1+l.stall; at += l.took + l.pause {
				if done := at + l.took; done >= 2 {
					break
				} else if done >= 1 {
					answers++
					t.Requests = append(t.Requests, record.Request{Scheduled: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64(done * 1e9), Status: 200})
				}
			}
			if at < 2 && at+l.took >= 2 || at+l.took >= 1+l.stall && at < 2 {
				pending.Add(record.Pending{Requests: 1, Time: 2 - at, Squares: (2 - at) * (2 - at)})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, answers)
	}
	return t, record.Clients{Loop: "closed", Connections: l.n, KeepAlive: true, Think: l.pause}
}
