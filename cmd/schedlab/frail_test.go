package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
)

// frail is a server that scripts use as an arm: `frail ADDR FILE START REQUESTS`
// answers everything, until from its START-th start on, which FILE counts, it
// dies amid the request after REQUESTS.
func frail() {
	ln, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start, _ := strconv.ParseInt(os.Args[3], 10, 64)
	most, _ := strconv.ParseInt(os.Args[4], 10, 64)
	dying := starts(os.Args[2]) >= start
	var asked atomic.Int64
	fmt.Fprintln(os.Stderr, http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > most && dying {
			fmt.Fprintln(os.Stderr, "out of requests")
			os.Exit(7)
		}
		fmt.Fprintln(w, "ok")
	})))
}

// starts adds one to the starts that file counts, and returns them.
func starts(file string) int64 {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString("."); err != nil {
		panic(err)
	}
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	return info.Size()
}

// hog takes all the time of a CPU until it is killed.
func hog() {
	for n := 0; ; n++ {
		_ = n
	}
}
