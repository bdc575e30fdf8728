#!/usr/bin/env bash
# Five libraries for retries cut the jitter off with the wait: once the longest wait is reached, all clients retry at the same moment.
#
# Jitter spreads the retries of clients that failed together, and a longest wait keeps their waits from growing without end.
# p-retry and retry (npm), tenacity's wait_exponential_jitter, stamina and urllib3 (Python) add the jitter first and then take
# the smaller of the sum and the longest wait. Once the wait alone reaches the longest, no jitter is left: a thousand clients
# all wait 5,000 ms to the millisecond, each time. That is the long outage, for which one wants jitter. stamina does so by
# default from its seventh wait on. tenacity, stamina and urllib3 document the formula; none says that the jitter ends.
# One would expect jitter within or beyond the longest wait, as tenacity's wait_random_exponential and exponential-backoff
# (npm) have it. With the five, a longest wait that each client draws at random keeps the clients apart.
#
# Seen on 2026-11-29 (Python 3.11.7, node 20.20.2; tenacity 9.2.1, stamina 26.1.0, urllib3 2.8.0, p-retry 7.1.1, retry 0.13.1,
# exponential-backoff 3.1.3). Of 1,000 clients, how many have the most frequent wait, to the millisecond; below 50 is "few".
# Waits begin at 0.1 s and double, up to 5 s:
#   tenacity wait_exponential_jitter:   wait 3: few; wait 8: 1000 of 1000, after 5000 ms
#   stamina by default:                 wait 3: few; wait 8: 1000 of 1000, after 5000 ms
#   urllib3 backoff_jitter:             wait 3: few; wait 8: 1000 of 1000, after 5000 ms
#   tenacity wait_random_exponential:   wait 3: few; wait 8: few
#   p-retry randomize:                  wait 3: few; wait 8: 1000 of 1000, after 5000 ms
#   retry randomize:                    wait 3: few; wait 8: 1000 of 1000, after 5000 ms
#   exponential-backoff full jitter:    wait 3: few; wait 8: few
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check tenacity==9.2.1 stamina==26.1.0 urllib3==2.8.0
npm init -y >/dev/null
npm install --silent --no-audit --no-fund p-retry@7.1.1 retry@0.13.1 exponential-backoff@3.1.3 >/dev/null
cat >main.py <<'END'
import time
from collections import Counter

import stamina
import tenacity
import urllib3

slept = []
time.sleep = slept.append
stamina.instrumentation.set_on_retry_hooks([])  # no line for each retry


def show(name, waits):
    def most(n):
        wait, clients = Counter(round(w[n - 1] * 1000) for w in waits).most_common(1)[0]
        return "few" if clients < 50 else f"{clients} of {len(waits)}, after {wait} ms"

    print(f"{name + ':':35} wait 3: {most(3)}; wait 8: {most(8)}")


def of_tenacity(wait):
    def client():
        slept.clear()
        try:
            tenacity.Retrying(wait=wait, stop=tenacity.stop_after_attempt(9), sleep=slept.append)(lambda: 1 / 0)
        except tenacity.RetryError:
            return list(slept)

    return [client() for _ in range(1000)]


def of_stamina():
    def client():
        slept.clear()
        try:
            stamina.retry(on=ZeroDivisionError, attempts=9, timeout=None)(lambda: 1 / 0)()
        except ZeroDivisionError:
            return list(slept)

    return [client() for _ in range(1000)]


def of_urllib3():
    def client():
        retry, waits = urllib3.Retry(total=20, backoff_factor=0.1, backoff_jitter=1, backoff_max=5), []
        for _ in range(9):  # the first is at once
            retry = retry.increment("GET", "/", error=OSError())
            waits.append(retry.get_backoff_time())
        return waits

    return [client() for _ in range(1000)]


show("tenacity wait_exponential_jitter", of_tenacity(tenacity.wait_exponential_jitter(multiplier=0.1, jitter=1, max=5)))
show("stamina by default", of_stamina())
show("urllib3 backoff_jitter", of_urllib3())
show("tenacity wait_random_exponential", of_tenacity(tenacity.wait_random_exponential(multiplier=0.1, max=5)))
END
cat >main.mjs <<'END'
import {backOff} from 'exponential-backoff';
import pRetry from 'p-retry';
import retry from 'retry';

let slept;
globalThis.setTimeout = (call, ms) => {
	slept.push(ms);
	queueMicrotask(call);
	return {unref() {}};
};

async function show(name, client) {
	const waits = [];
	for (let i = 0; i < 1000; i++) {
		slept = [];
		waits.push((await client()) ?? slept);
	}
	const most = n => {
		const clients = new Map();
		for (const w of waits) clients.set(w[n - 1], (clients.get(w[n - 1]) ?? 0) + 1);
		const [wait, count] = [...clients].sort((a, b) => b[1] - a[1])[0];
		return count < 50 ? 'few' : `${count} of ${waits.length}, after ${wait} ms`;
	};
	console.log(`${(name + ':').padEnd(35)} wait 3: ${most(3)}; wait 8: ${most(8)}`);
}

const options = {retries: 8, minTimeout: 100, factor: 2, maxTimeout: 5000, randomize: true};
const fails = () => {
	throw new Error('no');
};
await show('p-retry randomize', () => pRetry(fails, options).catch(() => undefined));
await show('retry randomize', () => retry.timeouts(options));
await show('exponential-backoff full jitter', () =>
	backOff(async () => fails(), {numOfAttempts: 9, startingDelay: 100, maxDelay: 5000, jitter: 'full'}).catch(() => undefined));
END
py/bin/python --version
node --version
got=$(
	py/bin/python main.py
	node main.mjs
)
echo "$got"
diff <(echo "$got") - <<'END'
tenacity wait_exponential_jitter:   wait 3: few; wait 8: 1000 of 1000, after 5000 ms
stamina by default:                 wait 3: few; wait 8: 1000 of 1000, after 5000 ms
urllib3 backoff_jitter:             wait 3: few; wait 8: 1000 of 1000, after 5000 ms
tenacity wait_random_exponential:   wait 3: few; wait 8: few
p-retry randomize:                  wait 3: few; wait 8: 1000 of 1000, after 5000 ms
retry randomize:                    wait 3: few; wait 8: 1000 of 1000, after 5000 ms
exponential-backoff full jitter:    wait 3: few; wait 8: few
END
