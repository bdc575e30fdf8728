package load

// The engines that can send an open loop. Both share schedules, targets and
// results; docs/engines.md explains which to choose.
const (
	EngineSpin   = "spin"   // one goroutine on raw epoll; Linux
	EngineVegeta = "vegeta" // vegeta's attacker over net/http's client; speaks https
)

// Engines returns the names of all engines. On Linux the first is the default.
func Engines() []string { return []string{EngineSpin, EngineVegeta} }
