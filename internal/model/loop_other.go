//go:build !linux

package model

// A noLoop replaces the event loops, which need epoll.
type noLoop struct{ *requests }

func newLoop(cfg Config) Model        { return noLoop{newRequests(cfg)} }
func newLoopOffload(cfg Config) Model { return noLoop{newRequests(cfg)} }

// Serve fails.
func (noLoop) Serve(*Listener) error { return errLinuxOnly }
