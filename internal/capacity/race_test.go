//go:build race

package capacity

// searches are fewer where each takes five times as long.
const searches = 40
