// Package stub is a server for tests that misbehaves in a chosen manner. The test binary that
// imports the package is the server.
package stub

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
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
	say := func(text string, code int) int {
		fmt.Fprintln(os.Stderr, text)
		return code
	}
	status, before := http.StatusOK, func(*http.Request) {} // before runs before each reply
	switch how {
	case "good":
	case "fails":
		return say("no configuration", 3)
	case "mistyped":
		return say("flag provided but not defined: -lisen\nUsage of bad:\n  -listen string\n    \taddress", 2)
	case "panics":
		say("about to", 0)
		panic("out of luck")
	case "absent": // never listens
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		<-ended
		return 0
	case "mute": // accepts and never answers
		before = func(r *http.Request) { <-r.Context().Done() }
	case "brittle": // exits with 7 on a request for /die
		before = func(r *http.Request) {
			if r.URL.Path == "/die" {
				os.Exit(say("asked to", 7))
			}
		}
	case "slow": // one request at a time, which takes 20 ms
		var turn sync.Mutex
		before = func(*http.Request) {
			turn.Lock()
			defer turn.Unlock()
			time.Sleep(20 * time.Millisecond)
		}
	case "tardy": // answers after 50 ms
		before = func(*http.Request) { time.Sleep(50 * time.Millisecond) }
	case "late", "homeless": // finds its port taken: late in its first two starts, homeless in all; arg names the file that counts starts
		if started(arg) <= 2 || how == "homeless" {
			return say("bind: Address already in use", 1)
		}
	case "refusing":
		status = http.StatusNotFound
	case "stubborn": // ignores SIGTERM; with arg, the file that counts starts, only in its second start
		if arg == "" || started(arg) == 2 {
			signal.Ignore(syscall.SIGTERM)
		}
	case "chatty":
		fmt.Print(strings.Repeat("x", 3*64<<10), "\nthe end\n")
	case "parent": // its child holds its output and outlives it
		child := exec.Command(os.Args[0], "stub", addr, "absent")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		must(child.Start())
		fmt.Printf("child %d\n", child.Process.Pid)
	case "mortal": // from its fifth start on, exits after 10 requests; arg names the file that counts starts
		var asked atomic.Int64
		mortal := started(arg) >= 5
		before = func(*http.Request) {
			if mortal && asked.Add(1) > 10 {
				os.Exit(say("out of requests", 7))
			}
		}
	default:
		return say("stub: unknown manner "+how, 2)
	}
	return say(http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before(r)
		w.WriteHeader(status)
		fmt.Fprintln(w, "ok")
	})).Error(), 1)
}

// must ends the server if a step that never fails has failed.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// started adds one to the count of starts in file, and returns the count. The count is the file's
// size in bytes.
func started(file string) int64 {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	defer f.Close()
	_, err = f.WriteString(".")
	must(err)
	info, err := f.Stat()
	must(err)
	return info.Size()
}
