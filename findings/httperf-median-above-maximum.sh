#!/usr/bin/env bash
# httperf 0.9.0 prints a median of the connection time above its maximum.
#
# "Connection time [ms]: min, avg, max, median": the first three are of the times, the median is the middle of a bin of
# a histogram of 1 ms. So of connections that take a fraction of a millisecond each, as on one host, the median is
# 0.5 ms whatever they take; of a single connection that took 0.3 ms, too. One would expect min <= median <= max.
#
# Seen on 2026-11-28 (httperf 0.9.0-9+b2), one connection with one reply:
#   median of the connection time: 0.5 ms, above its maximum: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download httperf=0.9.0-9+b2 >/dev/null 2>&1
dpkg -x httperf_*.deb tool
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
	"regexp"
	"strconv"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	_, port, _ := net.SplitHostPort(l.Addr().String())
	// A busy machine can make a connection slow: of twenty runs the one with the smallest maximum counts.
	median, least := "", 1e9
	for range 20 {
		out, err := exec.Command(os.Args[1], "--server=127.0.0.1", "--port="+port, "--uri=/", "--num-conns=1").CombinedOutput()
		m := regexp.MustCompile(`Connection time \[ms\]: min \S+ avg \S+ max (\S+) median (\S+)`).FindStringSubmatch(string(out))
		if m == nil {
			log.Fatalf("%v: %s", err, out)
		}
		if longest, _ := strconv.ParseFloat(m[1], 64); longest < least {
			least, median = longest, m[2]
		}
	}
	middle, _ := strconv.ParseFloat(median, 64)
	fmt.Printf("median of the connection time: %s ms, above its maximum: %t\n", median, middle > least)
	fmt.Fprintf(os.Stderr, "maximum: %g ms\n", least)
}
END
go mod init finding >/dev/null 2>&1
got=$(go run . "$dir/tool/usr/bin/httperf")
echo "$got"
diff <(echo "$got") - <<'END'
median of the connection time: 0.5 ms, above its maximum: true
END
