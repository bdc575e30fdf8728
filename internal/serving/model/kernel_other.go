//go:build !linux

package model

import "net"

func received(int) (uint64, error)         { return 0, errLinuxOnly }
func acceptQueue(int) (AcceptQueue, error) { return AcceptQueue{}, errLinuxOnly }
func ignoreNew(int) error                  { return errLinuxOnly }
func dealAmong(int, int) error             { return errLinuxOnly }
func hungUp(int) bool                      { return false }

// A noLoop replaces the event loops, which need epoll.
type noLoop struct{ *requests }

func newLoop(cfg Config) Model        { return noLoop{newRequests(cfg)} }
func newLoopOffload(cfg Config) Model { return noLoop{newRequests(cfg)} }

// Serve always returns an error.
func (noLoop) Serve(*Listener) error { return errLinuxOnly }

// kernelStamps exist on Linux only.
type kernelStamps struct{}

func askKernelStamps(int) error { return errLinuxOnly }

func (*kernelStamps) read(*net.TCPConn, []byte) (int, error) { return 0, errLinuxOnly }

func (*kernelStamps) received(int64) int64 { return 0 }
