package judge

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/expect"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// A theory predicts the figures of a window from its measured inputs: arrivals, demands and the
// server's CPU time per request. Nothing is fitted to response times.
//
// The inputs are measured in the very window that is predicted, so a difference between prediction
// and measurement is not due to another load. What theory leaves out (switching, the kernel, the
// network) must then explain it.
type theory struct {
	name, summary string
	predict       func(record.Station, queueing.Load, record.Clients) queueing.Prediction
}

// theories returns the models that a scenario may name under predict. They are in the order in
// which reports show them.
func theories() []theory {
	// alone is a single queue before a number of workers, each with a core to itself: a textbook
	// station with the arm's limit of places.
	alone := func(st record.Station, workers int) record.Station {
		places := st.Places
		switch {
		case st.Overflow == queueing.Blocks: // a request without a place waits outside
			places = 0
		case st.Kind == queueing.PerWorker:
			places *= st.Workers
		}
		return record.Station{Kind: queueing.Pool, Workers: workers, Cores: workers, Turn: queueing.Whole, Places: places}
	}
	return []theory{
		{"fit", "the formula that fits the arm", func(st record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
			l.Trace = nil
			return queueing.Predict(st, l)
		}},
		{"twin", "the same trace in an ideal scheduler of the arm's kind", func(st record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
			return queueing.Twin(st, l.Trace)
		}},
		{"mm1", "M/M/1: one server, exponential demands", func(st record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
			return queueing.Predict(alone(st, 1), queueing.Poisson(l.Rate, l.Service+l.Block))
		}},
		{"mgc", "M/G/c: one queue before as many servers as the arm has cores, or workers if they mostly sleep; goroutines that sleep hold neither", func(st record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
			if st.Kind == queueing.Goroutines && l.Block > 0 {
				l.CA2, l.Trace = 1, nil
				return queueing.Predict(record.Station{Kind: queueing.Goroutines, Cores: st.Cores, Turn: queueing.Even}, l)
			}
			servers := st.Cores
			if l.Block > l.Service {
				servers = st.Workers
			}
			l.Service, l.Block, l.Trace = l.Service+l.Block, 0, nil
			return queueing.Predict(alone(st, servers), l)
		}},
		{"ps", "M/G/1 with its core shared evenly", func(_ record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
			mean := queueing.MG1PS(l.Rate, l.Service) + l.Block
			return queueing.Prediction{Formula: "M/G/1 processor sharing", Mean: &mean}
		}},
		{"bounds", "a closed loop's X <= min(N/(D+Z), 1/Dmax)", func(st record.Station, l queueing.Load, c record.Clients) queueing.Prediction {
			b := queueing.Asymptotic(c.Connections*max(c.Pipeline, 1), l.Service+l.Block, l.Service/float64(st.Cores), c.Think)
			return queueing.Prediction{Formula: "asymptotic bounds", Throughput: &b.MostX, Mean: &b.LeastT}
		}},
	}
}

// stationOf returns an arm's station, which schedules as Go does.
func stationOf(s record.Station) record.Station {
	s.Cores, s.Turn = max(s.Cores, 1), queueing.GoTurn
	return s
}

// jobs returns the requests of a trial's window as jobs for the theory. Each has the demand it
// asked for, plus beyond seconds of CPU time if that is more than 0. perIter is in seconds. The
// jobs are in the order of the requests.
func jobs(t record.TrialRecord, perIter, beyond float64, c record.Clients) (all []queueing.Job) {
	chance := rand.New(rand.NewPCG(t.Seed, 3)) // chooses the loop of each fresh connection
	for _, r := range t.Requests {
		if t.InWindow(r) {
			cpu := record.Duration(float64(r.Iters)*perIter + max(0, beyond))
			all = append(all, queueing.Job{At: time.Duration(r.Scheduled), CPU: cpu, Block: time.Duration(r.Sleep), Conn: len(all) % max(c.Connections, 1)})
			// A fresh connection for each request: the kernel's choice of a loop is like chance.
			if !c.KeepAlive {
				all[len(all)-1].Conn = int(chance.Uint32())
			}
		}
	}
	return all
}

// model returns a measured window with its predictions. It does the expensive part of judging: two
// replays of each window.
func model(measured window.Window, t record.TrialRecord, arm record.PlanArm, run record.Run) modelled {
	w := modelled{Window: measured}
	replayTwin(&w, t, arm, run.Env)
	predict(&w, t, arm, run)
	return w
}

// predict adds the prediction of each theory in the plan to a window. Starved clients do not count
// among the N clients of a closed loop.
func predict(w *modelled, t record.TrialRecord, arm record.PlanArm, run record.Run) {
	iter := window.PerIter(run.Env)
	if len(run.Plan.Predict) == 0 || arm.Station == nil || !(w.Values["cpu_per_request"] > 0) || iter <= 0 {
		return
	}
	// The server's CPU time beyond the demands belongs to each request's service.
	beyond, ok := beyondDemand(t, iter)
	if !ok {
		return
	}
	all := jobs(t, iter, beyond, arm.Clients)
	l := queueing.Measure(all)
	if len(all) > 1 { // the mean gap would leave out the window's two ends
		l.Rate = float64(len(all)) / t.Window
	}
	served := arm.Clients
	served.Connections -= w.Starved
	w.predicted = map[string]queueing.Prediction{}
	for _, th := range theories() {
		switch {
		case !slices.Contains(run.Plan.Predict, th.name):
		case th.name == "twin": // the twin also knows the warm-up and the connections
			if w.noTwin.None() {
				w.predicted[th.name] = w.twin
			}
		// bounds are about closed loops, and all other formulas about open ones.
		case (th.name == "bounds") == arm.Clients.Closed():
			p := th.predict(stationOf(*arm.Station), l, served)
			p.Quantile = nil // it may keep a whole replay in memory for each window
			w.predicted[th.name] = p
		}
	}
}

// noPrediction returns the reason why a model has no figure for an arm. It tells the first reason
// that applies.
func (b blocks) noPrediction(arm, model string) record.Fact {
	pa := planned(b.run.Plan, arm)
	st, _, why := TwinOf(*pa)
	if why.None() {
		why = b.withoutTwin(arm, st)
	}
	switch closed := pa.Clients.Closed(); {
	case len(b.valid) == 0:
		return record.Fact{Code: modelNoBlock}
	case model == "twin" && !why.None():
		return record.Fact{Code: modelNoTwin, Because: []record.Fact{why}}
	case model == "bounds" && !closed:
		return record.Fact{Code: modelOfClosed}
	case model != "bounds" && model != "twin" && closed:
		return record.Fact{Code: modelOfOpen}
	case pa.Mode == "":
		return record.Fact{Code: modelOfProgram}
	}
	return record.Fact{Code: modelBeyond}
}

// predictedFigure returns one of expect.PredictedMetrics; nil if the theory does not give it. The
// pointer is into p.
func predictedFigure(p queueing.Prediction, metric string) *float64 {
	return map[string]*float64{
		"mean": p.Mean, "p50": p.P50, "p90": p.P90, "p99": p.P99, "goodput": p.Throughput, "loss": p.Loss,
	}[metric]
}

// predictions returns the predictions of every theory in the plan for an arm: medians over the
// valid blocks. A metric without a figure in every block is left out.
func (b blocks) predictions(arm string) (all []record.Prediction) {
	for _, name := range b.run.Plan.Predict {
		if !slices.ContainsFunc(theories(), func(th theory) bool { return th.name == name }) {
			continue // a model of an older version
		}
		p := record.Prediction{Model: name, Values: map[string]float64{}}
		series := map[string][]float64{}
		for _, block := range b.valid {
			f, ok := b.windows[block][arm].predicted[name]
			if !ok {
				continue
			}
			p.Formula = f.Formula
			for _, metric := range expect.PredictedMetrics {
				if v := predictedFigure(f, metric); v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
					series[metric] = append(series[metric], *v)
				}
			}
		}
		for _, metric := range slices.Sorted(maps.Keys(series)) {
			// A median over some blocks could not be compared with the measured one over all.
			if len(series[metric]) == len(b.valid) {
				p.Values[metric] = stats.Median(series[metric])
			}
		}
		if len(p.Values) == 0 {
			p.Why = b.noPrediction(arm, name)
		}
		all = append(all, p)
	}
	return all
}
