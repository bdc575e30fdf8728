#!/usr/bin/env bash
# undici's headersTimeout of 200 ms ends a request after a second, and each longer one half a second late.
#
# undici 7.30.2 (Node; its own fetch is undici, too) documents headersTimeout and bodyTimeout as times in milliseconds.
# All of them run on one timer that ticks every half second and waits for two ticks at least, so a service that gives a
# slow neighbour 200 ms waits 1,000 ms for it: five times as many requests are open, and the time-out is a p99 that
# nobody configured. One would expect a few milliseconds more than asked for, as from AbortSignal.timeout in the same
# client. Its documentation names no resolution.
#
# Seen on 2026-11-30 (node 20.20.2), medians of five, to the nearest half second:
#   200 ms:  headersTimeout 1.0 s, bodyTimeout 1.0 s; AbortSignal.timeout within 50 ms of it: true
#   1000 ms: headersTimeout 1.5 s, bodyTimeout 1.5 s; AbortSignal.timeout within 50 ms of it: true
#   1500 ms: headersTimeout 2.0 s, bodyTimeout 2.0 s; AbortSignal.timeout within 50 ms of it: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund undici@7.30.2 >/dev/null
cat >main.mjs <<'EOF'
import http from 'node:http';
import { Agent, request } from 'undici';

// /head gets no reply at all, /body the head and the first byte of one.
const server = http.createServer((req, res) => req.url === '/body' && res.write('x'));
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const origin = `http://127.0.0.1:${server.address().port}`;

// took returns after how many milliseconds a request fails with this code or name.
async function took(path, options, why) {
	const began = performance.now();
	try {
		const reply = await request(origin + path, options());
		await reply.body.text();
	} catch (err) {
		if (err.code === why || err.name === why) return performance.now() - began;
		throw err;
	}
	throw new Error(`${path} did not fail`);
}

const median = (times) => times.sort((a, b) => a - b)[(times.length - 1) / 2];
const halves = (ms) => (Math.round(ms / 500) / 2).toFixed(1);
for (const ms of [200, 1000, 1500]) {
	const times = { head: [], body: [], abort: [] };
	for (let i = 0; i < 5; i++) {
		const dispatcher = new Agent({ headersTimeout: ms, bodyTimeout: ms });
		times.head.push(await took('/head', () => ({ dispatcher }), 'UND_ERR_HEADERS_TIMEOUT'));
		times.body.push(await took('/body', () => ({ dispatcher }), 'UND_ERR_BODY_TIMEOUT'));
		times.abort.push(await took('/head', () => ({ signal: AbortSignal.timeout(ms) }), 'TimeoutError'));
	}
	console.log(`${`${ms} ms:`.padEnd(8)} headersTimeout ${halves(median(times.head))} s, bodyTimeout ${halves(median(times.body))} s; AbortSignal.timeout within 50 ms of it: ${Math.abs(median(times.abort) - ms) < 50}`);
}
process.exit();
EOF
node --version
got=$(node main.mjs)
echo "$got"
diff <(echo "$got") - <<'EOF'
200 ms:  headersTimeout 1.0 s, bodyTimeout 1.0 s; AbortSignal.timeout within 50 ms of it: true
1000 ms: headersTimeout 1.5 s, bodyTimeout 1.5 s; AbortSignal.timeout within 50 ms of it: true
1500 ms: headersTimeout 2.0 s, bodyTimeout 2.0 s; AbortSignal.timeout within 50 ms of it: true
EOF
