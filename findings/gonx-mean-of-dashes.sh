#!/usr/bin/env bash
# gonx's Avg takes a "-" for the mean so far, or for 0 where it comes first: the same ten times give 1.0 s, 0.5 s or 0.18 s, and 4 ms are 0.
#
# nginx writes "-" for $upstream_response_time where no upstream was asked, for a cached or a static reply. gonx's (Go)
# reducer Avg leaves such a line out of the sum and counts it as one of the values, so that a line ahead of the first number
# is a 0 and a later one repeats the mean of those before it. The mean of ten lines of 1 s and any number of "-" should be
# 1 s. Within one log the result depends on the order, and MapReduce, which parses lines side by side, hands them to the
# reducer in an order that changes from run to run; GroupBy has the same in each of its groups.
# Sum and Avg keep two digits after the point of a number that nginx writes with three: a mean of 4 ms is "0.00".
# gonx's Reader, whose example in the README reads records one by one, gives them in that order too: most of the lines of a
# log that is in the order of its times come out of order, so that the time between two of them can be below 0. The README
# says none of this.
#
# Seen on 2026-11-29 (go1.26.8, gonx v1.3.1-0.20181123214749-d96bd26e3b2c):
#   10 of 1.000:                        mean 1.000
#   10 of 1.000, then 10 of "-":        mean 1.000
#   10 of "-", then 10 of 1.000:        mean 0.500
#   45 of "-", then 10 of 1.000:        mean 0.180
#   5 of 1.000, 90 of "-", 5 of 3.000:  mean 1.100
#   10 of 0.004:                        mean 0.000
#   Reader, 2000 lines in the order of their times: out of order true, lines 2000
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/satyrius/gonx"
)

type run struct {
	n     int
	value string
}

// mean hands Avg the lines one after the other, in their order.
func mean(name string, runs ...run) {
	parser := gonx.NewParser("$status $upstream_response_time")
	in, out := make(chan *gonx.Entry), make(chan *gonx.Entry)
	go (&gonx.Avg{Fields: []string{"upstream_response_time"}}).Reduce(in, out)
	for _, r := range runs {
		for range r.n {
			entry, err := parser.ParseString("200 " + r.value)
			if err != nil {
				panic(err)
			}
			in <- entry
		}
	}
	close(in)
	m, err := (<-out).FloatField("upstream_response_time")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%-35s mean %.3f\n", name+":", m)
}

func main() {
	mean("10 of 1.000", run{10, "1.000"})
	mean(`10 of 1.000, then 10 of "-"`, run{10, "1.000"}, run{10, "-"})
	mean(`10 of "-", then 10 of 1.000`, run{10, "-"}, run{10, "1.000"})
	mean(`45 of "-", then 10 of 1.000`, run{45, "-"}, run{10, "1.000"})
	mean(`5 of 1.000, 90 of "-", 5 of 3.000`, run{5, "1.000"}, run{90, "-"}, run{5, "3.000"})
	mean("10 of 0.004", run{10, "0.004"})

	var log strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&log, "%d 200\n", i)
	}
	reader := gonx.NewReader(strings.NewReader(log.String()), "$msec $status")
	lines, last, disorder := 0, -1, false
	for {
		entry, err := reader.Read()
		if err != nil {
			break
		}
		text, _ := entry.Field("msec")
		at, _ := strconv.Atoi(text)
		disorder = disorder || at < last
		last = at
		lines++
	}
	fmt.Printf("Reader, 2000 lines in the order of their times: out of order %v, lines %d\n", disorder, lines)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/satyrius/gonx@v1.3.1-0.20181123214749-d96bd26e3b2c 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
10 of 1.000:                        mean 1.000
10 of 1.000, then 10 of "-":        mean 1.000
10 of "-", then 10 of 1.000:        mean 0.500
45 of "-", then 10 of 1.000:        mean 0.180
5 of 1.000, 90 of "-", 5 of 3.000:  mean 1.100
10 of 0.004:                        mean 0.000
Reader, 2000 lines in the order of their times: out of order true, lines 2000
END
