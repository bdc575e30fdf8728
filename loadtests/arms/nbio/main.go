// Command nbio serves schedlab's endpoints with lesismal/nbio's own HTTP server: pollers
// read and parse, a pool of goroutines runs the handlers.
package main

import (
	"log"

	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"

	"schedlab/loadtests/arms/arm"
)

func main() {
	app, addr := arm.App()
	logging.SetLevel(logging.LevelError)
	engine := nbhttp.NewEngine(nbhttp.Config{Network: "tcp", Addrs: []string{addr}, Handler: arm.Handler(app.Serve)})
	if err := engine.Start(); err != nil {
		log.Fatal(err)
	}
	arm.Run(func() error { select {} }, engine.Shutdown)
}
