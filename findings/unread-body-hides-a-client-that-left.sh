#!/usr/bin/env bash
# net/http's request context does not end when the client of a POST leaves, unless the handler has read the body to its end.
#
# Its documentation says of incoming requests that "the context is canceled when the client's connection closes". Over
# HTTP/1.1 Go 1.26.8 looks for the close only once the body has been read to its end (go.dev/issue/23262, of 2017). So a
# handler that checks a token or asks another service before it reads the body works for nobody, for as long as that takes,
# and so does one that reads a chunked body with json.Decoder, which stops behind the value: it does not see the last chunk if
# that comes in a packet of its own. A GET, and a body read by io.ReadAll, are not concerned. One would expect the same for
# all of them, or a word about it beside Request.Context.
#
# Seen on 2026-11-29 (go1.26.8), whether the context ends within a second after the client has left:
#   GET: ended
#   POST, body read to its end: ended
#   POST, body unread: goes on
#   POST in chunks, json.Decoder, last chunk in a packet of its own: goes on
#   POST in chunks, json.Decoder, last chunk in the same packet: ended
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

const (
	get      = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	post     = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n" + `{"a":1}`
	chunks   = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + `{"a":1}` + "\r\n"
	last     = "0\r\n\r\n"
	between  = 200 * time.Millisecond // from one packet to the next
	patience = time.Second            // how long a handler waits for the end of its context
)

func main() {
	unread := func(*http.Request) error { return nil }
	whole := func(r *http.Request) error { _, err := io.ReadAll(r.Body); return err }
	decode := func(r *http.Request) error { return json.NewDecoder(r.Body).Decode(new(map[string]int)) }
	fmt.Println("GET:", try(unread, get))
	fmt.Println("POST, body read to its end:", try(whole, post))
	fmt.Println("POST, body unread:", try(unread, post))
	fmt.Println("POST in chunks, json.Decoder, last chunk in a packet of its own:", try(decode, chunks, last))
	fmt.Println("POST in chunks, json.Decoder, last chunk in the same packet:", try(decode, chunks+last))
}

// try sends a request in these packets, leaves when its handler has read what it reads, and tells whether the handler's
// context ended.
func try(read func(*http.Request) error, packets ...string) string {
	reading, left, ended := make(chan bool), make(chan bool), make(chan string)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := read(r); err != nil {
			log.Fatal(err)
		}
		close(reading)
		<-left
		select {
		case <-r.Context().Done():
			ended <- "ended"
		case <-time.After(patience):
			ended <- "goes on"
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	for i, packet := range packets {
		if i > 0 {
			time.Sleep(between)
		}
		if _, err := io.WriteString(client, packet); err != nil {
			log.Fatal(err)
		}
	}
	<-reading
	client.Close()
	close(left)
	return <-ended
}
END
go mod init finding >/dev/null 2>&1
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
GET: ended
POST, body read to its end: ended
POST, body unread: goes on
POST in chunks, json.Decoder, last chunk in a packet of its own: goes on
POST in chunks, json.Decoder, last chunk in the same packet: ended
END
