package load

// The engines that can send an open loop. Both share schedules, targets and
// results; docs/engines.md says what each is for.
const (
	EngineSpin   = "spin"   // one goroutine on raw epoll; Linux
	EngineVegeta = "vegeta" // vegeta's attacker over net/http's client; speaks https
)

// Engines are the names of all engines, the default first.
func Engines() []string { return []string{EngineSpin, EngineVegeta} }
