package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// A script holds the requests that a load sends to one server, and their order. The requests
// are rendered, except for their demand and number.
//
// Rendering happens once, before the load. While it runs, an engine only joins a template with a
// request's demand and number.
type script struct {
	templates []template
	which     []uint32          // template of each request, used in turn; nil: in rotation
	demands   []arrivals.Demand // used in turn; nil: no demand
	addr      string
	keepAlive bool
}

// newScript renders the targets. It returns an error if they cannot be sent, or if which holds an
// index that is no target's.
func newScript(targets []Target, keepAlive bool, demands []arrivals.Demand, which []uint32) (*script, error) {
	for i, w := range which {
		if int64(w) >= int64(len(targets)) {
			return nil, fmt.Errorf("request %d asks target %d of %d", i, w+1, len(targets))
		}
	}
	tps, addr, err := templates(targets, keepAlive, demands != nil)
	return &script{tps, which, demands, addr, keepAlive}, err
}

// refuseTLS returns an error for an https target: only the engine vegeta speaks https.
func (a *script) refuseTLS() error {
	if a.templates[0].tls {
		return errors.New("https needs the engine vegeta, in an open loop")
	}
	return nil
}

// template returns the template of request seq.
func (a *script) template(seq uint64) *template {
	return &a.templates[targetOf(seq, a.which, len(a.templates))]
}

// targetOf returns the index, below n, of request seq's target: the entries of the slice which
// in turn or, if it is empty, the n targets in turn.
func targetOf(seq uint64, which []uint32, n int) int {
	if len(which) > 0 {
		return int(which[seq%uint64(len(which))])
	}
	return int(seq % uint64(n))
}

// demand returns the demand of request i; zero if the load has none.
func (a *script) demand(i int) (d arrivals.Demand) {
	if len(a.demands) > 0 {
		d = a.demands[i%len(a.demands)]
	}
	return d
}

// recordedDemand returns the demand to record for request i: zero when its target takes no
// demand.
func (a *script) recordedDemand(i int) (d arrivals.Demand) {
	if a.template(uint64(i)).query == 0 {
		return d
	}
	return a.demand(i)
}

// maxRequestBytes returns an upper bound on the length of a rendered request.
func (a *script) maxRequestBytes() (n int) {
	// A demand takes up to 45 bytes, the number 20 and the line ends 4.
	const numbers = 80 // demand and sequence number, with their names
	for i := range a.templates {
		tp := &a.templates[i]
		n = max(n, len(tp.line)+len(tp.head)+len(tp.body)+numbers)
	}
	return n
}

// DefaultTimeout bounds one request where Options give no Timeout.
const DefaultTimeout = 10 * time.Second

// openers is the number of connections that are opened at the same time before a load.
const openers = 64

// timeout returns a timeout given in seconds, or DefaultTimeout when none is given.
// A record has times in seconds.
func timeout(given float64) time.Duration {
	if given <= 0 {
		return DefaultTimeout
	}
	return record.Duration(given)
}

// bodyBytes returns n as a record stores it: at most 2^32-1.
func bodyBytes(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
