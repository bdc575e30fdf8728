#!/usr/bin/env bash
# A client that leaves early stays "in processing" for 250 s in swagger-stats, and is nowhere in prometheus-api-metrics.
#
# Ten clients ask for a reply that takes half a second and leave after 0.1 s; four more leave in the middle of a stream of
# 200; one waits for its reply. Node ends a reply of which the client heard the end with "finish", any other with "close"
# alone (Node's documentation of http.ServerResponse), and an overloaded server has the most of the second kind.
# swagger-stats 0.99.7 waits for "finish" alone: its gauge api_all_request_in_processing_total, by its help "currently in
# processing (no response yet)", keeps each such request until a timer of 250 s takes it off, so that one client a second
# that gives up reads as 250 requests in flight on an idle server. prometheus-api-metrics 4.0.0 waits for "finish" too: its
# http_request_duration_seconds has no trace of them, and a p99 falls while clients run out of patience.
# express-prom-bundle 8.0.0 counts those that had no reply as 499, but a stream that was cut as a 200.
#
# Seen on 2026-11-29 (node 20.20.2, express 4.22.3, prom-client 15.1.3), two seconds after the last client left:
#   prometheus-api-metrics: 15 requests, counted: 1 of 200
#   express-prom-bundle:    15 requests, counted: 10 of 499, 5 of 200
#   swagger-stats:          15 requests, counted: 1 of 200, in processing: 14
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps express@4.22.3 prom-client@15.1.3 \
	prometheus-api-metrics@4.0.0 express-prom-bundle@8.0.0 swagger-stats@0.99.7 >/dev/null
cat >main.cjs <<'END'
const http = require('http');
const express = require('express');
const prom = require('prom-client');

const [name] = process.argv.slice(2);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const app = express();
app.use({
	'prometheus-api-metrics': () => require('prometheus-api-metrics')(),
	'express-prom-bundle': () => require('express-prom-bundle')(),
	'swagger-stats': () => require('swagger-stats').getMiddleware({}),
}[name]());
app.get('/late', (_, res) => setTimeout(() => res.send('done'), 500));
app.get('/stream', (_, res) => {
	res.write('first');
	setTimeout(() => res.end('last'), 500);
});

const server = app.listen(0, '127.0.0.1', async () => {
	const ask = (path, patience) => new Promise((done) => {
		const req = http.get({ port: server.address().port, path, agent: false }, (res) => res.resume().on('error', done).on('close', done));
		req.on('error', done);
		if (patience) setTimeout(() => req.destroy(), patience);
	});
	for (let i = 0; i < 10; i++) await ask('/late', 100);
	for (let i = 0; i < 4; i++) await ask('/stream', 100);
	await ask('/late');
	await pause(2000);
	const all = await prom.register.getMetricsAsJSON();
	const codes = {};
	let inside = '';
	for (const { name, values } of all) {
		for (const v of values) {
			const code = v.labels.code || v.labels.status_code;
			if (/^(http_request_duration_seconds|api_request_duration_milliseconds)$/.test(name) && /_count$/.test(v.metricName)) {
				codes[code] = (codes[code] || 0) + v.value;
			}
			if (name === 'api_all_request_in_processing_total') inside = `, in processing: ${v.value}`;
		}
	}
	const counted = Object.entries(codes).sort(([a], [b]) => b - a).map(([c, n]) => `${n} of ${c}`).join(', ');
	console.log(`${(name + ':').padEnd(23)} 15 requests, counted: ${counted}${inside}`);
	process.exit();
});
END
got=$(for name in prometheus-api-metrics express-prom-bundle swagger-stats; do node main.cjs "$name" 2>/dev/null; done)
echo "$got"
diff <(echo "$got") - <<'END'
prometheus-api-metrics: 15 requests, counted: 1 of 200
express-prom-bundle:    15 requests, counted: 10 of 499, 5 of 200
swagger-stats:          15 requests, counted: 1 of 200, in processing: 14
END
