#!/usr/bin/env bash
# retryhttp takes Retry-After's date for its seconds less whole days, rounded down: all attempts are over before the date.
#
# retryhttp 1.5.0 (Python; for httpx, requests and aiohttp) waits, by its documentation, until "a future datetime in
# HTTP-date format, indicating when it is acceptable to retry the request". It reckons with timedelta.seconds, which has
# neither the days nor the fraction. A date has whole seconds, so that each wait ends up to a second early, and within the
# last second the wait is 0: of its three attempts the last two come one after the other, and the caller has an error
# where the same wait as a number of seconds succeeds. A date of tomorrow at this time plus 2 s is 1 s; wait_max (120 s),
# which is there to refuse long waits, does not see it.
# slowapi 0.1.10 with retry_after="http-date" ends its date in -0000, where RFC 9110 (5.6.7) has GMT alone; retryhttp cannot
# read that and comes back after 1 s to a limit of one a minute. slowapi sends Retry-After with each 200 as well.
#
# Seen on 2026-11-29 (Python 3.11.7, httpx 0.28.1, tenacity 9.1.2, starlette 0.48.0):
#   open in 1.8 s, Retry-After: 2:           attempts at 0.0 2.0 s, then 200
#   open in 1.8 s, Retry-After: its date:    attempts at 0.0 1.0 1.0 s, then 429
#   open in a day and 1.8 s, its date:       attempts at 0.0 1.0 1.0 s, then 429
#   slowapi, 1 a minute: 200 and a date that ends in -0000
#   slowapi, 1 a minute: 429 and a date that ends in -0000, retried after 1 s
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check retryhttp==1.5.0 tenacity==9.1.2 httpx==0.28.1 slowapi==0.1.10 starlette==0.48.0
cat >main.py <<'END'
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from retryhttp import retry
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from tenacity import RetryError


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        at.append(time.time() - begin)
        if time.time() >= opens:
            self.send_response(200)
        else:
            self.send_response(429)
            self.send_header("Retry-After", value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = httpx.Client(trust_env=False)


@retry
def ask():
    reply = client.get(f"http://127.0.0.1:{server.server_port}/")
    reply.raise_for_status()
    return reply.status_code


for name, days, form in (
    ("open in 1.8 s, Retry-After: 2", 0, lambda _: "2"),
    ("open in 1.8 s, Retry-After: its date", 0, lambda t: formatdate(t, usegmt=True)),
    ("open in a day and 1.8 s, its date", 1, lambda t: formatdate(t, usegmt=True)),
):
    time.sleep((1.2 - time.time() % 1) % 1)
    begin, at = time.time(), []
    opens = int(begin) + 2 + days * 86400
    value = form(opens)
    try:
        code = ask()
    except RetryError as e:
        code = e.last_attempt.exception().response.status_code
    print(f"{name + ':':40} attempts at {' '.join(f'{t:.1f}' for t in at)} s, then {code}")

limiter = Limiter(key_func=lambda: "all", headers_enabled=True, retry_after="http-date")


@limiter.limit("1/minute")
async def home(request):
    return PlainTextResponse("here")


app = Starlette(routes=[Route("/", home)])
app.state.limiter = limiter
app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
inside, times = TestClient(app), []
reply = inside.get("/")
print(f"slowapi, 1 a minute: {reply.status_code} and a date that ends in {reply.headers['retry-after'][-5:]}")


@retry(max_attempt_number=2)
def again():
    global reply
    times.append(time.time())
    reply = inside.get("/")
    reply.raise_for_status()


try:
    again()
except RetryError:
    pass
print(
    f"slowapi, 1 a minute: {reply.status_code} and a date that ends in {reply.headers['retry-after'][-5:]}, "
    f"retried after {times[1] - times[0]:.0f} s"
)
END
got=$(py/bin/python -W ignore main.py)
echo "$got"
diff <(echo "$got") - <<'END'
open in 1.8 s, Retry-After: 2:           attempts at 0.0 2.0 s, then 200
open in 1.8 s, Retry-After: its date:    attempts at 0.0 1.0 1.0 s, then 429
open in a day and 1.8 s, its date:       attempts at 0.0 1.0 1.0 s, then 429
slowapi, 1 a minute: 200 and a date that ends in -0000
slowapi, 1 a minute: 429 and a date that ends in -0000, retried after 1 s
END
