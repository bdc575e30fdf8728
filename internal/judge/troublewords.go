package judge

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
)

// DescribeTrouble says in a clause what took how much of which CPU.
func DescribeTrouble(t record.Trouble) string {
	share := fmt.Sprintf("%.0f %%", 100*t.Share)
	if t.Share < .0095 {
		share = fmt.Sprintf("%.1f %%", 100*t.Share)
	}
	cpu := fmt.Sprintf("CPU %d (%s)", t.CPU, sideWords(t.Side))
	switch t.Cause {
	case record.Stolen:
		return fmt.Sprintf("%s of %s was stolen by the hypervisor", share, cpu)
	case record.Interrupt:
		return fmt.Sprintf("%s of %s went to interrupts of devices", share, cpu)
	case record.SoftIRQ:
		return fmt.Sprintf("%s of %s went to soft interrupts for other traffic than the load's", share, cpu)
	case record.Program:
		return fmt.Sprintf("%s (pid %d) used %s of a CPU, mostly %s", t.Program, t.PID, share, cpu)
	case record.Own:
		return fmt.Sprintf("this program's own threads used %s of %s", share, cpu)
	}
	return fmt.Sprintf("other programs (small ones, or gone before they were seen) used %s of the CPUs in use", share)
}

func sideWords(s record.Side) string {
	if s == record.BothSides {
		return "server and load"
	}
	return string(s)
}

// TroubleSoFar is the sentence about a cause while the run goes on, without a full stop.
func TroubleSoFar(t record.Trouble) string {
	return DescribeTrouble(t) + " so far; intervals get wider, the run goes on"
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

// tellOthers puts what else used the CPUs over the whole run into the result, and what
// matters of it into one doubt.
func (j *Judge) tellOthers() {
	o := j.run.Others
	if o == nil {
		return
	}
	j.result.Others, j.result.Env.StealRatio = o, o.Steal
	var all []string
	for _, t := range doubtful(o) {
		all = append(all, DescribeTrouble(t))
	}
	if len(all) > 0 {
		j.doubt("", "over the whole run of %.0f s %s", o.Seconds, strings.Join(all, "; "))
	}
}
