package queueing

import "schedlab/internal/record"

// laneOf returns the job's queue. The queue is picked at the first call for the job.
func (r *replay) laneOf(job int) int {
	if r.own[job] < 0 {
		r.own[job] = int32(r.pick(job))
	}
	return int(r.own[job])
}

// pick chooses the queue of an arrival.
func (r *replay) pick(job int) int {
	n := len(r.lanes)
	switch {
	case r.station.Kind == Loops:
		return r.jobs[job].Conn % n
	case r.station.Kind != PerWorker || n == 1:
		return 0
	case r.station.Pick == Least:
		best := 0
		for i := range r.lanes {
			if r.lanes[i].load() < r.lanes[best].load() {
				best = i
			}
		}
		return best
	case r.station.Pick == TwoChoices:
		a, b := r.chance.IntN(n), r.chance.IntN(n-1)
		if b >= a {
			b++
		}
		if r.lanes[b].load() < r.lanes[a].load() {
			return b
		}
		return a
	}
	return job % n
}

// load returns the number of jobs in a lane, waiting or running.
func (l *lane) load() int { return l.waits + l.busy }

// idle returns the lane of an idle worker for a job in the given lane: this lane or, if workers
// steal, another. It returns -1 if all are busy.
func (r *replay) idle(lane int) int {
	for k := range r.reach() {
		if i := (lane + k) % len(r.lanes); r.lanes[i].free > 0 {
			return i
		}
	}
	return -1
}

// take returns the next job for a worker of the lane; -1 if there is none. Jobs that are too old
// are lost on the way.
func (r *replay) take(lane int) int {
	for k := range r.reach() {
		l := &r.lanes[(lane+k)%len(r.lanes)]
		r.expire(l)
		for job, stale, ok := r.turn(l); ok; job, stale, ok = r.turn(l) {
			if !stale {
				return job
			}
			r.lose(job, r.now)
		}
	}
	return -1
}

// turn removes the next job from a queue. stale reports that it has waited too long, ok is false
// if no job waits.
func (r *replay) turn(l *lane) (job int, stale, ok bool) {
	switch {
	case r.station.Adaptive:
		return r.adaptiveTurn()
	case l.waiting.isEmpty():
		return 0, false, false
	}
	job = r.leave(l)
	return job, r.law != nil && r.law.turn(r.now, r.now-r.jobs[job].At), true
}

// reach returns how many lanes a worker takes jobs from, its own first.
func (r *replay) reach() int {
	if r.station.Steal {
		return len(r.lanes)
	}
	return 1
}

// leave removes the first job from a lane's queue.
func (r *replay) leave(l *lane) int {
	l.room++
	l.waits--
	return r.links.pop(&l.waiting)
}

// expire loses the jobs at the head of a queue that have run out of patience. It is called when a
// worker wants the head or an arrival wants a place, because only then does it make a difference.
func (r *replay) expire(l *lane) {
	if r.station.Patience == 0 {
		return
	}
	for !l.waiting.isEmpty() {
		by := r.completions[l.waiting.first].Start + record.Duration(r.station.Patience)
		if by >= r.now {
			return
		}
		r.lose(r.leave(l), by)
	}
}

// evict loses the job that has waited longest in a lane, if one waits.
func (r *replay) evict(lane int) bool {
	l := &r.lanes[lane]
	if l.waiting.isEmpty() {
		return false
	}
	r.lose(r.leave(l), r.now)
	return true
}
