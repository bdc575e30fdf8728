//go:build !linux

package server

import (
	"context"
	"errors"
)

func startHog(context.Context, int) (wait func(), err error) {
	return nil, errors.New("--plant hog works on Linux only")
}
