package experiment

import (
	"cmp"
	"os"

	"schedlab/internal/host"
	"schedlab/internal/scenario"
)

// procs is how many Ps an arm's server has: as many as its own environment says, or
// that which it inherits, else one for each of the servers' CPUs.
func (p *plan) procs(a scenario.Arm) int {
	value, own := a.Env[host.MaxProcs]
	if !own {
		value = os.Getenv(host.MaxProcs)
	}
	return host.ProcsOf(value, len(p.cpus.Server))
}

// threads is how many Ps each process of an arm has: --threads, where that means something.
func (p *plan) threads(a scenario.Arm) int {
	if p.modes[a.Mode].Has("threads") {
		return cmp.Or(p.number(a, "threads", 0), 1)
	}
	return p.procs(a)
}

// ownProcs is what the record has of it: 0 for an arm that sets none.
func (p *plan) ownProcs(a scenario.Arm) int {
	if _, own := a.Env[host.MaxProcs]; !own {
		return 0
	}
	return p.procs(a)
}
