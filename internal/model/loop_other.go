//go:build !linux

package model

import "schedlab/internal/dispatch"

// A noLoop stands in for the event loops, which are made of epoll.
type noLoop struct{ *requests }

func newLoop(cfg Config) Model        { return noLoop{newRequests(cfg)} }
func newLoopOffload(cfg Config) Model { return noLoop{newRequests(cfg)} }

// Serve says what is missing.
func (noLoop) Serve(*Listener) error { return errLinuxOnly }

func (noLoop) Queue() dispatch.Queue { return nil }
