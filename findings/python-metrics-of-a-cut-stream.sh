#!/usr/bin/env bash
# A streamed reply that fails half way is 200, 500 or both in five of Python's metrics, and took no time in three of them.
#
# The view sends 200 and the first part, works for 0.4 s and fails. By WSGI (PEP 3333) and ASGI the code is sent and stays,
# so that one would expect one reply of 200, an exception and 0.4 s. aioprometheus counts two replies of one request, by its
# help the responses sent, 200 and 500, and starlette_exporter a 500 that nobody got, whose time ends with the last part that
# was sent. The others have 200, as sent, without a trace of the failure; flask's counter of requests with an exception (by
# its README of uncaught exceptions) and Django's of exceptions stay at 0. flask's and Django's durations end where the view
# returns, before any of the body is made, in a whole stream as well; the README of neither says so.
# aioprometheus round the application, as for any ASGI callable, counts two replies for each exception of a Starlette view,
# since Starlette answers 500 and raises again.
#
# Seen on 2026-11-28 (Python 3.11.7; aioprometheus 23.12.0, starlette_exporter 0.24.0, starlette 1.10.0,
# prometheus-fastapi-instrumentator 8.1.0, prometheus_flask_exporter 0.23.2, Flask 3.1.3, django-prometheus 2.5.0, Django 5.2.19):
#   aioprometheus, cut stream:                  replies counted {'200': 1, '500': 1}, exceptions 1
#   aioprometheus round Starlette, a plain 500: replies counted {'500': 2}, exceptions 1
#   starlette_exporter, cut stream:             replies counted {'500': 1}, the stream's time not in it
#   fastapi_instrumentator, cut stream:         replies counted {'200': 1}, the stream's time in it
#   flask_exporter, cut stream:                 replies counted {'200': 1}, exceptions 0, the stream's time not in it
#   django_prometheus, cut stream:              replies counted {'200': 1}, exceptions 0, the stream's time not in it
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check aioprometheus==23.12.0 starlette_exporter==0.24.0 starlette==1.10.0 httpx==0.28.1 \
	prometheus-fastapi-instrumentator==8.1.0 prometheus_flask_exporter==0.23.2 Flask==3.1.3 django-prometheus==2.5.0 Django==5.2.19
cat >asgi.py <<'END'
import asyncio
import sys

import httpx
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

which, path = sys.argv[1:]


async def cut(_):
    async def parts():
        yield b"first"
        await asyncio.sleep(0.4)
        raise RuntimeError

    return StreamingResponse(parts())


async def plain(_):
    raise RuntimeError


async def ask(app, path):
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get(path)


app = Starlette(routes=[Route("/cut", cut), Route("/plain", plain)])
if which.startswith("aioprometheus"):
    from aioprometheus import MetricsMiddleware
    from aioprometheus.collectors import Registry

    registry = Registry()
    if which == "aioprometheus":
        app.add_middleware(MetricsMiddleware, registry=registry)
        outer = app
    else:
        outer = MetricsMiddleware(app, registry=registry)
    asyncio.run(ask(outer, path))
    codes = {labels["status_code"]: int(n) for labels, n in registry.get("status_codes_counter").get_all()}
    exceptions = sum(int(n) for _, n in registry.get("exceptions_total_counter").get_all())
    print(f"replies counted {codes}, exceptions {exceptions}")
else:
    from prometheus_client import REGISTRY

    if which == "starlette_exporter":
        from starlette_exporter import PrometheusMiddleware

        app.add_middleware(PrometheusMiddleware)
        count, time, label = "starlette_requests_total", "starlette_request_duration_seconds_sum", "status_code"
    else:
        from prometheus_fastapi_instrumentator import Instrumentator

        Instrumentator(should_group_status_codes=False).instrument(app)
        count, time, label = "http_requests_total", "http_request_duration_seconds_sum", "status"
    asyncio.run(ask(app, path))
    samples = [s for m in REGISTRY.collect() for s in m.samples]
    codes = {s.labels[label]: int(s.value) for s in samples if s.name == count}
    seconds = sum(s.value for s in samples if s.name == time)
    print(f"replies counted {codes}, the stream's time {'in it' if seconds > 0.35 else 'not in it'}")
END
cat >wsgi.py <<'END'
import logging
import sys
import time

logging.disable(logging.CRITICAL)


def parts():
    yield b"first"
    time.sleep(0.4)
    raise RuntimeError


if sys.argv[1] == "flask_exporter":
    from flask import Flask, Response
    from prometheus_flask_exporter import PrometheusMetrics

    app = Flask(__name__)
    PrometheusMetrics(app)
    app.add_url_rule("/cut", view_func=lambda: Response(parts()), endpoint="cut")
    names = "flask_http_request_total", "flask_http_request_duration_seconds_sum", "flask_http_request_exceptions_total"
else:
    from django.conf import settings

    settings.configure(
        ROOT_URLCONF=__name__,
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["django_prometheus"],
        MIDDLEWARE=["django_prometheus.middleware.PrometheusBeforeMiddleware", "django_prometheus.middleware.PrometheusAfterMiddleware"],
    )
    import django

    django.setup()
    from django.core.wsgi import get_wsgi_application
    from django.http import StreamingHttpResponse
    from django.urls import path

    urlpatterns = [path("cut", lambda _: StreamingHttpResponse(parts()))]
    app = get_wsgi_application()
    names = (
        "django_http_responses_total_by_status_total",
        "django_http_requests_latency_including_middlewares_seconds_sum",
        "django_http_exceptions_total_by_type_total",
    )

import prometheus_client
from wsgiref.util import setup_testing_defaults

environ = {"PATH_INFO": "/cut"}
setup_testing_defaults(environ)
body = app(environ, lambda *_: None)
try:
    for _ in body:
        pass
except RuntimeError:
    pass
body.close()
samples = [s for m in prometheus_client.REGISTRY.collect() for s in m.samples]
codes = {s.labels["status"]: int(s.value) for s in samples if s.name == names[0]}
seconds = sum(s.value for s in samples if s.name == names[1])
exceptions = sum(int(s.value) for s in samples if s.name == names[2])
print(f"replies counted {codes}, exceptions {exceptions}, the stream's time {'in it' if seconds > 0.35 else 'not in it'}")
END
got=$(
	while IFS='|' read -r name args; do
		printf '%-44s' "$name:"
		py/bin/python $args
	done <<'END'
aioprometheus, cut stream|asgi.py aioprometheus /cut
aioprometheus round Starlette, a plain 500|asgi.py aioprometheus-round /plain
starlette_exporter, cut stream|asgi.py starlette_exporter /cut
fastapi_instrumentator, cut stream|asgi.py instrumentator /cut
flask_exporter, cut stream|wsgi.py flask_exporter
django_prometheus, cut stream|wsgi.py django_prometheus
END
)
echo "$got"
diff <(echo "$got") - <<'END'
aioprometheus, cut stream:                  replies counted {'200': 1, '500': 1}, exceptions 1
aioprometheus round Starlette, a plain 500: replies counted {'500': 2}, exceptions 1
starlette_exporter, cut stream:             replies counted {'500': 1}, the stream's time not in it
fastapi_instrumentator, cut stream:         replies counted {'200': 1}, the stream's time in it
flask_exporter, cut stream:                 replies counted {'200': 1}, exceptions 0, the stream's time not in it
django_prometheus, cut stream:              replies counted {'200': 1}, exceptions 0, the stream's time not in it
END
