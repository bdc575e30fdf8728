#!/usr/bin/env bash
# fortio 1.66.5 with -stdclient counts a request without a reply as a reply of -1 bytes.
#
# The server answers half of the requests with 100 bytes and closes the connection of the others before any reply. One
# would expect the sizes of 10 replies, all of 100 bytes. fortio's "Response Body/Total Sizes" are of 20, from -1 to 100,
# and their mean is 49.5: a service that fails looks like one with small replies. The -1 is also how it writes "no
# status" among the codes.
#
# Seen on 2026-11-28 (go1.26.8):
#   answered: 10 of 20
#   Response Body/Total Sizes : count 20 avg 49.5 +/- 50.5 min -1 max 100 sum 990
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
	var asked, answered atomic.Int64
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// POST is not sent again after a lost connection.
		if asked.Add(1)%2 == 0 {
			panic(http.ErrAbortHandler)
		}
		answered.Add(1)
		io.WriteString(w, strings.Repeat("a", 100))
	}))
	out, err := exec.Command(os.Args[1], "load", "-stdclient", "-qps", "0", "-c", "1", "-n", "20", "-allow-initial-errors",
		"-payload", "x", "http://"+l.Addr().String()).CombinedOutput()
	fmt.Printf("answered: %d of %d\n", answered.Load(), asked.Load())
	found := false
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Body/Total Sizes :") {
			fmt.Print(line)
			found = true
		}
	}
	if !found {
		log.Fatalf("%v: %s", err, out)
	}
}
END
go mod init finding >/dev/null 2>&1
GOBIN=$dir go install fortio.org/fortio@v1.66.5 2>/dev/null
go version
got=$(go run . "$dir/fortio" 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
answered: 10 of 20
Response Body/Total Sizes : count 20 avg 49.5 +/- 50.5 min -1 max 100 sum 990
END
