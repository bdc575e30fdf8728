#!/usr/bin/env bash
# prom-client's event loop lag is 10 ms for an idle process, 200 ms with a precision of 200, and 10 ms for a blocked one.
#
# prom-client 15.1.3 (Node) exports nodejs_eventloop_lag_mean_seconds, _p50 and so on, by their help the recorded delays of
# the event loop, in its default metrics. Node's monitorEventLoopDelay, from which they come, records the whole time between
# two ticks of its timer, the timer's own period (eventLoopMonitoringPrecision, 10 ms by default) in it, and neither takes it
# away. An idle process has a lag of one period, by whatever name; nodejs_eventloop_lag_seconds beside it on the same page,
# a lag by name and help as well, has 0. One would expect an idle loop's delay to be about 0; Node's documentation
# calls the option a sampling rate, prom-client's README a precision in milliseconds, and neither says that it is added.
# A block gives one sample however long it is: where each second has 500 ms of it, so that half of all requests that come
# at any time wait, for 250 ms in the mean, p50 is still that of an idle loop, and the mean a twentieth of the block.
#
# Seen on 2026-11-28 (node 20.20.2); medians to the nearest multiple of the precision:
#   idle, precision 50 ms:  lag p50 50 ms, mean at least 45 ms true, lag_seconds below 25 ms true
#   idle, precision 200 ms: lag p50 200 ms, mean at least 180 ms true, lag_seconds below 100 ms true
#   idle, by default:       mean at least 9 ms true
#   blocked half the time:  p90 below 100 ms true, mean below 100 ms true, max above 450 ms true
# (by default, on a busy machine, the idle loop had p50 10.1 and mean 14.8 ms; the blocked one 10.1, 22.0, p90 19.3, max 513)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund prom-client@15.1.3 >/dev/null
cat >main.cjs <<'END'
const client = require('prom-client');

const [precision, block] = process.argv.slice(2).map(Number);
client.collectDefaultMetrics(precision ? { eventLoopMonitoringPrecision: precision } : {});
if (block) {
	setInterval(() => {
		for (const end = Date.now() + block; Date.now() < end; );
	}, 1000);
}
setTimeout(async () => {
	const page = await client.register.metrics();
	const ms = (name) => Number(page.match(new RegExp(`^nodejs_eventloop_lag_${name}seconds (\\S+)`, 'm'))[1]) * 1000;
	if (block) {
		console.log(`blocked half the time:  p90 below 100 ms ${ms('p90_') < 100}, mean below 100 ms ${ms('mean_') < 100}, max above 450 ms ${ms('max_') > 450}`);
	} else if (precision) {
		const p50 = Math.round(ms('p50_') / precision) * precision;
		console.log(`${`idle, precision ${precision} ms:`.padEnd(24)}lag p50 ${p50} ms, mean at least ${0.9 * precision} ms ${ms('mean_') >= 0.9 * precision}, lag_seconds below ${precision / 2} ms ${ms('') < precision / 2}`);
	} else {
		console.log(`idle, by default:       mean at least 9 ms ${ms('mean_') >= 9}`);
	}
	process.exit();
}, 5500);
END
node --version
got=$(for args in "50 0" "200 0" "0 0" "0 500"; do node main.cjs $args; done)
echo "$got"
diff <(echo "$got") - <<'END'
idle, precision 50 ms:  lag p50 50 ms, mean at least 45 ms true, lag_seconds below 25 ms true
idle, precision 200 ms: lag p50 200 ms, mean at least 180 ms true, lag_seconds below 100 ms true
idle, by default:       mean at least 9 ms true
blocked half the time:  p90 below 100 ms true, mean below 100 ms true, max above 450 ms true
END
