package audit

import (
	"regexp"
	"strings"
)

const (
	toolHTTPerf    = "httperf"
	toolAB         = "ab"
	toolHey        = "hey"
	toolOha        = "oha"
	toolVegeta     = "vegeta"
	toolBombardier = "bombardier"
	toolH2load     = "h2load"
)

var (
	milliseconds = in(timeUnits, "ms")
	plain        = in(countUnits, "")
)

var httperfLayout = layout{
	tool:   toolHTTPerf,
	begins: regexp.MustCompile(`(^|\s)httperf .*--(server|client|wsesslog|wlog|num-conns)[= ]|^Total: connections \d+ requests \d+ replies \d+ `),
	lines: []pattern{
		line(`(?:^|\s)httperf --client=\S+ --server=(?:.*?\s--rate=(\d+))?(?:.*?\s--num-conns=(\d+))?(?:.*?\s--num-calls=(\d+))?`, into(count, "connection_rate", "connections_asked", "calls")),
		line(`(?:^|\s)httperf[ :]`, nil),
		line(`^Maximum connect burst length: \d+$`, nil),
		line(`^Total: connections (\d+) requests (\d+) replies (\d+) test-duration ([\d.]+) s$`, func(c *Claim, m []string) error {
			if err := into(count, Opened, "sent", Requests)(c, m); err != nil {
				return err
			}
			return into(in(timeUnits, "s"), Seconds)(c, m[3:])
		}),
		line(`^Connection rate: \S+ conn/s \(\S+ ms/conn, <=(\d+) concurrent connections\)$`, into(count, Concurrent)),
		line(`^Connection time \[ms\]: `, nil),
		line(`^Connection length \[replies/conn\]: `, nil),
		line(`^Request rate: ([\d.]+) req/s `, into(plain, Rate)),
		line(`^Request size \[B\]: `, nil),
		line(`^Reply rate \[replies/s\]: `, nil),
		line(`^Reply time \[ms\]: response ([\d.]+) transfer ([\d.]+)$`, into(milliseconds, "response", "transfer")),
		line(`^Reply size \[B\]: `, nil),
		line(`^Reply status: 1xx=(\d+) 2xx=(\d+) 3xx=(\d+) 4xx=(\d+) 5xx=(\d+)$`, into(count, Status1xx, Status2xx, Status3xx, Status4xx, Status5xx)),
		line(`^CPU time \[s\]: .*\(user \S+ system \S+ total ([\d.]+%)\)$`, into(in(shareUnits, ""), CPU)),
		line(`^Net I/O: `, nil),
		line(`^Errors: total (\d+) client-timo (\d+) `, into(count, Errors, Timeouts)),
		line(`^Errors: total (\d+) `, into(count, Errors)),
		line(`^Errors: fd-unavail `, nil),
		line(`^Session(?: rate| lifetime| failtime| length histogram)?[: ]`, nil),
	},
	// A reply's time is the wait for its first byte and the transfer of the rest. A call
	// sends each connection's requests one after another.
	finish: func(c *Claim) {
		if c.has("response", "transfer") {
			a, b := c.get("response"), c.get("transfer")
			c.set(Mean, Figure{a.Value + b.Value, a.Half + b.Half})
		}
		if c.get("calls").Value > 0 && c.get("connection_rate").Value > 0 {
			c.set(Offered, c.get("connection_rate").times(c.get("calls")))
			c.Loop = pacedLoop
		}
	},
}

var abLayout = layout{
	tool:   toolAB,
	begins: regexp.MustCompile(`^This is ApacheBench, Version |^Concurrency Level:\s+\d+$`),
	lines: []pattern{
		line(`^This is ApacheBench|^Copyright 1996 Adam Twiss|^Licensed to The Apache|^Benchmarking .*\.\.\.|^Benchmarking .*\(be patient\)|^(?:Completed|Finished) \d+ requests$`, nil),
		line(`^(?:Server Software|Server Hostname|Server Port|Document Path|Document Length|SSL/TLS Protocol|Server Temp Key|TLS Server Name|HTML transferred|Keep-Alive requests|Total (?:body sent|PUT|POSTed)):`, nil),
		line(`^Concurrency Level:\s+(\d+)$`, into(count, Connections)),
		line(`^Time taken for tests:\s+([\d.]+) seconds$`, into(in(timeUnits, "s"), Seconds)),
		line(`^Complete requests:\s+(\d+)$`, into(count, Requests)),
		line(`^Failed requests:\s+(\d+)$`, into(count, "failed")),
		line(`^Write errors:\s+(\d+)$`, into(count, "write_errors")),
		line(`^\s*\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)$`, into(count, "connect_errors", "receive_errors", "length_differs", "exceptions")),
		line(`^Non-2xx responses:\s+(\d+)$`, into(count, NotGood)),
		line(`^Total transferred:\s+(\d+) bytes$`, into(count, Bytes)),
		line(`^Requests per second:\s+([\d.]+) \[#/sec\] \(mean\)$`, into(plain, Rate)),
		// concurrency x time / requests, and time / requests: worked out, not measured
		line(`^Time per request:\s+[\d.]+ \[ms\] \(mean(?:, across all concurrent requests)?\)$`, nil),
		line(`^Transfer rate:\s+([\d.]+) \[Kbytes/sec\] received$`, into(in(byteUnits, "KB"), BytesRate)),
		line(`^\s+[\d.]+ kb/s (?:sent|total)$`, nil),
		line(`^Connection Times \(ms\)$|^\s+min\s+mean\[\+/-sd\]\s+median\s+max$|^(?:Connect|Processing|Waiting):\s`, nil),
		line(`^Total:\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)$`, into(milliseconds, Min, Mean, Stdev, "", Max)), // the median is p50 below
		line(`^(?:WARNING|ERROR): The median and mean for |^\s+(?:These results are probably not that reliable|apart\. )`, nil),
		line(`^Percentage of the requests served within a certain time \(ms\)$`, nil),
		line(`^\s*(\d+%)\s+(\d+)(?: \(longest request\))?$`, quantileLine(milliseconds)),
	},
	// A reply of another length than the first counts as failed, which it need not be.
	finish: func(c *Claim) {
		c.Loop = closedLoop
		if c.has("failed") {
			lost := c.get("failed").Value - c.get("length_differs").Value
			c.set(Errors, Figure{Value: max(lost, 0)})
		}
	},
}

var heyLayout = layout{
	tool:   toolHey,
	begins: regexp.MustCompile(`^Summary:$`),
	then:   regexp.MustCompile(`^\s+Total:\s+[\d.]+ secs$`),
	lines: []pattern{
		line(`^Summary:$|^Response time histogram:$|^Latency distribution:$|^Status code distribution:$|^Error distribution:$`, nil),
		line(`^\s+Total:\s+([\d.]+) secs$`, into(in(timeUnits, "s"), Seconds)),
		line(`^\s+Slowest:\s+([\d.]+) secs$`, into(in(timeUnits, "s"), Max)),
		line(`^\s+Fastest:\s+([\d.]+) secs$`, into(in(timeUnits, "s"), Min)),
		line(`^\s+Average:\s+([\d.]+) secs$`, into(in(timeUnits, "s"), Mean)),
		line(`^\s+Requests/sec:\s+([\d.]+)$`, into(plain, Rate)),
		line(`^\s+Total data:\s+(\d+) bytes$`, into(count, Bytes)),
		line(`^\s+Size/request:\s+\d+ bytes$|^\s+[\d.]+ \[\d+\]\s+\|■*$`, nil),
		line(`^\s+(\d+%) in ([\d.]+) secs$`, quantileLine(in(timeUnits, "s"))),
		line(`^Details \(average, fastest, slowest\):$|^\s+(?:DNS\+dialup|DNS-lookup|req write|resp wait|resp read):\s`, nil),
		line(`^\s+\[(\d{3})\]\s+(\d+) responses$`, statusLine),
		line(`^\s+\[(\d+)\]\s+\S.*$`, func(c *Claim, m []string) error { return addCount(c, Errors, m[1]) }),
	},
	finish: func(c *Claim) { c.Loop = closedLoop; ended(c) }, // or paced with -q, which it does not print
}

var ohaLayout = layout{
	tool:   toolOha,
	begins: regexp.MustCompile(`^Summary:$`),
	then:   regexp.MustCompile(`^\s+Success rate:\s`),
	lines: []pattern{
		line(`^Summary:$|^Response time (?:histogram|distribution):$|^Status code distribution:$|^Error distribution:$`, nil),
		line(`^\s+Success rate:\s+([\d.]+%)$`, into(in(shareUnits, ""), "success")),
		line(`^\s+Total:\s+([\d.]+ \S+)$`, into(duration, Seconds)),
		line(`^\s+Slowest:\s+([\d.]+ \S+)$`, into(duration, Max)),
		line(`^\s+Fastest:\s+([\d.]+ \S+)$`, into(duration, Min)),
		line(`^\s+Average:\s+([\d.]+ \S+)$`, into(duration, Mean)),
		line(`^\s+Requests/sec:\s+([\d.]+)$`, into(plain, Rate)),
		line(`^\s+Total data:\s+([\d.]+ \S+)$`, into(in(byteUnits, ""), Bytes)),
		line(`^\s+Size/(?:request|sec):\s+[\d.]+ \S+$|^\s+[\d.]+ \S+ \[\d+\]\s*\|■*$`, nil),
		line(`^\s+([\d.]+%) in ([\d.]+ \S+)$`, quantileLine(duration)),
		line(`^Details \(average, fastest, slowest\):?$|^\s+(?:DNS\+dialup|DNS-lookup|First byte):?\s`, nil),
		line(`^\s+\[(\d{3})\] (\d+) responses$`, statusLine),
		line(`^\s+\[(\d+)\] aborted due to deadline$`, into(count, CutOff)),
		line(`^\s+\[(\d+)\] \S.*$`, func(c *Claim, m []string) error { return addCount(c, Errors, m[1]) }),
	},
	finish: ended,
}

// statusLine adds replies to the class of their status.
func statusLine(c *Claim, m []string) error {
	return addCount(c, "status_"+m[1][:1]+"xx", m[2])
}

func addCount(c *Claim, name, text string) error {
	f, err := count(text)
	if err == nil {
		c.add(name, f)
	}
	return err
}

// ended sums up requests of a tool that prints how they ended, and not how many.
func ended(c *Claim) {
	sum := Figure{}
	for _, name := range []string{Status1xx, Status2xx, Status3xx, Status4xx, Status5xx, "others", Errors, CutOff} {
		f := c.get(name)
		sum = Figure{sum.Value + f.Value, sum.Half + f.Half}
	}
	if sum.Value > 0 {
		c.set(Requests, sum)
	}
}

var vegetaLayout = layout{
	tool:   toolVegeta,
	begins: regexp.MustCompile(`^Requests\s+\[total, rate(?:, throughput)?\]\s`),
	lines: []pattern{
		line(`^Requests\s+\[total, rate(?:, throughput)?\]\s+(\d+), ([\d.]+)`, into(plain, Requests, "rate_sent")),
		line(`^Duration\s+\[total, attack, wait\]\s+([^,]+), ([^,]+), `, into(duration, Seconds, "attack")),
		line(`^Latencies\s+\[(min, )?mean, 50, (90, )?95, 99, max\]\s+(.*)$`, vegetaTimes),
		line(`^Bytes In\s+\[total, mean\]\s+(\d+), `, into(count, Bytes)),
		line(`^Bytes Out\s+\[total, mean\]\s`, nil),
		line(`^Success\s+\[ratio\]\s+([\d.]+%)$`, into(in(shareUnits, ""), "success")),
		line(`^Status Codes\s+\[code:count\]\s*(.*)$`, vegetaCodes),
		line(`^Error Set:$`, nil),
	},
	finish: vegetaEnd,
}

func vegetaTimes(c *Claim, m []string) error {
	names := []string{Mean, "p50", "p95", "p99", Max}
	if m[2] != "" {
		names = []string{Mean, "p50", "p90", "p95", "p99", Max}
	}
	if m[1] != "" {
		names = append([]string{Min}, names...)
	}
	parts := strings.Split(m[3], ",")
	if len(parts) != len(names) {
		return errTimes
	}
	return into(duration, names...)(c, append([]string{""}, parts...))
}

func vegetaCodes(c *Claim, m []string) error {
	for part := range strings.FieldsSeq(m[1]) {
		code, n, _ := strings.Cut(part, ":")
		if err := addStatus(c, code, n); err != nil {
			return err
		}
	}
	return nil
}

// addStatus adds replies of a status; 0 and -1 stand for requests without a reply.
func addStatus(c *Claim, code, n string) error {
	switch {
	case code == "0" || code == "-1":
		return addCount(c, Errors, n)
	case len(code) == 3 && code >= "100" && code < "600":
		return addCount(c, "status_"+code[:1]+"xx", n)
	}
	return errStatus
}

// vegetaEnd: the rate that is printed is that of the sending, and a connection is
// opened for each request that finds none free.
func vegetaEnd(c *Claim) {
	c.Loop = pacedLoop
	if c.has("rate_sent") {
		c.set(Offered, c.get("rate_sent"))
	}
	if r := c.get("success"); c.has("success", Requests) {
		c.set(OK, c.get(Requests).times(r))
	}
}

var bombardierLayout = layout{
	tool:   toolBombardier,
	begins: regexp.MustCompile(`^Bombarding \S+ |^Statistics\s+Avg\s+Stdev\s+Max$`),
	lines: []pattern{
		line(`^Bombarding \S+ for (\d\S*[a-z]) using (\d+) connection\(s\)$`, func(c *Claim, m []string) error {
			if err := into(duration, asked)(c, m); err != nil {
				return err
			}
			return into(count, Connections)(c, m[1:])
		}),
		line(`^Bombarding \S+ with (\d+) request\(s\) using (\d+) connection\(s\)$`, into(count, "", Connections)),
		line(`^Done!$|^\s*[\d.]+m?s$|^\s*\[=*>?-*\].*|^\s*\d+ / \d+ \[|^Statistics\s+Avg\s+Stdev\s+Max$|^\s+Latency Distribution$|^\s+HTTP codes:$|^\s+Errors:$`, nil),
		line(`^\s+Reqs/sec\s+([\d.]+)\s+[\d.]+\s+[\d.]+$`, into(plain, "rate_sampled")), // the mean of samples, not requests over time
		line(`^\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)$`, into(duration, Mean, Stdev, Max)),
		line(`^\s+(\d+%)\s+([\d.]+\S+)$`, quantileLine(duration)),
		line(`^\s+1xx - (\d+), 2xx - (\d+), 3xx - (\d+), 4xx - (\d+), 5xx - (\d+)$`, into(count, Status1xx, Status2xx, Status3xx, Status4xx, Status5xx)),
		line(`^\s+others - (\d+)$`, into(count, Errors)),
		line(`^\s+Throughput:\s+([\d.]+[KMGT]?B)/s$`, nil), // both ways
		line(`^\s+\S.* - (\d+)$`, nil), // an error that is among the others
	},
	finish: func(c *Claim) {
		c.Loop = closedLoop // or paced with -r, which it does not print
		ended(c)
		if c.has(asked) {
			c.set(Seconds, Figure{c.get(asked).Value, .05 * c.get(asked).Value})
		}
	},
}

var h2loadLayout = layout{
	tool:   toolH2load,
	begins: regexp.MustCompile(`^starting benchmark\.\.\.$|^finished in \S+, [\d.]+ req/s, `),
	lines: []pattern{
		line(`^starting benchmark\.\.\.$|^progress: |^Warm-up |^Main benchmark duration |^Stopped all clients |^TLS Protocol: |^Cipher: |^Server Temp Key: |^No protocol negotiated`, nil),
		line(`^spawning thread #\d+: (\d+) total client\(s\)\.`, func(c *Claim, m []string) error { return addCount(c, Connections, m[1]) }),
		line(`^Application protocol: (\S+)$`, nil),
		line(`^finished in (\S+), ([\d.]+) req/s, (\S+)/s$`, func(c *Claim, m []string) error {
			if err := into(duration, Seconds)(c, m); err != nil {
				return err
			}
			if err := into(plain, Rate)(c, m[1:]); err != nil {
				return err
			}
			return into(in(byteUnits, ""), BytesRate)(c, m[2:])
		}),
		line(`^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`, into(count, Requests, OK, "failed", "", Timeouts)),
		line(`^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$`, into(count, Status2xx, Status3xx, Status4xx, Status5xx)),
		line(`^traffic: \S+ \((\d+)\) total, `, into(count, Bytes)),
		line(`^\s+min\s+max\s+mean\s+sd\s+\+/- sd$`, nil),
		line(`^time for request:\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+%$`, into(duration, Min, Max, Mean, Stdev)),
		line(`^time (?:for connect|to 1st byte):\s|^req/s\s+:\s`, nil),
	},
	// Done are the succeeded and the failed; of the failed, those with a status had a reply.
	finish: func(c *Claim) {
		c.Loop = closedLoop
		if c.has("failed") {
			c.set(Errors, Figure{Value: max(0, c.get("failed").Value-c.get(Status4xx).Value-c.get(Status5xx).Value)})
		}
	},
}
