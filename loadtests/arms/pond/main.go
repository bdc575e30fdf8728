// Command pond serves schedlab's endpoints on net/http. Each handler gives its request to a
// pool of alitto/pond and waits for the answer.
package main

import (
	"log"

	"github.com/alitto/pond/v2"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
)

func main() {
	workers := arm.Workers()
	app, addr := arm.App()
	pool := pond.NewPool(*workers)
	defer pool.StopAndWait()
	arm.ListenAndServe(addr, arm.Handler(func(x *workload.Exchange) {
		if err := pool.Submit(func() { app.Serve(x) }).Wait(); err != nil {
			log.Fatal("submitting: ", err) // only of a pool that is closed, or of a panic
		}
	}))
}
