#!/usr/bin/env bash
# tinybench's throughput is a mean of rates: 505 ops/s for a task that does 20 a second, and the slower of two tasks wins.
#
# Throughput is what was done over the time it took. tinybench 6.2.5 prints "Throughput avg (ops/s)" beside "Latency avg",
# and documents both as statistics of the samples. It takes each sample's 1000 / milliseconds and averages those, so that
# fast samples count by their speed and not by their time. For a task that takes 1 ms and 100 ms by turns, the 200 samples
# take 10.1 s; 20 a second is right, and 505 is printed. Only equal samples give both the same number. A task of 10 ms each
# time does five times as many a second, and has a fifth of the throughput in the table. One would expect throughput avg to
# be 1 / latency avg; in the example of tinybench's own README 63,768 ns (15,682/s) stand beside 18,562 ops/s. The median
# is 505 too, half way between the two rates. The clock is an invented one (option "now"), so that the times are exact.
#
# Seen on 2026-11-29 (node 20.20.2):
#   1 and 100 ms by turns: 200 in 10.1 s are 19.8/s; printed avg 505, med 505, latency avg 50.5 ms
#   10 ms each time:       200 in 2.0 s are 100.0/s; printed avg 100, med 100, latency avg 10.0 ms
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund tinybench@6.2.5 >/dev/null
cat >main.mjs <<'END'
import { Bench } from 'tinybench';

let clock = 0;
for (const [name, times] of [['1 and 100 ms by turns:', [1, 100]], ['10 ms each time:', [10]]]) {
	let calls = 0;
	const bench = new Bench({ iterations: 200, time: 0, warmup: false, now: () => clock });
	bench.add(name, () => {
		clock += times[calls++ % times.length];
	});
	await bench.run();
	const { latency, throughput } = bench.tasks[0].result;
	const took = latency.mean * latency.samplesCount / 1000;
	console.log(`${name.padEnd(22)} ${latency.samplesCount} in ${took.toFixed(1)} s are ${(latency.samplesCount / took).toFixed(1)}/s; ` +
		`printed avg ${throughput.mean.toFixed(0)}, med ${throughput.p50.toFixed(0)}, latency avg ${latency.mean.toFixed(1)} ms`);
}
END
node --version
got=$(node main.mjs)
echo "$got"
diff <(echo "$got") - <<'END'
1 and 100 ms by turns: 200 in 10.1 s are 19.8/s; printed avg 505, med 505, latency avg 50.5 ms
10 ms each time:       200 in 2.0 s are 100.0/s; printed avg 100, med 100, latency avg 10.0 ms
END
