package main

import (
	"testing"

	"golang.org/x/sys/unix"

	"schedlab/internal/model"
)

// A crowd is so many connections that what each of them holds shows in the
// memory of a process.
const crowd = 10_000

// BenchmarkIdleConnections is what a kept connection costs under every mode when
// there are 10,000: the memory that stays in core after one request on each, and
// then the CPU time per request while all of them ask and, once answered, ask
// again. The measurement is that of BenchmarkModes; mem-ratio is to bare fasthttp.
func BenchmarkIdleConnections(b *testing.B) {
	benchmarkCrowd(b, crowd, append(bareServers(), everyMode(crowd)...))
}

// BenchmarkManyConnections is the same with 16,384 connections and the modes that
// people would use for them.
func BenchmarkManyConnections(b *testing.B) {
	const conns = 16_384
	contenders := bareServers()
	for _, name := range []string{"nethttp", "fasthttp", "loop", "pool-requeue"} {
		mode, err := model.Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		contenders = append(contenders, served(mode, conns))
	}
	benchmarkCrowd(b, conns, contenders)
}

// benchmarkCrowd needs a descriptor for each connection in the driver and in the
// server, which have the limit of this process: Go raises it as far as it may.
func benchmarkCrowd(b *testing.B, conns int, contenders []contender) {
	const besides = 200
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		b.Fatal(err)
	}
	if files.Max < uint64(conns+besides) {
		b.Skipf("NOT RUN: %d connections need %d descriptors and the hard limit is %d (ulimit -Hn)", conns, conns+besides, files.Max)
	}
	benchmarkTable(b, course{traffic: traffic{conns: conns, depth: 1}, warmup: benchWarmup, window: *tableWindow}, contenders)
}
