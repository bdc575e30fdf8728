package attack

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// Asked returns the requests of an attack without a scenario. There is one for the URL target, or,
// if file is not "", one for each entry of that file in vegeta's formats http or json; the file "-" is stdin.
// Each header is written "Name: value" and overrides the file's header of that name. A body that
// begins with @ is the name of the file to send. method and body are ignored with a file. Errors
// name the flag.
func Asked(target, file, method, body string, headers []string, stdin io.Reader) ([]load.Target, error) {
	// Add makes names canonical, so that flags of one name add up.
	header := http.Header{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	// One URL: its body may be in a file. In a file of targets, vegeta itself reads such a body.
	if file == "" {
		text := []byte(body)
		if name, ok := strings.CutPrefix(body, "@"); ok {
			var err error
			if text, err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("--body: %w", err)
			}
		}
		return []load.Target{{Method: method, URL: target, Header: header, Body: text}}, nil
	}
	if file != "-" {
		in, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--targets: %w", err)
		}
		defer in.Close()
		stdin = in
	}
	// No address: the file names the servers.
	targets, err := load.ReadTargets(stdin, "")
	if err != nil {
		return nil, fmt.Errorf("--targets %s: %w", file, err)
	}
	for i := range targets {
		if targets[i].Header == nil {
			targets[i].Header = http.Header{}
		}
		maps.Copy(targets[i].Header, header)
	}
	return targets, nil
}

// LogAsks returns the error for an access log that is combined with other flags about the requests.
func LogAsks(log arrivals.Process) error {
	return fmt.Errorf("with --arrivals %s give the server as --target http://host:port, and nothing else of the requests: the log says what is asked", log)
}

// Logged returns the distinct requests of an access log, directed at server, a URL without a path.
// from is the --arrivals that named the log.
func Logged(from arrivals.Process, log *arrivals.AccessLog, server string) (targets []load.Target, err error) {
	// A path would be ambiguous, since the log has the paths.
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, LogAsks(from)
	}
	for _, t := range load.LogTargets(log) {
		targets = append(targets, t.At(u.Host))
	}
	Secured(targets, u)
	return targets, nil
}

// Secured changes targets from http to https, in place, if the server's URL has https.
//
// The targets of a log are made with http, because load.Target.At writes it.
func Secured(targets []load.Target, server *url.URL) {
	for i, t := range targets {
		if rest, plain := strings.CutPrefix(t.URL, "http://"); plain && server.Scheme == "https" {
			targets[i].URL = "https://" + rest
		}
	}
}

// A Timetable holds the flags that decide when the requests of an open loop are sent.
//
// Flags go before the scenario, and the scenario before the log's own rate.
// Duration is the time from the attack's start in which requests are due. Arrivals is used if Given is set
// or there is no Scenario.
type Timetable struct {
	Scenario *scenario.Scenario // nil without one
	Arrivals arrivals.Process
	Given    bool    // Arrivals overrides the scenario's arrivals
	Rate     float64 // requests per second; 0: the rate of the scenario or of the log, else 100
	Duration time.Duration
	Whole    bool // replay a trace or a log to its end; Draw sets Duration to its length
	Seed     uint64
	Log      *arrivals.AccessLog // set by Draw if the requests come from a log
}

// MostRequests limits an open attack that keeps its requests to 3.3 GB of memory: a request takes
// about 165 bytes (a record.Request, its stamps and its place in the schedule).
const MostRequests = 20_000_000

// mostDrawn is the number of requests from which on a schedule is drawn while the attack runs.
const mostDrawn = 500_000

// mostDemands limits the demands of such an attack, which goes through them in turn.
const mostDemands = 1 << 20

// Draw draws the arrivals, and their demands if there is a scenario. It sets Offered and Arrivals
// of sum. The same Seed gives the same trace. Errors name the flag to change. With streams, a long
// schedule is not in the trace but in times, to be drawn while the attack runs.
//
// Draw opens the file of a trace or log, and calibrates the CPU demand if it needs it (some 10 ms).
// connections is for arrivals that depend on it, such as in-phase.
func (f *Timetable) Draw(connections int, sum *record.Attack, streams bool) (t arrivals.Trace, times iter.Seq[time.Duration], err error) {
	s, process, rate := f.Scenario, f.Arrivals, f.Rate
	given := scenario.Rate{PerSecond: f.Rate}
	if s != nil && !f.Given {
		if process, err = arrivals.Parse(s.Load.Arrivals); err != nil {
			return t, nil, err
		}
	}
	// The rate is from the flag, the log, the scenario, or 100 per second.
	switch {
	case process.Fixed() && rate > 0:
		return t, nil, fmt.Errorf("--rate %s has no use beside --arrivals %s, which has rates of its own; drop one", given, process)
	case process.Fixed():
	case rate == 0 && process.Kind == arrivals.KindLog && (s == nil || s.Load.Rate == (scenario.Rate{})): // the log's own rate, set below
	case rate == 0 && s != nil:
		if rate = s.Load.Rate.PerSecond; rate == 0 {
			return t, nil, fmt.Errorf("scenario %q asks for %s of a throughput that attack does not measure; give --rate like 1000/s", s.Name, s.Load.Rate)
		}
	case rate == 0:
		rate = 100
	}
	if process.Kind == arrivals.KindTrace || process.Kind == arrivals.KindLog {
		// The column cpu of a trace becomes iterations of this machine.
		if process, err = process.Open(workload.Calibrate()); err != nil {
			return t, nil, fmt.Errorf("--arrivals: %w", err)
		}
		switch f.Log = process.Log(); {
		case f.Log != nil && rate == 0:
			rate = process.OwnRate()
		case process.Speed > 0:
			return t, nil, fmt.Errorf("--rate %s and the speed in --arrivals %s both say how fast; drop one", given, process)
		}
		if f.Whole {
			f.Duration = process.Span(rate)
		}
	}
	process = process.WithConnections(connections)
	if err := process.Check(rate); err != nil {
		return t, nil, err
	}
	// Checked before drawing, because the draw itself would fill the memory.
	sum.Offered, sum.Arrivals = process.MeanRate(rate, f.Duration), process.String()
	rng, expected, most, demands := rand.New(rand.NewPCG(f.Seed, 1)), sum.Offered*f.Duration.Seconds(), float64(MostRequests), mostDemands
	if streams && expected > mostDrawn {
		times, most = process.Times(rate, f.Duration, rng), load.MostStreamed
	}
	if expected > most {
		return t, nil, fmt.Errorf("--arrivals %s for --duration %v is more than %.0f requests; shorten one", process, f.Duration, most)
	}
	if times == nil {
		if t = process.Draw(rate, f.Duration, rng); len(t.At) == 0 {
			return t, nil, fmt.Errorf("%.3g requests per second for %v is not one request; raise --rate or --duration", sum.Offered, f.Duration)
		}
		demands = len(t.At)
	}
	// A trace with demands of its own goes before the demands of the scenario.
	if s != nil && t.Demand == nil {
		t.Demand = s.Demands(demands, f.Seed, workload.Calibrate())
	}
	return t, times, nil
}
