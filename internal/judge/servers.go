package judge

import (
	"reflect"
	"slices"

	"schedlab/internal/record"
)

// mostServerDoubts limits the number of different doubts that an arm's trials may raise. More
// would fill a page without telling more.
const mostServerDoubts = 4

// servers collects what the trials found out about the arms' servers. The zero value is ready to
// use.
type servers struct {
	cpus   map[string]string        // by arm: the CPUs it may run on, if not only the plan's server CPUs
	doubts map[string][]record.Fact // by arm: each doubt of its trials once
}

// note adds what a trial found out about its arm's server. arm is nil for an arm that is not in
// the plan.
func (s *servers) note(t record.Trial, arm *record.PlanArm) {
	if s.cpus == nil {
		s.cpus, s.doubts = map[string]string{}, map[string][]record.Fact{}
	}
	if t.Server.CPUs != "" {
		s.cpus[t.Arm] = t.Server.CPUs
	}
	if arm == nil || arm.Role == record.Copy { // the copy is its baseline again
		return
	}
	for _, f := range t.Server.Doubts {
		f.Arm = t.Arm
		same := func(other record.Fact) bool { return reflect.DeepEqual(f, other) }
		if !slices.ContainsFunc(s.doubts[t.Arm], same) && len(s.doubts[t.Arm]) < mostServerDoubts {
			s.doubts[t.Arm] = append(s.doubts[t.Arm], f)
		}
	}
}

// doubtsOf returns the doubts about the servers of a plan, arm by arm.
func (s servers) doubtsOf(p record.Plan) (all []record.Fact) {
	for _, a := range p.Arms {
		all = append(all, s.doubts[a.Name]...)
	}
	return all
}
