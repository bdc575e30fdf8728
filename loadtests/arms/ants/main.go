// Command ants serves schedlab's endpoints on net/http. Each handler gives its request to a
// pool of panjf2000/ants and waits for the answer.
package main

import (
	"log"

	"github.com/panjf2000/ants/v2"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
)

func main() {
	workers := arm.Workers()
	app, addr := arm.App()
	pool, err := ants.NewPool(*workers)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Release()
	arm.ListenAndServe(addr, arm.Handler(func(x *workload.Exchange) {
		done := make(chan struct{})
		if err := pool.Submit(func() { defer close(done); app.Serve(x) }); err != nil {
			log.Fatal("submitting: ", err) // only of a pool that is closed
		}
		<-done
	}))
}
