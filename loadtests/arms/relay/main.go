// Command relay puts the round trip of a network between a load and a server, where the kernel has no netem. It listens
// in the server's place, starts the server at another address, and hands on every byte a fixed delay after it came:
//
//	relay -delay 1ms -listen 127.0.0.1:8080 -- schedlab serve --mode loop --addr {server}
//
// A new connection takes a round trip before its client's first byte sets out. The delay is for both directions and all
// connections, with no loss, no jitter and no congestion window; at most 1 MiB is under way in each direction of a connection.
//
// The process becomes the server: signals reach the server, and its CPU time, memory and end are the process's. The bytes
// are carried by a second process, which is no child of the first. It runs on the CPUs that the server may not use, or on the
// server's where there are no others, before all that is not real-time (SCHED_FIFO, where that is permitted). It ends when the
// server has ended and its last bytes were due; what a slow client has not taken by then is lost.
//
// -admin serves Prometheus metrics: how late chunks of bytes set out, and the CPU time of carrying them.
// 'relay figures RUN' prints them of a recorded run, for each arm.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

// serverMark is what the server's address replaces in the words of its command.
const serverMark = "{server}"

// The first words of the processes that relay starts: see detach.
const (
	detachWord  = "detach"
	carryWord   = "carry"
	figuresWord = "figures"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("relay: ")
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 2 && words[0] == figuresWord:
		return printFigures(os.Stdout, words[1])
	case len(words) > 2 && words[0] == detachWord:
		return detach(words[1:])
	case len(words) > 2 && words[0] == carryWord:
		return carry(words[1:])
	}
	half, err := halfOf(os.Getenv("RTT"))
	if err != nil {
		return err
	}
	delay := flag.Duration("delay", half, "`time` from a byte's arrival until it is handed on, in each direction; default: half of $RTT")
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on in the server's place")
	admin := flag.String("admin", "", "`address` of Prometheus metrics, under /metrics")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: relay [flags] -- COMMAND, which listens at %s\n       relay figures RUN\n", serverMark)
		flag.PrintDefaults()
	}
	_ = flag.CommandLine.Parse(words) // ends the process at a mistake
	command := flag.Args()
	switch {
	case len(words) > 0 && words[0] == figuresWord: // without a run, or with several
		flag.Usage()
		os.Exit(2)
	case *delay < 0:
		return fmt.Errorf("-delay %v: must not be negative", *delay)
	case !slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, serverMark) }):
		return fmt.Errorf("the command %q does not say where the server listens: one of its words must have %s", strings.Join(command, " "), serverMark)
	}
	return become(*delay, *listen, *admin, command)
}

// halfOf returns half of a round trip, 0 for none.
func halfOf(rtt string) (time.Duration, error) {
	if rtt == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(rtt)
	if err == nil && d < 0 {
		err = errors.New("must not be negative")
	}
	if err != nil {
		return 0, fmt.Errorf("the variable RTT, %q: %w", rtt, err)
	}
	return d / 2, nil
}
