//go:build !linux

// Package null is a server that does as little as a server can, on Linux.
package null

import (
	"context"
	"errors"
	"net"
	"time"
)

// Serve is for Linux alone.
func Serve(context.Context, *net.TCPListener, time.Duration, int) error {
	return errors.New("the null server needs Linux's epoll")
}
