#!/usr/bin/env bash
# Python's statistics.quantiles gives a p99 above the slowest request and a p1 below 0 ms, without a word, for fewer than 99 times.
#
# statistics.quantiles(times, n=100)[98] is the usual way to a p99 in Python without a package. Its default method puts the
# i-th of m times at i / (m+1), as NumPy's "weibull" and R's type 6 do. Where a percentile lies beyond the last time, these
# two give the last time, and Excel's PERCENTILE.EXC an error. Python goes on along the line through the last two times: of 50
# times whose slowest is 200 ms its p99 is 265 ms, and one time of 2 ms below nine of 30 and more makes p1 -23 ms.
# The documentation says that the method suits a population with values more extreme than the samples, not that it returns some.
# So a limit for p99 fails although each request kept to it, and one slow reply counts more than it took.
# method="inclusive" stays within the times, in all cases.
#
# Seen on 2026-11-29 (Python 3.11.7, NumPy 2.4.6):
#   49 times of 20 to 68 ms and one of 200: slowest 200, p99 264.68 (inclusive 135.3, NumPy's weibull 200)
#   9 times of 30 to 38 ms and one of 2:    fastest 2, p1 -22.92 (inclusive 4.52, NumPy's weibull 2)
#   9 times of 10 ms and one of 1000:       slowest 1000, p99 1881.1 (inclusive 910.9, NumPy's weibull 1000)
#   99 times of 1 to 99 ms:                 slowest 99, p99 99 (inclusive 98.02, NumPy's weibull 99)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check numpy==2.4.6
cat >main.py <<'END'
from statistics import quantiles

import numpy


def show(name, times, which, extreme, p):
    default, inclusive = (quantiles(times, n=100, method=method)[p - 1] for method in ("exclusive", "inclusive"))
    assert default == quantiles(times, n=100)[p - 1]
    weibull = numpy.percentile(times, p, method="weibull")
    print(f"{name:39} {which} {extreme(times)}, p{p} {default:.5g} (inclusive {inclusive:.4g}, NumPy's weibull {weibull:.4g})")


show("49 times of 20 to 68 ms and one of 200:", [*range(20, 69), 200], "slowest", max, 99)
show("9 times of 30 to 38 ms and one of 2:", [2, *range(30, 39)], "fastest", min, 1)
show("9 times of 10 ms and one of 1000:", [10] * 9 + [1000], "slowest", max, 99)
show("99 times of 1 to 99 ms:", list(range(1, 100)), "slowest", max, 99)
END
py/bin/python --version
got=$(py/bin/python main.py)
echo "$got"
diff <(echo "$got") - <<'END'
49 times of 20 to 68 ms and one of 200: slowest 200, p99 264.68 (inclusive 135.3, NumPy's weibull 200)
9 times of 30 to 38 ms and one of 2:    fastest 2, p1 -22.92 (inclusive 4.52, NumPy's weibull 2)
9 times of 10 ms and one of 1000:       slowest 1000, p99 1881.1 (inclusive 910.9, NumPy's weibull 1000)
99 times of 1 to 99 ms:                 slowest 99, p99 99 (inclusive 98.02, NumPy's weibull 99)
END
