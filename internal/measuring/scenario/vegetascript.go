package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/workload"
)

// WriteVegeta writes the scenario as a shell script that attacks the server at addr (host:port) with
// vegeta's command line. The script has the targets and one attack for each different load of the
// arms. Comments list the properties of the load that vegeta cannot express. Call Open first.
//
// The script is for a second opinion: it sends a similar load without schedlab.
func (s *Scenario) WriteVegeta(w io.Writer, addr string) error {
	asks := s.Targets(addr)
	for i, t := range asks {
		// vegeta sends the same text each time, so the server must draw the demand.
		asks[i].URL = s.stated(t.URL)
	}
	var targets bytes.Buffer
	format, err := load.WriteTargets(&targets, asks)
	if err != nil {
		return err
	}
	// Arms with the same load need only one attack.
	var attacks []string
	arms := map[string][]string{}
	for _, a := range s.Contestants() {
		l, err := s.Clients(a)
		if err != nil {
			return err
		}
		attack := s.attack(l, format)
		if arms[attack] == nil {
			attacks = append(attacks, attack)
		}
		arms[attack] = append(arms[attack], a.Name)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `#!/usr/bin/env bash
# %s: %s
# Needs a server, like: schedlab serve --mode nethttp --addr %s
# vegeta counts from the sending of each request, not from when it was due, and
# compares nothing: schedlab compare does both.
set -euo pipefail

targets() {
	cat <<'TARGETS'
%sTARGETS
}
`, s.Name, s.Question, addr, &targets)
	for _, attack := range attacks {
		fmt.Fprintf(&b, "\n# %s\n%s", strings.Join(arms[attack], ", "), attack)
	}
	_, err = b.WriteTo(w)
	return err
}

// stated returns url with the demand as distributions in its query. The server draws from them by X-Vegeta-Seq.
func (s *Scenario) stated(url string) string {
	if !s.AsksWork() || s.Workload.Classes != nil {
		return url
	}
	var demand []string
	for _, part := range []struct {
		key  string
		dist workload.Dist
	}{{"cpu", s.Workload.CPU}, {"sleep", s.Workload.Sleep}} {
		if part.dist != (workload.Dist{}) {
			demand = append(demand, part.key+"="+part.dist.String())
		}
	}
	if len(demand) == 0 {
		return url
	}
	return url + "?" + strings.Join(demand, "&")
}

// attack returns the lines of the script that send a load. Properties that vegeta cannot express are
// comments, so that a reader does not take the attack for the same load. The command has the others.
func (s *Scenario) attack(l Load, format string) string {
	closed, rate := l.Loop == "closed", l.Rate.PerSecond
	paced := rate > 0 || closed || s.Log != nil
	process, _ := arrivals.Parse(l.Arrivals) // checked with the scenario
	var b strings.Builder
	for _, lost := range []struct {
		is   bool
		text string
	}{
		{!closed && process.Kind != arrivals.KindConstant, fmt.Sprintf("arrivals %s; it sends evenly spaced at the mean rate", l.Arrivals)},
		{!paced, fmt.Sprintf("a rate of %s the slowest arm's throughput, which it does not measure; set RATE", l.Rate)},
		{!closed && l.KeepAlive, "connections opened beforehand and used in turn; it opens them as needed and uses the last one first"},
		{l.Idle > 0, fmt.Sprintf("%d idle connections beside the load", l.Idle)},
		{closed && rate > 0, fmt.Sprintf("a pace for each of %d clients; its workers share one, and lose it when all are busy", l.Connections)},
		{l.Think != (workload.Dist{}), fmt.Sprintf("a pause of %s between a reply and the next request", l.Think)},
		{l.Session > 0, fmt.Sprintf("sessions of %d requests on a connection", l.Session)},
		{l.Pipeline > 1, fmt.Sprintf("%d requests under way on a connection", l.Pipeline)},
		{l.Ramp > 0, fmt.Sprintf("clients that start one after the other over %v", time.Duration(l.Ramp))},
	} {
		if lost.is {
			fmt.Fprintf(&b, "# vegeta cannot say: %s\n", lost.text)
		}
	}
	fmt.Fprintf(&b, "targets | go tool vegeta attack -name=%s -format=%s", s.Name, format)
	if closed { // one of vegeta's workers is one client
		fmt.Fprintf(&b, " -workers=%d -max-workers=%d -connections=%d", l.Connections, l.Connections, l.Connections)
	}
	switch {
	case rate > 0:
		fmt.Fprintf(&b, " -rate=%s", vegetaRate(rate))
	case closed: // every worker sends as soon as it has its reply
		b.WriteString(" -rate=0")
	case s.Log != nil:
		fmt.Fprintf(&b, " -rate=%s", vegetaRate(Rounded(s.Log.OwnRate())))
	default: // the lower limit of the rate, or 100 per second, until the user sets RATE
		fmt.Fprintf(&b, ` -rate="${RATE:-%s}"`, vegetaRate(max(l.MinRate.PerSecond, 100)))
	}
	if l.KeepAlive && !closed {
		fmt.Fprintf(&b, " -connections=%d -max-connections=%d", l.Connections, l.Connections)
	}
	// DURATION overrides it when the script runs.
	window := cmp.Or(time.Duration(s.Protocol.Window), Quick.Window)
	fmt.Fprintf(&b, ` -duration="${DURATION:-%v}" -timeout=%v -redirects=-1 -max-body=0`, window, time.Duration(l.Timeout))
	if !l.KeepAlive {
		b.WriteString(" -keepalive=false")
	}
	b.WriteString(" |\n\tgo tool vegeta report\n")
	return b.String()
}

// vegetaRate returns a rate in the form of vegeta's command line, which takes whole numbers.
// A fraction is written per 1,000 seconds, which keeps three decimals.
func vegetaRate(perSecond float64) string {
	if whole := math.Round(perSecond); whole == perSecond {
		return fmt.Sprintf("%.0f/1s", whole)
	}
	return fmt.Sprintf("%.0f/1000s", math.Round(perSecond*1000))
}
