//go:build !linux

package main

import (
	"errors"
	"net"

	"schedlab/internal/serving/model"
)

// bareRaw needs epoll.
func bareRaw(net.Listener, model.Limits) error { return errors.ErrUnsupported }
