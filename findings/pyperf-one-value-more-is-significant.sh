#!/usr/bin/env bash
# pyperf calls each difference significant if one file has a value more: 40 values differ from their own first 39.
#
# "pyperf compare_to" hides benchmarks whose difference is not significant, by a two-sample t-test at 95 %, as its source describes it.
# The t-test of pyperf 2.11.0 is written for equal numbers; for others it raises, and the comparison takes the exception for
# "significant". The text then has a line "ERROR when testing if values are significant", with a verdict beside it if -v is
# given; the table (--table) has no mark. Here 40 times lie evenly between 9 and 11 ms, 40 others 0.2 ms higher: t is 1.5,
# and the row is hidden. With one more of the others, in their middle, the row is there, "1.02x slower"; and 40 values
# differ from their own first 39. Different numbers are ordinary: --fast against a full run, --append, another --values.
# One would expect Welch's or Student's test for any two numbers of values, or a word in the table.
#
# Seen on 2026-11-29 (Python 3.11.7), rows in the table:
#   40 values and 40 others:      none, hidden as not significant: True
#   40 values and 41 others:      | get | 10.0 ms | 10.2 ms: 1.02x slower |
#   40 values and their first 39: | get | 10.0 ms | 9.97 ms: 1.00x faster |
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check pyperf==2.11.0
cat >main.py <<'END'
import re
import subprocess
import sys

import pyperf

times = [0.009 + 0.002 * i / 39 for i in range(40)]
others = [t + 0.0002 for t in times]


def write(name, values):
    run = pyperf.Run(values, metadata={"name": "get", "loops": 1}, collect_metadata=False)
    pyperf.BenchmarkSuite([pyperf.Benchmark([run])]).dump(name, replace=True)


write("a.json", times)
for name, values in (
    ("40 values and 40 others:     ", others),
    ("40 values and 41 others:     ", others + [0.0102]),
    ("40 values and their first 39:", times[:39]),
):
    write("b.json", values)
    command = [sys.executable, "-m", "pyperf", "compare_to", "--table", "a.json", "b.json"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [re.sub(" +", " ", line) for line in out.splitlines() if line.startswith("| get")]
    print(name, rows[0] if rows else f"none, hidden as not significant: {'hidden because not significant' in out}")
END
got=$(py/bin/python main.py)
echo "$got"
diff <(echo "$got") - <<'END'
40 values and 40 others:      none, hidden as not significant: True
40 values and 41 others:      | get | 10.0 ms | 10.2 ms: 1.02x slower |
40 values and their first 39: | get | 10.0 ms | 9.97 ms: 1.00x faster |
END
