package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits on the demand of one /work request. maxSleep lies below the server's write
// timeout.
const (
	maxCPU   = time.Second
	maxSleep = 10 * time.Second
	maxLock  = 100 * time.Millisecond // low, because all requests queue for one lock
	maxAlloc = 16 << 20               // bytes
)

// serveWork does the work that the query demands: first it allocates memory, which it
// holds until the answer, then it computes, then it computes under the lock, then it
// sleeps.
func (a *App) serveWork(x *Exchange) {
	w, err := a.parseWork(x.Query, x.Seq)
	if err != nil {
		x.fail(400, "%v", err)
		return
	}
	held := allocate(w.alloc)
	spin(w.iters)
	if w.locked > 0 {
		a.lock.Lock()
		spin(w.locked)
		a.lock.Unlock()
	}
	time.Sleep(w.sleep)
	runtime.KeepAlive(held)
	x.answer(200, textPlain, okLine)
}

// A block is the unit in which /work allocates memory. Blocks are chained, so that a
// garbage collection has pointers to follow, as in the data of a real request.
type block struct {
	next *block
	_    [blockSize - 2*8]byte // 8 bytes for the pointer, 8 for the runtime's header of an object of this size
}

const blockSize = 4 << 10

// allocate returns a chain of n bytes, rounded up to whole blocks.
func allocate(n int) *block {
	var chain *block
	for ; n > 0; n -= blockSize {
		chain = &block{next: chain}
	}
	return chain
}

// A work is one request's demand, drawn and capped.
type work struct {
	alloc  int // bytes
	iters  int
	locked int // iterations under the lock
	sleep  time.Duration
}

// The streams are mixed into the seeds of a request's draws, to make the draws
// independent of each other.
const (
	streamCPU   = 0x637075
	streamSleep = 0x736c656570
	streamLock  = 0x6c6f636b
)

// parseWork reads the query and draws the demand. The draw depends only on the
// query's seed or, without one, on seq; with neither it is random. parseWork allocates
// only for mistakes and percent-escapes.
func (a *App) parseWork(query, seq string) (w work, err error) {
	var q [6]string
	if err := splitQuery(query, "/work", workKeys, q[:]); err != nil {
		return w, err
	}
	cpu, iters, sleep, alloc, lock, seed := q[0], q[1], q[2], q[3], q[4], q[5]
	if cpu != "" && iters != "" {
		return w, errors.New("cpu and iters exclude each other; give one")
	}
	// One number for the request decides all its draws: a request with the same number costs the
	// same in every arm of a comparison.
	base := seedOf(cmp.Or(seed, seq))
	computed, err := draw("cpu", cpu, maxCPU, base^streamCPU)
	if err != nil {
		return w, err
	}
	w.iters = a.iters(computed)
	if iters != "" {
		if w.iters, err = a.parseIters(iters); err != nil {
			return w, err
		}
	}
	if w.alloc, err = parseAlloc(alloc); err != nil {
		return w, err
	}
	locked, err := draw("lock", lock, maxLock, base^streamLock)
	if err != nil {
		return w, err
	}
	// The planted factor comes last, after the caps, so that it applies to every request alike.
	w.iters, w.locked = a.planted(w.iters), a.planted(a.iters(locked))
	w.sleep, err = draw("sleep", sleep, maxSleep, base^streamSleep)
	return w, err
}

// seedOf returns the seed of a request's draws, from its number; random without one.
func seedOf(seq string) uint64 {
	if seq == "" {
		return rand.Uint64()
	}
	return hash64(seq)
}

// planted returns iters multiplied by Options.PlantCPU.
func (a *App) planted(iters int) int { return int(math.Round(float64(iters) * a.plant)) }

// workKeys are the keys of /work's query.
var workKeys = []string{"cpu", "iters", "sleep", "alloc", "lock", "seed"}

// splitQuery sets values to the values of keys in the query of an endpoint, in the order of keys; ""
// for an absent one. Unlike url.ParseQuery it allocates nothing, and it refuses a key that is
// unknown, empty or given twice: a misspelt demand must not pass as no demand.
func splitQuery(query, endpoint string, keys, values []string) error {
	for query != "" {
		var pair string
		if pair, query, _ = strings.Cut(query, "&"); pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		i := slices.Index(keys, key)
		switch {
		case i < 0:
			return fmt.Errorf("unknown key %+.40q; %s takes %s", key, endpoint, strings.Join(keys, ", "))
		case values[i] != "":
			return fmt.Errorf("%s is given twice", key)
		case value == "":
			return fmt.Errorf("%s has no value", key)
		}
		values[i] = value
		if strings.IndexByte(value, '%') >= 0 {
			// PathUnescape leaves '+' alone, which joins the terms of a mix of demands (0.8*0s+0.2*10ms).
			var err error
			if values[i], err = url.PathUnescape(value); err != nil {
				return fmt.Errorf("%s has a malformed percent-escape", key)
			}
		}
	}
	return nil
}

// draw reads a distribution, the value of a key, and takes one sample of it: 0 without a value. It
// returns an error if the mean of any term is above limit. A sample above limit is cut to limit.
func draw(key, value string, limit time.Duration, seed uint64) (time.Duration, error) {
	if value == "" {
		return 0, nil
	}
	d, err := ParseDist(value)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	if most := d.largest(); most > limit {
		return 0, fmt.Errorf("%s: %v is above the cap of %v", key, most, limit)
	}
	// mix64 spreads neighbouring seeds over all bits; the stream of one draw has no relation to the
	// next.
	return min(d.Sample(NewRand(mix64(seed))), limit), nil
}

// iters returns the iterations that take d on the calibrated core. The result is at most the
// iterations of one second.
func (a *App) iters(d time.Duration) int {
	n := math.Round(float64(d) / float64(time.Microsecond) * a.itersPerMicro)
	return int(min(n, float64(a.maxIters)))
}

// parseIters reads a number of iterations, up to one second's.
func (a *App) parseIters(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("iters: %+.40q is not a whole number of iterations", s)
	}
	if n > uint64(a.maxIters) {
		return 0, fmt.Errorf("iters: %d is above the cap of %d (%v of cpu)", n, a.maxIters, maxCPU)
	}
	return int(n), nil
}

// parseAlloc reads a number of bytes like 64KiB, 1MiB or 4096; "" is 0.
func parseAlloc(s string) (int, error) {
	digits, unit := cmp.Or(s, "0"), 1
	if d, ok := strings.CutSuffix(s, "KiB"); ok {
		digits, unit = d, 1<<10
	} else if d, ok := strings.CutSuffix(s, "MiB"); ok {
		digits, unit = d, 1<<20
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case err != nil:
		return 0, fmt.Errorf("alloc: %+.40q is not a size such as 64KiB", s)
	case n > uint64(maxAlloc/unit):
		return 0, fmt.Errorf("alloc: %s is above the cap of %d MiB", s, maxAlloc>>20)
	}
	return int(n) * unit, nil
}
