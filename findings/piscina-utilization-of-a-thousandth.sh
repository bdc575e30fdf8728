#!/usr/bin/env bash
# piscina says a pool whose workers are all busy is used to 0.1 %.
#
# piscina 5.3.2 (worker threads for Node) documents utilization as the mean run time of its tasks by their number, divided by
# what all threads could have run since the pool was made: near 1 for a pool that is always busy, and people scale by it.
# Here two threads run a task of 100 ms after the other; their own histogram says 100 ms, too. One would expect about
# 0.95. It is 0.00095: the histogram is in milliseconds since version 5, and is still divided by 1,000, as when it was in
# microseconds. 4.9.2 says what is so.
#
# Seen on 2026-11-30 (node 20.20.2), rounded to the nearest power of ten:
#   piscina 4.9.2: busy 0.85 to 1 of the time, mean run time 100 to 110: true, utilization about 1
#   piscina 5.3.2: busy 0.85 to 1 of the time, mean run time 100 to 110: true, utilization about 0.001
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >worker.cjs <<'EOF'
module.exports = (ms) => new Promise((done) => setTimeout(done, ms));
EOF
cat >main.cjs <<'EOF'
const { Piscina } = require('piscina');

(async () => {
	const threads = 2, tasks = 40, each = 100;
	const pool = new Piscina({ filename: `${__dirname}/worker.cjs`, minThreads: threads, maxThreads: threads });
	await Promise.all(Array.from({ length: tasks }, () => pool.run(each)));
	const busy = (tasks * each) / (threads * pool.duration);
	const mean = (pool.histogram ?? pool).runTime.average;
	console.log(`piscina ${process.argv[2]}: busy 0.85 to 1 of the time, mean run time 100 to 110: ${busy > 0.85 && busy <= 1 && mean >= 99 && mean < 110}, utilization about ${10 ** Math.round(Math.log10(pool.utilization))}`);
	process.exit();
})();
EOF
npm init -y >/dev/null
node --version
got=$(for version in 4.9.2 5.3.2; do
	npm install --silent --no-audit --no-fund "piscina@$version" >/dev/null
	node main.cjs "$version"
done)
echo "$got"
diff <(echo "$got") - <<'EOF'
piscina 4.9.2: busy 0.85 to 1 of the time, mean run time 100 to 110: true, utilization about 1
piscina 5.3.2: busy 0.85 to 1 of the time, mean run time 100 to 110: true, utilization about 0.001
EOF
