// Command echo serves schedlab's endpoints with labstack's echo on its usual server, net/http.
package main

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"schedlab/loadtests/arms/arm"
)

func main() {
	app, addr := arm.App()
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	h := echo.WrapHandler(arm.Handler(app.Serve))
	for _, path := range arm.Paths {
		e.Any(path, h)
	}
	e.Any("/*", h)
	arm.Run(func() error {
		if err := e.Start(addr); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, e.Shutdown)
}
