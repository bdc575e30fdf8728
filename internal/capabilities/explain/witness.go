package explain

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// counters are the metrics of one server when its trial ended: by name, the value of each series. A total is
// the trial's, warm-up included: our own server starts with the trial. Another program may have run for
// days, so the value before the load is subtracted from its totals. A server without metrics has nil.
type counters map[string][]float64

// sum returns the total of a metric over all its series; 0 for an unknown metric.
func (c counters) sum(name string) (total float64) {
	for _, v := range c[name] {
		total += v
	}
	return total
}

// A trial's exposition of metrics (docs/guide/serve.md), after the load and, of another program, before it.
const metricsFile, beforeFile = "metrics.om", "metrics-before.om"

// readCounters reads a trial's metrics. It returns nil for a server without metrics. A histogram or a
// summary counts as its _sum and its _count. Each other metric has one of three types, and the other two
// read as 0.
func readCounters(trial string) (counters, error) {
	c, err := readPage(filepath.Join(trial, metricsFile))
	before, bad := readPage(filepath.Join(trial, beforeFile))
	for name := range before {
		total := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
		if total && c[name] != nil {
			c[name] = append(c[name], -before.sum(name))
		}
	}
	return c, errors.Join(err, bad)
}

// readPage reads one exposition; nil if there is none.
func readPage(file string) (counters, error) {
	text, err := record.OpenRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of a trial: %w", err)
	}
	defer text.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of a trial: %w", err)
	}
	c := counters{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			// Of the two that a metric is not, the sums are 0.
			if h, s := m.GetHistogram(), m.GetSummary(); h != nil || s != nil {
				c[name+"_sum"] = append(c[name+"_sum"], h.GetSampleSum()+s.GetSampleSum())
				c[name+"_count"] = append(c[name+"_count"], float64(h.GetSampleCount()+s.GetSampleCount()))
				continue
			}
			c[name] = append(c[name], m.GetUntyped().GetValue()+m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	return c, nil
}

// known returns a figure if it is known, else NaN. NaN stands for unknown throughout this file: a 0
// would be a figure.
func known(figure float64, is bool) float64 {
	if is {
		return figure
	}
	return math.NaN()
}

// An arm is one of the run's arms with its windows and its servers' metrics. windows are the valid
// blocks, in block order.
type arm struct {
	record.Arm
	plan     record.PlanArm
	cpus     int // number of CPUs of its server
	windows  []window.Window
	counters []counters // metrics of each window's trial, in the order of windows
}

// A witness reads one figure of a block, in unit: s, ratio or count. of returns NaN where the
// figure is unknown. A witness shows that something went along with a difference; only a test shows
// that it is the cause.
//
// The figures come from three places: the server's counters (counted), the window with its trial,
// and the proof that the load kept of itself.
type witness struct {
	name, unit string // as reports print them
	of         func(a *arm, block int) float64
}

// requests is the metric that counts the requests that a server began.
const requests = "schedlab_requests_started_total"

// The witnesses. Ratios are of the CPUs, workers, requests or connections that there were; times are
// of one request unless the name says otherwise.
//
// The runtime samples waits (in Go 1.26): for mutexes one in eight, which it makes up for, so their sum is
// an estimate of all. For its scheduler it records one wait in eight of goroutines that live long, and 15
// in 64 of the first waits of goroutines that start and end. So the mean shows how long a wait is. It
// does not show how often requests wait, or which of two models has more waits.
//
// Sums of Go's histograms as client_golang publishes them are not used: they add each time at its
// bucket's lower end, and a bucket's upper end is ten times its lower end. A program that publishes only
// these has no figure for waits to run.
var (
	cpuUse = &witness{"CPU in use", "ratio", func(a *arm, i int) float64 {
		t := a.windows[i].Trial
		return known(min(t.Server.CPU/(t.Window.Seconds()*float64(a.cpus)), 1), t.Server.CPU >= 0 && a.cpus > 0)
	}}
	cpuCost = &witness{"CPU time of a request", "s", valued(stats.CPUPerRequest)}
	// The utilisation law: throughput × time held / workers. The throughput is of replies within the window: in an overload
	// the workers serve the window's other requests after it. As the two are means over other requests, the product may be
	// a little above 1 where all workers are always in use.
	workersInUse = &witness{"workers in use", "ratio", func(a *arm, i int) float64 {
		w := a.windows[i]
		if a.plan.Station == nil || a.plan.Station.Workers == 0 || !w.Phases.Stamped {
			return math.NaN()
		}
		held := 0.0
		for _, p := range w.Phases.List() {
			if slices.Contains(window.Handled.Phases, p.Name) {
				held += p.Mean
			}
		}
		return min(w.Values[stats.Goodput].Float()*held/float64(a.plan.Station.Workers), 1)
	}}
	queueWait = &witness{"wait in the queue, as the server counts it", "s", averaged("schedlab_queue_wait_seconds")}
	mutexWait = &witness{"wait for mutexes, of a request", "s", counted("go_sync_mutex_wait_total_seconds_total", requests)}
	schedWait = &witness{"a wait of a runnable goroutine (not all of a request)", "s", averaged("schedlab_sched_latency_seconds")}
	gcShare   = &witness{"CPU time of the garbage collector", "ratio",
		counted("go_cpu_classes_gc_total_cpu_seconds_total", "process_cpu_seconds_total")}
	gcPause = &witness{"pauses for the garbage collector, of a second", "ratio", func(a *arm, i int) float64 {
		const name = "go_gc_duration_seconds_sum" // exact, of the runtime's own total
		c, t := a.counters[i], a.windows[i].Trial
		return known(c.sum(name)/(t.Warmup.Seconds()+t.Window.Seconds()), c[name] != nil)
	}}
	switches        = &witness{"context switches of a request", "count", valued(stats.Switches)}
	overflows       = &witness{"attempts to connect (repeats included) that found an accept queue full", "count", valued(stats.Overflows)}
	turnedAwayRatio = &witness{"connections turned away", "ratio", func(a *arm, i int) float64 {
		c := a.counters[i]
		// Connections and single requests that were turned away, over the connections accepted.
		accepted := c.sum("schedlab_connections_accepted_total")
		away := c.sum("schedlab_connections_rejected_total") + c.sum("schedlab_connections_dropped_total") +
			c.sum("schedlab_requests_refused_total")
		return known(away/accepted, accepted > 0)
	}}
	unevenSockets = &witness{"connections of the fullest listener, of an even share", "ratio", func(a *arm, i int) float64 {
		// The fullest listener's connections over an even share of all. One listener has no share.
		const name = "schedlab_listener_connections_accepted_total"
		all, sum := a.counters[i][name], a.counters[i].sum(name)
		if len(all) < 2 || sum <= 0 {
			return math.NaN()
		}
		return slices.Max(all) * float64(len(all)) / sum
	}}
	overtaken = &witness{"requests read after one that was sent later", "ratio", func(a *arm, i int) float64 {
		return known(a.windows[i].Phases.Overtaken, a.windows[i].Phases.Joined > 0)
	}}
	evenness = &witness{"evenness of answers over connections", "ratio", func(a *arm, i int) float64 {
		return known(a.windows[i].Jain, a.windows[i].Jain > 0)
	}}
	steals   = &witness{"jobs taken from another worker's queue", "ratio", counted("schedlab_steals_total", requests)}
	loopLag  = &witness{"lag of an event loop", "s", averaged("schedlab_loop_lag_seconds")}
	lateLoad = &witness{"lateness of the load at p99", "s", func(a *arm, i int) float64 { return a.windows[i].Late[stats.P99].Float() }}
	keptAway = &witness{"time for which the load was kept from its CPU", "ratio", func(a *arm, i int) float64 {
		p, t := a.windows[i].Trial.Client.Proof, a.windows[i].Trial
		if p == nil {
			return math.NaN()
		}
		return p.Away / (t.Warmup.Seconds() + t.Window.Seconds())
	}}
	foreignCPU = &witness{"CPU time of others on the server's CPUs", "ratio", func(a *arm, i int) float64 { return a.windows[i].Foreign.Float() }}
)

// witnesses are all witnesses, in the order in which they are reported.
var witnesses = []*witness{
	cpuUse, cpuCost, workersInUse, queueWait, mutexWait, schedWait, gcShare, gcPause, switches, overflows,
	turnedAwayRatio, unevenSockets, overtaken, evenness, steals, loopLag, lateLoad, keptAway, foreignCPU,
}

// valued returns the reader of a witness that is a figure of the window.
func valued(f stats.Figure) func(*arm, int) float64 {
	return func(a *arm, i int) float64 { return a.windows[i].Values[f].Float() }
}

// averaged returns the reader of a witness that is the mean of a histogram.
func averaged(histogram string) func(*arm, int) float64 {
	return counted(histogram+"_sum", histogram+"_count")
}

// counted returns the reader of a witness that is the ratio of two metrics, as a total for each
// request. It is NaN if either is unknown or the divisor is 0. As both totals include
// the warm-up, so does the ratio.
func counted(name, of string) func(*arm, int) float64 {
	return func(a *arm, i int) float64 {
		c := a.counters[i]
		n := c.sum(of)
		return known(c.sum(name)/n, c[name] != nil && n != 0)
	}
}

// starved returns the ratio of the arm's connections that got no answer, the median over its windows.
func (a *arm) starved() float64 {
	v := make([]float64, len(a.windows))
	for i, w := range a.windows {
		v[i] = float64(w.Starved) / float64(max(w.Asked, 1))
	}
	return stats.Median(v)
}

// A testified is the figure of each witness for one arm, over its windows.
type testified map[*witness]stats.Opt

// figures returns the median of each witness over an arm's windows, unknown if a window lacks it. The median keeps a
// single odd block from ruling a cause in or out.
func (a *arm) figures() testified {
	all := testified{}
	for _, w := range witnesses {
		v := make([]float64, len(a.windows))
		for i := range v {
			v[i] = w.of(a, i)
		}
		all[w] = stats.Known(stats.Median(v))
	}
	return all
}

// witnessed returns the witnesses that have a figure for at least one arm, in the order of
// witnesses. from and to are what figures returned for the two arms.
func witnessed(from, to testified) (all []Witness) {
	for _, w := range witnesses {
		f, t := from[w].Pointer(), to[w].Pointer()
		if f != nil || t != nil {
			all = append(all, Witness{Name: w.name, Unit: w.unit, From: f, To: t})
		}
	}
	return all
}
