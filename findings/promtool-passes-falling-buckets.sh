#!/usr/bin/env bash
# promtool check metrics finds nothing wrong with a histogram whose buckets fall, and with a counter below zero.
#
# "promtool check metrics" reads a scrape, prints what is wrong with it and ends with 3. It complains of a counter whose
# name lacks _total and of a missing help text. It does not complain of a histogram whose cumulative buckets fall, whose
# +Inf bucket differs from its count, or is missing, nor of a negative counter: each is impossible for a correct
# exporter, and makes histogram_quantile and rate wrong. One would expect a line for each.
#
# Seen on 2026-11-28 (promtool 2.42.0 of Debian; the same with 3.16.0 built from v0.316.0 of its module):
#   counter without _total, no help: exit code 3
#   buckets fall:                    exit code 0
#   +Inf differs from the count:     exit code 0
#   no +Inf bucket:                  exit code 0
#   counter of -4:                   exit code 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download prometheus=2.42.0+ds-5+deb12u1 >/dev/null 2>&1
dpkg -x prometheus_*.deb tool
promtool=tool/usr/bin/promtool
"$promtool" --version | head -1

check() { # NAME, a scrape on stdin
	local code=0
	"$promtool" check metrics >out 2>&1 || code=$?
	printf '%-32s exit code %d\n' "$1" "$code"
}
histogram() { # its samples on stdin
	echo '# HELP req_seconds Times of requests.'
	echo '# TYPE req_seconds histogram'
	cat
	echo 'req_seconds_sum 3'
}
got=$(
	printf '# TYPE asked counter\nasked 4\n' | check "counter without _total, no help:"
	printf 'req_seconds_bucket{le="0.1"} 5\nreq_seconds_bucket{le="1"} 3\nreq_seconds_bucket{le="+Inf"} 7\nreq_seconds_count 7\n' |
		histogram | check "buckets fall:"
	printf 'req_seconds_bucket{le="0.1"} 5\nreq_seconds_bucket{le="+Inf"} 7\nreq_seconds_count 9\n' |
		histogram | check "+Inf differs from the count:"
	printf 'req_seconds_bucket{le="0.1"} 5\nreq_seconds_count 9\n' | histogram | check "no +Inf bucket:"
	printf '# HELP asked_total Requests.\n# TYPE asked_total counter\nasked_total -4\n' | check "counter of -4:"
)
echo "$got"
diff <(echo "$got") - <<'END'
counter without _total, no help: exit code 3
buckets fall:                    exit code 0
+Inf differs from the count:     exit code 0
no +Inf bucket:                  exit code 0
counter of -4:                   exit code 0
END
