#!/usr/bin/env bash
# ants says that an idle pool has nothing free: Running counts workers that wait for a task.
#
# ants 2.12.1 documents Running as the number of workers currently running, and Free as the number of available workers.
# A worker that has done its task waits for the next, and counts as running until it is purged (after one to two seconds
# without a task, with the default ExpiryDuration). A pool of ten that was busy once, or gets a task now and then in the
# order of its workers, has Running 10 and Free 0 with one worker busy or none. A gauge of Running / Cap, an alert on Free
# or a server that sheds load at Free() == 0 sees a full pool; the pool itself takes the next task at once.
# panjf2000/ants#152 asks how to tell that a pool is full, and the answer is that Free is 0. One would expect that too.
#
# Seen on 2026-11-29 (go1.26.8), a pool of ten that does not block:
#   10 busy: Running 10, Free 0, takes a task: false
#   1 busy:  Running 10, Free 0, takes a task: true
#   0 busy:  Running 10, Free 0, takes a task: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/panjf2000/ants/v2"
)

func main() {
	// A worker that is idle for an hour is purged: none is while this runs.
	pool, err := ants.NewPool(10, ants.WithNonblocking(true), ants.WithExpiryDuration(time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	started, end, done := make(chan bool), make(chan bool), make(chan bool)
	for range 10 {
		if err := pool.Submit(func() {
			started <- true
			<-end
			done <- true
		}); err != nil {
			log.Fatal(err)
		}
		<-started
	}
	show := func(busy string) {
		running, free := pool.Running(), pool.Free()
		fmt.Printf("%s Running %d, Free %d, takes a task: %v\n", busy, running, free, pool.Submit(func() {}) == nil)
	}
	show("10 busy:")
	release := func(n int) {
		for range n {
			end <- true
			<-done
		}
		time.Sleep(100 * time.Millisecond) // for the workers to return to the pool
	}
	release(9)
	show("1 busy: ")
	release(1)
	show("0 busy: ")
}
END
go mod init finding >/dev/null 2>&1
go get github.com/panjf2000/ants/v2@v2.12.1 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
10 busy: Running 10, Free 0, takes a task: false
1 busy:  Running 10, Free 0, takes a task: true
0 busy:  Running 10, Free 0, takes a task: true
END
