//go:build !linux

package model

import "net"

// kernelStamps exist on Linux only.
type kernelStamps struct{}

func askKernelStamps(int) error { return errLinuxOnly }

func (*kernelStamps) read(*net.TCPConn, []byte) (int, readTimes, error) {
	return 0, readTimes{}, errLinuxOnly
}
