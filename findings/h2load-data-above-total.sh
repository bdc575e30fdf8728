#!/usr/bin/env bash
# h2load 1.52.0 prints a "traffic: total" below the data that it contains: with --warm-up-time, and where a server closes.
#
# Its line is "traffic: T total, H headers, D data". T should be at least D.
# - After a warm-up, D and H are of warm-up and measurement, T is of the measurement alone: here D is about twice T.
#   The run is "finished in 2.00s", and the rate beside it is of the one second that was measured.
# - Where the server closes each connection after its reply, T is 0 B, and H and D are not: the bytes that are read
#   together with the end of the connection are not added. The transfer rate is 0 B/s.
#
# Seen on 2026-11-28 (nghttp2-client 1.52.0-1+deb12u3):
#   kept connections:    data is at most the total: yes
#   after a warm-up:     data is at most the total: no (about twice as much)
#   the server closes:   data is at most the total: no (the total is 0)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download nghttp2-client=1.52.0-1+deb12u3 >/dev/null 2>&1
dpkg -x nghttp2-client_*.deb tool # its shared libraries come from the system: libev4, libnghttp2-14, libc-ares2
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
	"strings"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
		io.WriteString(w, strings.Repeat("a", 1000))
	}))
	url := "http://" + l.Addr().String()
	for _, c := range []struct {
		name string
		args []string
	}{
		{"kept connections: ", []string{"-n", "100", "-c", "2", url + "/"}},
		{"after a warm-up:  ", []string{"-D", "1", "-c", "2", "--warm-up-time=1", url + "/"}},
		{"the server closes:", []string{"-n", "2", "-c", "2", url + "/close"}},
	} {
		out, err := exec.Command(os.Args[1], append([]string{"--h1"}, c.args...)...).CombinedOutput()
		m := regexp.MustCompile(`traffic: \S+ \((\d+)\) total, \S+ \(\d+\) headers .* \S+ \((\d+)\) data`).FindStringSubmatch(string(out))
		if m == nil {
			log.Fatalf("%v: %s", err, out)
		}
		total, _ := strconv.ParseFloat(m[1], 64)
		data, _ := strconv.ParseFloat(m[2], 64)
		said := "yes"
		switch {
		case total == 0:
			said = "no (the total is 0)"
		case data > 1.3*total && data < 3*total:
			said = "no (about twice as much)"
		case data > total:
			said = "no"
		}
		fmt.Printf("%s   data is at most the total: %s\n", c.name, said)
	}
}
END
go mod init finding >/dev/null 2>&1
tool/usr/bin/h2load --version
got=$(go run . "$dir/tool/usr/bin/h2load" 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
kept connections:    data is at most the total: yes
after a warm-up:     data is at most the total: no (about twice as much)
the server closes:   data is at most the total: no (the total is 0)
END
