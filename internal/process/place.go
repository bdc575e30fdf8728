package process

import (
	"fmt"

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
	why := "it set its own affinity"
	if p.cmd == nil {
		why = "it was not started here"
	}
	shared := ""
	if rest := where.Without(c.Load); len(rest) < len(where) {
		shared = fmt.Sprintf("; it shares %s with the load, and they disturb each other", where.Without(rest).Words())
	}
	side.Doubts = append(side.Doubts, fmt.Sprintf("may run on %s, not on the servers' %s alone: %s%s", where.Words(), c.Server.Words(), why, shared))
}
