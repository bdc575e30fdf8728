#!/usr/bin/env bash
# apache-log-parser moves India's lines by 27 minutes, and reads 1,234 us after a quoted user agent as 5 us.
#
# Apache writes the zone as hours and minutes (+0530) and a quote inside a field with a backslash before it. The Python
# package apache-log-parser 1.7.0 takes +0530 for 5 h 3 min, with the last digit dropped; its own UTC time is then 27
# minutes late, and lines of servers in two zones do not sort. It ends a quoted field at the first quote and lets
# anything follow, so that for an agent of 'my "x" 5' the agent is cut and the time of the request (%D) is the 5 inside
# it. Nothing is raised. apachelogs 0.6.1 reads both as Apache wrote them.
#
# Seen on 2026-11-28 (Python 3.11.7), UTC and microseconds, apache-log-parser | apachelogs:
#   10:00 +0100: 09:00 | 09:00
#   10:00 +0530: 04:57 | 04:30
#   10:00 +0545: 04:56 | 04:15
#   10:00 -0330: 13:03 | 13:30
#   agent 'plain',    1234 us: 1234 | 1234
#   agent 'my "x" 5', 1234 us: 5 | 1234
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check apache-log-parser==1.7.0 apachelogs==0.6.1
cat >main.py <<'END'
from datetime import timezone

import apache_log_parser
import apachelogs

FORMAT = '%h %t "%r" %>s %b "%{User-Agent}i" %D'
one, other = apache_log_parser.make_parser(FORMAT), apachelogs.LogParser(FORMAT)


def line(zone="+0000", agent="plain"):
    return f'127.0.0.1 [28/Nov/2026:10:00:00 {zone}] "GET / HTTP/1.1" 200 5 "{agent}" 1234'


for zone in "+0100", "+0530", "+0545", "-0330":
    a, b = one(line(zone))["time_received_utc_datetimeobj"], other.parse(line(zone)).request_time.astimezone(timezone.utc)
    print(f"10:00 {zone}: {a:%H:%M} | {b:%H:%M}")
for name, agent in ("'plain',   ", "plain"), ("'my \"x\" 5',", r"my \"x\" 5"):
    a, b = one(line(agent=agent))["time_us"], other.parse(line(agent=agent)).request_duration_microseconds
    print(f"agent {name} 1234 us: {a} | {b}")
END
got=$(py/bin/python main.py 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
10:00 +0100: 09:00 | 09:00
10:00 +0530: 04:57 | 04:30
10:00 +0545: 04:56 | 04:15
10:00 -0330: 13:03 | 13:30
agent 'plain',    1234 us: 1234 | 1234
agent 'my "x" 5', 1234 us: 5 | 1234
END
