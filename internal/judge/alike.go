package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/record"
)

// Differing returns the names of the client settings in which two arms differ, as a scenario
// writes them. The order is fixed. nil means equal clients.
//
// This file decides which arms may be compared. A verdict is about two servers only if their
// clients are alike. Open loops offer a load that no server can change, so their times may be
// shown side by side even then; in a closed loop the clients' settings themselves make the times
// (docs/decisions, 16).
func Differing(a, b record.Clients) (keys []string) {
	for _, k := range []struct {
		name    string
		differs bool
	}{
		{"loop", a.Loop != b.Loop},
		{"arrivals", a.Arrivals != b.Arrivals},
		{"rate", a.Rate != b.Rate},
		{"keepalive", a.KeepAlive != b.KeepAlive},
		// Without keep-alive the number of connections means something else, so compare it only if
		// both arms keep connections, or neither does.
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

// LoadsDiffer returns the names, sorted and each once, of the client settings in which some arm
// differs from the first arm. If there is any, a verdict reflects the loads as well as the
// servers, so no winner is named.
func LoadsDiffer(arms []record.PlanArm) (keys []string) {
	for _, a := range arms {
		keys = append(keys, Differing(a.Clients, arms[0].Clients)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// pacing names the settings that determine response times in a closed loop: the mean response time
// of N clients is N/X minus their think time, X being the throughput (Little's law).
var pacing = []string{"loop", "rate", "connections", "think", "session", "pipeline"}

// incomparable returns the settings that make the response times of two arms incomparable. In a
// closed loop response times follow from these settings (see pacing) and not from the server. It
// returns nil if both arms run open loops.
func incomparable(a, b record.Clients) []string {
	if !a.Closed() && !b.Closed() {
		return nil
	}
	return slices.DeleteFunc(Differing(a, b), func(key string) bool { return !slices.Contains(pacing, key) })
}

// reference returns the index of the arm that arm i is compared with. It is the baseline, index 0,
// unless arm i has another load than the baseline and a challenger of the baseline's family has
// the same load as arm i: then it is that challenger. Comparing an arm under another load with the
// baseline would compare the loads. Without such a challenger it is 0, too.
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
