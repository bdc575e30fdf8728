#!/usr/bin/env bash
# tachymeter's histogram puts a request of 1 s into the bin of 101 to 201 ms, and fills a gap between two humps.
#
# tachymeter 2.0.0 documents its Histogram as one of all measured event durations, held without loss. It walks through the sorted
# times. A time beyond the current bin opens the next bin and is counted there, whether it belongs there or not.
# So each empty bin takes one time that is above it. Of fifty requests of 10 ms and fifty of 100 ms, one is in each bin
# from 19 to 91 ms, where there was none. Minimum, maximum and percentiles beside it are right.
# The text, the JSON and the HTML page are all drawn from these bins. One would expect each time in the bin whose bounds hold it.
#
# Seen on 2026-11-30 (go1.26.8), bin: printed, true:
#   99 of 1 ms and one of 1 s: max 1s
#     1ms - 100.9ms: 99, 99
#     100.9ms - 200.8ms: 1, 0
#   50 of 10 ms and 50 of 100 ms: max 100ms
#     10ms - 19ms: 50, 50
#     19ms - 28ms: 1, 0
#     28ms - 37ms: 1, 0
#     37ms - 46ms: 1, 0
#     46ms - 55ms: 1, 0
#     55ms - 64ms: 1, 0
#     64ms - 73ms: 1, 0
#     73ms - 82ms: 1, 0
#     82ms - 91ms: 1, 0
#     91ms - 100ms: 42, 50
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jamiealquiza/tachymeter"
)

func show(title string, times []time.Duration) {
	t := tachymeter.New(&tachymeter.Config{Size: len(times)})
	for _, d := range times {
		t.AddTime(d)
	}
	m := t.Calc()
	fmt.Printf("%s: max %v\n", title, m.Time.Max)
	for i, bin := range *m.Histogram {
		for bounds, count := range bin {
			from, to, _ := strings.Cut(bounds, " - ")
			low, _ := time.ParseDuration(from)
			high, _ := time.ParseDuration(to)
			inside := 0
			for _, d := range times {
				if d <= high && (d > low || i == 0 && d == low) {
					inside++
				}
			}
			fmt.Printf("  %s: %d, %d\n", bounds, count, inside)
		}
	}
}

func main() {
	ms := time.Millisecond
	show("99 of 1 ms and one of 1 s", append(slices.Repeat([]time.Duration{ms}, 99), time.Second))
	show("50 of 10 ms and 50 of 100 ms", append(slices.Repeat([]time.Duration{10 * ms}, 50), slices.Repeat([]time.Duration{100 * ms}, 50)...))
}
END
go mod init finding >/dev/null 2>&1
go get github.com/jamiealquiza/tachymeter@v2.0.0+incompatible 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
99 of 1 ms and one of 1 s: max 1s
  1ms - 100.9ms: 99, 99
  100.9ms - 200.8ms: 1, 0
50 of 10 ms and 50 of 100 ms: max 100ms
  10ms - 19ms: 50, 50
  19ms - 28ms: 1, 0
  28ms - 37ms: 1, 0
  37ms - 46ms: 1, 0
  46ms - 55ms: 1, 0
  55ms - 64ms: 1, 0
  64ms - 73ms: 1, 0
  73ms - 82ms: 1, 0
  82ms - 91ms: 1, 0
  91ms - 100ms: 42, 50
END
