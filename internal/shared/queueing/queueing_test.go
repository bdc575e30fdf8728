package queueing

import (
	"fmt"
	"math"
	"testing"
)

// near fails the test unless got is within tol of want, relative to want.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return
	}
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s: got %.10g, want %.10g", what, got, want)
	}
}

const (
	printed = 5e-4  // a value known to the digits of the literature
	exact   = 1e-12 // an identity
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// mg1 is the mean response time of M/G/1 by the formula of Pollaczek and Khinchine.
func mg1(lambda, service, scv float64) float64 { return AllenCunneen(lambda, service, 1, 1, scv) }

func TestMG1(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lambda, service, scv float64
		want                 float64
		tol                  float64
	}{
		{0.7, 1, 0, 13.0 / 6, exact},
		{0.7, 1, 1, 10.0 / 3, exact},
		{350, 0.002, 1, 0.02 / 3, exact}, // the same queue in seconds
		{0.5, 1, 4, 3.5, exact},
		{0, 1, 4, 1, exact},
		{1, 1, 0, inf, 0},
		{2, 1, 1, inf, 0},
		{-1, 1, 1, nan, 0},
		{0.5, 0, 1, nan, 0},
		{nan, 1, 1, nan, 0},
	} {
		near(t, fmt.Sprintf("M/G/1(%v, %v, %v)", tt.lambda, tt.service, tt.scv), mg1(tt.lambda, tt.service, tt.scv), tt.want, tt.tol)
	}
}

func TestSharingHasTheLowerMeanOnlyForVariableDemands(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{0.1, 0.5, 0.9, 0.99} {
		near(t, "C² = 1", mg1(rho, 1, 1), MMc(rho, 1, 1), exact)
		if fcfs, ps := mg1(rho, 1, 0.99), MMc(rho, 1, 1); fcfs >= ps {
			t.Errorf("rho %v, C² 0.99: FCFS %v, want below PS %v", rho, fcfs, ps)
		}
		if fcfs, ps := mg1(rho, 1, 1.01), MMc(rho, 1, 1); fcfs <= ps {
			t.Errorf("rho %v, C² 1.01: FCFS %v, want above PS %v", rho, fcfs, ps)
		}
	}
}

func TestErlang(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		servers int
		load    float64
		b, c    float64
	}{
		{1, 0.5, 1.0 / 3, 0.5}, // one server: B = a/(1+a), C = a
		{1, 0.9, 0.9 / 1.9, 0.9},
		{2, 1, 0.2, 1.0 / 3},
		{10, 5, 0.018385, 0.036105},
		{4, 0, 0, 0},
		{4, 4, 0.310680, 1},
		{4, 40, 0.902702, 1},
	} {
		near(t, fmt.Sprintf("ErlangB(%d, %v)", tt.servers, tt.load), ErlangB(tt.servers, tt.load), tt.b, printed)
		near(t, fmt.Sprintf("ErlangC(%d, %v)", tt.servers, tt.load), erlangC(tt.servers, tt.load), tt.c, printed)
	}
}

func TestMMc(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rho     float64
		servers int
		want    float64 // in units of the service time
	}{
		{0.8, 4, 1.7455},
		{0.9, 16, 1.3696},
		{0.7, 1, 3.3333},
		{0, 3, 1},
		{1, 3, inf},
		{1.5, 3, inf},
	} {
		const service = 0.25
		got := MMc(tt.rho*float64(tt.servers)/service, service, tt.servers) / service
		near(t, fmt.Sprintf("M/M/%d at rho %v", tt.servers, tt.rho), got, tt.want, 5e-5)
	}
	near(t, "no server", MMc(1, 1, 0), nan, 0)
	near(t, "no service time", MMc(1, 0, 1), nan, 0)
	near(t, "one server", MMc(0.83, 1, 1), 1/0.17, exact)
}

func TestMMcKLiterature(t *testing.T) {
	t.Parallel()
	near(t, "loss of M/M/1/17 at rho 0.9", MMcK(0.9, 1, 1, 17).Loss, 0.0196, 2e-3)
	over := MMcK(1.5, 1, 1, 17)
	near(t, "response of M/M/1/17 at rho 1.5", over.Response, 15.02, printed)
	near(t, "throughput of M/M/1/17 at rho 1.5", over.Throughput, 1, 2e-3)
	near(t, "loss of M/M/1/9 at rho 1", MMcK(1, 1, 1, 9).Loss, 0.1, exact)
}

// What MMcK must agree with: no waiting room is Erlang's loss system, a large
// one at moderate load is M/M/c, and far beyond saturation every server works
// while the queue stays full.
func TestMMcKLimits(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2, 16, 64} {
		c := float64(servers)
		for _, rho := range []float64{0.1, 0.7, 1, 1.5} {
			what := fmt.Sprintf("c=%d rho=%v ", servers, rho)
			full := MMcK(rho*c, 1, servers, servers)
			near(t, what+"loss without waiting room", full.Loss, ErlangB(servers, rho*c), 1e-10)
			near(t, what+"response without waiting room", full.Response, 1, 1e-10)
		}
		near(t, "response with unlimited room", MMcK(0.7*c, 1, servers, 4000).Response, MMc(0.7*c, 1, servers), 1e-10)
		const K, rho = 4000, 1.5
		over := MMcK(rho*c, 1, servers, K)
		near(t, "throughput beyond saturation", over.Throughput, c, 1e-10)
		near(t, "loss beyond saturation", over.Loss, 1-1/rho, 1e-10)
		near(t, "response beyond saturation", over.Response, (K-1/(rho-1))/c, 1e-6)
	}
}

func TestMMcKStaysFinite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		load            float64
		servers, places int
	}{
		{1e9, 1, 1_000_000}, {1e-9, 1, 1_000_000}, {900, 1000, 100_000}, {5000, 1000, 100_000}, {3, 64, 2},
	} {
		got := MMcK(tt.load, 1, tt.servers, tt.places)
		kept := tt.load * (1 - got.Loss)
		ok := got.Loss >= 0 && got.Loss <= 1 && got.Response >= 1-1e-9 &&
			got.Throughput <= float64(tt.servers)*(1+1e-9) && math.Abs(kept-got.Throughput) <= 1e-6*max(tt.load, 1)
		if !ok {
			t.Errorf("MMcK(%v, 1, %d, %d) = %+v: inconsistent", tt.load, tt.servers, tt.places, got)
		}
	}
	if got, want := MMcK(0, 3, 2, 5), (Bounded{Response: 3}); got != want {
		t.Errorf("without arrivals: got %+v, want %+v", got, want)
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rate, held, busy float64
		workers          int
	}{
		{300, 0.0201, 6.03, 7},
		{30, 0.1, 3, 4}, // three would run at rho = 1
		{29, 0.1, 2.9, 3},
		{70, 0.1, 7, 8}, // 7.000000000000001 in binary
		{0, 1, 0, 1},
		{1, 0, 0, 1},
		{-1, 1, nan, 0},
		{1, nan, nan, 0},
		{inf, 1, inf, 0},
	} {
		near(t, fmt.Sprintf("Little(%v, %v)", tt.rate, tt.held), Little(tt.rate, tt.held), tt.busy, exact)
		if got := Workers(tt.rate, tt.held); got != tt.workers {
			t.Errorf("Workers(%v, %v) = %d, want %d", tt.rate, tt.held, got, tt.workers)
		}
	}
}
