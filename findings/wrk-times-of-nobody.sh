#!/usr/bin/env bash
# wrk 4.1.0 prints latencies of requests that it never sent: a slow tenth of the requests becomes its 75 %.
#
# The server answers nine requests in 1 ms and each tenth in 100 ms; wrk has one connection and sends as fast as it can.
# A request takes 11 ms on average, and nine of ten take about 1 ms. wrk prints a mean of 29 ms, and 55 ms for 75 %.
# SCRIPTING calls latency "the per-request latency", and the change log says "Record latency for every request". But for
# each reply slower than the mean interval wrk adds values in steps of that interval (89, 78, ... ms): each request
# has 1.7 latencies, also for the script's done(). The change log has "Improve correction of coordinated
# omission" for it; README, --help and the output are silent, and no option turns it off. Such a correction is for
# a load with a schedule, which wrk has not, and a pause of the server, which a slow kind of request is not.
# Rate times mean is the number of requests at a time (Little's law): 88/s times 29 ms are 2.6, over one connection.
#
# Seen on 2026-11-29 (wrk 4.1.0-3+b2, go1.26.8):
#   in the server: 11 ms on average, nine of ten below 20 ms
#   wrk's mean is more than twice as much: yes
#   wrk's 75 % is above 40 ms: yes
#   wrk has over 1.5 latencies a request: yes
#   its rate times its mean is over 2 requests at a time, with one connection: yes
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download wrk=4.1.0-3+b2 >/dev/null 2>&1
dpkg -x wrk_*.deb tool # its shared libraries come from the system: libluajit-5.1-2, libssl3
cat >done.lua <<'END_LUA'
done = function(summary, latency)
  local n = 0
  for i = 1, #latency do
    local _, count = latency(i)
    n = n + tonumber(count)
  end
  print("latencies a request: " .. n / summary.requests)
end
END_LUA
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
	"sort"
	"strconv"
	"sync"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var mu sync.Mutex
	var took []time.Duration
	began := 0
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		start := time.Now()
		mu.Lock()
		began++
		work := time.Millisecond
		if began%10 == 0 {
			work = 100 * time.Millisecond
		}
		mu.Unlock()
		time.Sleep(work)
		io.WriteString(w, "a")
		mu.Lock()
		took = append(took, time.Since(start))
		mu.Unlock()
	}))
	out, err := exec.Command(os.Args[1], "-t1", "-c1", "-d5s", "-s", "done.lua", "--latency", "http://"+l.Addr().String()+"/").CombinedOutput()
	if err != nil {
		log.Fatalf("%v: %s", err, out)
	}
	fmt.Fprintf(os.Stderr, "%s", out)
	mu.Lock()
	defer mu.Unlock()
	sort.Slice(took, func(a, b int) bool { return took[a] < took[b] })
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	mean := sum.Seconds() / float64(len(took))
	fmt.Fprintf(os.Stderr, "in the server: %d requests, mean %.1f ms, 89 %% below %v\n", len(took), 1000*mean, took[len(took)*89/100])
	if mean > 0.009 && mean < 0.014 && took[len(took)*89/100] < 20*time.Millisecond {
		fmt.Println("in the server: 11 ms on average, nine of ten below 20 ms")
	}
	wrks := number(out, `Latency +([\d.]+)(us|ms|s) `)
	say("wrk's mean is more than twice as much", wrks > 2*mean)
	say("wrk's 75 % is above 40 ms", number(out, `75% +([\d.]+)(us|ms|s)`) > 0.04)
	say("wrk has over 1.5 latencies a request", number(out, `latencies a request: ([\d.]+)()`) > 1.5)
	say("its rate times its mean is over 2 requests at a time, with one connection", number(out, `Requests/sec: +([\d.]+)()`)*wrks > 2)
}

func say(what string, is bool) {
	fmt.Println(what + ": " + map[bool]string{true: "yes", false: "no"}[is])
}

func number(out []byte, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	if m == nil {
		log.Fatalf("no %s in %s", pattern, out)
	}
	v, _ := strconv.ParseFloat(string(m[1]), 64)
	return v * map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "": 1}[string(m[2])]
}
END_GO
go mod init finding >/dev/null 2>&1
go version
got=$(go run . "$dir/tool/usr/bin/wrk" 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END_SEEN'
in the server: 11 ms on average, nine of ten below 20 ms
wrk's mean is more than twice as much: yes
wrk's 75 % is above 40 ms: yes
wrk has over 1.5 latencies a request: yes
its rate times its mean is over 2 requests at a time, with one connection: yes
END_SEEN
