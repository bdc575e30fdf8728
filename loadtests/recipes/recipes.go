// Package recipes embeds the scheduling models as code to copy: a directory with one file for each, which
// needs nothing of schedlab. 'schedlab recipe' prints them.
package recipes

import (
	"embed"
	"strings"
)

//go:embed */recipe.go
var files embed.FS

// Of returns the Go file of the mode of that name. ok is false for a mode without one.
func Of(mode string) (source string, ok bool) {
	b, err := files.ReadFile(strings.ReplaceAll(mode, "-", "") + "/recipe.go")
	return string(b), err == nil
}

// unfinished says what the arm for gnet lacks of what the recipes have.
const unfinished = "schedlab's arm recovers from no panic, has no timeouts and no drain, and loses what is not yet written when a client half-closes: mend that before loadtests/arms/gnet is a program to copy."

// Instead says for each mode without a recipe what to use in its place, and why. It must not be modified.
var Instead = map[string]string{
	"pool-perworker": "Use pool: with a queue for each worker a request waits behind a long one while another worker is idle (p50 +9.9 %, p99 +39 % against one queue).",
	"pool-ring":      "Use pool: for requests of a millisecond a lock-free ring takes the same CPU time as Go's channel.",
	"pool-requeue":   "Use nethttp or goroutine: they serve all keep-alive clients too, since Go's own poller gives each connection back after a burst.",
	"pool-adaptive":  "Use pool-request with a short queue: above capacity a longer one serves no more requests, they only wait longer.",
	"threadpool":     "Use pool: an operating-system thread for each worker wins nothing, and waking one costs more than waking a goroutine.",
	"threads":        "Use goroutine: an operating-system thread for each connection wins nothing.",
	"loop":           `Use gnet (github.com/panjf2000/gnet/v2), whose gnet.Run(handler, "tcp://:8080", gnet.WithMulticore(true)) runs an event loop for each CPU. ` + unfinished,
	"loop-single":    `Use gnet (github.com/panjf2000/gnet/v2), whose gnet.Run(handler, "tcp://:8080", gnet.WithNumEventLoop(1)) runs one event loop. ` + unfinished,
	"loop-offload":   "Use gnet (github.com/panjf2000/gnet/v2) and answer from a goroutine by its Conn.AsyncWrite, with a bound on what is buffered behind a slow request: the arm below, with -offload, has none. " + unfinished,
	"prefork":        "Use goroutine: for requests of a millisecond one Go runtime on all CPUs beats a process for each (p50 +27 %, p99 +59 % with two).",
}
