#!/usr/bin/env bash
# alp prints a minimum of 3 s where 999 of 1,000 requests took 0 ms: more than its own mean and P99 of the same requests.
#
# alp 1.0.21, an access log profiler, takes a minimum of 0 for one that is not set yet, so that the next line replaces it.
# nginx's $request_time is in milliseconds, and 0.000 is what it has for most files and other quick replies. MIN is then the
# smallest time since the last 0.000 of the log, and another one when the same lines come in another order; it is 0 only where
# the last line has 0.000. MIN(BODY) does the same with replies that have no body, such as 304. One would expect the smallest
# value, 0.000, which is what alp gives for P1.
#
# Seen on 2026-11-30 (go1.26.8), requests of 0.000 s without a body and slower ones of 512 bytes;
# count,min,max,avg,p1,p50,p99,min(body),max(body):
#   999 of 0.000, then 3.000:
#   1000,3.000,3.000,0.003,0.000,0.000,0.000,512.000,512.000
#   3.000, then 999 of 0.000:
#   1000,0.000,3.000,0.003,0.000,0.000,0.000,0.000,512.000
#   10 of 0.000, then 0.300, 0.200, 0.100:
#   13,0.100,0.300,0.046,0.000,0.000,0.300,512.000,512.000
#   0.100, 0.200, 0.300, then 10 of 0.000:
#   13,0.000,0.300,0.046,0.000,0.000,0.300,0.000,512.000
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
go mod init finding >/dev/null 2>&1
go get github.com/tkuchiki/alp/cmd/alp@v1.0.21 2>/dev/null
go build -o alp github.com/tkuchiki/alp/cmd/alp
go version

# quick prints as many times of 0.000 as it is told.
quick() {
	for _ in $(seq "$1"); do
		echo 0.000
	done
}

# profile prints alp's figures of a log whose times it reads.
profile() {
	echo "$1"
	while read -r seconds; do
		size=512
		[ "$seconds" != 0.000 ] || size=0
		printf 'time:2026-11-30T12:00:00+00:00\tmethod:GET\turi:/file\tstatus:200\tsize:%s\treqtime:%s\n' "$size" "$seconds"
	done | ./alp ltsv --format csv --noheaders --percentiles 1,50,99 -o count,min,max,avg,p1,p50,p99,min_body,max_body
}

got=$(
	(quick 999 && echo 3.000) | profile '999 of 0.000, then 3.000:'
	(echo 3.000 && quick 999) | profile '3.000, then 999 of 0.000:'
	(quick 10 && printf '%s\n' 0.300 0.200 0.100) | profile '10 of 0.000, then 0.300, 0.200, 0.100:'
	(printf '%s\n' 0.100 0.200 0.300 && quick 10) | profile '0.100, 0.200, 0.300, then 10 of 0.000:'
)
echo "$got"
diff <(echo "$got") - <<'END'
999 of 0.000, then 3.000:
1000,3.000,3.000,0.003,0.000,0.000,0.000,512.000,512.000
3.000, then 999 of 0.000:
1000,0.000,3.000,0.003,0.000,0.000,0.000,0.000,512.000
10 of 0.000, then 0.300, 0.200, 0.100:
13,0.100,0.300,0.046,0.000,0.000,0.300,512.000,512.000
0.100, 0.200, 0.300, then 10 of 0.000:
13,0.000,0.300,0.046,0.000,0.000,0.300,0.000,512.000
END
