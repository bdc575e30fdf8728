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

	"schedlab/internal/record"

	"golang.org/x/exp/trace"
)

// Region is how a server's trace marks the time of a request: from when it was read to when
// its answer is ready, on the goroutine that read it (see internal/model).
const Region = "request"

// States of a request's goroutine. A wait's state is "waiting: " and the runtime's reason.
const (
	running   = "running"
	runnable  = "runnable"
	syscall   = "syscall"
	gcAssist  = "GC assist"
	waiting   = "waiting"
	assisting = "GC mark assist" // the runtime's name of the range
)

// A goroutine is one while the trace is read.
type goroutine struct {
	state   string
	assists bool
	open    *request // the request it has; nil for none
	since   trace.Time
}

// A request is nanoseconds by state.
type request struct {
	began trace.Time
	spent map[string]int64
}

// spend gives the time since the last event to the state that ends now.
func (g *goroutine) spend(now trace.Time) {
	if g.open != nil {
		state := g.state
		if g.assists && state == running {
			state = gcAssist
		}
		g.open.spent[state] += int64(now - g.since)
	}
	g.since = now
}

// Requests divides the requests of an execution trace by what their goroutines did. The
// parts of each add up to its region exactly. Requests that the trace holds in part only are
// left out; nil where it holds none.
func Requests(data []byte) (*record.RequestTimes, error) {
	all, err := requests(data)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	sum := &record.RequestTimes{Requests: len(all)}
	states := map[string]bool{}
	var totals []int64
	for _, spent := range all {
		total := int64(0)
		for state, v := range spent {
			states[state] = true
			total += v
		}
		totals = append(totals, total)
	}
	sum.Mean, sum.P99 = meanAndP99(totals)
	for _, state := range slices.Sorted(maps.Keys(states)) {
		var each []int64
		for _, spent := range all {
			each = append(each, spent[state])
		}
		t := record.StateTime{State: state}
		t.Mean, t.P99 = meanAndP99(each)
		sum.States = append(sum.States, t)
	}
	return sum, nil
}

// requests are the nanoseconds by state of each whole request.
func requests(data []byte) (all []map[string]int64, err error) {
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading an execution trace: %w", err)
	}
	goroutines := map[trace.GoID]*goroutine{}
	at := func(id trace.GoID, now trace.Time) *goroutine {
		g := goroutines[id]
		if g == nil {
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
			if t.Resource.Kind != trace.ResourceGoroutine {
				continue
			}
			id := t.Resource.Goroutine()
			if _, to := t.Goroutine(); to == trace.GoNotExist {
				delete(goroutines, id)
			} else {
				at(id, e.Time()).state = stateOf(to, t.Reason)
			}
		case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
			if scope := e.Range().Scope; e.Range().Name == assisting && scope.Kind == trace.ResourceGoroutine {
				at(scope.Goroutine(), e.Time()).assists = e.Kind() != trace.EventRangeEnd
			}
		case trace.EventRegionBegin:
			if e.Region().Type == Region {
				at(e.Goroutine(), e.Time()).open = &request{e.Time(), map[string]int64{}}
			}
		case trace.EventRegionEnd:
			if e.Region().Type != Region {
				continue
			}
			if g := at(e.Goroutine(), e.Time()); g.open != nil {
				all = append(all, g.open.spent)
				g.open = nil
			}
		}
	}
}

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

// meanAndP99 are in seconds.
func meanAndP99(ns []int64) (mean, p99 float64) {
	slices.Sort(ns)
	sum := 0.0
	for _, v := range ns {
		sum += float64(v)
	}
	return sum / float64(len(ns)) / 1e9, float64(ns[int(math.Ceil(.99*float64(len(ns))))-1]) / 1e9
}
