package server

import (
	"strconv"
	"strings"
	"time"
)

// A plant is a fault that a server has on purpose: `make test-explain` sees whether
// explanations name it (docs/explain-pack.md).
type plant struct {
	accept time.Duration // an acceptor sleeps so long between two connections
	queue  time.Duration // a worker that has taken a job from a shared queue sleeps so long under a lock of all workers
	lock   time.Duration // a request for a key of /kv sleeps so long under the key's lock
	pin    bool          // of several listeners the first gets all connections
	hog    int           // a thread of the server computes on this CPU without end; -1: none
}

// mostPlanted is the longest that one fault may take at a time.
const mostPlanted = 100 * time.Millisecond

// parsePlant reads FAULT or FAULT=VALUE; of "" it is no fault.
func parsePlant(text string) (plant, error) {
	p := plant{hog: -1}
	fault, value, _ := strings.Cut(text, "=")
	var err error
	switch fault {
	case "":
	case "accept":
		p.accept, err = time.ParseDuration(value)
	case "queue":
		p.queue, err = time.ParseDuration(value)
	case "lock":
		p.lock, err = time.ParseDuration(value)
	case "pin":
		p.pin = true
	case "hog":
		p.hog, err = strconv.Atoi(value)
	default:
		return p, badConfig("--plant %q is none of accept=TIME, queue=TIME, lock=TIME, pin, hog=CPU", text)
	}
	longest := max(p.accept, p.queue, p.lock)
	if err != nil || p.hog < -1 || min(p.accept, p.queue, p.lock) < 0 || longest > mostPlanted {
		return p, badConfig("--plant %q: want a time from 0 to %v, or the number of a CPU", text, mostPlanted)
	}
	return p, nil
}
