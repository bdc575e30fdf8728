package load

import "time"

// A turnWatch notes how the spinner's turns went: how much of the time it worked, and
// how long others kept it from its CPU.
type turnWatch struct {
	last    int64 // the end of the last turn
	worked  bool  // since then something was sent or handled
	yielded int64

	work    int64 // time of turns that did something
	away    int64 // time of turns that did nothing and took long all the same
	longest int64
}

// idleTurn is above what a turn takes in which nothing is sent or comes: one clock
// reading and one system call.
const idleTurn = int64(5 * time.Microsecond)

// turn ends a turn.
func (w *turnWatch) turn(now int64) {
	took := now - w.last
	w.longest = max(w.longest, took)
	switch {
	case w.worked:
		w.work += took
	case took > idleTurn:
		w.away += took
	}
	w.last, w.worked = now, false
}
