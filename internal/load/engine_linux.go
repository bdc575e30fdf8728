package load

// DefaultEngine sends where none is named.
const DefaultEngine = EngineSpin
