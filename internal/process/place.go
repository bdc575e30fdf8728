package process

import (
	"schedlab/internal/host"
	"schedlab/internal/record"
)

// Place notes where a server may run when that is not only where the plan has
// servers: it was not started here, or set an affinity of its own. What others took
// of its CPUs cannot be told then.
func (p *Process) Place(c host.Sides, side *record.ServerSide) {
	where := host.MayRun(p.Pid())
	if where == nil || len(where.Without(c.Server)) == 0 || !c.Pin && p.cmd != nil {
		return
	}
	side.CPUs, side.Foreign = where.String(), -1
	f := record.Fact{Code: otherCPUs, Names: record.Names{"cpus": where.Words(), "servers": c.Server.Words()}}
	if p.cmd == nil {
		f.Names["attached"] = "yes"
	}
	if rest := where.Without(c.Load); len(rest) < len(where) {
		f.Names["shared"] = where.Without(rest).Words()
	}
	side.Doubts = append(side.Doubts, f)
}
