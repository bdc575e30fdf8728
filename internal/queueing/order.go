package queueing

import "cmp"

// A heap returns jobs in the order of a key. Jobs with equal keys come in the order in which they
// were pushed. Its zero value is empty.
type heap[K cmp.Ordered] struct {
	items []keyed[K]
	count uint64 // of pushes
}

// keyed is an item of a heap. order is the number of its push.
type keyed[K cmp.Ordered] struct {
	key   K
	order uint64
	job   int
}

func (a keyed[K]) before(b keyed[K]) bool {
	return a.key < b.key || a.key == b.key && a.order < b.order
}

func (h *heap[K]) len() int { return len(h.items) }

// next returns the smallest key; none if the heap is empty.
func (h *heap[K]) next(none K) K {
	if len(h.items) == 0 {
		return none
	}
	return h.items[0].key
}

func (h *heap[K]) push(key K, job int) {
	h.count++
	x := keyed[K]{key, h.count, job}
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = x
}

func (h *heap[K]) pop() int {
	top, n := h.items[0].job, len(h.items)-1
	x := h.items[n]
	h.items = h.items[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && h.items[child+1].before(h.items[child]) {
			child++
		}
		if !h.items[child].before(x) {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	if n > 0 {
		h.items[i] = x
	}
	return top
}

// links chain jobs into queues: an entry is the job behind. A job is in one queue at a time, so
// one link per job is enough for all queues.
type links []int32

// A queue is a list of jobs. first is -1 if it is empty; last is valid only if it is not.
type queue struct{ first, last int }

var empty = queue{first: -1}

func (q queue) isEmpty() bool { return q.first < 0 }

func (l links) push(q *queue, job int) {
	l[job] = -1
	if q.isEmpty() {
		q.first = job
	} else {
		l[q.last] = int32(job)
	}
	q.last = job
}

// pushFront puts a job at the head of a queue.
func (l links) pushFront(q *queue, job int) {
	l[job] = int32(q.first)
	if q.isEmpty() {
		q.last = job
	}
	q.first = job
}

func (l links) pop(q *queue) int {
	job := q.first
	q.first = int(l[job])
	return job
}
