package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A memoryRecord is memory.json.
type memoryRecord struct {
	Origin origin
	Cells  []memoryCell
}

// A memoryCell is a server with connections in one state.
type memoryCell struct {
	Server, Protocol, State string
	Streams                 int      // requests on each connection, that are under way at once
	Requests                int      // on all connections
	Taken                   []memory // by each
}

// A memory is what a process has, in bytes. In a cell it is what was added since the server answered its first request,
// divided by the requests.
type memory struct {
	// Resident is the process's Pss with the garbage that a collection has not yet found. Heap and Stack are what Go has
	// in use after two collections.
	Resident, Heap, Stack float64
}

const (
	plainHTTP = "HTTP/1.1"
	overTLS   = "HTTP/1.1, TLS"
	overH2C   = "HTTP/2"
	overHTTP2 = "HTTP/2, TLS"
)

// The states, with the path that brings a connection into it.
var statePaths = map[string]string{"idle": "/small", "after 1 MiB": "/large", "streaming": "/stream", "waiting": "/wait"}

var states = []string{"idle", "after 1 MiB", "streaming", "waiting"}

// loopPaths are those of schedlab serve. Handlers of a loop can neither wait nor stream.
var loopPaths = map[string]string{"idle": "/plaintext", "after 1 MiB": "/bytes/1048576"}

// fasthttp, which keeps an answer of 1 MiB for as long as its connection is idle, and with its option against that.
const fasthttp, fasthttpReduced = "fasthttp", "fasthttp, ReduceMemoryUsage"

// memoryCells returns all cells, with n requests each, or a tenth where n would take 10 GiB.
func memoryCells(n int) (cells []memoryCell) {
	add := func(server, protocol string, streams int, states ...string) {
		for _, state := range states {
			c := memoryCell{Server: server, Protocol: protocol, State: state, Streams: streams, Requests: n}
			if server == fasthttp && state == "after 1 MiB" {
				c.Requests = n / 10
			}
			cells = append(cells, c)
		}
	}
	add("net/http", plainHTTP, 1, states...)
	add("net/http", overTLS, 1, states...)
	add("net/http", overHTTP2, 1, states...)
	add("net/http", overHTTP2, 100, "streaming", "waiting")
	add(fasthttp, plainHTTP, 1, states...)
	add(fasthttpReduced, plainHTTP, 1, states...)
	add(fasthttp, overTLS, 1, states...)
	add("loop", plainHTTP, 1, "idle", "after 1 MiB")
	return cells
}

// path returns the path that brings a connection into a state.
func (c memoryCell) path(state string) string {
	if c.Server == "loop" {
		return loopPaths[state]
	}
	return statePaths[state]
}

func (c memoryCell) command() string {
	if c.Server == "loop" {
		return fmt.Sprintf("bin/schedlab serve --mode loop --addr {addr} --admin {admin} --iters 100 --max-conns %d --idle-timeout 1h --log-level error", c.Requests+64)
	}
	return plainCommand(c.Server, c.Protocol) + " -admin {admin}"
}

// plainCommand returns the command of a server that is a library as it comes.
func plainCommand(server, protocol string) string {
	command := "bin/arms/plain -listen {addr} -server "
	switch server {
	case fasthttpReduced:
		command += "fasthttp -reduce"
	default:
		command += strings.ReplaceAll(server, "/", "")
	}
	switch protocol {
	case overTLS:
		command += " -tls http/1.1"
	case overH2C:
		command += " -h2c"
	case overHTTP2:
		command += " -tls h2"
	}
	return command
}

// measureMemory measures all cells once a repeat, and writes the record after each.
func measureMemory(ctx context.Context, n, repeats int, out io.Writer) error {
	from, err := newOrigin(ctx)
	if err != nil {
		return err
	}
	r := memoryRecord{Origin: from, Cells: memoryCells(n)}
	for range repeats {
		for i := range r.Cells {
			c := &r.Cells[i]
			taken, err := c.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", c.Server, c.Protocol, c.State, err)
			}
			c.Taken = append(c.Taken, taken)
			fmt.Fprintf(out, "%s, %s, %s, %d: resident %.1f KiB, heap %.1f, stack %.1f\n",
				c.Server, c.Protocol, c.State, c.Streams, taken.Resident/1024, taken.Heap/1024, taken.Stack/1024)
		}
		if err := save("memory.json", r); err != nil {
			return err
		}
	}
	return nil
}

// measure brings the requests into the cell's state, in a fresh server, and returns what one takes there.
func (c memoryCell) measure(ctx context.Context) (taken memory, err error) {
	s, err := start(ctx, c.command())
	if err != nil {
		return taken, err
	}
	client := newCrowd(c, s)
	defer func() {
		err = errors.Join(err, s.kill())
		client.close()
	}()
	if err := client.open(ctx, "idle"); err != nil {
		return taken, err
	}
	if _, err := s.memory(ctx); err != nil { // collects, so that before has no garbage
		return taken, err
	}
	before, err := s.memory(ctx)
	if err != nil {
		return taken, err
	}
	if err := client.openAll(ctx); err != nil {
		return taken, err
	}
	after, err := s.memory(ctx)
	if err != nil {
		return taken, err
	}
	part := func(before, after float64) float64 { return (after - before) / float64(c.Requests) }
	return memory{part(before.Resident, after.Resident), part(before.Heap, after.Heap), part(before.Stack, after.Stack)}, nil
}
