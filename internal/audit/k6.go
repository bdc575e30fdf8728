package audit

import (
	"errors"
	"regexp"
	"strings"
)

const (
	toolK6     = "k6"
	toolFortio = "fortio"
)

var (
	errTimes  = errors.New("as many times as names are wanted")
	errStatus = errors.New("a status is three digits")
)

// k6 prints a metric on a line, of which three are about requests.
var k6Layout = layout{
	tool:   toolK6,
	begins: regexp.MustCompile(`^\s*█ TOTAL RESULTS\s*$|^\s*(?:checks|http_req_blocked|http_req_duration)\.{2,}: `),
	lines: []pattern{
		line(`^\s*http_req_duration\.{2,}: (.*)$`, k6Trend),
		line(`^\s*http_req_failed\.{2,}: ([\d.]+%)\s+(?:✓ (\d+)\s+✗ (\d+)|(\d+) out of (\d+))\s*$`, func(c *Claim, m []string) error {
			if m[4] == "" {
				return into(count, "", "failed")(c, m)
			}
			return into(count, "failed")(c, m[3:])
		}),
		line(`^\s*http_reqs\.{2,}: (\d+)\s+([\d.]+)/s\s*$`, into(plain, Requests, Rate)),
		line(`^\s*vus_max\.{2,}: \d+\s+min=\d+\s+max=(\d+)\s*$`, into(count, Connections)),
		line(`^\s*dropped_iterations\.{2,}: (\d+)\s`, into(count, Unsent)),
		line(`^\s*(?:█ TOTAL RESULTS|█ setup|HTTP|EXECUTION|NETWORK|CUSTOM)\s*$|^\s*[\w{}:, ]+\.{2,}: |^\s*[✓✗] |^\s*↳ `, nil),
		line(`^\s*running \(\S+\), \d+/\d+ VUs|^\s*\S+ [✓✗] \[`, nil),
	},
	finish: k6End,
}

var k6Stat = regexp.MustCompile(`^(avg|min|med|max|p\(([\d.]+)\)|count)=(\S+)$`)

func k6Trend(c *Claim, m []string) error {
	for part := range strings.FieldsSeq(m[1]) {
		s := k6Stat.FindStringSubmatch(part)
		if s == nil {
			return errors.New(part + " is no statistic of k6")
		}
		if s[1] == "count" {
			continue
		}
		f, err := duration(s[3])
		if err != nil {
			return err
		}
		c.set(k6Name(s[1]), f)
	}
	return nil
}

// k6Name is the figure for a statistic of k6.
func k6Name(s string) string {
	switch s {
	case "avg":
		return Mean
	case "med":
		return "p50"
	}
	return strings.NewReplacer("(", "", ")", "").Replace(s)
}

// k6End: a request failed when its status is 400 or above, or there was no reply; the
// summary does not tell which.
func k6End(c *Claim) {
	if c.has("failed") {
		c.set(NotGood, c.get("failed"))
	}
}
