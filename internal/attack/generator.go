package attack

import (
	"fmt"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// Limits past which the generator is doubted.
const (
	missedRate = .01                   // share of the wanted rate that was not sent
	stoodStill = 10 * time.Millisecond // lag of a single request
	awayMost   = .05                   // share of the time for which others may keep a spinning engine from its CPU
	fullFrom   = .95                   // busy share from which the engine is at its limit
)

// noteGenerator notes what the generator did, and the doubts that follow. wanted
// is the rate it was to send, 0 without one.
func noteGenerator(sum *record.Attack, p load.Proof, wanted float64) {
	sum.Generator = &record.Generator{
		Planned: p.Planned, Rest: string(p.Rest), CPU: p.CPU.Seconds(), Busy: p.Busy, GCs: p.GCs, Paused: p.Paused.Seconds(),
		LongestPause: p.LongestPause.Seconds(), LongestLag: p.LongestLag.Seconds(), LagAt: p.LagAt.Seconds(),
		LongestGap: p.LongestGap.Seconds(), Away: p.Away.Seconds(), ReadLate: p.ReadLate,
	}
	if sum.SentRate < wanted*(1-missedRate) && sum.Status == record.Complete {
		who := "the generator fell behind or was stopped"
		if sum.Loop == "closed" {
			who = "its clients waited for answers, so there are too few of them or the server is too slow"
		}
		doubt(sum, "%.0f requests per second were wanted and %.0f were sent: %s", wanted, sum.SentRate, who)
	}
	if p.LongestLag > stoodStill && sum.Loop == "open" {
		doubt(sum, "the generator stood still: a request due at %v was sent %v late; that is in its response time and is not the server's",
			p.LagAt.Round(time.Millisecond), p.LongestLag.Round(time.Millisecond))
	}
	if share := p.Away.Seconds() / max(p.Elapsed.Seconds(), 1e-9); share > awayMost {
		doubt(sum, "other programs, or the hypervisor, kept the load from its CPU for %.0f %% of the time", 100*share)
	}
	if p.Rest != "" && p.Busy > fullFrom {
		doubt(sum, "the load was at its limit: it had something to do for %.0f %% of the time", 100*p.Busy)
	}
	if i := sum.Idle; i != nil && (i.Lost > 0 || i.Answered < i.Asked) {
		doubt(sum, "of %d idle connections %d were answered and %d lost, so the load did not have them all beside it", i.Asked, i.Answered, i.Lost)
	}
}

func doubt(sum *record.Attack, format string, args ...any) {
	sum.Doubts = append(sum.Doubts, record.Doubt{Text: fmt.Sprintf(format, args...)})
}
