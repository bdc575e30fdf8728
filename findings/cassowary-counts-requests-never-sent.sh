#!/usr/bin/env bash
# cassowary reports 100 requests at 38 a second where it sent five, and 292 years for each request on a kept connection.
#
# cassowary 0.19.0 is a load generator. With a duration ("-n 100 -d 2", 100 requests over 2 s) it hands a request to a user at
# each tick, waits while all users are busy, and stops when the time is over. Total Req is then the number asked for, whatever
# was sent, and Req/s is that number by the time. A server that takes half a second gets about five requests over one
# connection, two a second. The slower it is, the fewer it gets, and Total Req stays 100. Nothing says that some 95
# requests were never sent. One would expect the number that was sent.
# "-R" writes a line for each request to raw.csv. Without TLS its time to connect is counted from the moment when dialling began.
# A request on a kept connection has no such moment; it gets the longest duration there is, and TotalDuration adds that up.
# The histogram and the box plot are drawn from the same totals; the printed summary leaves such times out. One would
# expect no time to connect.
#
# Seen on 2026-11-30 (go1.26.8):
#   -n 100 -d 2, a server that takes 0.5 s: it got fewer than 10 requests; Total Req 100, Req/s above 20
#   -n 5 -R, a server that takes 20 ms, TotalDuration in raw.csv: below a second, 292 years, 292 years, 292 years, 292 years
#   the same with --disable-keep-alive: below a second, below a second, below a second, below a second, below a second
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"encoding/csv"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var got atomic.Int64
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		if r.URL.Path == "/slow" {
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
	}))
	run := func(path string, args ...string) string {
		cmd := exec.Command(os.Args[1], append([]string{"run", "-u", "http://" + l.Addr().String() + path, "-c", "1"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			log.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	number := func(out, name string) float64 {
		m := regexp.MustCompile(regexp.QuoteMeta(name) + `\.+: *([0-9.]+)`).FindStringSubmatch(out)
		if m == nil {
			log.Fatalf("no %s in %s", name, out)
		}
		f, _ := strconv.ParseFloat(m[1], 64)
		return f
	}
	out := run("/slow", "-n", "100", "-d", "2")
	sent, rate := fmt.Sprint(got.Load(), " requests"), fmt.Sprint(number(out, "Req/s"))
	fmt.Fprintf(os.Stderr, "the server got %s, Req/s %s\n", sent, rate)
	if got.Load() < 10 {
		sent = "fewer than 10 requests"
	}
	if number(out, "Req/s") > 20 {
		rate = "above 20"
	}
	fmt.Printf("-n 100 -d 2, a server that takes 0.5 s: it got %s; Total Req %g, Req/s %s\n", sent, number(out, "Total Req"), rate)

	for i, title := range []string{"-n 5 -R, a server that takes 20 ms, TotalDuration in raw.csv:", "the same with --disable-keep-alive:"} {
		args := []string{"-n", "5", "-R"}
		if i == 1 {
			args = append(args, "--disable-keep-alive")
		}
		run("/", args...)
		f, err := os.Open("raw.csv")
		if err != nil {
			log.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		if err != nil {
			log.Fatal(err)
		}
		column := slices.Index(lines[0], "TotalDuration")
		var said []string
		for _, line := range lines[1:] {
			ms, err := strconv.ParseFloat(line[column], 64)
			if err != nil {
				log.Fatal(err)
			}
			if ms < 1000 {
				said = append(said, "below a second")
			} else {
				said = append(said, fmt.Sprintf("%.0f years", ms/1000/86400/365.25))
			}
		}
		fmt.Println(title, strings.Join(said, ", "))
	}
}
END
go mod init finding >/dev/null 2>&1
go get github.com/rogerwelin/cassowary/cmd/cassowary@v0.19.0 2>/dev/null
go build -o tool/ github.com/rogerwelin/cassowary/cmd/cassowary
go version
got=$(go run . "$dir/tool/cassowary")
echo "$got"
diff <(echo "$got") - <<'END'
-n 100 -d 2, a server that takes 0.5 s: it got fewer than 10 requests; Total Req 100, Req/s above 20
-n 5 -R, a server that takes 20 ms, TotalDuration in raw.csv: below a second, 292 years, 292 years, 292 years, 292 years
the same with --disable-keep-alive: below a second, below a second, below a second, below a second, below a second
END
