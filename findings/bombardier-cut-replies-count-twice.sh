#!/usr/bin/env bash
# bombardier 1.2.6 counts a reply that is cut short as a good one ("2xx") and as an error, both.
#
# A server announces 100 bytes and, for each second request, sends 5 of them and closes the connection. A client then
# has no complete message (RFC 9112, section 8). One would expect a request to stand in one place: of ten requests,
# 5 good ones and 5 errors. bombardier prints "2xx - 10" and "unexpected EOF - 5", 15 outcomes for 10 requests, and
# "others - 0"; the share of errors that a reader works out of the codes is 0.
#
# Seen on 2026-11-28 (go1.26.8):
#   requests sent: 10, cut short: 5
#   1xx - 0, 2xx - 10, 3xx - 0, 4xx - 0, 5xx - 0
#   others - 0
#   unexpected EOF - 5
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
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var asked, cut atomic.Int64
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		if asked.Add(1)%2 == 1 {
			io.WriteString(w, strings.Repeat("a", 100))
			return
		}
		cut.Add(1)
		io.WriteString(w, "hello")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	out, err := exec.Command(os.Args[1], "-n", "10", "-c", "1", "-p", "r", "--http1", "http://"+l.Addr().String()).CombinedOutput()
	if err != nil {
		log.Fatalf("%v: %s", err, out)
	}
	fmt.Printf("requests sent: %d, cut short: %d\n", asked.Load(), cut.Load())
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "2xx") || strings.HasPrefix(line, "others") || strings.Contains(line, "EOF") {
			fmt.Println(line)
		}
	}
}
END
go mod init finding >/dev/null 2>&1
GOBIN=$dir go install github.com/codesenberg/bombardier@v1.2.6 2>/dev/null
go version
got=$(go run . "$dir/bombardier" 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
requests sent: 10, cut short: 5
1xx - 0, 2xx - 10, 3xx - 0, 4xx - 0, 5xx - 0
others - 0
unexpected EOF - 5
END
