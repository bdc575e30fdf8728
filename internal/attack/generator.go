package attack

import (
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// Beyond these limits noteGenerator raises a doubt about the generator.
const (
	missedRate = .01 // ratio of the wanted rate that was not sent
	stoodStill = .01 // lag of a single request, seconds
	awayMost   = .05 // ratio of the time in which others kept a spinning engine from its CPU
	fullFrom   = .95 // ratio of the time in which the engine was busy: above it, the engine is at its limit
)

// noteGenerator adds the generator's figures to sum, and the doubts that follow from them. wanted
// is the rate to be sent, in requests per second; 0 when no rate was set.
func noteGenerator(sum *record.Attack, p load.Proof, wanted float64) {
	sum.Generator = &record.Generator{
		Planned: p.Planned, Rest: p.Rest, CPU: p.CPU, Busy: p.Busy, GCs: p.GCs, Paused: p.Paused,
		LongestPause: p.LongestPause, LongestLag: p.LongestLag, LagAt: p.LagAt,
		LongestGap: p.LongestGap, Away: p.Away, ReadLate: p.ReadLate,
	}
	if sum.SentRate < wanted*(1-missedRate) && sum.Status == record.Complete {
		doubt(sum, record.Fact{Code: attackRateMissed, Values: record.Values{"wanted": wanted, "sent": sum.SentRate}, Names: record.Names{"loop": sum.Loop}})
	}
	if p.LongestLag > stoodStill && sum.Loop == "open" {
		doubt(sum, record.Fact{Code: attackStoodStill, Values: record.Values{
			"at": record.Duration(p.LagAt).Round(time.Millisecond).Seconds(), "late": record.Duration(p.LongestLag).Round(time.Millisecond).Seconds(),
		}})
	}
	if share := p.Away / max(p.Elapsed, 1e-9); share > awayMost {
		doubt(sum, record.Fact{Code: attackKeptAway, Values: record.Values{"share": share}})
	}
	if p.Rest != "" && p.Busy > fullFrom {
		doubt(sum, record.Fact{Code: attackAtLimit, Values: record.Values{"share": p.Busy}})
	}
	if i := sum.Idle; i != nil && (i.Lost > 0 || i.Answered < i.Asked) {
		doubt(sum, record.Fact{Code: attackIdleLost, Values: record.Values{
			"asked": float64(i.Asked), "answered": float64(i.Answered), "lost": float64(i.Lost),
		}})
	}
}

func doubt(sum *record.Attack, f record.Fact) { sum.Doubts = append(sum.Doubts, f) }
