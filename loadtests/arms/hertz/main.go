// Command hertz serves schedlab's endpoints with cloudwego's hertz on its usual transport,
// netpoll.
package main

import (
	"context"
	"strings"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
)

func main() {
	work, addr := arm.App()
	hlog.SetLevel(hlog.LevelError)
	s := server.New(server.WithHostPorts(addr), server.WithMaxRequestBodySize(arm.MaxBody+1))
	h := func(_ context.Context, c *app.RequestContext) {
		var x workload.Exchange
		x.Method = string(c.Method())
		x.Path, x.Query, _ = strings.Cut(string(c.Request.Header.RequestURI()), "?")
		x.Seq = string(c.GetHeader("X-Vegeta-Seq"))
		x.Body = c.Request.Body()
		work.Serve(&x)
		c.SetStatusCode(x.Status)
		c.Response.Header.Set("Server", arm.Server)
		if x.ContentType != "" {
			c.SetContentType(x.ContentType)
		}
		if x.Allow != "" {
			c.Response.Header.Set("Allow", x.Allow)
		}
		if x.Close {
			c.SetConnectionClose()
		}
		c.Response.SetBody(x.Out)
	}
	for _, path := range arm.Paths {
		s.Any(path, h)
	}
	s.NoRoute(h)
	arm.Run(s.Run, s.Shutdown)
}
