package host

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/prometheus/procfs"
)

// Listening returns the pids of the processes that listen at an address of this machine. It finds
// only processes that this one may inspect.
func Listening(at netip.AddrPort) (pids []int) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	const listen = 10     // TCP_LISTEN
	v4, _ := fs.NetTCP()  //nolint:staticcheck // netlink, which it names instead, is for tables read all the time
	v6, _ := fs.NetTCP6() //nolint:staticcheck // as above
	var sockets []string
	for _, s := range slices.Concat(v4, v6) {
		local, _ := netip.AddrFromSlice(s.LocalAddr)
		if s.St == listen && s.LocalPort == uint64(at.Port()) && (local.Unmap() == at.Addr() || local.IsUnspecified()) {
			sockets = append(sockets, fmt.Sprintf("socket:[%d]", s.Inode))
		}
	}
	if len(sockets) == 0 {
		return nil
	}
	all, _ := fs.AllProcs()
	for _, p := range all {
		files, _ := p.FileDescriptorTargets() // none of a process that it may not inspect
		if slices.ContainsFunc(files, func(file string) bool { return slices.Contains(sockets, file) }) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
