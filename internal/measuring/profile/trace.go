package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// Region is the name of the trace region of a request: from the end of its reading to when its
// reply is ready, on the goroutine that read it (see internal/serving/model).
// A model that marks no regions has no times here.
const Region = "request"

// States of a request's goroutine. The state of a wait is "waiting: " and the runtime's reason in
// lower case, or "waiting" without a reason.
const (
	running   = "running"
	runnable  = "runnable"
	syscall   = "syscall"
	gcAssist  = "GC assist"
	waiting   = "waiting"
	assisting = "GC mark assist" // the runtime's name for the range
)

// A goroutine is the state of one goroutine at the current place in the trace.
type goroutine struct {
	state   string
	assists bool
	since   trace.Time
	// spent holds the nanoseconds that the request which it serves spent in each state; nil for none.
	spent map[string]int64
}

// spend adds the time since the goroutine's last event to its current state.
func (g *goroutine) spend(now trace.Time) {
	if g.spent != nil {
		state := g.state
		if g.assists && state == running {
			state = gcAssist
		}
		g.spent[state] += int64(now - g.since)
	}
	g.since = now
}

// Requests divides the time of the requests in an execution trace by the states of their
// goroutines. A request's parts add up exactly to its region. Requests that began before the trace
// or ended after it are left out. Requests returns nil if no request is whole.
//
// requests replays the trace: it keeps the state of every goroutine, and adds the time between two
// events of a goroutine to the state it was in. Between them nothing happens to that goroutine.
func Requests(data []byte) (*RequestTimes, error) {
	all, err := requests(data)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	totals, states := make([]int64, len(all)), map[string][]int64{}
	for i, spent := range all {
		for state, v := range spent {
			// A request that was never in the state counts with 0, so that the means add up.
			if states[state] == nil {
				states[state] = make([]int64, len(all))
			}
			states[state][i] = v
			totals[i] += v
		}
	}
	sum := &RequestTimes{Requests: len(all)}
	sum.Mean, sum.P99 = meanAndP99(totals)
	for _, state := range slices.Sorted(maps.Keys(states)) {
		t := StateTime{State: state}
		t.Mean, t.P99 = meanAndP99(states[state])
		sum.States = append(sum.States, t)
	}
	return sum, nil
}

// requests returns for each whole request the nanoseconds spent in each state.
func requests(data []byte) (all []map[string]int64, err error) {
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading an execution trace: %w", err)
	}
	goroutines := map[trace.GoID]*goroutine{}
	at := func(id trace.GoID, now trace.Time) *goroutine {
		g := goroutines[id]
		if g == nil {
			// A trace tells each goroutine's state at its start, so this state hardly ever matters.
			g = &goroutine{state: running}
			goroutines[id] = g
		}
		g.spend(now)
		return g
	}
	for {
		e, err := r.ReadEvent()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("reading an execution trace: %w", err)
		}
		switch e.Kind() {
		case trace.EventStateTransition:
			t := e.StateTransition()
			// Threads and Ps change their states too.
			if t.Resource.Kind != trace.ResourceGoroutine {
				continue
			}
			id := t.Resource.Goroutine()
			if _, to := t.Goroutine(); to == trace.GoNotExist {
				// A request that its goroutine has not finished is lost with it, as it has no end.
				delete(goroutines, id)
			} else {
				at(id, e.Time()).state = stateOf(to, t.Reason)
			}
		// While a goroutine assists the collector, its running time counts as gcAssist.
		case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
			if scope := e.Range().Scope; e.Range().Name == assisting && scope.Kind == trace.ResourceGoroutine {
				at(scope.Goroutine(), e.Time()).assists = e.Kind() != trace.EventRangeEnd
			}
		case trace.EventRegionBegin:
			if e.Region().Type == Region {
				// A new map starts the request's account.
				at(e.Goroutine(), e.Time()).spent = map[string]int64{}
			}
		case trace.EventRegionEnd:
			if e.Region().Type != Region {
				continue
			}
			// Without a start the request began before the trace.
			if g := at(e.Goroutine(), e.Time()); g.spent != nil {
				all = append(all, g.spent)
				g.spent = nil
			}
		}
	}
}

// stateOf returns the name of a goroutine's state. A state that the trace does not tell counts as running.
func stateOf(s trace.GoState, reason string) string {
	switch s {
	case trace.GoRunnable:
		return runnable
	case trace.GoSyscall:
		return syscall
	case trace.GoWaiting:
		if reason == "" {
			return waiting
		}
		return waiting + ": " + strings.ToLower(reason)
	}
	return running
}

// meanAndP99 returns the mean and the 99th percentile (nearest rank) of ns, in seconds. It sorts
// ns, which must not be empty.
func meanAndP99(ns []int64) (mean, p99 float64) {
	slices.Sort(ns)
	sum := 0.0
	for _, v := range ns {
		sum += float64(v)
	}
	return sum / float64(len(ns)) / 1e9, float64(ns[int(math.Ceil(.99*float64(len(ns))))-1]) / 1e9
}
