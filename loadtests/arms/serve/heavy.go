package main

import (
	"net/url"
	"runtime"
	"strconv"

	"schedlab/internal/shared/workload"
)

// heavyFrom is how many iterations make a request heavy: about 1.5 ms on the CPUs of our experiments.
const heavyFrom = 1_000_000

// slice is how many iterations a request computes between two calls of Gosched: about 0.15 ms there.
const slice = 100_000

// beyond is more iterations than /work computes for a request: the handler refuses them.
const beyond = 1_000_000_000

// bounded answers with serve. At most places heavy requests are at work at once, and the others wait in turn; 0 is no
// bound. Light requests never wait here.
func bounded(serve func(*workload.Exchange), places int) func(*workload.Exchange) {
	if places == 0 {
		return serve
	}
	taken := make(chan struct{}, places)
	return func(x *workload.Exchange) {
		if _, iters := demanded(x); iters >= heavyFrom {
			taken <- struct{}{}
			defer func() { <-taken }()
		}
		serve(x)
	}
}

// yielding answers with serve. It computes a request for /work in slices, and lets the goroutines that are ready run
// between them. The memory of alloc= is allocated for the last slice only, not held from the first one.
func yielding(serve func(*workload.Exchange)) func(*workload.Exchange) {
	return func(x *workload.Exchange) {
		query, left := demanded(x)
		if left <= slice || left > beyond {
			serve(x)
			return
		}
		for ; left > slice; left -= slice {
			part := workload.Exchange{Method: x.Method, Path: x.Path, Query: "iters=" + strconv.Itoa(slice), Seq: x.Seq}
			serve(&part)
			runtime.Gosched()
		}
		query.Set("iters", strconv.Itoa(left))
		x.Query = query.Encode()
		serve(x)
	}
}

// demanded returns the keys in the query of a request for /work and the iterations that it asks for. They are nil and 0 for
// other paths.
func demanded(x *workload.Exchange) (keys url.Values, iters int) {
	if x.Path != "/work" {
		return nil, 0
	}
	keys, err := url.ParseQuery(x.Query)
	if err != nil {
		return nil, 0 // the handler tells the mistake
	}
	iters, _ = strconv.Atoi(keys.Get("iters"))
	return keys, iters
}
