#!/usr/bin/env bash
# waitress answers nobody with a connection_limit of 1 or 2, and N-2 clients with a limit of N.
#
# waitress 3.0.2 documents connection_limit as the number of active channels (connections) from which it stops making new
# ones. It compares the limit with the length of its map of sockets, in which its listening socket and its own wake-up
# pipe stand as well. One would expect N connections to be served, or a word in the documentation. At a limit of 2 a
# first and only client is not accepted, and the server's log says that the open connections have reached the limit. A
# maintainer gave the reason in 2020 (Pylons/waitress#301); the documentation and the log are as they were.
#
# Seen on 2026-11-28 (Python 3.11.7), one address, the clients' connections all left open:
#   limit 1: 0 of 1 client answered
#   limit 2: 0 of 1 client answered
#   limit 3: 1 of 6 clients answered
#   limit 6: 4 of 6 clients answered
#   limit 8: 6 of 6 clients answered
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check waitress==3.0.2
cat >main.py <<'END'
import selectors
import socket
import sys
import threading
import time

from waitress.server import create_server

limit, clients = int(sys.argv[1]), int(sys.argv[2])


def app(_, start):
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]


listening = socket.create_server(("127.0.0.1", 0))
server = create_server(app, sockets=[listening], connection_limit=limit)
threading.Thread(target=server.run, daemon=True).start()
waiting, open_ones, answered = selectors.DefaultSelector(), [], 0
for _ in range(clients):
    c = socket.create_connection(listening.getsockname())
    c.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    waiting.register(c, selectors.EVENT_READ)
    open_ones.append(c)
end = time.monotonic() + 5
while time.monotonic() < end:
    for key, _ in waiting.select(0.2):
        answered += key.fileobj.recv(1000).startswith(b"HTTP/1.1 200")
        waiting.unregister(key.fileobj)
print(f"limit {limit}: {answered} of {clients} client{'s' * (clients > 1)} answered")
END
got=$(for n in "1 1" "2 1" "3 6" "6 6" "8 6"; do py/bin/python main.py $n 2>/dev/null; done)
echo "$got"
diff <(echo "$got") - <<'END'
limit 1: 0 of 1 client answered
limit 2: 0 of 1 client answered
limit 3: 1 of 6 clients answered
limit 6: 4 of 6 clients answered
limit 8: 6 of 6 clients answered
END
