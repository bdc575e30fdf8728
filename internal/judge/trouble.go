package judge

import "schedlab/internal/record"

// timeOf is the code of each cause that takes CPU time.
var timeOf = map[record.Cause]record.Code{
	record.Stolen: stolenTime, record.Interrupt: interruptTime, record.SoftIRQ: softIRQTime,
	record.Program: programTime, record.Own: ownTime, record.Passing: passingTime,
}

// took says what took how much of which CPU.
func took(t record.Trouble) record.Fact {
	return record.Fact{
		Code: timeOf[t.Cause], Values: record.Values{"share": t.Share, "cpu": float64(t.CPU), "pid": float64(t.PID)},
		Names: record.Names{"side": string(t.Side), "program": t.Program},
	}
}

// TroubleSoFar is a cause while the run goes on.
func TroubleSoFar(t record.Trouble) record.Fact {
	return record.Fact{Code: stillGoingOn, Because: []record.Fact{took(t)}}
}

// What a cause must take of a CPU, over the whole run, to be a doubt. What cannot be named is
// a difference of two clocks that tick apart, so it must be more.
const doubtShare, doubtPassing = .01, .10

// doubtful are the causes that are told with the result.
func doubtful(o *record.Others) (all []record.Trouble) {
	for _, t := range o.Troubles {
		if t.Share >= doubtPassing || t.Cause != record.Passing && t.Share >= doubtShare {
			all = append(all, t)
		}
	}
	return all
}

// othersDoubts is what else used the CPUs over the whole run, as far as it matters, as one
// doubt.
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
