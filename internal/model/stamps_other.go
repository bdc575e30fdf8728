//go:build !linux

package model

import "net"

// kernelStamps are Linux's.
type kernelStamps struct{}

func askKernelStamps(int) error { return errLinuxOnly }

func (*kernelStamps) read(*net.TCPConn, []byte) (int, int64, error) { return 0, 0, errLinuxOnly }
