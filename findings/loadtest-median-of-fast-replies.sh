#!/usr/bin/env bash
# loadtest 8.2.1 prints a median of 800 ms where 990 of 1000 replies took less than 1 ms, and "-1" for every 503.
#
# loadtest counts replies in buckets of a whole millisecond. It takes a percentile of 0 ms for one that is not known yet
# and puts the next bucket's in its place, so that once most replies take less than a millisecond the median, p90 and
# p99 are the smallest time that is longer. Its mean (8 ms below) gives it away. Its class Result, which the tool prints,
# is used here with fixed counts; a real run of 40 requests printed a mean of 0.4 ms, and 4 ms at 50, 90, 95, 99 and 100 %.
#
# Its documentation of errorCodes promises the counts of the status codes, 500 among them. It counts each under -1, which
# else stands for a broken connection; with --tcp (experimental) a 503 is no error at all.
#
# Seen on 2026-11-28 (node 20.20.2):
#   990 replies of 0 ms, 10 of 800 ms: mean 8 ms, 50% 800 ms, 90% 800 ms, 95% 800 ms, 99% 800 ms
#   990 replies of 1 ms, 10 of 800 ms: mean 9 ms, 50% 1 ms, 90% 1 ms, 95% 1 ms, 99% 800 ms
#   20 replies of 503        : Total errors: 20, -1: 20 errors
#   20 replies of 503 (--tcp): Total errors: 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund loadtest@8.2.1 >/dev/null
cat >main.mjs <<'END'
import { execFile } from 'node:child_process';
import http from 'node:http';
import { Result } from './node_modules/loadtest/lib/result.js';

for (const ms of [0, 1]) {
	const r = new Result();
	r.totalRequests = 1000;
	r.accumulatedMs = 990 * ms + 10 * 800;
	r.maxLatencyMs = 800;
	r.histogramMs = { [ms]: 990, 800: 10 };
	r.computeDerived();
	const shares = Object.entries(r.percentiles).map(([p, v]) => `${p}% ${v} ms`);
	console.log(`990 replies of ${ms} ms, 10 of 800 ms: mean ${Math.round(r.meanLatencyMs)} ms, ${shares.join(', ')}`);
}

const server = http.createServer((_, reply) => {
	reply.writeHead(503, { 'Content-Length': 2 });
	reply.end('no');
});
server.listen(0, '127.0.0.1', async () => {
	for (const [name, more] of [['        ', []], [' (--tcp)', ['--tcp']]]) {
		const out = await new Promise((done, fail) => {
			const args = ['node_modules/loadtest/bin/loadtest.js', '--cores', '1', '-n', '20', '-c', '1', '-k', ...more, `http://127.0.0.1:${server.address().port}/`];
			execFile(process.execPath, args, { timeout: 60000 }, (err, stdout) => (err ? fail(err) : done(stdout)));
		});
		const lines = out.split('\n').filter((l) => /errors/i.test(l)).map((l) => l.trim().replace(/\s+/g, ' '));
		console.log(`20 replies of 503${name}: ${lines.join(', ')}`);
	}
	server.closeAllConnections();
	server.close();
});
END
got=$(node main.mjs)
echo "$got"
diff <(echo "$got") - <<'END'
990 replies of 0 ms, 10 of 800 ms: mean 8 ms, 50% 800 ms, 90% 800 ms, 95% 800 ms, 99% 800 ms
990 replies of 1 ms, 10 of 800 ms: mean 9 ms, 50% 1 ms, 90% 1 ms, 95% 1 ms, 99% 800 ms
20 replies of 503        : Total errors: 20, -1: 20 errors
20 replies of 503 (--tcp): Total errors: 0
END
