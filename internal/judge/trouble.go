package judge

import "schedlab/internal/record"

// timeOf maps each cause that takes CPU time to the code of its fact.
var timeOf = map[record.Cause]record.Code{
	record.Stolen: stolenTime, record.Interrupt: interruptTime, record.SoftIRQ: softIRQTime,
	record.Program: programTime, record.Own: ownTime, record.Passing: passingTime,
}

// took returns the fact that a cause took a share of a CPU's time. The share is of one CPU's time.
func took(t record.Trouble) record.Fact {
	return record.Fact{
		Code: timeOf[t.Cause], Values: record.Values{"share": t.Share, "cpu": float64(t.CPU), "pid": float64(t.PID)},
		Names: record.Names{"side": string(t.Side), "program": t.Program},
	}
}

// TroubleSoFar returns the fact about a cause that disturbs a run while it goes on. It is for the
// screen: the result has its own doubt, see othersDoubts.
func TroubleSoFar(t record.Trouble) record.Fact {
	return record.Fact{Code: stillGoingOn, Because: []record.Fact{took(t)}}
}

// doubtShare is the ratio of a CPU's time, over the whole run, from which a cause is a doubt.
// doubtPassing is the same for time without a known cause: it is the difference of two clocks that
// tick apart, so its limit is higher.
const doubtShare, doubtPassing = .01, .10

// doubtful returns the causes that are reported with the result.
func doubtful(o *record.Others) (all []record.Trouble) {
	for _, t := range o.Troubles {
		if t.Share >= doubtPassing || t.Cause != record.Passing && t.Share >= doubtShare {
			all = append(all, t)
		}
	}
	return all
}

// othersDoubts returns one doubt about everything else that used the CPUs over the whole run; nil
// if nothing used enough to matter. The causes are its Because.
func othersDoubts(o *record.Others) []record.Fact {
	if o == nil {
		return nil
	}
	var all []record.Fact
	for _, t := range doubtful(o) {
		all = append(all, took(t))
	}
	if len(all) == 0 {
		return nil
	}
	return []record.Fact{{Code: othersUsedCPUs, Values: record.Values{"seconds": o.Seconds}, Because: all}}
}
