package experiment

import (
	"cmp"
	"os"

	"schedlab/internal/host"
	"schedlab/internal/scenario"
)

// procs returns how many Ps an arm's server has: GOMAXPROCS of the arm or of the inherited
// environment, else one for each of the servers' CPUs.
func (p *plan) procs(a scenario.Arm) int {
	value, own := a.Env[host.MaxProcs]
	if !own {
		value = os.Getenv(host.MaxProcs)
	}
	return host.ProcsOf(value, len(p.cpus.Server))
}

// threads returns how many Ps each process of an arm has: --threads if the mode has that flag, else
// procs.
func (p *plan) threads(a scenario.Arm) int {
	if p.modes[a.Mode].Has("threads") {
		return cmp.Or(p.number(a, "threads", 0), 1)
	}
	return p.procs(a)
}

// ownProcs returns the number of Ps for the record: 0 for an arm that does not set GOMAXPROCS.
func (p *plan) ownProcs(a scenario.Arm) int {
	if _, own := a.Env[host.MaxProcs]; !own {
		return 0
	}
	return p.procs(a)
}
