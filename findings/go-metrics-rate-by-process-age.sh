#!/usr/bin/env bash
# A go-metrics meter's one-minute rate of 20 a second is 16, 10 or 4, by how old the process was when it was made.
#
# rcrowley/go-metrics (v0.0.0-20250401214520-65e299d6c5c9) moves the averages of all meters by one ticker of five seconds,
# started with the process. A meter's first step divides what it has by five seconds, however long it was there, and is
# taken whole for Rate1, Rate5 and Rate15; each later step brings Rate1 8 % nearer, so that the error takes minutes to go.
# A meter made for a new route, peer or tenant half way between two steps reads 10 for 20 a second, with Rate15 off for half
# an hour. One would expect, as of Dropwizard's meters whose port this is by its README, ticks by the meter's own clock.
# RateMean, the mean since the meter was made, is reckoned when Mark or a step is called and not when it is read: after one
# event it can be tens of thousands a second, until the next step.
#
# Seen on 2026-11-29 (go1.26.8), 20 events a second, meters made 1, 2.5 and 4 s after the process began, read after 5.5 s:
#   made at 1.0 s: Rate1 16, RateMean 20
#   made at 2.5 s: Rate1 10, RateMean 20
#   made at 4.0 s: Rate1 4, RateMean 20
#   one event, read 0.2 s later: RateMean above 1000 true, Rate1 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math"
	"time"

	"github.com/rcrowley/go-metrics"
)

func main() {
	start := time.Now() // as good as the ticker's start
	ages := []float64{1, 2.5, 4}
	meters := make([]metrics.Meter, len(ages))
	sent := make([]int64, len(ages))
	for time.Since(start) < 5500*time.Millisecond {
		for i, age := range ages {
			at := time.Since(start).Seconds() - age
			if at < 0 {
				continue
			}
			if meters[i] == nil {
				meters[i] = metrics.NewMeter()
			}
			if due := int64(at * 20); due > sent[i] {
				meters[i].Mark(due - sent[i])
				sent[i] = due
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i, age := range ages {
		fmt.Printf("made at %.1f s: Rate1 %.0f, RateMean %.0f\n", age, meters[i].Rate1(), math.Round(meters[i].RateMean()))
	}
	one := metrics.NewMeter()
	one.Mark(1)
	time.Sleep(200 * time.Millisecond)
	fmt.Printf("one event, read 0.2 s later: RateMean above 1000 %v, Rate1 %.0f\n", one.RateMean() > 1000, one.Rate1())
}
END
go mod init finding >/dev/null 2>&1
go get github.com/rcrowley/go-metrics@v0.0.0-20250401214520-65e299d6c5c9 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
made at 1.0 s: Rate1 16, RateMean 20
made at 2.5 s: Rate1 10, RateMean 20
made at 4.0 s: Rate1 4, RateMean 20
one event, read 0.2 s later: RateMean above 1000 true, Rate1 0
END
