#!/usr/bin/env bash
# siege 4.0.7 prints a mean response time of 3.85 s where the longest of all transactions took 0.21 s.
#
# siege adds up the times of all requests, and divides the sum by those that did not fail (a code of 500 and more is a
# failure). Its manual has the response time for an average, and the longest transaction for the greatest time of all
# of them; one would expect the average to lie below it. A server that answers 19 of 20 requests with 503 after 0.2 s
# seems twenty times as slow as it is, and the worse the more requests fail.
#
# Seen on 2026-11-28 (siege 4.0.7 of Debian, go1.26.8; response_time 3.85, longest_transaction 0.21):
#   replies: 20, 19 of them 503; transactions: 1, failed_transactions: 19
#   response_time is more than five times longest_transaction: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download siege=4.0.7-1+b1 >/dev/null 2>&1
dpkg -x siege_*.deb tool
printf 'json_output = true\nconnection = close\nfailures = 100\n' >siegerc
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var asked, failed atomic.Int64
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) != 10 {
			time.Sleep(200 * time.Millisecond)
			failed.Add(1)
			w.WriteHeader(503)
		}
		io.WriteString(w, "hello")
	}))
	cmd := exec.Command(os.Args[1], "-R", "siegerc", "-b", "-c", "1", "-r", "20", "http://"+l.Addr().String()+"/")
	cmd.Env = append(os.Environ(), "HOME="+os.Args[2])
	out, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	var said struct {
		Count   float64 `json:"transactions"`
		Failed  float64 `json:"failed_transactions"`
		Mean    float64 `json:"response_time"`
		Longest float64 `json:"longest_transaction"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "response_time: %g, longest_transaction: %g\n", said.Mean, said.Longest)
	fmt.Printf("replies: %d, %d of them 503; transactions: %g, failed_transactions: %g\n", asked.Load(), failed.Load(), said.Count, said.Failed)
	fmt.Println("response_time is more than five times longest_transaction:", said.Mean > 5*said.Longest)
}
END
go mod init finding >/dev/null 2>&1
got=$(go run . "$dir/tool/usr/bin/siege" "$dir")
echo "$got"
diff <(echo "$got") - <<'END'
replies: 20, 19 of them 503; transactions: 1, failed_transactions: 19
response_time is more than five times longest_transaction: true
END
