#!/usr/bin/env bash
# opossum puts each time-out into its latencies twice: with 4 % of time-outs its p95 is the time limit.
#
# The circuit breaker opossum 9.0.0 keeps the latencies of a rolling window and shows their mean and percentiles in
# breaker.stats. A call that times out emits both "timeout" and "failure", with the same run time, and the window takes the
# latency of each. Of 100 calls, 96 take a few milliseconds and 4 reach the limit of 200 ms: 104 latencies of 100 calls,
# and a p95 of 200 ms, where the limit starts at 96 %. Calls that fail without a time-out count once.
# One would expect one latency a call, and percentiles of calls. 10.0.0, which asks for Node 22, does the same.
#
# Seen on 2026-11-29 (node 20.20.2):
#   4 of 100 time out: 100 fires, 96 successes, 4 failures, 4 timeouts, 104 latencies, p95 at the limit: true
#   4 of 100 fail:     100 fires, 96 successes, 4 failures, 0 timeouts, 100 latencies, p95 at the limit: false
#   all of 10 time out: 10 fires, 0 successes, 10 failures, 10 timeouts, 20 latencies, p95 at the limit: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund opossum@9.0.0 >/dev/null
cat >main.cjs <<'END'
const CircuitBreaker = require('opossum');

const limit = 200;
const wait = ms => new Promise(done => setTimeout(done, ms));
const quick = () => wait(1);
const slow = () => wait(5 * limit);
const fails = () => wait(1).then(() => Promise.reject(new Error('no')));

async function run(name, calls) {
	const breaker = new CircuitBreaker(call => call(), { timeout: limit, volumeThreshold: 1000 });
	await Promise.allSettled(calls.map(call => breaker.fire(call)));
	const s = breaker.stats;
	console.log(`${name} ${s.fires} fires, ${s.successes} successes, ${s.failures} failures, ${s.timeouts} timeouts, ` +
		`${s.latencyTimes.length} latencies, p95 at the limit: ${s.percentiles['0.95'] >= limit - 1}`);
	breaker.shutdown();
}

(async () => {
	const four = call => Array.from({ length: 100 }, (_, i) => (i < 96 ? quick : call));
	await run('4 of 100 time out:', four(slow));
	await run('4 of 100 fail:    ', four(fails));
	await run('all of 10 time out:', Array(10).fill(slow));
})();
END
node --version
got=$(node main.cjs)
echo "$got"
diff <(echo "$got") - <<'END'
4 of 100 time out: 100 fires, 96 successes, 4 failures, 4 timeouts, 104 latencies, p95 at the limit: true
4 of 100 fail:     100 fires, 96 successes, 4 failures, 0 timeouts, 100 latencies, p95 at the limit: false
all of 10 time out: 10 fires, 0 successes, 10 failures, 10 timeouts, 20 latencies, p95 at the limit: true
END
