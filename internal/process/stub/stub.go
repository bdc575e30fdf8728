// Package stub is a server for tests, as good or bad as it is told to be. The test binary
// that imports it is the server.
package stub

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Command is the command line of a server in the manner how, whose mark is addr.
func Command(how string) []string { return []string{os.Args[0], "stub", "{addr}", how} }

// Main is called by TestMain: it serves when this process was started by [Command], and
// returns otherwise.
func Main() {
	if len(os.Args) > 3 && os.Args[1] == "stub" {
		os.Exit(serve(os.Args[2], os.Args[3]))
	}
}

// serve serves HTTP on addr and is as good or bad a server as how says; it
// returns its exit code.
func serve(addr, how string) int {
	how, arg, _ := strings.Cut(how, "=")
	var asked atomic.Int64
	answer := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	switch how {
	case "good":
	case "fails":
		fmt.Fprintln(os.Stderr, "no configuration")
		return 3
	case "mistyped":
		fmt.Fprint(os.Stderr, "flag provided but not defined: -lisen\nUsage of bad:\n  -listen string\n    \taddress\n")
		return 2
	case "panics":
		fmt.Fprintln(os.Stderr, "about to")
		panic("out of luck")
	case "absent": // never listens
		hold()
	case "mute": // accepts and never answers
		answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	case "brittle": // dies of being asked for /die
		answer = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/die" {
				fmt.Fprintln(os.Stderr, "asked to")
				os.Exit(7)
			}
			fmt.Fprintln(w, "ok")
		}
	case "slow": // one request at a time, which takes 20 ms
		turn := make(chan struct{}, 1)
		answer = func(w http.ResponseWriter, _ *http.Request) {
			turn <- struct{}{}
			time.Sleep(20 * time.Millisecond)
			<-turn
			fmt.Fprintln(w, "ok")
		}
	case "tardy": // answers after 50 ms
		answer = func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(50 * time.Millisecond)
			fmt.Fprintln(w, "ok")
		}
	case "late", "homeless": // finds its port taken: in its first two starts, in all; arg counts starts
		if started(arg) <= 2 || how == "homeless" {
			fmt.Fprintln(os.Stderr, "bind: Address already in use")
			return 1
		}
	case "refusing":
		answer = http.NotFound
	case "stubborn": // does not end when asked to; with arg, which counts starts, in its second one
		if arg == "" || started(arg) == 2 {
			signal.Ignore(syscall.SIGTERM)
		}
	case "chatty":
		fmt.Print(strings.Repeat("x", 3*64<<10), "\nthe end\n")
	case "parent": // its child holds its output and outlives it
		child := exec.Command(os.Args[0], "stub", addr, "absent")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("child %d\n", child.Process.Pid)
	case "mortal": // dies amid requests from its fifth start on; arg counts starts
		if starts := started(arg); starts >= 5 {
			answer = func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > 10 {
					fmt.Fprintln(os.Stderr, "out of requests")
					os.Exit(7)
				}
				fmt.Fprintln(w, "ok")
			}
		}
	default:
		fmt.Fprintf(os.Stderr, "stub: unknown manner %q\n", how)
		return 2
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, http.Serve(ln, http.HandlerFunc(answer)))
	return 1
}

// hold waits for a signal.
func hold() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	os.Exit(0)
}

// started adds one to the starts that file counts, and returns them.
func started(file string) int64 {
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
