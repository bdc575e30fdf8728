#!/usr/bin/env bash
# koa-ratelimit tells a client to retry after 0 seconds, and then refuses it.
#
# RFC 9110, section 10.2.3: Retry-After is how long the client ought to wait before it asks again, in whole seconds, so a
# server should round up. koa-ratelimit 6.0.0 cuts the fraction off: with 3.9 s left it says 3, and in the last second of
# its window 0, so a client that keeps to it is refused and then asks as fast as it can until the window ends. A client
# with a limit of one request in four seconds is refused some thirty times more, each time when it was told to ask again.
# express-rate-limit 8.7.5 rounds up. The README's own example has the header one below the text (7, "8 seconds").
#
# Seen on 2026-11-28 (node 20.20.2), the retries sent when Retry-After had passed (never two within 20 ms):
#   express-rate-limit: first retry 200
#   koa-ratelimit:      first retry 429, told then to wait 0 s, refused more than 3 times: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund koa@3.3.0 koa-ratelimit@6.0.0 express@5.3.0 express-rate-limit@8.7.5 >/dev/null
cat >main.mjs <<'END'
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import Koa from 'koa';
import ratelimit from 'koa-ratelimit';

const duration = 4000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function client(name, app, tell) {
	const server = await new Promise((done) => {
		const s = app.listen(0, '127.0.0.1', () => done(s));
	});
	const ask = async () => {
		const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
		await reply.arrayBuffer();
		return [reply.status, Number(reply.headers.get('retry-after'))];
	};
	await ask();
	let [, after] = await ask();
	const replies = [];
	while (replies.length < 500 && replies.at(-1)?.[0] !== 200) {
		await sleep(Math.max(after * 1000, 20));
		replies.push(await ask());
		after = replies.at(-1)[1];
	}
	console.log(`${name} first retry ${replies[0][0]}` + tell(replies));
	server.closeAllConnections();
	server.close();
}

const e = express();
e.use(rateLimit({ windowMs: duration, limit: 1 }));
e.get('/', (_, reply) => reply.send('x'));
await client('express-rate-limit:', e, () => '');

const k = new Koa();
k.use(ratelimit({ driver: 'memory', db: new Map(), duration, max: 1, id: () => 'one' }));
k.use((ctx) => {
	ctx.body = 'x';
});
await client('koa-ratelimit:     ', k, (replies) => `, told then to wait ${replies[0][1]} s, refused more than 3 times: ${replies.length > 4}`);
END
got=$(node main.mjs 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
express-rate-limit: first retry 200
koa-ratelimit:      first retry 429, told then to wait 0 s, refused more than 3 times: true
END
