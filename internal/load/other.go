//go:build !linux

package load

import (
	"context"
	"errors"
	"math"
	"time"
)

// DefaultEngine is used when Options name no engine.
const DefaultEngine = EngineVegeta

var errNoSpin = errors.New("the engine spin needs Linux's epoll; use --engine vegeta")

func attackSpin(context.Context, Options, *script) (*Result, error) { return nil, errNoSpin }

func closedSpin(context.Context, Options, *script) (ClosedResult, error) {
	return ClosedResult{}, errNoSpin
}

// Off Linux this program measures neither CPU time nor limits.
func processTime() time.Duration { return 0 }
func descriptorLimit() uint64    { return math.MaxUint64 }

// Sleep is time.Sleep.
func Sleep(d time.Duration) { time.Sleep(d) }
