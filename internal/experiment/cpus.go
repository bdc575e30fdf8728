package experiment

import (
	"cmp"
	"errors"
	"slices"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// chooseCPUs splits the CPUs that this process may use between server and load. Flags decide, if they
// are set. Otherwise the server gets the lower half, or more if the scenario needs more, and the load
// gets the rest. If no CPU is left for the load, it shares the last CPU of the server.
func chooseCPUs(o Options, needs scenario.Needs) (host.Sides, error) {
	all, err := host.Affinity()
	sets := host.Sides{Server: all, Load: all, Pin: o.Pin != "none" && err == nil, Shared: true, Vegeta: cmp.Or(o.Engine, load.DefaultEngine) == load.EngineVegeta}
	told := o.ServerCPUs != "" || o.LoadCPUs != ""
	switch {
	case o.Pin == "none" && told:
		return sets, impossible("--pin none leaves no use for --server-cpus and --load-cpus; drop one of them")
	case errors.Is(err, host.ErrNoAffinity) && told:
		return sets, impossible("--server-cpus and --load-cpus: %v", err)
	case errors.Is(err, host.ErrNoAffinity) || o.Pin == "none":
		return sets, nil
	case err != nil:
		return sets, err
	case !told && len(all) >= 2:
		n := max(len(all)/2, min(needs.ServerCPUs, len(all)))
		sets.Server, sets.Load = all[:n], all[min(n, len(all)-1):]
		sets.Shared = n == len(all)
		return sets, nil
	}
	if o.ServerCPUs != "" {
		if sets.Server, err = parseCPUs("--server-cpus", o.ServerCPUs, all); err != nil {
			return sets, err
		}
	}
	if o.LoadCPUs != "" {
		if sets.Load, err = parseCPUs("--load-cpus", o.LoadCPUs, all); err != nil {
			return sets, err
		}
	}
	// If one side is given, the other takes the remaining CPUs, if there are any.
	if o.LoadCPUs == "" {
		sets.Load = sets.Server[len(sets.Server)-1:]
		if rest := all.Without(sets.Server); len(rest) > 0 {
			sets.Load = rest
		}
	}
	if rest := all.Without(sets.Load); o.ServerCPUs == "" && len(rest) > 0 {
		sets.Server = rest
	}
	sets.Shared = len(sets.Server.Without(sets.Load)) < len(sets.Server)
	return sets, nil
}

// parseCPUs reads a flag's list of CPUs like 0-3,5. All must be allowed.
func parseCPUs(flag, list string, allowed record.CPUs) (record.CPUs, error) {
	set, err := record.ParseCPUs(list)
	if err != nil {
		return nil, impossible("%s %v", flag, err)
	}
	for _, cpu := range set {
		if !slices.Contains(allowed, cpu) {
			return nil, impossible("%s %q: CPU %d is not one this process may use (%s)", flag, list, cpu, allowed)
		}
	}
	return set, nil
}

// ServerCPUs returns how many CPUs a comparison would give to the server, at least 1.
func ServerCPUs(o Options) (int, error) {
	sets, err := chooseCPUs(o, scenario.Needs{})
	return max(len(sets.Server), 1), err
}
