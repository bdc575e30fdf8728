// Package stub is a server for tests that misbehaves in a chosen manner. The test binary that
// imports the package is the server.
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

// Command returns the command line of a stub server that behaves in the manner how (see serve). The
// mark {addr} stands for its address.
func Command(how string) []string { return []string{os.Args[0], "stub", "{addr}", how} }

// Main runs the server and exits if this process was started with [Command]; otherwise it returns.
// TestMain calls it.
func Main() {
	if len(os.Args) > 3 && os.Args[1] == "stub" {
		os.Exit(serve(os.Args[2], os.Args[3]))
	}
}

// serve serves HTTP on addr in the manner how, "NAME" or "NAME=ARG", and returns the exit code.
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
	case "brittle": // exits with 7 on a request for /die
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
	case "late", "homeless": // finds its port taken: late in its first two starts, homeless in all; arg names the file that counts starts
		if started(arg) <= 2 || how == "homeless" {
			fmt.Fprintln(os.Stderr, "bind: Address already in use")
			return 1
		}
	case "refusing":
		answer = http.NotFound
	case "stubborn": // ignores SIGTERM; with arg, the file that counts starts, only in its second start
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
	case "mortal": // from its fifth start on, exits after 10 requests; arg names the file that counts starts
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

// started adds one to the count of starts in file, and returns the count. The count is the file's
// size in bytes.
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
