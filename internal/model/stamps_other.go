//go:build !linux

package model

import "net"

// kernelStamps are Linux's.
type kernelStamps struct{}

func askKernelStamps(int) error { return errLinuxOnly }

func (*kernelStamps) read(*net.TCPConn, []byte) (int, readTimes, error) {
	return 0, readTimes{}, errLinuxOnly
}
