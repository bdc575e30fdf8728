package runner

import (
	"context"
	"strconv"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// A Site is where the servers run and the load comes from, if not this machine. A comparison uses it from one
// goroutine.
type Site interface {
	// ServerCPUs returns how many CPUs a server may use.
	ServerCPUs() int
	// Start starts the server of a command with its marks, and with a GOMAXPROCS of ServerCPUs unless the
	// command sets another. The server need not answer yet.
	Start(ctx context.Context, argv []string) (*process.Remote, error)
	// Send is Attack or Closed of package load, by the options' Loop. The result of an open loop is a
	// Result alone. Of the options' functions it calls Started and Closing only. think is a closed
	// loop's time between a reply and the next request.
	Send(ctx context.Context, o load.Options, think workload.Dist) (load.ClosedResult, Clocks, error)
	// TrialCost is by how much a trial takes longer than on this machine.
	TrialCost() time.Duration
	// Describe returns the site as the record tells it, as far as it is known, with its words for messages.
	Describe() *record.Site
}

// Clocks are seconds in a load's window.
type Clocks struct {
	CPU       float64 // CPU time of the load, summed
	Steal     float64 // stolen by the hypervisor, on all CPUs of the load's machine that lost most
	Throttled float64 // in which a CPU limit stopped the sender that it stopped most
	Lost      error   // a part of the load that nobody knows of; its requests count as not sent
}

// send sends a load from a site as [Site] tells, or from this machine if it is nil; Clocks are nil then, too. With
// an error, a load of this machine has the result so far; its Start is zero if nothing was sent.
func send(ctx context.Context, from Site, o load.Options, think workload.Dist) (load.ClosedResult, *Clocks, error) {
	switch {
	case from != nil:
		r, used, err := from.Send(ctx, o, think)
		return r, &used, err
	case o.Closed():
		r, err := load.Closed(ctx, o)
		return r, nil, err
	}
	r, err := load.Attack(ctx, o)
	if r == nil {
		return load.ClosedResult{}, nil, err
	}
	return load.ClosedResult{Result: *r}, nil, err
}

// siteCPUs returns the CPUs of a site: the servers', numbered from 0, and one that stands for the
// load's. None is bound, and none is shared. A server inherits nothing from this process there: the
// site limits it to its CPUs and sets GOMAXPROCS to their number.
func siteCPUs(s Site) host.Sides {
	n := s.ServerCPUs()
	cpus := host.Sides{Load: cpuset.Set{n}, Inherited: host.Inherited{MaxProcs: strconv.Itoa(n), Limit: float64(n)}}
	for i := range n {
		cpus.Server = append(cpus.Server, i)
	}
	return cpus
}

// Counters of a server that runs on another machine. Prometheus' client libraries publish the first, our
// own servers all.
const (
	cpuCounter      = "process_cpu_seconds_total"
	stealCounter    = "schedlab_host_steal_seconds_total"
	throttleCounter = "schedlab_cpu_throttled_seconds_total"
)

// remember takes from the site what this machine cannot know of a trial's window: the clocks of the
// server and of the load. What the other programs of the servers' machine used stays unknown.
func (t *trial) remember(clocks *host.Watcher, used Clocks) {
	t.Server.CPU, t.Server.Foreign, t.Server.Kernel = -1, -1, nil
	if cpu := clocks.Counted(cpuCounter); cpu != nil {
		t.Server.CPU = *cpu
	}
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.CPU, used.Steal, used.Throttled
	// The machine that lost most is what the checks of a window look at.
	if steal := clocks.Counted(stealCounter); steal != nil {
		t.Client.Steal = max(t.Client.Steal, *steal)
	}
	if throttled := clocks.Counted(throttleCounter); throttled != nil {
		t.Server.Throttled = *throttled
	}
	t.lost = used.Lost
}
