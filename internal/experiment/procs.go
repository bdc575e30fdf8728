package experiment

import "os"

// procs is how many Ps an arm's server has: as many as its own environment says, or
// that which it inherits, else one for each of the servers' CPUs.
func (p *plan) procs(a Arm) int {
	value, own := a.Env[maxProcs]
	if !own {
		value = os.Getenv(maxProcs)
	}
	return procsOf(value, len(p.cpus.server))
}

// ownProcs is what the record has of it: 0 for an arm that sets none.
func (p *plan) ownProcs(a Arm) int {
	if _, own := a.Env[maxProcs]; !own {
		return 0
	}
	return p.procs(a)
}
