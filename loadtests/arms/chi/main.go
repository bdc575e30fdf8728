// Command chi serves schedlab's endpoints with chi's router on its usual server, net/http.
package main

import (
	"github.com/go-chi/chi/v5"

	"schedlab/loadtests/arms/arm"
)

func main() {
	app, addr := arm.App()
	r := chi.NewRouter()
	h := arm.Handler(app.Serve)
	for _, path := range arm.Paths {
		r.HandleFunc(path, h)
	}
	r.NotFound(h)
	arm.ListenAndServe(addr, r)
}
