#!/usr/bin/env bash
# With a limit of two, twenty run at once: hystrix-go, opossum, p-queue and bottleneck give away the slot of work that is late.
#
# A limit of concurrency protects the service behind it, above all when that is slow. These four have a time limit beside
# it: hystrix-go's MaxConcurrentRequests ("how many commands of the same type can run at the same time") and Timeout,
# opossum's capacity ("the number of concurrent requests allowed") and timeout, p-queue's concurrency and timeout,
# bottleneck's maxConcurrent ("to prevent more than 1 request from running at a time") and expiration. None can stop a
# function or a promise that runs; when its time is over, each counts it as gone and starts the next. Of work that hangs,
# every task that is given runs at once, and the libraries' own gauges say 0. So the limit opens when what it protects
# slows down. One would expect the slot to be held until the work returns, as errgroup's SetLimit does, or a word about
# it beside the option. Work that ends itself in time (a context, an AbortSignal) is not concerned. opossum
# and p-queue 10.0.0, which ask for Node 22, do the same.
#
# Seen on 2026-11-29 (go1.26.8, node 20.20.2), limit 2, time limit 20 ms, twenty tasks that hang:
#   hystrix-go: 20 running, 20 timed out
#   errgroup:   2 running
#   opossum:    20 running, 20 timed out
#   p-queue:    20 running, 20 timed out, pending says 0
#   bottleneck: 20 running, 20 timed out, EXECUTING says 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/afex/hystrix-go/hystrix"
	"golang.org/x/sync/errgroup"
)

func main() {
	var running atomic.Int64
	end := make(chan bool)
	hang := func() error {
		running.Add(1)
		<-end
		running.Add(-1)
		return nil
	}
	hystrix.ConfigureCommand("hang", hystrix.CommandConfig{MaxConcurrentRequests: 2, Timeout: 20, RequestVolumeThreshold: 1000})
	late := 0
	for range 20 {
		if err := hystrix.Do("hang", hang, nil); errors.Is(err, hystrix.ErrTimeout) {
			late++
		}
	}
	fmt.Printf("hystrix-go: %d running, %d timed out\n", running.Load(), late)
	close(end)

	end, started := make(chan bool), make(chan bool)
	var group errgroup.Group
	group.SetLimit(2)
	n := 0
	for range 20 {
		if group.TryGo(func() error {
			started <- true
			<-end
			return nil
		}) {
			<-started
			n++
		}
	}
	fmt.Printf("errgroup:   %d running\n", n)
	close(end)
	group.Wait()
}
END
cat >main.mjs <<'END'
import Bottleneck from 'bottleneck';
import CircuitBreaker from 'opossum';
import PQueue from 'p-queue';

let running = 0;
const hang = () => {
	running++;
	return new Promise(() => {});
};

// show starts twenty tasks that hang, one after the other, and counts what runs when all are given up.
async function show(name, start, gauge = () => '') {
	running = 0;
	let late = 0;
	for (let i = 0; i < 20; i++) {
		await start().catch(() => late++);
	}
	console.log(`${name} ${running} running, ${late} timed out${gauge()}`);
}

const breaker = new CircuitBreaker(hang, { capacity: 2, timeout: 20, volumeThreshold: 1000 });
await show('opossum:   ', () => breaker.fire());
breaker.shutdown();
const queue = new PQueue({ concurrency: 2, timeout: 20 });
await show('p-queue:   ', () => queue.add(hang), () => `, pending says ${queue.pending}`);
const limiter = new Bottleneck({ maxConcurrent: 2 });
await show('bottleneck:', () => limiter.schedule({ expiration: 20 }, hang), () => `, EXECUTING says ${limiter.counts().EXECUTING}`);
END
go mod init finding >/dev/null 2>&1
go get github.com/afex/hystrix-go@v0.0.0-20180502004556-fa1af6a1f4f5 golang.org/x/sync@v0.24.0 2>/dev/null
go mod tidy 2>/dev/null
npm init -y >/dev/null
npm install --silent --no-audit --no-fund opossum@9.0.0 p-queue@9.3.5 bottleneck@2.19.5 >/dev/null
go version
node --version
got=$(
	go run . 2>/dev/null
	node main.mjs
)
echo "$got"
diff <(echo "$got") - <<'END'
hystrix-go: 20 running, 20 timed out
errgroup:   2 running
opossum:    20 running, 20 timed out
p-queue:    20 running, 20 timed out, pending says 0
bottleneck: 20 running, 20 timed out, EXECUTING says 0
END
