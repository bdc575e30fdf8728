package queueing

// laneOf is the job's queue, picked when it is first asked for.
func (r *replay) laneOf(job int) int {
	if r.own[job] < 0 {
		r.own[job] = int32(r.pick(job))
	}
	return int(r.own[job])
}

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

// load is what a lane has to do.
func (l *lane) load() int { return l.waits + l.busy }

// idle is the lane of a worker for a job put into that lane: its own or, where they
// steal, another's; -1 if all are at work.
func (r *replay) idle(lane int) int {
	for k := range r.reach() {
		if i := (lane + k) % len(r.lanes); r.lanes[i].free > 0 {
			return i
		}
	}
	return -1
}

// take is the next job for a worker of that lane, -1 for none.
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

// turn takes the job out of a queue whose turn it is, and tells whether it has
// waited too long; ok is false when none waits.
func (r *replay) turn(l *lane) (job int, stale, ok bool) {
	switch {
	case r.station.Aging.Adaptive:
		return r.adaptiveTurn()
	case l.waiting.isEmpty():
		return 0, false, false
	}
	job = r.leave(l)
	return job, r.law != nil && r.law.turn(r.now, r.now-r.jobs[job].At), true
}

// reach is how many lanes a worker looks at, its own first.
func (r *replay) reach() int {
	if r.station.Steal {
		return len(r.lanes)
	}
	return 1
}

// leave takes the first job out of a lane's queue.
func (r *replay) leave(l *lane) int {
	l.room++
	l.waits--
	return r.links.pop(&l.waiting)
}

// expire loses the jobs at the head of a queue whose patience has ended. It is
// looked at when a worker or an arrival wants the head or its place: nobody else
// can tell.
func (r *replay) expire(l *lane) {
	if r.station.Patience == 0 {
		return
	}
	for !l.waiting.isEmpty() {
		by := r.fates[l.waiting.first].Start + r.station.Patience
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
