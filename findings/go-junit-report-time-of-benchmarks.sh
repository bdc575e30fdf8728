#!/usr/bin/env bash
# go-junit-report's time of a benchmark is its -benchtime: code that is ten times slower has the same, and a note makes it 0.
#
# CI systems draw JUnit's time of a test case over builds, and the users who asked for benchmarks in it care about this
# time (jstemmer/go-junit-report#70). go-junit-report 2.1.0 writes iterations x ns/op, summed over -count. testing picks
# the iterations so that this product is about -benchtime (1 s unless given), so the time tells how long the measurement
# lasted; ns/op is nowhere in the file. If the benchmark calls b.Log, "--- BENCH: name" follows its result, and the time
# becomes 0.
# One would expect the time of an operation, or no time.
#
# Seen on 2026-11-29 (go1.26.8), -benchtime 500ms, one operation sleeps 2 or 20 ms; the time is between 0.4 and 0.9 s, or 0:
#   BenchmarkSleep/2ms about -benchtime
#   BenchmarkSleep/20ms about -benchtime
#   BenchmarkWithNote zero
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >sleep_test.go <<'END'
package finding

import (
	"testing"
	"time"
)

func BenchmarkSleep(b *testing.B) {
	for _, t := range []time.Duration{2 * time.Millisecond, 20 * time.Millisecond} {
		b.Run(t.String(), func(b *testing.B) {
			for b.Loop() {
				time.Sleep(t)
			}
		})
	}
}

func BenchmarkWithNote(b *testing.B) {
	b.Log("a note")
	for b.Loop() {
		time.Sleep(2 * time.Millisecond)
	}
}
END
go mod init finding >/dev/null 2>&1
GOBIN=$dir go install github.com/jstemmer/go-junit-report/v2@v2.1.0 2>/dev/null
go version
# cases prints the name of each leaf benchmark in a report, and which kind of time it has.
cases() {
	grep -o 'testcase name="Benchmark[^"]*".* time="[^"]*"' | grep -v '"BenchmarkSleep"' |
		sed -E 's/testcase name="([^"]*)".* time="([^"]*)"/\1 \2/' |
		awk '{ kind = "other: " $2; if ($2 == 0) kind = "zero"; if ($2 >= 0.4 && $2 <= 0.9) kind = "about -benchtime"; print $1, kind }'
}
go test -run XXX -bench . -benchtime 500ms >text
got=$(./go-junit-report <text | cases)
echo "$got"
diff <(echo "$got") - <<'END'
BenchmarkSleep/2ms about -benchtime
BenchmarkSleep/20ms about -benchtime
BenchmarkWithNote zero
END
