package load

import (
	"math"
	"time"

	"schedlab/internal/arrivals"
)

// What a load asks of one server: the same for every engine.
type asked struct {
	templates []template
	which     []uint32          // template of each request, used in turn; nil: in rotation
	demands   []arrivals.Demand // used in turn; nil asks for none
	addr      string
	keepAlive bool
}

func newAsked(targets []Target, keepAlive bool, demands []arrivals.Demand, which []uint32) (*asked, error) {
	tps, addr, err := templates(targets, keepAlive, demands != nil)
	return &asked{tps, which, demands, addr, keepAlive}, err
}

// template returns what request seq asks.
func (a *asked) template(seq uint64) *template {
	if len(a.which) > 0 {
		return &a.templates[a.which[seq%uint64(len(a.which))]]
	}
	return &a.templates[seq%uint64(len(a.templates))]
}

func (a *asked) demand(i int) (d arrivals.Demand) {
	if len(a.demands) > 0 {
		d = a.demands[i%len(a.demands)]
	}
	return d
}

// stated is the demand of a request as its record has it: none where its target takes
// none.
func (a *asked) stated(i int) (d arrivals.Demand) {
	if a.template(uint64(i)).query == 0 {
		return d
	}
	return a.demand(i)
}

// longest bounds the bytes of a request.
func (a *asked) longest() (n int) {
	const numbers = 80 // demand and sequence number, with their names
	for i := range a.templates {
		tp := &a.templates[i]
		n = max(n, len(tp.line)+len(tp.head)+len(tp.body)+numbers)
	}
	return n
}

// DefaultTimeout is what one request may take where Options leave it open.
const DefaultTimeout = 10 * time.Second

// openers is how many connections are being opened at a time beforehand.
const openers = 64

// timeout is what one request may take.
func timeout(given time.Duration) time.Duration {
	if given <= 0 {
		return DefaultTimeout
	}
	return given
}

// bodyBytes fits n into a record.
func bodyBytes(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
