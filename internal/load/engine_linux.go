package load

// DefaultEngine is the engine where none is named.
const DefaultEngine = EngineSpin
