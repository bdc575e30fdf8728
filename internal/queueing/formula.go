package queueing

import (
	"cmp"
	"math"
)

// formula returns the prediction of the formula that fits the station and the load; the zero
// Prediction if none fits.
//
// The choice depends on the resource that requests wait for. Workers that each have a core, or
// mostly sleep, are c servers. Workers that share the cores count as one server per core: the way
// they share does not change the mean of exponential demands, and demands that end within a turn
// are served whole, first come first served. Demands much longer than a turn share the cores
// evenly.
func formula(s Station, l Load) Prediction {
	switch {
	case s.Overflow == Oldest || aging(s) || !patient(s, l) || !inTurn(s) || s.Steal || s.Overflow == Blocks && s.Places > 0:
		return Prediction{}
	case s.Kind == Goroutines:
		return goroutinesFormula(s, l)
	case pooled(s):
		return poolFormula(s, l)
	case s.Workers > s.Cores && !sleepy(s, l):
		return Prediction{} // separate queues, but shared cores
	}
	held := l.Service + l.Block
	if s.Kind == PerWorker && s.Places == 0 && l.exponential() {
		return roundRobinFormula(s, l)
	}
	// Connections divide a stream at random: one part keeps Ca²-1 divided by the number of parts.
	// Dealing in turn makes one gap from c gaps.
	c := float64(s.Workers)
	one := Load{Rate: l.Rate / c, CA2: 1 + (l.CA2-1)/c, Service: held, SCV: l.SCV}
	if s.Kind == PerWorker {
		one.CA2 = l.CA2 / c
	}
	p := one.served(1, s.Places)
	if p.Throughput != nil {
		p.Throughput = new(c * *p.Throughput)
	}
	return p
}

// patient reports whether at most one request in 1,000 would wait longer than the station's
// patience, with demands taken as exponential.
func patient(s Station, l Load) bool {
	servers, held := s.Workers, l.Service+l.Block
	if s.Workers > s.Cores && !sleepy(s, l) {
		servers, held = s.Cores, l.Service
	}
	return s.Patience == 0 || MMcWait(l.Rate, held, servers, s.Patience) <= 0.001
}

// short reports whether nearly all demands end within a turn.
func short(s Station, l Load) bool {
	return cmp.Or(l.Long, l.Service*(1+6*math.Sqrt(l.SCV))) <= s.Turn.Seconds()
}

// even reports whether most demands are many turns long.
func even(s Station, l Load) bool { return s.Turn.Seconds() <= l.Service/10 }

// sleepy reports whether workers mostly sleep, so that requests do not wait for cores.
func sleepy(s Station, l Load) bool {
	return l.Block > 9*l.Service && l.Rate*l.Service <= 0.1*float64(s.Cores)
}

// exponential reports whether gaps and demands look exponential.
func (l Load) exponential() bool { return near1(l.CA2) && near1(l.SCV) }

// near1 reports whether a squared coefficient of variation is within 0.05 of 1, as in a trace of
// exponential draws.
func near1(c2 float64) bool { return math.Abs(c2-1) <= 0.05 }

// poolFormula is formula for a Pool.
func poolFormula(s Station, l Load) Prediction {
	switch {
	case s.Workers <= s.Cores || sleepy(s, l):
		l.Service += l.Block
		l.Block = 0
		return l.served(s.Workers, s.Places)
	case l.Block > 0:
		return Prediction{}
	case short(s, l):
		return l.served(s.Cores, s.Places)
	case l.exponential():
		p := l.served(s.Cores, s.Places)
		p.quantiles(nil) // sharing changes everything but the mean
		return p
	}
	return Prediction{}
}

// goroutinesFormula is formula for Goroutines.
func goroutinesFormula(s Station, l Load) Prediction {
	block := l.Block
	l.Block = 0
	var p Prediction
	switch {
	case block > 0 && s.Places > 0:
		return Prediction{}
	case l.Service == 0:
		p = Prediction{Formula: "no queue", Throughput: new(l.Rate), Loss: new(0.0), Mean: new(0.0)}
	case short(s, l):
		p = l.served(s.Cores, s.Places)
	case even(s, l) && s.Places == 0 && near1(l.CA2):
		p = l.shared(s.Cores)
	case l.exponential():
		p = l.served(s.Cores, s.Places)
		p.quantiles(nil)
	}
	if block > 0 && p.Mean != nil { // blocking delays all requests alike, and no request waits for it
		p.Mean = new(*p.Mean + block)
		p.quantiles(nil)
	}
	return p
}

// shared is the prediction for processor sharing. The number present depends only on the mean
// demand, so the formula for exponential demands gives it.
func (l Load) shared(cores int) Prediction {
	p := Prediction{Formula: "M/G/c processor sharing"}
	return p.settle(l, cores, MMc(l.Rate, l.Service, cores))
}

// served is the prediction for servers with one queue in order of arrival.
func (l Load) served(servers, places int) Prediction {
	mean := MMc(l.Rate, l.Service, servers)
	var p Prediction
	switch {
	case places > 0:
		return l.bounded(servers, places)
	case l.exponential():
		p = Prediction{Formula: "M/M/c"}.settle(l, servers, mean)
		if p.Mean != nil {
			p.quantiles(func(q float64) float64 { return MMcQuantile(l.Rate, l.Service, servers, q) })
		}
		return p
	case servers == 1 && near1(l.CA2) && l.SCV < 1e-6: // rounding of moments
		return Prediction{Formula: "M/D/1"}.settle(l, 1, MG1(l.Rate, l.Service, 0))
	case servers == 1 && near1(l.CA2):
		return Prediction{Formula: "M/G/1 (Pollaczek-Khinchine)"}.settle(l, 1, MG1(l.Rate, l.Service, l.SCV))
	case servers == 1:
		p = Prediction{Formula: "G/G/1 (Kingman)"}
		return p.settle(l, 1, AllenCunneen(l.Rate, l.Service, 1, l.CA2, l.SCV))
	}
	p = Prediction{Formula: "G/G/c (Allen-Cunneen)"}
	return p.settle(l, servers, AllenCunneen(l.Rate, l.Service, servers, l.CA2, l.SCV))
}

// bounded is the prediction for a queue that loses arrivals without a place.
func (l Load) bounded(servers, places int) Prediction {
	switch {
	case places <= servers && near1(l.CA2):
		loss := ErlangB(places, l.Rate*l.Service)
		return Prediction{Formula: "M/G/c/c (Erlang B)", Loss: &loss, Throughput: new(l.Rate * (1 - loss)), Mean: new(l.Service)}
	case !l.exponential():
		return Prediction{}
	}
	b := MMcK(l.Rate, l.Service, servers, places)
	p := Prediction{Formula: "M/M/c/K", Loss: &b.Loss, Throughput: &b.Throughput, Mean: &b.Response}
	p.quantiles(func(q float64) float64 { return MMcKQuantile(l.Rate, l.Service, servers, places, q) })
	return p
}

// roundRobinFormula is the prediction for PerWorker with exponential demands. Its response times are
// exponential.
func roundRobinFormula(s Station, l Load) Prediction {
	held := l.Service + l.Block
	p := Prediction{Formula: "E_c/M/1"}.settle(l, s.Workers, RoundRobin(l.Rate, held, s.Workers))
	if p.Mean != nil {
		p.quantiles(func(q float64) float64 { return -*p.Mean * math.Log1p(-q) })
	}
	return p
}

// settle adds the figures that follow from the mean of a queue without a bound. Beyond saturation
// there is no mean, and the servers serve what they can.
func (p Prediction) settle(l Load, servers int, mean float64) Prediction {
	p.Loss = new(0.0)
	if math.IsInf(mean, 1) {
		p.Throughput = new(float64(servers) / (l.Service + l.Block))
		return p
	}
	p.Throughput, p.Mean = new(l.Rate), &mean
	return p
}
