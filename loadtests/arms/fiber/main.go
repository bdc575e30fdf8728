// Command fiber serves schedlab's endpoints with fiber on its usual server, fasthttp.
package main

import (
	"github.com/gofiber/fiber/v3"

	"schedlab/loadtests/arms/arm"
)

func main() {
	app, addr := arm.App()
	f := fiber.New(fiber.Config{ServerHeader: arm.Server, BodyLimit: arm.MaxBody + 1})
	h := func(c fiber.Ctx) error {
		ctx := c.RequestCtx()
		arm.Fast(app.Serve, &ctx.Request, &ctx.Response)
		return nil
	}
	for _, path := range arm.Paths {
		f.All(path, h)
	}
	f.Use(h)
	arm.Run(func() error {
		return f.Listen(addr, fiber.ListenConfig{DisableStartupMessage: true})
	}, f.ShutdownWithContext)
}
