package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/workload"
)

type attackFlags struct {
	target, targets string
	rate            experiment.Rate
	duration        time.Duration
	arrivals        string
	connections     int
	keepAlive       bool
	timeout         time.Duration
	method, body    string
	headers         []string
	seed            uint64
	results, hgrm   string
	timestamps      string
	output          string
	allowRemote     bool
}

func newAttack() *cobra.Command {
	f := attackFlags{rate: experiment.Rate{}}
	cmd := &cobra.Command{
		Use:   "attack [SCENARIO] --target URL",
		Short: "Drive open-loop load at any HTTP server and sum up what happened",
		Long: `Send requests on a schedule that does not wait for answers, and count response
time from the scheduled time, so that a stall of the server is in every request
it delayed. The attacker is vegeta's; pacing, connections and stamps are ours.

With a SCENARIO the request, arrivals, connections and demand are its own and
--target names only the server; without one, URL is asked as it stands. With
--targets a file in vegeta's http format says what to ask, in rotation.

Only loopback targets are attacked unless --allow-remote says otherwise.

Exit codes: 0 done, 4 when more than one request in a thousand got no reply,
130 interrupted.`,
		Example: `  schedlab attack --target http://127.0.0.1:8080/plaintext --rate 2000/s --duration 10s
  schedlab attack quick --target http://127.0.0.1:8080 --rate 1000/s
  schedlab attack --targets loadtests/targets/kv.txt --rate 500/s
  schedlab attack --target http://127.0.0.1:8080/json --rate 500/s --results out.bin
  go tool vegeta report out.bin`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.target, "target", "", "URL to ask, or with a SCENARIO the server's http://host:port")
	fl.StringVar(&f.targets, "targets", "", "file of requests in vegeta's http format, or - for standard input")
	fl.VarP(&f.rate, "rate", "r", "requests per second, like 2000/s (default 100/s, or the scenario's)")
	fl.DurationVarP(&f.duration, "duration", "z", 10*time.Second, "how long to send")
	fl.StringVar(&f.arrivals, "arrivals", "", load.ArrivalsHelp+" (default poisson, or the scenario's)")
	fl.IntVarP(&f.connections, "connections", "c", 64, "kept connections, opened beforehand; 0 opens as many as are needed")
	fl.BoolVar(&f.keepAlive, "keepalive", true, "keep connections; false opens one per request")
	fl.DurationVar(&f.timeout, "timeout", load.DefaultTimeout, "of one request, from its sending")
	fl.StringVar(&f.method, "method", http.MethodGet, "method, with --target and no scenario")
	fl.StringVar(&f.body, "body", "", "request body, or @file")
	fl.StringArrayVar(&f.headers, "header", nil, "'Name: value' to send (repeatable)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of arrivals and demand (default random, printed)")
	fl.StringVar(&f.results, "results", "", "write every result to this file in vegeta's format, for vegeta report")
	fl.StringVar(&f.timestamps, "timestamps", "scheduled", "what those results count from: scheduled or sent")
	fl.StringVar(&f.hgrm, "hgrm", "", "write the response-time distribution to this file (HdrHistogram, milliseconds)")
	fl.StringVar(&f.output, "output", "text", "text or json")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "attack a target that is not on loopback")
	complete(cmd, "arrivals", "poisson", "constant")
	complete(cmd, "timestamps", "scheduled", "sent")
	complete(cmd, "output", "text", "json")
	return cmd
}

func (f *attackFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") && os.Getenv("SCHEDLAB_SEED") == "" {
		f.seed = uint64(rand.Uint32())
	}
	sum := record.Attack{Seed: f.seed, Duration: f.duration.Seconds(), Status: record.Complete}
	opts, err := f.options(cmd, args, &sum)
	if err != nil {
		return err
	}
	if err := f.onLoopback(cmd.Context(), opts.Targets); err != nil {
		return err
	}
	files, err := f.openFiles()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "sending %d requests in %v\n", len(opts.Trace.At), f.duration)
	result, err := load.Attack(cmd.Context(), opts)
	if result == nil {
		return errors.Join(usage(err), files.close())
	}
	if cmd.Context().Err() != nil {
		sum.Status = record.Interrupted
		err = &exitError{exitInterrupted, errors.New("interrupted; the requests sent so far are summed up")}
	}
	sum = experiment.Summarise(sum, result, len(opts.Trace.At))
	if werr := errors.Join(files.write(f, result, opts.Targets), files.close(), f.print(cmd.OutOrStdout(), &sum)); werr != nil {
		return errors.Join(err, werr)
	}
	if err != nil {
		return err
	}
	if answered := sum.Outcomes[record.Answered.String()]; float64(sum.Scheduled-answered) > .001*float64(sum.Scheduled) {
		return &exitError{exitPartial, fmt.Errorf("%d of %d requests got no reply", sum.Scheduled-answered, sum.Scheduled)}
	}
	return nil
}

// mostRequests bounds one attack: 56 bytes of memory each, and more in vegeta.
const mostRequests = 20_000_000

func (f *attackFlags) check() error {
	switch {
	case f.target == "" && f.targets == "":
		return usagef("--target is missing: name the URL to ask, like http://127.0.0.1:8080/plaintext")
	case f.target != "" && f.targets != "":
		return usagef("--target and --targets exclude each other")
	case f.rate.OfSlowest > 0:
		return usagef("--rate %s is a share of a throughput that attack does not measure; give requests per second like 2000/s", f.rate)
	case f.duration <= 0 || f.duration > 24*time.Hour:
		return usagef("--duration %v is outside 0 to 24h", f.duration)
	case f.rate.PerSecond*f.duration.Seconds() > mostRequests:
		return usagef("--rate %s for --duration %v is more than %d requests; shorten one", f.rate, f.duration, mostRequests)
	case f.connections < 0:
		return usagef("--connections %d must not be negative", f.connections)
	case f.timeout <= 0:
		return usagef("--timeout %v must be above 0", f.timeout)
	case f.timestamps != "scheduled" && f.timestamps != "sent":
		return usagef("--timestamps %q is none of scheduled, sent", f.timestamps)
	case f.output != "text" && f.output != "json":
		return usagef("--output %q is none of text, json", f.output)
	}
	return nil
}

// options puts the attack together and notes in sum what was asked for.
func (f *attackFlags) options(cmd *cobra.Command, args []string, sum *record.Attack) (o load.Options, err error) {
	changed := cmd.Flags().Changed
	if len(args) == 1 {
		if o, err = f.scenario(args[0], sum); err != nil {
			return o, err
		}
	} else {
		if o.Targets, err = f.asked(sum); err != nil {
			return o, err
		}
		sum.Offered, sum.Arrivals = f.rate.PerSecond, f.arrivals
		if sum.Offered == 0 {
			sum.Offered = 100
		}
		if sum.Arrivals == "" {
			sum.Arrivals = "poisson"
		}
		if o.Trace.At, err = experiment.Arrivals(sum.Arrivals, sum.Offered, f.connections, f.duration, f.seed); err != nil {
			return o, usage(err)
		}
	}
	if len(args) == 0 || changed("keepalive") {
		o.KeepAlive = f.keepAlive
	}
	if len(args) == 0 || changed("connections") || o.KeepAlive && o.Connections == 0 {
		o.Connections = f.connections
	}
	if !o.KeepAlive && !changed("connections") {
		o.Connections = 0
	}
	if len(args) == 0 || changed("timeout") {
		o.Timeout = f.timeout
	}
	if o.KeepAlive {
		sum.Connections = o.Connections
	}
	sum.Timeout = o.Timeout.Seconds()
	if len(o.Trace.At) == 0 {
		return o, usagef("%.3g requests per second for %v is not one request; raise --rate or --duration", sum.Offered, f.duration)
	}
	return o, nil
}

func (f *attackFlags) scenario(name string, sum *record.Attack) (load.Options, error) {
	s, _, err := findScenario(name)
	if err != nil {
		return load.Options{}, err
	}
	u, err := url.Parse(f.target)
	if err != nil || u.Host == "" || f.targets != "" || strings.Trim(u.Path, "/") != "" {
		return load.Options{}, usagef("with scenario %q give the server as --target http://host:port, without a path", s.Name)
	}
	if f.arrivals != "" {
		s.Load.Arrivals = f.arrivals
	}
	rate := f.rate.PerSecond
	if rate == 0 {
		rate = s.Load.Rate.PerSecond
	}
	if rate == 0 {
		return load.Options{}, usagef("scenario %q asks for %s of a throughput that attack does not measure; give --rate like 1000/s", s.Name, s.Load.Rate)
	}
	sum.Target, sum.Scenario, sum.Offered, sum.Arrivals = f.target, s.Name, rate, s.Load.Arrivals
	o, err := s.Attack(u.Host, rate, f.duration, f.seed, workload.Calibrate())
	return o, usage(err)
}

// asked are the targets without a scenario.
func (f *attackFlags) asked(sum *record.Attack) ([]load.Target, error) {
	header := http.Header{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usagef("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.targets == "" {
		body := []byte(f.body)
		if name, ok := strings.CutPrefix(f.body, "@"); ok {
			var err error
			if body, err = os.ReadFile(name); err != nil {
				return nil, usagef("--body: %w", err)
			}
		}
		sum.Target = f.target
		return []load.Target{{Method: f.method, URL: f.target, Header: header, Body: body}}, nil
	}
	sum.Target = f.targets
	in := io.Reader(os.Stdin)
	if f.targets != "-" {
		file, err := os.Open(f.targets)
		if err != nil {
			return nil, usagef("--targets: %w", err)
		}
		defer file.Close()
		in = file
	}
	targets, err := load.ReadTargets(bufio.NewReader(in))
	if err != nil {
		return nil, usagef("--targets %s: %w", f.targets, err)
	}
	for i := range targets {
		for name, values := range header {
			if targets[i].Header == nil {
				targets[i].Header = http.Header{}
			}
			targets[i].Header[name] = values
		}
	}
	return targets, nil
}

// onLoopback refuses to send load to other machines by mistake.
func (f *attackFlags) onLoopback(ctx context.Context, targets []load.Target) error {
	if f.allowRemote {
		return nil
	}
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		if err != nil {
			return usagef("--target %q: %w", t.URL, err)
		}
		if u.Scheme != "http" || u.Host == "" {
			return usagef("--target %q is not a URL like http://127.0.0.1:8080/plaintext (no TLS)", t.URL)
		}
		addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
		if err != nil {
			return usagef("--target %q: %w", t.URL, err)
		}
		for _, a := range addrs {
			if !a.IP.IsLoopback() {
				return usagef("--target %q is not on loopback (%s); if the server and the network are yours, say --allow-remote", t.URL, a.IP)
			}
		}
	}
	return nil
}

func (f *attackFlags) print(w io.Writer, a *record.Attack) error {
	if f.output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(a)
	}
	return report.Attack(w, a)
}

// attackFiles are opened before the load starts, so that a bad path costs
// nothing.
type attackFiles struct{ results, hgrm *os.File }

func (f *attackFlags) openFiles() (files attackFiles, err error) {
	for _, file := range []struct {
		flag, name string
		to         **os.File
	}{{"results", f.results, &files.results}, {"hgrm", f.hgrm, &files.hgrm}} {
		if file.name == "" {
			continue
		}
		if *file.to, err = os.Create(file.name); err != nil {
			return files, errors.Join(usagef("--%s: %w", file.flag, err), files.close())
		}
	}
	return files, nil
}

func (a attackFiles) close() (err error) {
	for _, file := range []*os.File{a.results, a.hgrm} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

func (a attackFiles) write(f *attackFlags, result *load.Result, targets []load.Target) error {
	var err error
	if a.results != nil {
		stamp := load.ScheduledStamp
		if f.timestamps == "sent" {
			stamp = load.SentStamp
		}
		w := bufio.NewWriter(a.results)
		err = errors.Join(load.EncodeVegeta(w, "schedlab", result.Start, targets, result.Requests, stamp), w.Flush())
	}
	if a.hgrm != nil {
		h := record.NewHistogram()
		for _, r := range result.Requests {
			if r.Sent >= 0 {
				h.Record(time.Duration(r.Done - r.Scheduled))
			}
		}
		err = errors.Join(err, h.WriteHGRM(a.hgrm))
	}
	return err
}
