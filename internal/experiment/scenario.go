// Package experiment turns a scenario into trials and trials into a result: it
// plans, runs every arm in fresh processes on its own CPUs with interleaved
// blocks, watches whether the windows can be trusted, and judges them. It knows
// servers only by a command line and an address.
package experiment

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"schedlab/internal/load"
	"schedlab/internal/workload"
)

// A Scenario is one question, the workload and load that ask it, and who
// answers. Unknown keys, wrong types and impossible values are errors with
// file, line and column.
type Scenario struct {
	Name     string   `yaml:"name"`
	Question string   `yaml:"question"`
	Workload Workload `yaml:"workload"`
	Load     Load     `yaml:"load"`
	Arms     []Arm    `yaml:"arms"`
	Protocol Protocol `yaml:"protocol"`
	Needs    Needs    `yaml:"needs"`

	Source string `yaml:"-"` // the file's text
}

// Workload is what one request asks: CPU time and sleep of /work, or a path.
type Workload struct {
	CPU    workload.Dist `yaml:"cpu"`
	Sleep  workload.Dist `yaml:"sleep"`
	Path   string        `yaml:"path"`   // instead of cpu and sleep
	Method string        `yaml:"method"` // default GET
	Body   string        `yaml:"body"`
}

// Load is how requests arrive.
type Load struct {
	Loop        string   `yaml:"loop"`        // open
	Arrivals    string   `yaml:"arrivals"`    // poisson (default) or constant
	Rate        Rate     `yaml:"rate"`        // 3000/s, or 0.7x of the slowest arm's closed-loop throughput
	MinRate     Rate     `yaml:"min_rate"`    // floor for a relative rate
	Connections int      `yaml:"connections"` // keep-alive connections, opened before the window
	KeepAlive   bool     `yaml:"keepalive"`
	Timeout     Duration `yaml:"timeout"` // of one request; default 10s
}

// Protocol changes the number and length of windows.
type Protocol struct {
	Kind   string   `yaml:"kind"` // quick (default) or full
	Blocks int      `yaml:"blocks"`
	Warmup Duration `yaml:"warmup"`
	Window Duration `yaml:"window"`
	Budget Duration `yaml:"budget"` // longest the whole comparison may take; default 75s, full 10m per scenario
}

// Needs are what a machine must have for the question to make sense.
type Needs struct {
	ServerCPUs int `yaml:"server_cpus"`
}

// A Duration is a time like 1.05s.
type Duration time.Duration

// UnmarshalText parses a duration of 0 to 24 hours.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 || v > 24*time.Hour {
		return fmt.Errorf("%q is not a duration like 200ms, from 0 to 24h", text)
	}
	*d = Duration(v)
	return nil
}

// A Rate is absolute (PerSecond) or a share of the slowest arm's throughput
// (OfSlowest); one of the two is 0.
type Rate struct {
	PerSecond float64
	OfSlowest float64
}

// maxRate is the highest rate a scenario may ask, above what one generator sends.
const maxRate = 1e6

// UnmarshalText parses "3000/s" or "0.7x".
func (r *Rate) UnmarshalText(text []byte) error {
	s := strings.ReplaceAll(string(text), ",", "")
	if n, ok := strings.CutSuffix(s, "/s"); ok {
		v, err := strconv.ParseFloat(n, 64)
		if err == nil && v > 0 && v <= maxRate {
			*r = Rate{PerSecond: v}
			return nil
		}
	}
	if n, ok := strings.CutSuffix(s, "x"); ok {
		v, err := strconv.ParseFloat(n, 64)
		if err == nil && v > 0 && v <= 10 {
			*r = Rate{OfSlowest: v}
			return nil
		}
	}
	return fmt.Errorf("%q is not a rate: give requests per second like 3000/s (up to %.0f/s), or a share of the slowest arm's throughput like 0.7x", text, maxRate)
}

func (r Rate) String() string {
	if r.OfSlowest > 0 {
		return strconv.FormatFloat(r.OfSlowest, 'g', -1, 64) + "x"
	}
	return strconv.FormatFloat(r.PerSecond, 'g', -1, 64) + "/s"
}

// Set is UnmarshalText for a flag.
func (r *Rate) Set(s string) error { return r.UnmarshalText([]byte(s)) }

// Type names the value in a command's help.
func (r *Rate) Type() string { return "rate" }

const (
	maxScenario    = 1 << 20 // bytes of a file
	maxArms        = 40
	maxConnections = 20_000
)

// ParseScenario reads a scenario file's text; file is for messages.
func ParseScenario(file string, text []byte) (Scenario, error) {
	s, err := parseScenario(text)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func parseScenario(text []byte) (s Scenario, err error) {
	if len(text) > maxScenario {
		return s, fmt.Errorf("larger than %d bytes: not a scenario", maxScenario)
	}
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return s, positioned(err)
	}
	s.Source = string(text)
	s.setDefaults()
	if bad := s.check(); bad != nil {
		return s, located(text, bad)
	}
	return s, nil
}

// positioned rewrites the library's error as line:column: reason, on one line.
func positioned(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return fmt.Errorf("%d:%d: %s", p.Line, p.Column, oneLine(at.GetMessage()))
	}
	return errors.New(oneLine(err.Error()))
}

func oneLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(first)
}

// A fieldError is an impossible value: its YAML path and what is wrong.
type fieldError struct{ path, msg string }

// located finds the line of a field, for the message.
func located(text []byte, bad *fieldError) error {
	msg := fmt.Errorf("%s: %s", strings.TrimPrefix(bad.path, "$."), bad.msg)
	path, err := yaml.PathString(bad.path)
	if err != nil {
		return msg
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return msg
	}
	node, err := path.FilterFile(file)
	if err != nil || node == nil || node.Type() == ast.NullType {
		return msg
	}
	p := node.GetToken().Position
	return fmt.Errorf("%d:%d: %w", p.Line, p.Column, msg)
}

func (s *Scenario) setDefaults() {
	if s.Workload.Method == "" {
		s.Workload.Method = "GET"
	}
	if s.Load.Loop == "" {
		s.Load.Loop = "open"
	}
	if s.Load.Arrivals == "" {
		s.Load.Arrivals = "poisson"
	}
	if s.Load.Timeout == 0 {
		s.Load.Timeout = Duration(load.DefaultTimeout)
	}
	if s.Load.Connections == 0 && s.anyKeepAlive() {
		s.Load.Connections = 64
	}
	if s.Protocol.Kind == "" {
		s.Protocol.Kind = "quick"
	}
}

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	methodForm = regexp.MustCompile(`^[A-Z]{1,16}$`)
)

// check reports the first impossible value, nil if there is none.
func (s *Scenario) check() *fieldError {
	var zero workload.Dist
	l := s.Load
	for _, rule := range []struct {
		bad  bool
		path string
		msg  string
	}{
		{!nameForm.MatchString(s.Name), "$.name", fmt.Sprintf("%q is not a name of lower-case letters, digits and dashes, up to 40", s.Name)},
		{s.Question == "", "$.question", "is missing: say in a sentence what the scenario asks"},
		{s.Workload.Path != "" && (s.Workload.CPU != zero || s.Workload.Sleep != zero), "$.workload.path", "excludes cpu and sleep, which ask /work"},
		{s.Workload.Path != "" && !strings.HasPrefix(s.Workload.Path, "/"), "$.workload.path", fmt.Sprintf("%q does not begin with /", s.Workload.Path)},
		{!methodForm.MatchString(s.Workload.Method), "$.workload.method", fmt.Sprintf("%q is not a method", s.Workload.Method)},
		{l.Loop != "open", "$.load.loop", fmt.Sprintf("%q is not a loop of this version (want open)", l.Loop)},
		{l.Arrivals != "poisson" && l.Arrivals != "constant", "$.load.arrivals", fmt.Sprintf("%q is none of poisson, constant", l.Arrivals)},
		{l.Rate == (Rate{}), "$.load.rate", "is missing: give requests per second like 3000/s, or a share of the slowest arm's throughput like 0.7x"},
		{l.MinRate.OfSlowest > 0, "$.load.min_rate", "must be absolute, like 1100/s"},
		{l.Connections < 0 || l.Connections > maxConnections, "$.load.connections", fmt.Sprintf("%d is outside 1 to %d", l.Connections, maxConnections)},
		{!l.KeepAlive && l.Connections > 0 && !s.anyKeepAlive(), "$.load.connections", "needs keepalive: true; without it every request opens its own connection"},
		{s.Protocol.Kind != "quick" && s.Protocol.Kind != "full", "$.protocol.kind", fmt.Sprintf("%q is none of quick, full", s.Protocol.Kind)},
		{s.Protocol.Blocks < 0 || s.Protocol.Blocks > 1000, "$.protocol.blocks", fmt.Sprintf("%d is outside 1 to 1000", s.Protocol.Blocks)},
		{s.Protocol.Blocks > 0 && s.Protocol.Blocks < minBlocks, "$.protocol.blocks", fmt.Sprintf("%d is below %d, too few for any verdict", s.Protocol.Blocks, minBlocks)},
		{s.Protocol.Window > 0 && s.Protocol.Window < Duration(100*time.Millisecond), "$.protocol.window", "is below 100ms"},
		{s.Needs.ServerCPUs < 0, "$.needs.server_cpus", "must not be negative"},
		{len(s.Arms) < 2, "$.arms", "needs at least two: a baseline and a challenger"},
		{len(s.Arms) > maxArms, "$.arms", fmt.Sprintf("has %d, more than %d", len(s.Arms), maxArms)},
	} {
		if rule.bad {
			return &fieldError{rule.path, rule.msg}
		}
	}
	var names []string
	for i, a := range s.Arms {
		path := fmt.Sprintf("$.arms[%d]", i)
		if err := a.check(); err != nil {
			return &fieldError{path, err.Error()}
		}
		for _, c := range a.expand() {
			if slices.Contains(names, c.Name) {
				return &fieldError{path, fmt.Sprintf("the name %q is taken; give one of them a name", c.Name)}
			}
			names = append(names, c.Name)
		}
	}
	return nil
}

func (s *Scenario) anyKeepAlive() bool {
	return s.Load.KeepAlive || slices.ContainsFunc(s.Arms, func(a Arm) bool { return a.KeepAlive != nil && *a.KeepAlive })
}

// keepAlive says whether an arm's clients keep their connections.
func (s *Scenario) keepAlive(a Arm) bool {
	if a.KeepAlive != nil {
		return *a.KeepAlive
	}
	return s.Load.KeepAlive
}

// targets is what the scenario asks of a server at addr.
func (s *Scenario) targets(addr string) []load.Target {
	path := s.Workload.Path
	if path == "" {
		path = "/work"
	}
	return []load.Target{{Method: s.Workload.Method, URL: "http://" + addr + path, Body: []byte(s.Workload.Body)}}
}

// asksWork reports whether requests carry CPU and sleep demand.
func (s *Scenario) asksWork() bool { return s.Workload.Path == "" }
