#!/usr/bin/env bash
# wrk 4.1.0 with a --timeout leaves slow replies out of its latencies but in its rate, and no reply at all is no timeout.
#
# A tenth of the requests take 1.5 s, the others 10 ms, over four connections. "--timeout 1s" ends no request: wrk waits
# on, takes the late reply as a request that succeeded (it is in "requests" and "Requests/sec"), counts it as a timeout
# as well, and drops its time. So the latencies show nothing of them: a mean of 10 ms and a slowest of 11 ms, where
# requests take 0.12 s on average and up to 1.5 s. With 2 s, which is the timeout unless one is given, the same run
# has a slowest of 1.5 s (and a mean of 0.38 s, which is too much: wrk-times-of-nobody.sh).
# Where the server never answers, wrk prints 0 requests, no timeout and no error, and exits with 0.
# README: "record a timeout if a response is not received within this amount of time"; the change log: "Only record
# timeouts when a response is actually received". One would expect a request to be done, with its time, or timed out.
#
# Seen on 2026-11-29 (wrk 4.1.0-3+b2, go1.26.8):
#   --timeout 2s: timeouts: no   mean above 0.1 s: yes  slowest above 1.4 s: yes
#   --timeout 1s: timeouts: yes  mean above 0.1 s: no   slowest above 1.4 s: no
#   --timeout 1s: its requests are the fast replies and the timeouts: yes  connections opened: 5 (one to try the address)
#   no reply:     0 requests, timeouts: no, errors: no, exit status 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download wrk=4.1.0-3+b2 >/dev/null 2>&1
dpkg -x wrk_*.deb tool # its shared libraries come from the system: libluajit-5.1-2, libssl3
cat >main.go <<'END_GO'
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
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var began, fast, opened atomic.Int64
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/never":
				<-r.Context().Done()
				return
			case began.Add(1)%10 == 0:
				time.Sleep(1500 * time.Millisecond)
			default:
				time.Sleep(10 * time.Millisecond)
				fast.Add(1)
			}
			io.WriteString(w, "a")
		}),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				opened.Add(1)
			}
		},
	}
	go server.Serve(l)
	run := func(timeout, path string) string {
		began.Store(0)
		fast.Store(0)
		opened.Store(0)
		out, err := exec.Command(os.Args[1], "-t1", "-c4", "-d6s", "--timeout", timeout, "http://"+l.Addr().String()+path).CombinedOutput()
		if err != nil {
			log.Fatalf("%v: %s", err, out)
		}
		fmt.Fprintf(os.Stderr, "%s", out)
		return string(out)
	}
	for _, timeout := range []string{"2s", "1s"} {
		out := run(timeout, "/")
		m := regexp.MustCompile(`Latency +(\S+) +\S+ +(\S+)`).FindStringSubmatch(out)
		mean, slowest := seconds(m[1]), seconds(m[2])
		late := number(out, `timeout (\d+)`)
		fmt.Printf("--timeout %s: timeouts: %-3s  mean above 0.1 s: %-3s  slowest above 1.4 s: %s\n", timeout, said(late > 0), said(mean > 0.1), said(slowest > 1.4))
		if timeout == "1s" {
			of := int(fast.Load()) + late - number(out, `(\d+) requests in`)
			fmt.Printf("--timeout %s: its requests are the fast replies and the timeouts: %s  connections opened: %d (one to try the address)\n", timeout, said(of >= -4 && of <= 4 && late > 4), opened.Load())
		}
	}
	out := run("1s", "/never")
	fmt.Printf("no reply:     %d requests, timeouts: %s, errors: %s, exit status 0\n", number(out, `(\d+) requests in`), said(number(out, `timeout (\d+)`) > 0), said(strings.Contains(out, "errors") || strings.Contains(out, "Non-2xx")))
}

func said(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func number(out, pattern string) int {
	m := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func seconds(s string) float64 {
	d, err := time.ParseDuration(s)
	if err != nil {
		log.Fatal(err)
	}
	return d.Seconds()
}
END_GO
go mod init finding >/dev/null 2>&1
go version
got=$(go run . "$dir/tool/usr/bin/wrk" 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END_SEEN'
--timeout 2s: timeouts: no   mean above 0.1 s: yes  slowest above 1.4 s: yes
--timeout 1s: timeouts: yes  mean above 0.1 s: no   slowest above 1.4 s: no
--timeout 1s: its requests are the fast replies and the timeouts: yes  connections opened: 5 (one to try the address)
no reply:     0 requests, timeouts: no, errors: no, exit status 0
END_SEEN
