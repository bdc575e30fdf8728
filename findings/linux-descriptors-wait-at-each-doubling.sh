#!/usr/bin/env bash
# Linux 6.18: where threads share a table of descriptors, opening one takes 5 to 20 ms at each doubling: 64, 128, 256, …
#
# The kernel keeps a process's descriptors in a table that it doubles when it is full. Where threads share the table, it
# first waits until every CPU has passed a point of rest (synchronize_rcu in fs/file.c, expand_fdtable). A Go program always
# has threads. One would expect accept, socket, open and dup to take microseconds without sleeping. So a server
# whose connections grow stops accepting for some milliseconds at each doubling, and a server of one event loop stops
# altogether; a busy machine makes it longer (62 and 87 ms were seen beside compilers). The way around it is to make the
# table large at the start: fcntl(fd, F_DUPFD, 65535), and close what it returns.
#
# Users of Rust's tokio (issue 2702) and Firecracker (pull request 4107) know it. Go's runtime does nothing about it, as seen here.
#
# A child of a bash script begins with 256, since bash has the script open as 255.
#
# Seen on 2026-11-29 (Linux 6.18.44, two CPUs, go1.26.8):
#   a table that threads share:   slower than 1 ms at 256 512 1024 2048
#   a table of one thread:        slower than 1 ms at none
#   shared, made large at first:  slower than 1 ms at none
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.26.8}
cat >go.mod <<'END'
module finding

go 1.26
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

func main() {
	null, err := os.Open("/dev/null")
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	switch os.Args[1] {
	case "alone":
		if err := syscall.Unshare(syscall.CLONE_FILES); err != nil { // a table of this thread's own
			panic(err)
		}
	case "large":
		high, _, errno := syscall.Syscall(syscall.SYS_FCNTL, null.Fd(), syscall.F_DUPFD, 4000)
		if errno != 0 {
			panic(errno)
		}
		syscall.Close(int(high))
	}
	for fd := 0; fd < 3000; {
		began := time.Now()
		if fd, err = syscall.Dup(int(null.Fd())); err != nil {
			panic(err)
		}
		if time.Since(began) > time.Millisecond {
			fmt.Println(fd)
		}
	}
}
END
go version
uname -r
go build -o opens .
# What else the machine does makes single calls slow: a place counts that was slow in four of five processes.
slow() {
	local places
	places=$(for _ in 1 2 3 4 5; do ./opens "$1"; done | sort -n | uniq -c | awk '$1 >= 4 { printf "%s%s", sep, $2; sep = " " }')
	echo "slower than 1 ms at ${places:-none}"
}
got="a table that threads share:   $(slow shared)
a table of one thread:        $(slow alone)
shared, made large at first:  $(slow large)"
echo "$got"
diff <(echo "$got") - <<'END'
a table that threads share:   slower than 1 ms at 256 512 1024 2048
a table of one thread:        slower than 1 ms at none
shared, made large at first:  slower than 1 ms at none
END
