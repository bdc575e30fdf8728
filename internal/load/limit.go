package load

import "fmt"

// MaxConnections is how many connections one load may hold.
const MaxConnections = 16_384

// spareDescriptors are what the process needs beside its connections.
const spareDescriptors = 64

// CheckConnections says whether one load of this process can hold n connections,
// and if not what to do about it.
func CheckConnections(n int) error { return checkConnections(n, true) }

// checkConnections says before the load that it cannot hold n connections.
// Those of a dialler that is not ours may be no descriptors.
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
