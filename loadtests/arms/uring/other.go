//go:build !linux

package main

import (
	"context"
	"errors"

	"schedlab/internal/shared/workload"
)

type server struct{}

func newServer(*workload.App, string, bool, bool) (*server, error) {
	return nil, errors.New("io_uring and epoll are Linux's")
}

func (*server) serve() error               { return errors.ErrUnsupported }
func (*server) stop(context.Context) error { return errors.ErrUnsupported }
