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
		if demanded(x.Query).iters >= heavyFrom {
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
		d := demanded(x.Query)
		for ; d.iters > slice; d.iters -= slice {
			part := workload.Exchange{Method: x.Method, Path: x.Path, Query: "iters=" + strconv.Itoa(slice), Seq: x.Seq}
			serve(&part)
			runtime.Gosched()
		}
		x.Query = d.String()
		serve(x)
	}
}

// A demand is what a query asks of /work. Without iterations it is the query as it came.
type demand struct {
	iters int
	query string
}

func demanded(query string) demand {
	values, err := url.ParseQuery(query)
	iters, convErr := strconv.Atoi(values.Get("iters"))
	if err != nil || convErr != nil {
		return demand{query: query}
	}
	return demand{iters, query}
}

// String returns the query with what is left of the iterations.
func (d demand) String() string {
	if d.iters == 0 {
		return d.query
	}
	values, _ := url.ParseQuery(d.query)
	values.Set("iters", strconv.Itoa(d.iters))
	return values.Encode()
}
