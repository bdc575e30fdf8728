package load

import "time"

// IdleConns is what became of connections that were asked once and then kept
// open beside a load.
type IdleConns struct {
	Opened   int // connections made
	Answered int // those that got their one reply
	// Lost are those that ended, or sent what nobody asked for, before the load
	// did; FirstLost is when the first of them did, from the load's start, below 0
	// when that was earlier.
	Lost      int
	FirstLost time.Duration
}
