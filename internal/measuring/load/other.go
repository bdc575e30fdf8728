//go:build !linux

package load

import (
	"context"
	"errors"
	"time"
)

// DefaultEngine is used when Options name no engine.
const DefaultEngine = EngineVegeta

var errNoSpin = errors.New("the engine spin needs Linux's epoll; use --engine vegeta")

func attackSpin(context.Context, Options, *script) (*Result, error) { return nil, errNoSpin }

func closedSpin(context.Context, Options, *script) (ClosedResult, error) {
	return ClosedResult{}, errNoSpin
}

// Sleep is time.Sleep.
func Sleep(d time.Duration) { time.Sleep(d) }
