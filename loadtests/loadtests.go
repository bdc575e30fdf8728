// Package loadtests embeds the scenarios, so that the binary has them wherever
// it runs. The vegeta target files beside them are for the vegeta command line.
package loadtests

import "embed"

// Scenarios holds every scenario file, NAME.yaml.
//
//go:embed *.yaml
var Scenarios embed.FS

// A Group is scenarios about one subject, by name.
type Group struct {
	Title string
	Names []string
}

// Groups returns every scenario once, in the order in which lists show them.
func Groups() []Group {
	return []Group{
		{"First questions", []string{"quick", "plaintext", "capacity", "keepalive-vs-close"}},
		{"How many workers a pool needs", []string{"pool-block", "pool-cpu", "pool-size", "crossover", "sticky", "kv-mix", "why-workers"}},
		{"Kinds of queues and workers", []string{"designs", "designs-in-phase", "designs-slow", "queue-kinds", "queue-kinds-tiny", "short-jobs", "steal-queues", "why-threads"}},
		{"Overload and bursts", []string{"accept", "backlog", "burst", "queue", "queue-requests", "shedding", "shedding-after", "shedding-places", "silent-drop", "survivors"}},
		{"Long requests among short ones", []string{"heavy-tail", "heavy-tail-control", "quantum"}},
		{"Event loops and hand-off", []string{"cpu-offload", "offload-capacity", "offload-two-cpus", "selector-get", "selector-put", "selector-vs-pool", "selector-vs-pool-long", "poll-order", "poll-order-open", "poll-order-two", "why-hand-off"}},
		{"Several CPUs, several runtimes", []string{"cpu-limit", "cpu-limit-half", "cpu-limit-more", "runtime-shards", "shards", "use-cases"}},
		{"Many connections", []string{"crowd", "crowd-json", "idle-baseline", "many-idle", "pipelined", "pipelined-crowd", "close-silently"}},
		{"Locks and stores", []string{"kv-locks", "kv-locks-short", "kv-locks-free", "kv-misses", "lock"}},
		{"Theory, and what a load can show", []string{"client-server", "many-conns", "mm1", "omission", "twin"}},
	}
}
