package audit

import (
	"math"
	"regexp"
	"strings"
)

const (
	toolWrk  = "wrk"
	toolWrk2 = "wrk2"
)

// wrk 4 and wrk2 print the same lines; wrk2 its calibration and HdrHistogram's name as
// well. A command line before them says the rate, and nothing else does.
var wrkLayout = layout{
	tool:   toolWrk,
	begins: regexp.MustCompile(`^\s*Running \S+ test @ |(^|[\s/])wrk2? .*-c ?\d`),
	resume: regexp.MustCompile(`^\s*\d+ requests in \S+, \S+ read$`),
	lines: []pattern{
		line(`(?:^|[\s/])(wrk2?) (.*-c ?\d.*)$`, wrkCommand),
		line(`^\s*Running (\S+) test @ `, func(c *Claim, m []string) error {
			return into(duration, Seconds, asked)(c, []string{"", m[1], m[1]})
		}),
		line(`^\s*(\d+) threads and (\d+) connections$`, into(count, Threads, Connections)),
		line(`^\s*Thread calibration: mean lat\.: (\S+?), rate sampling interval: \S+$`, calibrated),
		line(`^\s*Thread Stats\s+Avg\s+Stdev\s+Max\s+\+/- Stdev$`, nil),
		line(`^\s*Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+%$`, into(duration, Mean, Stdev, Max)),
		line(`^\s*Req/Sec\s+(\S+)\s+\S+\s+(\S+)\s+\S+%$`, into(count, ThreadRate, ThreadMax)),
		line(`^\s*Latency Distribution \(HdrHistogram`, func(c *Claim, _ []string) error { c.Tool, c.Loop = toolWrk2, openLoop; return nil }),
		line(`^\s*Latency Distribution$`, nil),
		line(`^\s*([\d.]+%)\s+([\d.]+[a-zµ]+)$`, quantileLine(duration)),
		line(`^\s*(\d+) requests in (\S+), (\S+) read$`, wrkTotals),
		line(`^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`, wrkErrors),
		line(`^\s*Non-2xx or 3xx responses: (\d+)$`, into(count, NotGood)),
		line(`^Requests/sec:\s+(\S+)$`, into(in(countUnits, ""), Rate)),
		line(`^Transfer/sec:\s+(\S+)$`, into(in(byteUnits, ""), BytesRate)),
		// What wrk2 prints of its histogram.
		line(`^\s*Detailed Percentile spectrum:$`, nil),
		line(`^\s*Value\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)$`, nil),
		line(`^\s*[\d.]+\s+[01]\.\d+\s+\d+\s+(?:[\d.]+|inf)$`, nil),
		line(`^#\[(?:Mean|Max|Buckets) `, nil),
		line(`^\s*-{10,}$`, nil),
	},
	finish: func(c *Claim) {
		if c.has(Offered) && c.Tool == toolWrk { // only wrk2 is told a rate
			c.Tool, c.Loop = toolWrk2, openLoop
		}
		if c.Tool == toolWrk {
			c.Loop = closedLoop
		}
	},
}

var wrkRate = regexp.MustCompile(`\s(?:-R|--rate)[ =]?(\d\S*)`)

// wrkCommand reads the rate off a command line; the rest is printed below it.
func wrkCommand(c *Claim, m []string) error {
	if m[1] == toolWrk2 {
		c.Tool, c.Loop = toolWrk2, openLoop
	}
	if rate := wrkRate.FindStringSubmatch(" " + m[2]); rate != nil {
		return into(count, Offered)(c, rate)
	}
	return nil
}

func wrkTotals(c *Claim, m []string) error {
	if err := into(count, Requests)(c, m); err != nil {
		return err
	}
	if err := into(duration, Seconds)(c, m[1:]); err != nil {
		return err
	}
	return into(in(byteUnits, ""), Bytes)(c, []string{"", strings.TrimSpace(m[3])})
}

// wrkErrors takes what happened to sockets; none of it is among the requests.
func wrkErrors(c *Claim, m []string) error {
	if err := into(count, "connect_errors", "read_errors", "write_errors", Timeouts)(c, m); err != nil {
		return err
	}
	for _, kind := range []string{"connect_errors", "read_errors", "write_errors"} {
		c.add(Errors, c.get(kind))
	}
	return nil
}

// calibrated notes the mean response time of a thread in wrk2's first ten seconds.
func calibrated(c *Claim, m []string) error {
	c.Tool, c.Loop = toolWrk2, openLoop
	f, err := duration(m[1])
	if err != nil {
		return err
	}
	n := c.get("calibrations").Value
	c.set("calibrations", Figure{Value: n + 1})
	c.set(CalibMean, Figure{(c.get(CalibMean).Value*n + f.Value) / (n + 1), f.Half})
	if n == 0 || f.Value < c.get(CalibLeast).Value {
		c.set(CalibLeast, f)
	}
	if f.Value > c.get(CalibMost).Value {
		c.set(CalibMost, f)
	}
	return nil
}

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
