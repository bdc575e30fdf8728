package scenario

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/workload"
)

// Ask returns a scenario for a question without a file. The caller adds the arms.
// Only the requests and the load are checked here; planning checks the rest.
func Ask(name, question string, w Workload, l Load) (Scenario, error) {
	s := Scenario{Name: name, Question: question, Workload: w, Load: l, byFlags: true}
	s.setDefaults()
	bad := s.checkAsked()
	if bad == nil {
		bad = s.Load.Check()
	}
	switch {
	case w.Path != "" && !strings.HasPrefix(w.Path, "/"):
		return s, fmt.Errorf("--path %q does not begin with /", w.Path)
	case bad != nil:
		return s, fmt.Errorf("%s: %s", bad.Path, bad.Msg)
	}
	// A record keeps the source, so that it can be read without the command line.
	asks := fmt.Sprintf("path: %q, targets: %q", w.Path, w.Targets)
	if w.CPU.Mean() > 0 || w.Sleep.Mean() > 0 {
		asks = fmt.Sprintf("cpu: %q, sleep: %q", w.CPU, w.Sleep)
	}
	rate := "" // a log has its own
	if l.Rate != (Rate{}) {
		rate = fmt.Sprintf("rate: %q, ", l.Rate)
	}
	s.Source = fmt.Sprintf("# made from the command line\nname: %s\nquestion: %q\nworkload: {%s}\nload: {arrivals: %q, %skeepalive: %v}\n",
		s.Name, s.Question, asks, s.Load.Arrivals, rate, s.Load.KeepAlive)
	return s, nil
}

// WorkOf returns what a path asks our own servers to do, if it is /work with nothing but CPU time and
// sleep. As a demand, unlike as a path, it is the same for every arm, and queueing theory knows it.
func WorkOf(path string) (w Workload, ok bool) {
	page, query, _ := strings.Cut(path, "?")
	// A query means a blank by +, which joins the terms of a mix.
	values, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
	if page != workPath || err != nil {
		return w, false
	}
	for key, all := range values {
		into := map[string]*workload.Dist{"cpu": &w.CPU, "sleep": &w.Sleep}[key]
		if into == nil || len(all) != 1 {
			return w, false
		}
		if *into, err = workload.ParseDist(all[0]); err != nil {
			return w, false
		}
	}
	return w, w.CPU.Mean() > 0 || w.Sleep.Mean() > 0
}

// ParseWork reads what a request asks of our own servers, like "cpu=200us,sleep=exp(10ms)". The parts may come in any
// order, and one may be left out. Each value is one that workload.ParseDist reads.
func ParseWork(text string) (w Workload, err error) {
	parts := map[string]*workload.Dist{"cpu": &w.CPU, "sleep": &w.Sleep}
	for _, part := range SplitValues(text) {
		key, value, _ := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		switch to, known := parts[key]; {
		case !known:
			return w, fmt.Errorf("parsing workload %q: %q is neither cpu=DEMAND nor sleep=DEMAND", text, part)
		case to == nil:
			return w, fmt.Errorf("parsing workload %q: %s is there twice", text, key)
		default:
			if err := to.UnmarshalText([]byte(value)); err != nil {
				return w, fmt.Errorf("parsing workload %q: %s: %w", text, key, err)
			}
		}
		parts[key] = nil
	}
	if w.CPU.Mean() == 0 && w.Sleep.Mean() == 0 {
		return w, fmt.Errorf("parsing workload %q: it asks no time; give cpu or sleep above 0", text)
	}
	return w, nil
}

// isLog reports whether a scenario's arrivals come from an access log, which also holds the requests.
// It is false for arrivals that cannot be parsed.
func isLog(spec string) bool {
	a, err := arrivals.Parse(spec)
	return err == nil && a.Kind == arrivals.KindLog
}

// source returns where the user named a file of requests: a key of the scenario, or a flag for which there is no scenario
// file.
func (s *Scenario) source(key, flag string) string {
	if s.byFlags {
		return flag
	}
	return key
}

// Open reads the file with the scenario's requests: its targets, or the access log to replay. Planning calls
// it; call it yourself before [Scenario.Targets]. File names are relative to the working directory.
func (s *Scenario) Open() error {
	switch {
	case s.Workload.Targets != "":
		f, err := os.Open(s.Workload.Targets)
		if err != nil {
			return fmt.Errorf("%s: %w", s.source("workload.targets", "--targets"), err)
		}
		defer f.Close()
		// The servers in the file are replaced by a placeholder; Targets puts in the arm's address.
		if s.asks, err = load.ReadTargets(f, "server"); err != nil {
			return fmt.Errorf("%s: %s: %w", s.source("workload.targets", "--targets"), s.Workload.Targets, err)
		}
	case isLog(s.Load.Arrivals):
		a, _ := arrivals.Parse(s.Load.Arrivals) // isLog has parsed it
		a, err := a.Open(0)                     // a log has no CPU times, so it needs no calibration
		if err != nil {
			return fmt.Errorf("%s: %w", s.source("load.arrivals", "--log"), err)
		}
		s.Log, s.asks = &a, load.LogTargets(a.Log())
	}
	return nil
}

// listed returns the requests that the scenario itself lists, nil if there are none.
// The rest of a line after the path is the body, as it is.
func (w *Workload) listed() (asks []load.Target) {
	for _, text := range w.Requests {
		method, rest, _ := strings.Cut(text, " ")
		path, body, _ := strings.Cut(rest, " ")
		asks = append(asks, load.Target{Method: method, URL: path, Body: []byte(body)})
	}
	return asks
}

// Targets returns the scenario's requests, directed at the server at addr (host:port).
// Each call makes a new slice. The requests have no demand: see Demands.
func (s *Scenario) Targets(addr string) []load.Target {
	if s.asks != nil {
		moved := make([]load.Target, len(s.asks))
		for i, t := range s.asks {
			moved[i] = t.At(addr)
		}
		return moved
	}
	return []load.Target{{Method: s.Workload.Method, URL: "http://" + addr + cmp.Or(s.Workload.Path, workPath), Body: []byte(s.Workload.Body)}}
}

// workPath is the path at which our servers do the work of cpu and sleep.
const workPath = "/work"

// AsksWork reports whether requests carry CPU and sleep demand.
func (s *Scenario) AsksWork() bool {
	w := s.Workload
	elsewhere := slices.ContainsFunc(w.Classes, func(c Class) bool { return c.Path != "" })
	return w.Path == "" && w.Targets == "" && w.Requests == nil && !elsewhere && !isLog(s.Load.Arrivals)
}

// Asked returns a phrase that describes the requests. It is "" for requests without any work.
func (s *Scenario) Asked() string {
	cpu, sleep := s.Workload.CPU, s.Workload.Sleep
	switch {
	case s.Log != nil:
		l := s.Log.Log()
		text := fmt.Sprintf("%s of %s in their order, %d different ones", prose.Plural(len(l.At), "request"), s.Log.File, len(l.Requests))
		if leftOut := l.LeftOut(); leftOut != "" {
			text += "; " + leftOut
		}
		return text
	case s.Workload.Classes != nil:
		text := strings.Join(s.Workload.phrases(), ", ")
		if s.Workload.Judge != "" {
			text = "p50, p90 and p99 are of " + s.Workload.Judge + " alone: " + text
		}
		return text
	case s.Workload.Requests != nil:
		return prose.Plural(len(s.asks), "request") + " in turn"
	case s.asks != nil:
		return fmt.Sprintf("%s of %s in turn", prose.Plural(len(s.asks), "request"), s.Workload.Targets)
	case s.Workload.Path != "":
		return fmt.Sprintf("each request is %s %s", s.Workload.Method, s.Workload.Path)
	case cpu.Mean() > 0 && sleep.Mean() > 0:
		return fmt.Sprintf("each request computes %s and sleeps %s", cpu, sleep)
	case sleep.Mean() > 0:
		return fmt.Sprintf("each request sleeps %s", sleep)
	case cpu.Mean() > 0:
		return fmt.Sprintf("each request computes %s", cpu)
	}
	return ""
}

// checkAsked returns an error for the first fault in the scenario's requests, nil if there is none.
// There may be only one source of requests: the work, a path, a list, a file, or a log.
func (s *Scenario) checkAsked() *FieldError {
	w := s.Workload
	other := w.Path != "" || w.CPU.Mean() > 0 || w.Sleep.Mean() > 0 || w.Body != "" || w.Method != "GET"
	for i, t := range w.listed() {
		if !methodForm.MatchString(t.Method) || !strings.HasPrefix(t.URL, "/") {
			return fieldErrorf(fmt.Sprintf("workload.requests[%d]", i), "%q is no request like GET /path, or PUT /path body", w.Requests[i])
		}
	}
	return firstBroken([]rule{
		{w.Classes != nil && (other || w.Targets != "" || w.Requests != nil), "workload.classes", "exclude path, method, body, cpu, sleep, targets and requests: each class says what it asks"},
		{w.Classes != nil && isLog(s.Load.Arrivals), "workload.classes", "exclude a log, which says what is asked"},
		{w.Requests != nil && (other || w.Targets != ""), "workload.requests", "excludes path, method, body, cpu, sleep and targets: they say what is asked"},
		{w.Targets != "" && other, "workload.targets", "excludes path, method, body, cpu and sleep: the file says what is asked"},
		{strings.ContainsAny(w.Targets, "\n\r"), "workload.targets", "is no file's name"},
		{isLog(s.Load.Arrivals) && (other || w.Targets != "" || w.Requests != nil), "load.arrivals", "a log says what is asked as well; leave workload out"},
	})
}

// ReadyPath returns the path to request until an arm's server replies.
// Our own servers answer /plaintext without work. Other programs may not have it.
func (s *Scenario) ReadyPath(a Arm) string {
	if a.Mode != "" {
		return "/plaintext"
	}
	return s.Targets("x")[0].URL[len("http://x"):]
}

// Demands returns a function that draws the CPU time and sleep of n requests; nil when the scenario states none.
// The draw depends on the seed only. The calibration iters, iterations per microsecond, turns the CPU time into
// iterations afterwards.
func (s *Scenario) Demands(seed uint64, iters func() float64) func(n int) []arrivals.Demand {
	w, which := s.Workload, s.Which(seed)
	if !s.AsksWork() && w.MeanCPU() == 0 && w.MeanSleep() == 0 {
		return nil
	}
	return func(n int) []arrivals.Demand {
		perMicro := iters()
		// Two generators, so that changing one distribution does not change the other's draws.
		cpu, sleep := workload.NewRand(seed^0xc0ffee), workload.NewRand(seed^0x51ee9)
		d := make([]arrivals.Demand, n)
		var classes []uint32
		if which != nil {
			classes = which(n)
		}
		for i := range d {
			of := Class{CPU: w.CPU, Sleep: w.Sleep}
			if classes != nil {
				of = w.Classes[classes[i]]
			}
			micros := float64(of.CPU.Sample(cpu)) / float64(time.Microsecond)
			d[i] = arrivals.Demand{
				Iters: uint32(min(math.Round(micros*perMicro), math.MaxUint32)),
				Sleep: of.Sleep.Sample(sleep),
			}
		}
		return d
	}
}

// cycle is how many demands a closed loop draws. Its requests use them in turn, because the number of
// requests is not known in advance.
const cycle = 4096

// Cycle returns the requests of a closed loop: their demands and, for a log, the order of its targets.
func (s *Scenario) Cycle(seed uint64, iters func() float64) (t arrivals.Trace) {
	if s.Log != nil {
		t.Which = s.Log.Log().Which
	}
	if which := s.Which(seed); which != nil {
		t.Which = which(cycle)
	}
	if draw := s.Demands(seed, iters); draw != nil {
		t.Demand = draw(cycle)
	}
	return t
}
