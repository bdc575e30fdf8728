#!/usr/bin/env bash
# prom-client's Summary says p75 = 510 where 990 of 1000 values are 1; Python's tdigest says -489.
#
# prom-client 15.1.3 (Node) keeps a Summary in the package tdigest 0.1.3, which puts equal values into one centroid and
# draws a straight line from its middle to the next one, however many values it stands for. Times that are rounded to a
# millisecond, or read from a coarse clock, are equal. Of 990 times of 1 and 10 of 1000 each quantile up to 0.99 should
# be 1; prom-client's README says no more than that a Summary calculates percentiles of observed values. The median is
# 11, p90 is 810. The same times with a little noise come out right, so that a test with random values finds nothing.
# Python's tdigest 0.5.2.2 draws the line in the other direction as well: its p25 of positive values is below zero, and
# p1 is far below the smallest value, where p0 is right (CamDavidsonPilon/tdigest#32, closed, had negative ones too).
#
# Seen on 2026-11-28 (node 20.20.2, Python 3.11.7):
#   prom-client, 990 of 1 and 10 of 1000:  p1 1.0, p25 1.0, p50 11.0, p75 510.5, p90 810.2, p99 990.0
#   prom-client, the same with noise:      p1 1.0, p25 1.3, p50 1.5, p75 1.8, p90 1.9
#   tdigest (Python), 990 and 10:          p0 1.0, p1 -968.0, p25 -488.5, p50 11.0, p75 510.5, p90 810.2, p99 990.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund prom-client@15.1.3 tdigest@0.1.3 >/dev/null
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check tdigest==0.5.2.2
cat >main.cjs <<'END'
const { Summary } = require('prom-client');

async function show(name, asked, value) {
	const s = new Summary({ name: 's' + asked.length, help: 'Times.', percentiles: asked.map((p) => p / 100) });
	for (let i = 0; i < 1000; i++) s.observe(value(i));
	const { values } = await s.get();
	console.log(name + values.slice(0, asked.length).map((v) => `p${Math.round(v.labels.quantile * 100)} ${v.value.toFixed(1)}`).join(', '));
}
(async () => {
	await show('prom-client, 990 of 1 and 10 of 1000:  ', [1, 25, 50, 75, 90, 99], (i) => (i % 100 === 99 ? 1000 : 1));
	await show('prom-client, the same with noise:      ', [1, 25, 50, 75, 90], (i) => (i % 100 === 99 ? 1000 : 1) + ((i * 619) % 1000) / 1000);
})();
END
cat >main.py <<'END'
from tdigest import TDigest

t = TDigest()
for i in range(1000):
    t.update(1000 if i % 100 == 99 else 1)
print("tdigest (Python), 990 and 10:          " + ", ".join(f"p{p} {t.percentile(p):.1f}" for p in (0, 1, 25, 50, 75, 90, 99)))
END
got=$(node main.cjs; py/bin/python main.py)
echo "$got"
diff <(echo "$got") - <<'END'
prom-client, 990 of 1 and 10 of 1000:  p1 1.0, p25 1.0, p50 11.0, p75 510.5, p90 810.2, p99 990.0
prom-client, the same with noise:      p1 1.0, p25 1.3, p50 1.5, p75 1.8, p90 1.9
tdigest (Python), 990 and 10:          p0 1.0, p1 -968.0, p25 -488.5, p50 11.0, p75 510.5, p90 810.2, p99 990.0
END
