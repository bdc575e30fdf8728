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

// bounded answers with serve. Of the heavy requests at most places are at work at once, and the others wait in turn;
// 0 is no bound. The light ones never wait here.
func bounded(serve func(*workload.Exchange), places int) func(*workload.Exchange) {
	if places == 0 {
		return serve
	}
	free := make(chan struct{}, places)
	return func(x *workload.Exchange) {
		if _, iters := demanded(x.Query); iters >= heavyFrom {
			free <- struct{}{}
			defer func() { <-free }()
		}
		serve(x)
	}
}

// yielding answers with serve. It computes a request in slices, and lets the goroutines that are ready run between
// them.
func yielding(serve func(*workload.Exchange)) func(*workload.Exchange) {
	return func(x *workload.Exchange) {
		query, left := demanded(x.Query)
		if left <= slice {
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

// demanded returns the keys of a query of /work and the iterations that it asks for, 0 without any.
func demanded(query string) (keys url.Values, iters int) {
	keys, err := url.ParseQuery(query)
	if err != nil {
		return nil, 0 // the handler tells the mistake
	}
	iters, _ = strconv.Atoi(keys.Get("iters"))
	return keys, iters
}
