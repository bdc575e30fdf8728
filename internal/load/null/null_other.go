//go:build !linux

// Package null is a server that does as little as a server can, on Linux.
package null

import (
	"context"
	"errors"
)

// Serve is for Linux alone.
func Serve(context.Context, string) error { return errors.New("the null server needs Linux's epoll") }
