package load

import "fmt"

// MaxConnections is how many connections one load may hold.
const MaxConnections = 16_384

// spareDescriptors are left for what else the process opens.
const spareDescriptors = 64

// CheckConnections returns an error, with its remedy, if one load of this process cannot hold
// n connections.
func CheckConnections(n int) error { return checkConnections(n, true) }

// checkConnections is CheckConnections. Connections of a caller's own dialler (not ours) need
// not be descriptors.
func checkConnections(n int, ours bool) error {
	if n > MaxConnections {
		return fmt.Errorf("%d connections; one load holds %d at most", n, MaxConnections)
	}
	limit, known := descriptorLimit()
	if need := uint64(n + spareDescriptors); ours && known && limit < need {
		return fmt.Errorf("%d connections need %d file descriptors and this process may open %d; raise the limit with `ulimit -n %d`, or use fewer connections", n, need, limit, need)
	}
	return nil
}
