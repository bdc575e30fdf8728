#!/usr/bin/env bash
# statsd_exporter 0.31.0 counts a timer that is sampled at 0.6 as if it were not sampled: 60 requests instead of 100.
#
# A client that samples sends a share of its events, and that share: "time:5|ms|@0.6". Each stands for 1/0.6 events;
# "[ENHANCEMENT] Support sampling factors for all statsd metric types" is in the exporter's change log, and statsd, whose
# format it is, adds 1/rate to a timer's count. The exporter does so for counters. A timer, histogram or distribution
# it observes a whole number of times, 1/rate rounded down: once for each rate above 0.5, twice at 0.4. Rates like 0.5,
# 0.25 and 0.1 are right, so one does not see it there. At 0.6 a counter of the very same requests is 100 and the
# timer's _count is 60: rate(time_count) is two fifths low, and errors (a counter) by requests (the timer) can be above 1.
#
# Seen on 2026-11-29 (go1.26.8, statsd 0.9.0 of npm, Node 20), 60 events sent at each rate:
#   rate   true  statsd: counter timer  statsd_exporter: counter timer histogram distribution
#   1        60               60    60                        60    60        60           60
#   0.9      67               67    67                        67    60        60           60
#   0.6     100              100   100                       100    60        60           60
#   0.5     120              120   120                       120   120       120          120
#   0.4     150              150   150                       150   120       120          120
#   0.1     600              600   600                       600   600       600          600
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --omit=optional statsd@0.9.0 >/dev/null 2>&1
GOBIN=$dir go install github.com/prometheus/statsd_exporter@v0.31.0 2>/dev/null
cat >main.go <<'END_GO'
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const events = 60

var rates = []string{"1", "0.9", "0.6", "0.5", "0.4", "0.1"}

func main() {
	log.SetFlags(0)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	lines := ""
	for _, r := range rates {
		k := strings.ReplaceAll(r, ".", "_")
		for range events {
			lines += fmt.Sprintf("c%s:1|c|@%s\nt%s:5|ms|@%s\nh%s:5|h|@%s\nd%s:5|d|@%s\n", k, r, k, r, k, r, k, r)
		}
	}
	of := statsd(ctx, lines)
	by := exporter(ctx, lines)
	fmt.Println("rate   true  statsd: counter timer  statsd_exporter: counter timer histogram distribution")
	for _, r := range rates {
		k := strings.ReplaceAll(r, ".", "_")
		rate, _ := strconv.ParseFloat(r, 64)
		fmt.Printf("%-5s%6.0f%17.0f%6.0f%26.0f%6.0f%10.0f%13.0f\n", r, math.Round(events/rate),
			find(of, `\bc`+k+`: ([\d.]+)`), find(of, `\bt`+k+`: \{[^}]*\bcount: ([\d.]+)`),
			find(by, `(?m)^c`+k+` ([\d.]+)`), find(by, `(?m)^t`+k+`_count ([\d.]+)`),
			find(by, `(?m)^h`+k+`_count ([\d.]+)`), find(by, `(?m)^d`+k+`_count ([\d.]+)`))
	}
}

// statsd gives what statsd prints at its first flush of these lines.
func statsd(ctx context.Context, lines string) string {
	port, control := free(), free()
	config := fmt.Sprintf(`{port: %d, address: "127.0.0.1", mgmt_port: %d, mgmt_address: "127.0.0.1", flushInterval: 3000, backends: ["./backends/console"]}`, port, control)
	if err := os.WriteFile("config.js", []byte(config), 0o600); err != nil {
		log.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "node", "node_modules/statsd/stats.js", "config.js")
	out, err := cmd.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	dial("tcp", control).Close() // it listens for events first
	c := dial("udp", port)
	for lines := strings.SplitAfter(lines, "\n"); len(lines) > 1; lines = lines[min(40, len(lines)-1):] {
		io.WriteString(c, strings.Join(lines[:min(40, len(lines)-1)], ""))
		time.Sleep(5 * time.Millisecond)
	}
	said := ""
	for in := bufio.NewScanner(out); in.Scan(); {
		said += in.Text() + "\n"
		if strings.Contains(said, "c1: ") && strings.Contains(in.Text(), "pctThreshold") {
			break
		}
	}
	return said
}

// exporter gives the page of the exporter after these lines.
func exporter(ctx context.Context, lines string) string {
	in, web := free(), fmt.Sprintf("127.0.0.1:%d", free())
	cmd := exec.CommandContext(ctx, "./statsd_exporter", "--statsd.listen-udp=", fmt.Sprintf("--statsd.listen-tcp=127.0.0.1:%d", in), "--web.listen-address="+web)
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	c := dial("tcp", in)
	io.WriteString(c, lines)
	c.Close()
	time.Sleep(2 * time.Second)
	page, err := http.Get("http://" + web + "/metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer page.Body.Close()
	text, _ := io.ReadAll(page.Body)
	return string(text)
}

// dial waits until something listens.
func dial(network string, port int) net.Conn {
	for range 100 {
		if c, err := net.Dial(network, fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return c
		}
		time.Sleep(50 * time.Millisecond)
	}
	log.Fatalf("nothing listens on %d", port)
	return nil
}

func find(text, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		log.Fatalf("no %s in:\n%s", pattern, text)
	}
	v, _ := strconv.ParseFloat(m[1], 64)
	return v
}

func free() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
END_GO
go mod init finding >/dev/null 2>&1
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END_SEEN'
rate   true  statsd: counter timer  statsd_exporter: counter timer histogram distribution
1        60               60    60                        60    60        60           60
0.9      67               67    67                        67    60        60           60
0.6     100              100   100                       100    60        60           60
0.5     120              120   120                       120   120       120          120
0.4     150              150   150                       150   120       120          120
0.1     600              600   600                       600   600       600          600
END_SEEN
