// Command serve serves schedlab's endpoints with a recipe, the code that 'schedlab recipe' prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	fast "github.com/valyala/fasthttp"

	"schedlab/loadtests/arms/arm"
	"schedlab/loadtests/recipes/fasthttp"
	"schedlab/loadtests/recipes/goroutine"
	"schedlab/loadtests/recipes/nethttp"
	"schedlab/loadtests/recipes/nethttpgate"
	"schedlab/loadtests/recipes/pool"
	"schedlab/loadtests/recipes/poolrequest"
	"schedlab/loadtests/recipes/reuseport"
	"schedlab/loadtests/recipes/semaphore"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	recipe := flag.String("recipe", "nethttp", "mode to serve with")
	workers := flag.Int("workers", 64, "workers, places or turns, where the recipe has them")
	queue := flag.Int("queue", 1024, "connections or requests that may wait for a worker")
	sockets := flag.Int("sockets", 2, "listening sockets of reuseport")
	heavy := flag.Uint("heavy", 0, "places for requests of a million iterations or more; 0: no bound")
	yield := flag.Bool("yield", false, "let other goroutines run every 100,000 iterations of a request")
	count := flag.String("count", "", "count requests: mutex, sharded or atomic; none without")
	lines := flag.String("log", "", "write a line for each request: locked, each with a write of its own, or buffered; none without")
	logFile := flag.String("log-file", os.DevNull, "file that -log writes")
	app, addr := arm.App()
	answer := app.Serve
	if *yield {
		answer = yielding(answer)
	}
	answer = bounded(answer, int(*heavy)) // before yielding cuts a request in slices
	if *count != "" {
		kind, err := choose("count", *count, counters)
		if err != nil {
			return err
		}
		c := kind()
		answer = counted(answer, c)
		defer func() { log.Printf("counted %d requests", c.sum()) }()
	}
	if *lines != "" {
		kind, err := choose("log", *lines, logs)
		if err != nil {
			return err
		}
		file, err := os.Create(*logFile)
		if err != nil {
			return err
		}
		l := kind(file)
		answer = logged(answer, l)
		defer func() {
			if err := errors.Join(l.end(), file.Close()); err != nil {
				log.Print("writing the log: ", err)
			}
		}()
	}
	h := arm.Handler(answer)
	f := func(rc *fast.RequestCtx) { arm.Fast(answer, &rc.Request, &rc.Response) }
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	serve, err := choose("recipe", *recipe, map[string]func() error{
		"nethttp":      func() error { return nethttp.ListenAndServe(ctx, addr, h) },
		"nethttp-gate": func() error { return nethttpgate.ListenAndServe(ctx, addr, h, *workers) },
		"fasthttp":     func() error { return fasthttp.ListenAndServe(ctx, addr, f) },
		"goroutine":    func() error { return goroutine.ListenAndServe(ctx, addr, f) },
		"reuseport":    func() error { return reuseport.ListenAndServe(ctx, addr, f, *sockets) },
		"semaphore":    func() error { return semaphore.ListenAndServe(ctx, addr, f, *workers) },
		"pool":         func() error { return pool.ListenAndServe(ctx, addr, f, *workers, *queue) },
		"pool-request": func() error { return poolrequest.ListenAndServe(ctx, addr, f, *workers, *queue) },
	})
	if err != nil {
		return err
	}
	return serve()
}

// choose returns the value that has a flag's name.
func choose[V any](flag, name string, of map[string]V) (V, error) {
	v, ok := of[name]
	if !ok {
		return v, fmt.Errorf("-%s %q is none of %s", flag, name, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
	return v, nil
}
