// Command uring serves schedlab's endpoints on one thread, over io_uring, or over epoll with the same code around
// it: what io_uring saves is then the difference between two arms that have all else in common. fasthttp reads the
// requests from what a connection has received, and writes the answers.
//
// It needs Linux 6.1 or later. It says so and ends where io_uring is forbidden, as in many containers.
package main

import (
	"flag"
	"log"

	"schedlab/loadtests/arms/arm"
)

func main() {
	epoll := flag.Bool("epoll", false, "use epoll instead, one read and one write for each connection that is ready")
	raw := flag.Bool("raw", false, "wait in a system call that Go's scheduler is not told of, with GOMAXPROCS 2 at least")
	app, addr := arm.App()
	s, err := newServer(app, addr, *epoll, *raw)
	if err != nil {
		log.Fatal(err)
	}
	arm.Run(s.serve, s.stop)
}
