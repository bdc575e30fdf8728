#!/usr/bin/env bash
# prometheus-api-metrics puts the first text that equals a parameter into the route: /users/s is "/u:iders/:id".
#
# prometheus-api-metrics 4.0.0 labels its metrics with the route, "/users/:id" for express, and by its README leaves out
# what has no route since a label of each URL would be a memory leak. It then replaces, for NestJS, each parameter's value
# by its name, once, wherever it stands first in the route, although express's route has the name already. An identifier
# that is a part of the path (an item 1 below /api/v1, one letter, a user called "users") makes a series of its own of
# every metric, and takes its requests out of the route's. With two parameters the label is mixed further.
# excludeRoutes, by its README "Array of routes to exclude. Routes should be in your framework syntax", misses such a
# request, so that what was to be kept out is in. One would expect one route for each pattern.
# The size of a reply without Content-Length, as of each stream, is counted as 0 bytes in http_response_size_bytes.
#
# Seen on 2026-11-29 (node 20.20.2, express 4.22.3, prom-client 15.1.3):
#   GET /api/v1/items/17: /api/v1/items/:id
#   GET /api/v1/items/1: /api/v:id/items/:id
#   GET /users/bob: /users/:id
#   GET /users/s: /u:iders/:id
#   GET /users/users: /:id/:id
#   GET /shops/s/orders/o: /:sh:orderphops/:shop/orders/:order
#   GET /private/7, which excludeRoutes has: none
#   GET /private/p, which excludeRoutes has: /:idrivate/:id
#   GET /stream, 2000 bytes: /stream, size 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps express@4.22.3 prom-client@15.1.3 prometheus-api-metrics@4.0.0 >/dev/null
cat >main.cjs <<'END'
const http = require('http');
const express = require('express');
const prom = require('prom-client');

const app = express();
app.use(require('prometheus-api-metrics')({ excludeRoutes: ['/private/:id'] }));
const ok = (_, res) => res.send('0123456789');
app.use('/api/v1', express.Router().get('/items/:id', ok));
app.get('/users/:id', ok);
app.get('/shops/:shop/orders/:order', ok);
app.get('/private/:id', ok);
app.get('/stream', (_, res) => {
	res.write('x'.repeat(1000));
	res.end('x'.repeat(1000));
});

const server = app.listen(0, '127.0.0.1', async () => {
	const ask = (path) => new Promise((done) => http.get({ port: server.address().port, path, agent: false }, (res) => res.resume().on('close', done)));
	const sizes = prom.register.getSingleMetric('http_response_size_bytes');
	for (const [path, note] of [
		['/api/v1/items/17'], ['/api/v1/items/1'], ['/users/bob'], ['/users/s'], ['/users/users'], ['/shops/s/orders/o'],
		['/private/7', ', which excludeRoutes has'], ['/private/p', ', which excludeRoutes has'], ['/stream', ', 2000 bytes'],
	]) {
		sizes.reset();
		await ask(path);
		await new Promise((done) => setTimeout(done, 100));
		const sum = (await sizes.get()).values.find((v) => /_sum$/.test(v.metricName) && v.labels.route);
		console.log(`GET ${path}${note || ''}: ${sum ? sum.labels.route : 'none'}${path === '/stream' ? `, size ${sum.value}` : ''}`);
	}
	process.exit();
});
END
got=$(node main.cjs)
echo "$got"
diff <(echo "$got") - <<'END'
GET /api/v1/items/17: /api/v1/items/:id
GET /api/v1/items/1: /api/v:id/items/:id
GET /users/bob: /users/:id
GET /users/s: /u:iders/:id
GET /users/users: /:id/:id
GET /shops/s/orders/o: /:sh:orderphops/:shop/orders/:order
GET /private/7, which excludeRoutes has: none
GET /private/p, which excludeRoutes has: /:idrivate/:id
GET /stream, 2000 bytes: /stream, size 0
END
