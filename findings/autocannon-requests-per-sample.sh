#!/usr/bin/env bash
# autocannon's Req/Sec is requests a sample: a fifth of the rate with sampleInt 200, and 20 for 20 requests in 0.1 s.
#
# autocannon 9.0.0 documents its result's requests and throughput as statistics per second, and prints Req/Sec and
# Bytes/Sec. It counts what came in one sampling interval and never divides by the interval's length. With an interval of
# 200 ms each of these figures is a fifth, with 2 s twice the rate; the number of requests and the duration beside them give
# it away. (The text has a line on how often it sampled. A default of 1 ms was taken back in mcollina/autocannon#436 for
# rates that looked odd; the README still has 1.)
# With an amount of requests the run ends only when the sample does. 20 requests that the server had done in a fraction of a
# second make Req/Sec 20 and a duration of a second, whatever the server; no amount can so show a rate above itself.
# One would expect a rate in one unit, and that a run of a given amount ends with the last reply.
#
# Seen on 2026-11-28 (node 20.20.2), two connections to a server that waits 10 ms:
#   sampleInt 1000 ms: average Req/Sec is 1.0 of total / duration
#   sampleInt 200 ms:  average Req/Sec is 0.2 of total / duration
#   sampleInt 2000 ms: average Req/Sec is 2.0 of total / duration
#   amount 10: Req/Sec 10, duration 1 s; the server was done within half a second: true
#   amount 20: Req/Sec 20, duration 1 s; the server was done within half a second: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund autocannon@9.0.0 >/dev/null
cat >main.cjs <<'END'
const http = require('http');
const autocannon = require('autocannon');

let first, last;
const server = http.createServer((_, reply) => {
	first ??= performance.now();
	setTimeout(() => {
		reply.end('ok');
		last = performance.now();
	}, 10);
});
server.listen(0, '127.0.0.1', async () => {
	const url = `http://127.0.0.1:${server.address().port}/`;
	for (const sampleInt of [1000, 200, 2000]) {
		const r = await autocannon({ url, connections: 2, duration: 6, sampleInt });
		const share = r.requests.average / (r.requests.total / r.duration);
			console.log(`${`sampleInt ${sampleInt} ms:`.padEnd(19)}average Req/Sec is ${share.toFixed(1)} of total / duration`);
	}
	for (const amount of [10, 20]) {
		first = undefined;
		const r = await autocannon({ url, connections: 2, amount });
			console.log(`amount ${amount}: Req/Sec ${r.requests.average}, duration ${Math.floor(r.duration)} s; the server was done within half a second: ${last - first < 500}`);
	}
	server.closeAllConnections();
	server.close();
});
END
node --version
got=$(node main.cjs)
echo "$got"
diff <(echo "$got") - <<'END'
sampleInt 1000 ms: average Req/Sec is 1.0 of total / duration
sampleInt 200 ms:  average Req/Sec is 0.2 of total / duration
sampleInt 2000 ms: average Req/Sec is 2.0 of total / duration
amount 10: Req/Sec 10, duration 1 s; the server was done within half a second: true
amount 20: Req/Sec 20, duration 1 s; the server was done within half a second: true
END
