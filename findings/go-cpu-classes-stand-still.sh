#!/usr/bin/env bash
# runtime/metrics of Go 1.26.8: the /cpu/classes metrics move only when a garbage collection ends.
#
# A program that works for two seconds and allocates next to nothing reads 0 seconds of user time, and 0 of
# total time, before and after. After one runtime.GC() all of it is there at once. One would expect a counter
# that the documentation calls "estimated total CPU time spent running user Go code" to grow while that code
# runs. A dashboard of its rate (client_golang exports it as go_cpu_classes_user_cpu_seconds_total) shows nothing
# for a server with few collections, and then a peak of several CPUs.
#
# Seen on 2026-11-28 (go1.26.8, linux/amd64):
#   after 2 s of work:  used by the process: yes  /cpu/classes/user: 0.0 s  /cpu/classes/total: 0.0 s
#   after runtime.GC(): /cpu/classes/user above 1 s: true  /cpu/classes/total above 1 s: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.26.8} GOFLAGS=-mod=mod
cat >go.mod <<'END'
module finding

go 1.26
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

func main() {
	classes := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}}
	read := func() (user, total float64) {
		metrics.Read(classes)
		return classes[0].Value.Float64(), classes[1].Value.Float64()
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
	}
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	works := "no"
	if used.Utime.Sec*1e6+int64(used.Utime.Usec) > 200_000 {
		works = "yes"
	}
	user, total := read()
	fmt.Printf("after 2 s of work:  used by the process: %s  /cpu/classes/user: %.1f s  /cpu/classes/total: %.1f s\n", works, user, total)
	runtime.GC()
	user, total = read()
	fmt.Printf("after runtime.GC(): /cpu/classes/user above 1 s: %t  /cpu/classes/total above 1 s: %t\n", user > 1, total > 1)
}
END
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
after 2 s of work:  used by the process: yes  /cpu/classes/user: 0.0 s  /cpu/classes/total: 0.0 s
after runtime.GC(): /cpu/classes/user above 1 s: true  /cpu/classes/total above 1 s: true
END
