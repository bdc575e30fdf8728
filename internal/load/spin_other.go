//go:build !linux

package load

import (
	"context"
	"errors"
)

// spin is of Linux: it asks the kernel for events without waiting.
func spin(context.Context, *client, *ClosedOptions) (ClosedResult, error) {
	return ClosedResult{}, errors.New("preparing the closed loop: spin needs Linux; leave it out")
}
