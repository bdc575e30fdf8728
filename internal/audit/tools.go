package audit

import "math"

// Load tools.
const (
	toolWrk        = "wrk"
	toolWrk2       = "wrk2"
	toolHTTPerf    = "httperf"
	toolAB         = "ab"
	toolHey        = "hey"
	toolOha        = "oha"
	toolVegeta     = "vegeta"
	toolK6         = "k6"
	toolFortio     = "fortio"
	toolBombardier = "bombardier"
	toolH2load     = "h2load"
)

// layouts are what the tools print as text; see newLayout for the notation.
var layouts = []*layout{
	// Only wrk2 is told a rate; it prints that nowhere, but calibrates, and names HdrHistogram.
	newLayout(toolWrk, closedLoop, `
		> =wrk2 /(?:^|[\s/])wrk2? (?:.*\s)?(?:-R ?|--rate[ =])(?P<offered>\d\S*)/
		> =wrk2 /(?:^|[\s/])wrk2 .*-c ?\d/
		> /(?:^|[\s/])wrk .*-c ?\d/
		> Running {asked_seconds} test @ …
		{threads} threads and {connections} connections
		=wrk2 Thread calibration: mean lat.: {<calibration:…}, rate sampling interval: {}
		Thread Stats Avg Stdev Max +/- Stdev
		Latency {mean} {stdev} {max} {within:%}%
		Req/Sec {thread_rate.mean} {thread_rate.stdev} {thread_rate.max} {thread_rate.within:%}%
		=wrk2 Latency Distribution (HdrHistogram…
		Latency Distribution
		{q}% {t}
		~ {requests} requests in {seconds}, {bytes} read
		Socket errors: connect {connect_errors}, read {read_errors}, write {write_errors}, timeout {timeouts}
		Non-2xx or 3xx responses: {not_good}
		Requests/sec: {rate}
		Transfer/sec: {bytes_rate}
		Detailed Percentile spectrum:
		Value Percentile TotalCount 1/(1-Percentile)
		{t:ms} {f} {<spectrum:#} {}
		#[Mean = {mean:ms}, StdDeviation = {stdev:ms}]
		#[Max = {max:ms}, Total count = {recorded}]
		#[Buckets …
		/^\s*-{10,}$/`),
	newLayout(toolHTTPerf, unknownLoop, `
		> /(?:^|\s)httperf --client=\S+ --server=(?:.*?\s--rate=(?P<connection_rate>\d+))?(?:.*?\s--num-conns=(?P<connections_asked>\d+))?(?:.*?\s--num-calls=(?P<calls>\d+))?/
		> /(?:^|\s)httperf .*--(?:server|client|wsesslog|wlog|num-conns)[= ]/
		/(?:^|\s)httperf[ :]/
		Maximum connect burst length: {}
		> Total: connections {opened} requests {sent} replies {requests} test-duration {seconds:s} s
		Connection rate: {opened_rate} conn/s ({opened_period:ms} ms/conn, <={concurrent} concurrent connections)
		Connection time [ms]: min {connection.min:ms} avg {connection.mean:ms} max {connection.max:ms} median {connection.p50:ms} stddev {connection.stdev:ms}
		Connection time [ms]: connect {connect_time:ms}
		Connection length [replies/conn]: {connection_length}
		Request rate: {rate} req/s ({period:ms} ms/req)
		Request size [B]: {request_size}
		Reply rate [replies/s]: min {reply_rate.min} avg {reply_rate.mean} max {reply_rate.max} stddev {reply_rate.stdev} ({reply_rate.count} samples)
		Reply time [ms]: response {response:ms} transfer {transfer:ms}
		Reply size [B]: header {header_size} content {content_size} footer {footer_size} (total {reply_size})
		Reply status: 1xx={status_1xx} 2xx={status_2xx} 3xx={status_3xx} 4xx={status_4xx} 5xx={status_5xx}
		CPU time [s]: user {user:s} system {system:s} (user {user_share:%}% system {system_share:%}% total {cpu:%}%)
		Net I/O: {net_rate:KB} KB/s ({net_megabits}*10^6 bps)
		Errors: total {errors} client-timo {timeouts} socket-timo {socket_timeouts} connrefused {refused} connreset {reset}
		Errors: fd-unavail {no_descriptor} addrunavail {no_address} ftab-full {table_full} other {other_errors}
		/^(?:Errors|Net .*|Session(?: rate| lifetime| failtime| length histogram)?)[: ]/`),
	newLayout(toolAB, closedLoop, `
		> This is ApacheBench, Version …
		/^(?:Copyright 1996 Adam Twiss|Licensed to The Apache|Benchmarking .*(?:\.\.\.|\(be patient\))|Completed \d+ requests$)/
		Finished {finished} requests
		/^(?:Server Software|Server Hostname|Server Port|Document Path|SSL/TLS Protocol|Server Temp Key|TLS Server Name|Total (?:PUT|POSTed)):/
		Document Length: {document} bytes
		Document Length: Variable
		> Concurrency Level: {connections}
		Time taken for tests: {seconds:s} seconds
		Complete requests: {requests}
		Failed requests: {failed}
		Write errors: {write_errors}
		(Connect: {connect_errors}, Length: {length_differs}, Exceptions: {exceptions})
		(Connect: {connect_errors}, Receive: {receive_errors}, Length: {length_differs}, Exceptions: {exceptions})
		Non-2xx responses: {not_good}
		Keep-Alive requests: {kept_alive}
		Total transferred: {bytes} bytes
		Total body sent: {bytes_sent}
		HTML transferred: {bytes_body} bytes
		Requests per second: {rate} [#/sec] (mean)
		Time per request: {cycle:ms} [ms] (mean)
		Time per request: {period:ms} [ms] (mean, across all concurrent requests)
		Transfer rate: {bytes_rate:KB} [Kbytes/sec] received
		{sent_rate:KB} kb/s sent
		{both_rate:KB} kb/s total
		Connection Times (ms)
		min mean[+/-sd] median max
		Connect: {connect.min:ms} {connect.mean:ms} {connect.stdev:ms} {connect.p50:ms} {connect.max:ms}
		Processing: {processing.min:ms} {processing.mean:ms} {processing.stdev:ms} {processing.p50:ms} {processing.max:ms}
		Waiting: {waiting.min:ms} {waiting.mean:ms} {waiting.stdev:ms} {waiting.p50:ms} {waiting.max:ms}
		Total: {min:ms} {mean:ms} {stdev:ms} {total.p50:ms} {max:ms}
		/^(?:WARNING|ERROR): The median and mean for |^\s+(?:These results are probably not that reliable|(?:deviation )?apart\. )/
		Percentage of the requests served within a certain time (ms)
		{q}% {t:ms}
		{q}% {t:ms} (longest request)`),
	// oha prints what hey does, and more; hey's -q paces it, and is not printed.
	newLayout(toolHey, closedLoop, `
		> Summary:
		=oha Success rate: {success:%}%
		Total: {seconds:…}
		Slowest: {max:…}
		Fastest: {min:…}
		Average: {mean:…}
		Requests/sec: {rate}
		Total data: {bytes:…}
		Size/request: {size:…}
		Size/sec: {bytes_rate:…}
		/^(?:Response time (?:histogram|distribution)|Latency distribution|(?:Status code|Error) distribution|Details \(average, fastest, slowest\)):?$/
		/^\s+(?P<bar_s>[\d.]+) \[(?P<bin>\d+)\]\s*\|■*$/
		/^\s+(?P<bar>[\d.]+ [a-zµ]+) \[(?P<bin>\d+)\]\s*\|■*$/
		{q}% in {t:…}
		DNS+dialup: {dial.mean:…}, {dial.min:…}, {dial.max:…}
		DNS-lookup: {dns.mean:…}, {dns.min:…}, {dns.max:…}
		req write: {write.mean:…}, {write.min:…}, {write.max:…}
		resp wait: {wait.mean:…}, {wait.min:…}, {wait.max:…}
		resp read: {read.mean:…}, {read.min:…}, {read.max:…}
		[{status}] {n} responses
		[{+cut_off}] aborted due to deadline
		/^\s+\[(?P<errors>\d+)\]\s+\S.*$/`),
	newLayout(toolVegeta, pacedLoop, `
		> Requests [total, rate, throughput] {requests}, {offered}, {good_rate}
		> Requests [total, rate] {requests}, {offered}
		Duration [total, attack, wait] {seconds}, {attack}, {waited}
		Latencies [min, mean, 50, 90, 95, 99, max] {min}, {mean}, {p50}, {p90}, {p95}, {p99}, {max}
		Latencies [mean, 50, 95, 99, max] {mean}, {p50}, {p95}, {p99}, {max}
		Bytes In [total, mean] {bytes}, {size}
		Bytes Out [total, mean] {bytes_sent}, {sent_size}
		Success [ratio] {success:%}%
		Status Codes [code:count] {statuses}
		Error Set:
		/^(?:\d{3} [A-Z]|Get |Post |Put ).*$/`),
	newLayout(toolK6, unknownLoop, `
		> █ TOTAL RESULTS
		> http_req_blocked{.}: {*blocked}
		> http_req_duration{.}: {*}
		checks_total{.}: {checks} {checks_rate}/s
		checks_succeeded{.}: {checks_share:%}% {checks_good} out of {checks}
		checks_failed{.}: {} {checks_bad} out of {checks}
		> checks{.}: {checks_share:%}% ✓ {checks_good} ✗ {checks_bad}
		> checks{.}: {checks_share:%}% {checks_good} out of {checks}
		http_req_connecting{.}: {*connecting}
		http_req_tls_handshaking{.}: {*handshake}
		http_req_sending{.}: {*sending}
		http_req_waiting{.}: {*waiting}
		http_req_receiving{.}: {*receiving}
		http_req_failed{.}: {failed_share:%}% ✓ {failed} ✗ {passed}
		http_req_failed{.}: {failed_share:%}% {failed} out of {requests}
		http_reqs{.}: {requests} {rate}/s
		iteration_duration{.}: {*iteration}
		iterations{.}: {iterations} {iterations_rate}/s
		/^\s*data_received\.{2,}: (?P<network_in>[\d.]+ \w?B)\s+(?P<network_in_rate>[\d.]+ \w?B)\/s\s*$/
		/^\s*data_sent\.{2,}: (?P<network_out>[\d.]+ \w?B)\s+(?P<network_out_rate>[\d.]+ \w?B)\/s\s*$/
		vus_max{.}: {} min={} max={connections}
		dropped_iterations{.}: {unsent} {}
		/^\s*(?:█ setup|HTTP|EXECUTION|NETWORK|CUSTOM)\s*$|^\s*[\w{}:, ]+\.{2,}: |^\s*[✓✗] |^\s*↳ /
		/^\s*running \(\S+\), \d+\/\d+ VUs|^\s*\S+ [✓✗] \[/`),
	newLayout(toolFortio, closedLoop, `
		> Fortio {} running at {asked_rate} queries per second, …
		> Starting at {asked_rate} qps with {connections} thread(s) [gomax {}] for {} : {calls} calls each (total {planned})
		> Starting at max qps with {connections} thread(s) …
		> Ended after {seconds} : {requests} calls. qps={rate}
		/^\{"ts":|^\d\d:\d\d:\d\d|^Starting |^# (?:range, mid point|Socket and IP)|^\[\d+\] .* socket used/
		Sleep times : count {} avg …
		@ Aggregated Function Time : count {requests} avg {mean:s} +/- {stdev:s} min {min:s} max {max:s} sum {sum:s}
		@error_cases Error cases : count {count:#} avg {mean:s} +/- {stdev:s} min {min:s} max {max:s} sum {sum:s}
		Error cases : no data
		@dial Connection time histogram (s) : count {count:#} avg {mean:s} +/- {stdev:s} min {min:s} max {max:s} sum {sum:s}
		/^>=? \S+ <= (?P<bar_s>\S+) , \S+ , \S+, (?P<bin>\d+)$/
		/^> \S+ , \S+ , \S+, (?P<bin>\d+)$/
		# target {q}% {t:s}
		@ Sockets used: …
		/^(?:Uniform|IP addresses distribution|Jitter|Nocatchup): ?|^\S+:\d+: \d+$/
		Code {status} : {n} ({+codes_share:%} %)
		Response Header Sizes : count {header_size.count:#} avg {header_size.mean} +/- {header_size.stdev} min {header_size.min} max {header_size.max} sum {header_size.sum}
		Response Body/Total Sizes : count {body_size.count:#} avg {body_size.mean} +/- {body_size.stdev} min {body_size.min} max {body_size.max} sum {body_size.sum}
		All done {requests} calls (plus {} warmup) {mean:ms} ms avg, {rate} qps`),
	newLayout(toolBombardier, closedLoop, `
		> Bombarding {} for {asked_seconds} using {connections} connection(s)
		> Bombarding {} with {planned} request(s) using {connections} connection(s)
		/^Done!$|^\s*[\d.]+m?s$|^\s*\[=*>?-*\].*|^\s*\d+ \/ \d+ |^\s+(?:Latency Distribution|HTTP codes:|Errors:)$/
		> Statistics Avg Stdev Max
		Reqs/sec {sampled_rate.mean} {sampled_rate.stdev} {sampled_rate.max}
		Latency {mean} {stdev} {max}
		{q}% {t}
		1xx - {status_1xx}, 2xx - {status_2xx}, 3xx - {status_3xx}, 4xx - {status_4xx}, 5xx - {status_5xx}
		others - {errors}
		Throughput: …
		/^\s+\S.* - (?P<listed_errors>\d+)$/`),
	newLayout(toolH2load, closedLoop, `
		> starting benchmark...
		spawning thread {}: {+connections} total client(s). {+planned} total requests
		spawning thread {}: {+connections} total client(s). Timing-based test with {} of warm-up time and {asked_seconds} of main duration …
		spawning thread {}: {+connections} total client(s). …
		/^(?:progress: |Warm-up |Main benchmark duration |Stopped all clients |TLS Protocol: |Cipher: |Server Temp Key: |No protocol negotiated|Application protocol: )/
		> finished in {seconds}, {rate} req/s, {bytes_rate}/s
		requests: {total} total, {started} started, {requests} done, {ok} succeeded, {failed} failed, {errored} errored, {timeouts} timeout
		status codes: {status_2xx} 2xx, {status_3xx} 3xx, {status_4xx} 4xx, {status_5xx} 5xx
		traffic: {bytes} ({bytes}) total, {bytes_head} ({bytes_head}) headers (space savings {}), {bytes_body} ({bytes_body}) data
		min max mean sd +/- sd
		time for request: {min} {max} {mean} {stdev} {within:%}%
		time for connect: {connect.min} {connect.max} {connect.mean} {connect.stdev} {connect.within:%}%
		time to 1st byte: {first.min} {first.max} {first.mean} {first.stdev} {first.within:%}%
		req/s : {client_rate.min} {client_rate.max} {client_rate.mean} {client_rate.stdev} {client_rate.within:%}%`),
}

// finish works out what the lines of a run say together, by its tool's habits.
func (c *Claim) finish() {
	switch c.Tool {
	case toolWrk, toolWrk2: // what happened to sockets is not among the requests
		if c.Tool == toolWrk2 {
			c.Loop = openLoop
		}
		if c.has(asked) && !c.has(Seconds) {
			c.set(Seconds, c.get(asked))
		}
		c.sum(Errors, "connect_errors", "read_errors", "write_errors")
	case toolHTTPerf:
		// A reply's time is the wait for its first byte and the transfer of the rest. A call
		// sends each connection's requests one after another. The median is that of bins of 1 ms.
		c.sum(Mean, "response", "transfer")
		if c.get("calls").Value > 0 && c.get("connection_rate").Value > 0 {
			c.set(Offered, c.get("connection_rate").times(c.get("calls")))
			c.Loop = pacedLoop
		}
		if c.has("connection.p50") {
			c.Figures["connection.p50"] = Figure{c.get("connection.p50").Value, 1e-3}
		}
	case toolAB: // a reply of another length than the first counts as failed, which it need not be
		if c.has("failed") {
			c.set(Errors, Figure{Value: max(0, c.get("failed").Value-c.get("length_differs").Value)})
		}
	case toolHey, toolOha, toolBombardier:
		if c.Tool == toolOha {
			c.Loop = unknownLoop
			c.sum("attempts", replies, Errors)
		}
		c.sum(Requests, append([]string{Errors, CutOff}, statuses...)...)
		switch longest := c.get(Max).high(); {
		case c.Tool == toolHey && c.get(replies).Value >= 1e6: // it keeps a million statuses, and divides by them
			delete(c.Figures, Requests)
			delete(c.Figures, Mean)
		case c.Tool == toolHey:
			// It prints the times of whole requests where those of dialing belong.
			for from, to := range map[string]string{"dial.min": Min, "dial.max": Max} {
				if c.has(from) {
					c.note("", to, c.get(from))
					delete(c.Figures, from)
				}
			}
		case c.has(asked) && !c.has(Seconds): // bombardier waits for the last, and does not print for how long
			t := c.get(asked).Value
			c.set(Seconds, Figure{t + longest/2, .02*t + longest/2})
		}
	case toolVegeta:
		if c.has("success", Requests) {
			c.set(OK, c.get(Requests).times(c.get("success")))
		}
	case toolK6: // a status of 400 or above, or no reply: the summary does not tell which
		c.sum(NotGood, "failed")
		if !c.has("checks") {
			c.sum("checks", "checks_good", "checks_bad")
		}
	case toolFortio:
		if rate := c.get("asked_rate"); rate.Value > 0 { // 0 for as fast as it can
			c.set(Offered, rate)
			c.Loop = pacedLoop
		}
	case toolH2load: // done are the succeeded and the failed; of the failed, those with a status had a reply
		if c.has("failed") {
			c.set(Errors, Figure{Value: max(0, c.get("failed").Value-c.get(Status4xx).Value-c.get(Status5xx).Value)})
		}
	}
}

// sum sets a figure to the sum of others, if any is there.
func (c *Claim) sum(name string, of ...string) {
	for _, part := range of {
		if c.has(part) {
			c.add(name, c.get(part))
		}
	}
}

// equations between what a run says, by the finding where they do not hold. A line names
// the tools that keep to it, "all" for every run; = and <= allow for rounding alone, ~ and
// <~ for clocks that were read at different moments, and ~~ for a part of the run that the
// tool's samples leave out. A figure with a question mark is
// 0 where it is not there; behind "unless" are figures with which the equation says
// nothing, because they are there and not 0.
var equations = newEquations(`
audit-not-added
	figures, table: requests = ok + errors
	figures, table: requests = status_1xx? + status_2xx + status_3xx + status_4xx + status_5xx + errors? + cut_off?
	hey, oha, vegeta, fortio, bombardier: requests = status_1xx? + status_2xx + status_3xx + status_4xx + status_5xx + errors? + cut_off?
	httperf: requests = status_1xx + status_2xx + status_3xx + status_4xx + status_5xx
	httperf: errors = timeouts + socket_timeouts + refused + reset + no_descriptor + no_address + table_full + other_errors
	ab: failed = connect_errors? + receive_errors? + length_differs? + exceptions?
	wrk, wrk2, ab, figures: not_good <= requests
	k6: requests = failed + passed
	k6: checks = checks_good + checks_bad
	hey, oha: replies = histogram
	fortio: histogram = requests
	fortio: requests <= planned
	fortio: planned >= calls × connections
	fortio: planned <= calls × connections + connections
	bombardier: errors = listed_errors
	bombardier, h2load: requests <= planned
	h2load: requests <= total
	h2load: total = planned
	h2load: started <= total unless asked_seconds
	h2load: requests <= started
	h2load: total = ok + failed
	h2load: ok <= requests
	h2load: errored <= failed
	h2load: timeouts <= errored
	h2load: started >= status_2xx + status_3xx + status_4xx + status_5xx
	h2load: requests <= status_2xx + status_3xx + status_4xx + status_5xx + errored
	httperf: requests <= sent
	httperf: opened <= connections_asked
	httperf: sent <= opened × calls
	httperf: reply_rate.count <= seconds / 5 + 1
	httperf: concurrent <= opened
	wrk2: recorded <= requests
	wrk2: spectrum.max = recorded
	ab: kept_alive <= requests
	ab: finished = requests
audit-rate-time
	figures, table: rate ~ requests / seconds
	wrk, wrk2, ab, hey, oha, fortio: rate = requests / seconds
	httperf: rate = sent / seconds
	h2load: rate >= ok / seconds unless asked_seconds
	h2load: rate <= requests / seconds unless asked_seconds
	h2load: rate >= ok / asked_seconds
	h2load: rate <= requests / asked_seconds
	h2load: rate <~ connections × client_rate.mean
	vegeta: good_rate = ok / seconds
	vegeta: offered = requests / attack
	httperf: opened_rate = opened / seconds
	httperf: reply_rate.mean <~ requests / reply_rate.count / 5
	k6: iterations_rate = iterations × rate / requests
	k6: checks_rate = checks × rate / requests
	k6: connections >~ iterations_rate × iteration.mean
audit-bytes-time
	figures, table: bytes_rate ~ bytes / seconds
	wrk, wrk2, ab, oha: bytes_rate = bytes / seconds
	h2load: bytes_rate = bytes / seconds unless asked_seconds
	h2load: bytes_rate = bytes / asked_seconds
	ab: sent_rate = bytes_sent / seconds
	ab: both_rate = bytes_rate + sent_rate
	httperf: net_rate ~ request_size × sent / seconds + reply_size × requests / seconds
audit-sum
	figures, table: sum ~ mean × requests
	vegeta, fortio: sum = mean × requests
audit-done-accepted
	all: done <= accepted
audit-said-twice
	ab: cycle = connections × seconds / requests
	ab: cycle = connections × period
	ab: period = seconds / requests
	httperf: period = seconds / sent
	k6: network_in_rate = network_in × rate / requests
	k6: network_out_rate = network_out × rate / requests
	ab: bytes_body <= bytes
	ab: bytes_body >= document × requests unless failed
	ab: bytes_body <= document × requests + document × connections unless failed
	ab: waiting.mean <= processing.mean
	ab: waiting.max <= processing.max
	ab: mean = connect.mean + processing.mean
	ab: max <= connect.max + processing.max
	ab: max >= processing.max
	ab: min >= connect.min + processing.min
	ab: total.p50 >= p50
	ab: total.p50 <= p66
	httperf: connect_time <= connection.max unless errors
	httperf: opened_period = seconds / opened
	httperf: connection_length >= requests / opened
	httperf: connection_length <= requests / opened unless errors
	httperf: reply_size = header_size + content_size + footer_size
	httperf: net_megabits = net_rate × 0.000008
	httperf: user_share = user / seconds
	httperf: system_share = system / seconds
	httperf: cpu = user_share + system_share
	hey, oha: size <= bytes / replies
	hey, oha: size >= bytes / replies - 1
	oha: success = replies / attempts
	hey, oha: histogram.min = min
	hey, oha: histogram.max = max
	vegeta: seconds = attack + waited
	vegeta: waited <= max
	vegeta: size = bytes / requests
	vegeta: sent_size = bytes_sent / requests
	vegeta: ok = status_2xx + status_3xx
	k6: failed_share = failed / requests
	k6: checks_share = checks_good / checks
	k6: mean = sending.mean + waiting.mean + receiving.mean
	fortio: codes_share = 1
	fortio: error_cases.count <= requests
	fortio: body_size.count = header_size.count
	h2load: bytes >= bytes_head + bytes_body unless asked_seconds
	wrk, wrk2, h2load: within <= 1
audit-unsteady
	wrk, wrk2: rate ~~ threads × thread_rate.mean
	bombardier: sampled_rate.mean ~~ requests / seconds
`)

// backFilled is the longest mean that wrk 4 can print for what its connections can hold.
// For a time x that is longer than two cycles N/X its histogram gets x - N/X, x - 2 N/X and
// so on as well, about x / (N/X) times and x/2 in the mean. All true times sum to N T at
// most, so the mean is highest where those of the longest make up that whole sum: half a
// cycle and a quarter of the longest time.
func backFilled(c *Claim) float64 {
	n, _ := c.inFlight()
	rate, _ := c.rate()
	if !c.has(Max) || rate.low() <= 0 {
		return math.Inf(1)
	}
	cycle := n / rate.low()
	return max(cycle, cycle/2+c.get(Max).high()/4)
}
