#!/usr/bin/env bash
# net/http's SetKeepAlivesEnabled(false) loses the requests that are under way to idle connections; POSTs fail at the client.
#
# Its documentation offers it to servers in the process of shutting down. One would expect "Connection: close" on the next
# answer of each connection, as RFC 9112 (9.6) asks for, so that clients move away and nobody notices. Go 1.26.8 also
# closes each connection that is idle at that moment, at once. A request that is on its way by then gets no answer: Go's
# client sends a GET again on a new connection, and reports an error for a POST, which may have been served for all it knows.
# Behind a load balancer that keeps its connections busy, draining by SetKeepAlivesEnabled costs a 502 for some of them.
# A handler that sets the header "Connection: close" from the same moment loses none, and ends all connections as well.
#
# Seen on 2026-11-29 (go1.26.8), 20 clients on kept connections of 200 ms one way, the server switched half way:
#   SetKeepAlivesEnabled(false): POST: 20 lost, 0 answered; GET: 0 lost, 20 answered
#   header "Connection: close":  POST: 0 lost, 20 answered; GET: 0 lost, 20 answered
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	clients = 20
	oneWay  = 200 * time.Millisecond
)

func main() {
	fmt.Println("SetKeepAlivesEnabled(false):", try(http.MethodPost, true)+";", try(http.MethodGet, true))
	fmt.Println(`header "Connection: close": `, try(http.MethodPost, false)+";", try(http.MethodGet, false))
}

// try sends a request on each of the clients' kept connections, and switches keep-alive off while they are on their way.
func try(method string, setter bool) string {
	var ending atomic.Bool
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if ending.Load() {
			w.Header().Set("Connection", "close")
		}
		io.WriteString(w, "ok")
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	far := relay(l.Addr().String())
	defer far.Close()

	var lost, answered atomic.Int64
	var warm, done sync.WaitGroup
	send := make(chan bool)
	for range clients {
		warm.Add(1)
		done.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			ask := func() error {
				var body io.Reader
				if method == http.MethodPost {
					body = strings.NewReader("order=1")
				}
				r, err := http.NewRequest(method, "http://"+far.Addr().String(), body)
				if err != nil {
					log.Fatal(err)
				}
				reply, err := client.Do(r)
				if err == nil {
					_, err = io.Copy(io.Discard, reply.Body)
					reply.Body.Close()
				}
				return err
			}
			if err := ask(); err != nil {
				log.Fatal(err)
			}
			warm.Done()
			<-send
			if err := ask(); err != nil {
				lost.Add(1)
			} else {
				answered.Add(1)
			}
		})
	}
	warm.Wait()
	close(send)
	time.Sleep(oneWay / 2)
	if setter {
		server.SetKeepAlivesEnabled(false)
	} else {
		ending.Store(true)
	}
	done.Wait()
	return fmt.Sprintf("%s: %d lost, %d answered", method, lost.Load(), answered.Load())
}

// relay passes connections on to the server, everything as late as on a path that takes oneWay.
func relay(server string) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				far, err := net.Dial("tcp", server)
				if err != nil {
					log.Fatal(err)
				}
				go late(far, near)
				late(near, far)
			}()
		}
	}()
	return l
}

// late copies from one connection to the other, and closes that when the first ends.
func late(to, from net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 100)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				return
			}
		}
	}()
	for {
		buffer := make([]byte, 4096)
		n, err := from.Read(buffer)
		pieces <- piece{time.Now().Add(oneWay), buffer[:n]}
		if err != nil {
			close(pieces)
			return
		}
	}
}
END
go mod init finding >/dev/null 2>&1
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
SetKeepAlivesEnabled(false): POST: 20 lost, 0 answered; GET: 0 lost, 20 answered
header "Connection: close":  POST: 0 lost, 20 answered; GET: 0 lost, 20 answered
END
