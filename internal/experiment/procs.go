package experiment

import (
	"cmp"
	"os"
	"strconv"
)

// maxProcs is the variable by which Go takes its number of Ps.
const maxProcs = "GOMAXPROCS"

// procs is how many Ps an arm's server has: as many as its own environment says, or
// that which it inherits, else one for each of the servers' CPUs.
func (p *plan) procs(a Arm) int {
	value, own := a.Env[maxProcs]
	if !own {
		value = os.Getenv(maxProcs)
	}
	return procsOf(value, len(p.cpus.server))
}

// threads is how many Ps each process of an arm has: --threads, where that means something.
func (p *plan) threads(a Arm) int {
	if p.modes[a.Mode].Has("threads") {
		return cmp.Or(p.number(a, "threads", 0), 1)
	}
	return p.procs(a)
}

// ownProcs is what the record has of it: 0 for an arm that sets none.
func (p *plan) ownProcs(a Arm) int {
	if _, own := a.Env[maxProcs]; !own {
		return 0
	}
	return p.procs(a)
}

// procsOf is what Go makes of the variable: it passes over what is no positive
// 32-bit number.
func procsOf(value string, cpus int) int {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return cpus
}
