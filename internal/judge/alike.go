package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/record"
)

// Differing names the settings in which the clients of two arms differ, in the
// scenario's words.
func Differing(a, b record.Clients) (keys []string) {
	for _, k := range []struct {
		name    string
		differs bool
	}{
		{"loop", a.Loop != b.Loop},
		{"arrivals", a.Arrivals != b.Arrivals},
		{"rate", a.Rate != b.Rate},
		{"keepalive", a.KeepAlive != b.KeepAlive},
		// Without kept connections this is another figure.
		{"connections", a.Connections != b.Connections && a.KeepAlive == b.KeepAlive},
		{"idle", a.Idle != b.Idle},
		{"think", a.Think != b.Think},
		{"session", a.Session != b.Session},
		{"pipeline", a.Pipeline != b.Pipeline},
		{"timeout", a.Timeout != b.Timeout},
	} {
		if k.differs {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// LoadsDiffer names the settings, sorted, in which some arm is not asked as the first is: a
// verdict between two such arms is on their loads too, and nobody wins.
func LoadsDiffer(arms []record.PlanArm) (keys []string) {
	for _, a := range arms {
		keys = append(keys, Differing(a.Clients, arms[0].Clients)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// pacing are the settings that in a closed loop decide how long a reply takes: there
// the mean of N clients is N/X, less what they think (Little's law).
var pacing = []string{"loop", "rate", "connections", "think", "session", "pipeline"}

// incomparable names the settings for which the response times of two arms follow
// their loads and say nothing of the servers: those of a closed loop.
func incomparable(a, b record.Clients) []string {
	if !a.Closed() && !b.Closed() {
		return nil
	}
	return slices.DeleteFunc(Differing(a, b), func(key string) bool { return !slices.Contains(pacing, key) })
}

// reference is the index of the arm that arm i is compared with: the baseline, or,
// when i is loaded otherwise and one of the baseline's family is loaded like it,
// that one.
func reference(arms []record.PlanArm, i int) int {
	own, base := arms[i], arms[0]
	if len(Differing(own.Clients, base.Clients)) == 0 {
		return 0
	}
	family := cmp.Or(base.Family, base.Name)
	return max(0, slices.IndexFunc(arms, func(a record.PlanArm) bool {
		return a.Role == record.Challenger && a.Family == family && a.Name != own.Name && len(Differing(a.Clients, own.Clients)) == 0
	}))
}
