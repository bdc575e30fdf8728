//go:build !race

package capacity

const searches = 200
