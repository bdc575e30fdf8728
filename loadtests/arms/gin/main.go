// Command gin serves schedlab's endpoints with gin on its usual server, net/http, without
// the logging and recovery of gin.Default.
package main

import (
	"github.com/gin-gonic/gin"

	"schedlab/loadtests/arms/arm"
)

func main() {
	app, addr := arm.App()
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	h := gin.WrapF(arm.Handler(app.Serve))
	for _, path := range arm.Paths {
		r.Any(path, h)
	}
	r.NoRoute(h)
	arm.ListenAndServe(addr, r)
}
